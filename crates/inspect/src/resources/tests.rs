#![allow(clippy::unwrap_used)]

use sluice_api::Gvk;
use sluice_api::cloud_event::EventKey;
use sluice_bus::kit::{Server, write, write_as};
use sluice_protocol::{Body, Publish, Shard};

use super::*;
use crate::kit::{cluster, connect};

fn change(at: &str, gvk: Gvk, name: &str, body: &Value) -> Publish {
    let object = ObjectKey { gvk, namespace: "shop".into(), name: name.into() };
    let subject =
        Subject::Change { shard: Shard::FIRST, cluster: cluster(at), viewer: String::new(), object };
    Publish::new(subject, Body::Value(body.to_string().into_bytes().into()), 5)
}

fn ready(status: &str) -> Value {
    json!({"status": {"conditions": [{"type": "Ready", "status": status, "message": "said"}]}})
}

async fn fixture(server: &Server) -> (Inspector, sluice_tasks::Tasks) {
    let (bus, tasks) = connect(server).await;
    let deployment = || Gvk::new("apps", "v1", "Deployment");
    for at in ["a", "b"] {
        let secret = json!({"kind": "Secret", "data": {"k": "dmFsdWU="}});
        let rows = [
            change(at, deployment(), "web", &ready("False")),
            change(at, Gvk::new("", "v1", "Secret"), "login", &secret),
        ];
        write_as(&bus, &cluster(at).to_string(), rows).await;
    }
    let [source, subject, kind, channel] = ["s", "u", "t", "c"].map(str::to_owned);
    let event = EventKey { source, subject, kind, channel }.object_key();
    let subject =
        Subject::Change { shard: Shard::FIRST, cluster: cluster("a"), viewer: String::new(), object: event };
    write(&bus, [Publish::new(subject, Body::Value(b"{}".to_vec().into()), 5)]).await;
    (Inspector::new(Ok(bus), Err("of a test".to_owned())), tasks)
}

#[tokio::test]
async fn objects_are_listed_with_what_they_say_of_their_health() {
    let server = Server::start();
    let (inspector, _tasks) = fixture(&server).await;
    let all = inspector.resources(&ResourceFilter::default()).await.unwrap().collect::<Vec<_>>();
    let short: Vec<_> =
        all.iter().map(|found| (&*found.cluster, &*found.gvk, &*found.name, &*found.message)).collect();
    let of = |at| [(at, "v1/Secret", "login", ""), (at, "apps/v1/Deployment", "web", "Ready=False: said")];
    assert_eq!(short, [of("default/a"), of("default/b")].concat());
    assert_eq!(all[0].object, None);
}

#[tokio::test]
async fn filters_choose_kinds_namespaces_and_clusters() {
    let server = Server::start();
    let (inspector, _tasks) = fixture(&server).await;
    let some = |text: &str| Some(text.to_owned());
    let all = ResourceFilter::default;
    for (filter, count) in [
        (ResourceFilter { kind: some("Secret"), ..all() }, 2),
        (ResourceFilter { group: some(""), ..all() }, 2),
        (ResourceFilter { group: some("apps"), cluster: some("b"), ..all() }, 1),
        (ResourceFilter { cluster_namespace: some("default"), ..all() }, 4),
        (ResourceFilter { namespace: some("other"), ..all() }, 0),
    ] {
        let found = inspector.resources(&filter).await.unwrap().collect::<Vec<_>>();
        assert_eq!(found.len(), count, "{filter:?}");
    }
}

#[tokio::test]
async fn of_what_is_not_there_it_is_said_what_is() {
    let server = Server::start();
    let (inspector, _tasks) = fixture(&server).await;
    let error = async |filter: ResourceFilter| inspector.resources(&filter).await.unwrap_err();
    let kind = error(ResourceFilter { kind: Some("Deploymnt".into()), ..ResourceFilter::default() }).await;
    let says = "agents tell of no object of kind Deploymnt; there is Deployment, Secret";
    assert_eq!(kind, InspectError::NotFound(says.into()));
    let cluster = error(ResourceFilter { cluster: Some("c".into()), ..ResourceFilter::default() }).await;
    let says = "no agent tells of a cluster */c; there is default/a, default/b";
    assert_eq!(cluster, InspectError::NotFound(says.into()));
}

#[tokio::test]
async fn whole_objects_have_no_value_of_a_secret() {
    let server = Server::start();
    let (inspector, _tasks) = fixture(&server).await;
    let filter = ResourceFilter { kind: Some("Secret".into()), full: true, ..ResourceFilter::default() };
    let found = inspector.resources(&filter).await.unwrap().collect::<Vec<_>>();
    assert_eq!(found[0].object, Some(json!({"kind": "Secret", "data": {"k": "(masked)"}})));
    let last = "kubectl.kubernetes.io/last-applied-configuration";
    let applied = json!({"kind": "Secret", "metadata": {"annotations": {last: "data: dmFsdWU="}}});
    assert_eq!(without_values(applied), json!({"kind": "Secret", "metadata": {"annotations": {}}}));
}

#[test]
fn health_is_the_first_condition_that_tells_it_or_the_phase() {
    let conditions = |types: &[&str]| -> Value {
        let condition = |of: &&str| json!({"type": of, "status": "True"});
        json!({"status": {"conditions": types.iter().map(condition).collect::<Vec<_>>(), "phase": "Active"}})
    };
    assert_eq!(health(&conditions(&["Progressing", "Available", "Ready"])), "Ready=True");
    assert_eq!(health(&conditions(&["Progressing"])), "Active");
    assert_eq!(health(&json!({})), "");
}
