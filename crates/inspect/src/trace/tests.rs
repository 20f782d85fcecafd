#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_api::{Gvk, ProfileId, TriggerId};
use sluice_bus::BusOptions;
use sluice_bus::kit::{Server, write};
use sluice_protocol::rows::State;
use sluice_protocol::{Body, Meta, Publish};
use sluice_tasks::Tasks;

use super::*;
use crate::shards;

fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}

fn service() -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "shop".into(), name: "web".into() }
}

async fn connect(server: &Server) -> (Bus, Tasks) {
    let tasks = Tasks::default();
    let options = BusOptions {
        connection: sluice_bus::Connection::plain(server.url()),
        name: "test".into(),
        shards: 1,
        replicas: 1,
        tombstone_ttl: std::time::Duration::from_secs(60),
    };
    (Bus::connect(&options, &tasks).await.unwrap(), tasks)
}

fn row(subject: Subject, body: &Value, time: i64) -> Publish {
    Publish::new(subject, Body::Value(serde_json::to_vec(body).unwrap().into()), time)
}

/// The rows of one Service that is an event, and of the policy in cluster `b` that follows from it.
fn rows(item: Option<ObjectKey>) -> Vec<Publish> {
    let (a, b) = (cluster("a"), cluster("b"));
    let event = EventCause {
        trigger: TriggerId::new("EventTrigger", "t"),
        cluster: a.clone(),
        source: "s".into(),
        item,
    };
    let cause = Cause::Event(event);
    let profile = ProfileId::cluster("p");
    let desired = json!({"ownerKind": "ClusterProfile", "ownerName": "p", "tier": 100, "cause": cause, "spec": {},
        "policies": [{"kind": "ConfigMap", "namespace": "default", "name": "content", "tier": 100, "objects":
            [{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "made"}}]}]});
    let status = json!({"state": State::Failed, "errors": ["no room"]});
    vec![
        row(
            Subject::Change { shard: 0, cluster: a.clone(), viewer: String::new(), object: service() },
            &json!({}),
            5,
        ),
        row(
            Subject::Report { shard: 0, cluster: a, source: "s".into(), origin: 0, object: service() },
            &json!({}),
            5,
        ),
        row(
            Subject::Desired { shard: 0, cluster: b.clone(), origin: 0, profile: profile.clone() },
            &desired,
            5,
        )
        .meta(Meta::of_cause(&cause)),
        row(Subject::Status { shard: 0, cluster: b, origin: 0, profile }, &status, 5)
            .meta(Meta::of_cause(&cause)),
    ]
}

fn target(namespace: &str, name: &str) -> Target {
    Target { cluster: cluster("b"), kind: "ConfigMap".into(), namespace: namespace.into(), name: name.into() }
}

#[tokio::test]
async fn an_add_on_is_followed_to_the_change_that_led_to_it_and_to_what_came_of_it() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    for (item, of_all) in [(Some(service()), ""), (None, ", the newest of them")] {
        write(&bus, rows(item.clone())).await;
        let traces = trace(&bus, &target("default", "made")).await.unwrap();
        assert_eq!((traces.len(), traces[0].profile.as_str()), (1, "ClusterProfile p"));
        let hops = &traces[0].hops;
        let stages: Vec<_> = hops.iter().map(|hop| hop.stage).collect();
        assert_eq!(stages, ["agent", "matcher", "renderer", "deployer"]);
        assert!(hops.iter().all(|hop| hop.at > 1_600_000_000_000_000 && hop.cause_at == 5), "{hops:?}");
        let says: Vec<_> = hops.iter().map(|hop| hop.says.as_str()).collect();
        assert_eq!(says[0], "Service shop/web on sveltos:default/a");
        assert_eq!(says[1], format!("an event of EventSource s{of_all}"));
        assert_eq!(says[2], "ClusterProfile p of EventTrigger t, from ConfigMap default/content");
        assert_eq!(says[3], "Failed: no room");
    }
    let all = shards(&bus, None).await.unwrap();
    let found: Vec<_> = all.iter().map(|shard| (shard.stage, shard.replica.as_str())).collect();
    assert_eq!(found, [("agent", "test"), ("matcher", "test"), ("renderer", "test"), ("deployer", "test")]);
    assert_eq!(shards(&bus, Some("matcher")).await.unwrap(), [all[1].clone()]);
}

#[tokio::test]
async fn where_there_is_none_it_says_what_there_is() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    let asked = trace(&bus, &target("", "made")).await.unwrap_err().to_string();
    assert!(
        asked.starts_with("no profile deploys ConfigMap made to sveltos:default/b; nothing is"),
        "{asked}"
    );
    write(&bus, rows(None)).await;
    for wrong in [target("default", "mad"), target("other", "made")] {
        let asked = trace(&bus, &wrong).await.unwrap_err().to_string();
        assert!(asked.ends_with("; there is ConfigMap made"), "{asked}");
    }
    assert!(trace(&bus, &target("", "made")).await.is_ok(), "any namespace");
}
