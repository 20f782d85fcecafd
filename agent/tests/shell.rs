//! The agent on a real bus and a simulated cluster: which rows it makes of what the cluster holds.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::{ClusterRef, object};
use sluice_bus::{Bus, InterestWriter, problem_feed};
use sluice_kube::Trust;
use sluice_protocol::interest::{Interest, Source};
use sluice_protocol::{Capabilities, Revision, Role, Row, Sequence, Shard, Subject, Table};
use sluice_runtime::kit::{self, Server};
use sluice_runtime::{Access, ClusterFeed, Context};
use sluice_simcluster::{FleetConfig, SimFleet};
use tokio_util::sync::CancellationToken;

fn cluster(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}

async fn fleet(names: &[&str]) -> SimFleet {
    let clusters = names.iter().map(|name| (*name).to_owned()).collect();
    SimFleet::start(FleetConfig { clusters, ..FleetConfig::default() }).await.unwrap()
}

fn register(feed: &ClusterFeed, name: &str, kubeconfig: Result<String, String>) {
    let kubeconfig = Some(kubeconfig.map(Arc::from));
    feed.put(cluster(name), Access::new(cluster(name), kubeconfig, Trust::Registered { proxies: false }));
}

/// All of these clusters, as they can be reached.
fn registered(fleet: &SimFleet, names: &[&str]) -> ClusterFeed {
    let feed = ClusterFeed::new();
    names.iter().for_each(|name| register(&feed, name, Ok(fleet.kubeconfig(&[name]))));
    feed.set_synced();
    feed
}

/// Runs an agent that serves these clusters until `script` has ended.
async fn with_agent(server: &Server, feed: &ClusterFeed, script: impl AsyncFnOnce(&Bus)) {
    let agent = async |context| sluice_agent::run(context, feed.clone(), None).await;
    let script = async |context: &Context| script(&context.bus).await;
    kit::with_stage(server, Role::Agent(None), agent, script).await;
}

/// A source that selects this kind with label `a`.
async fn listen(bus: &Bus, name: &str, revision: u64, kinds: &[&str]) {
    let source = |kind: &&str| {
        let group = if *kind == "Widget" { "example.com" } else { "" };
        let manifest = json!({"kind": "EventSource", "metadata": {"name": kind}, "spec": {
            "resourceSelectors": [{"group": group, "version": "v1", "kind": kind, "labelFilters": [{"key": "a", "operation": "Has"}]}]}});
        Source { name: (*kind).to_owned(), changed: Revision::new(revision), manifest: manifest.into() }
    };
    let row = Interest {
        revision: Revision::new(revision),
        sources: kinds.iter().map(source).collect(),
        ..Interest::default()
    };
    InterestWriter::new(bus).write(&cluster(name), &row).await.unwrap();
}

fn config_map(name: &str, label: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default", "labels": {label: ""}},
        "data": {"text": text}})
}

/// Waits for the row of an object, as it is wanted.
async fn change(bus: &Bus, of: &str, named: &str, wanted: impl Fn(&Row) -> bool) -> Row {
    let is_it = |row: &Row| matches!(&row.subject, Subject::Change { cluster: at, object, .. } if at.name == of && object.name == named);
    kit::row(bus, &Table::Changes.stream(Shard::FIRST), |row| is_it(row) && wanted(row)).await
}

fn text(row: &Row) -> String {
    let object: Value = serde_json::from_slice(&row.body).unwrap_or_default();
    object::text(&object, &["data", "text"]).to_owned()
}

async fn complete(bus: &Bus, revision: u64) -> Row {
    let is_it = |row: &Row| {
        matches!(row.subject, Subject::Complete { .. })
            && row.head.meta.complete().is_some_and(|complete| complete.revision.get() == revision)
    };
    kit::row(bus, &Table::Changes.stream(Shard::FIRST), is_it).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cluster_holds_and_somebody_asks_for_is_on_the_bus() {
    let (server, fleet) = (Server::start(), fleet(&["c"]).await);
    fleet.apply("c", "test", config_map("x", "a", "1")).unwrap();
    fleet.apply("c", "test", config_map("unwanted", "b", "1")).unwrap();
    let feed = registered(&fleet, &["c"]);
    with_agent(&server, &feed, async |bus| {
        listen(bus, "c", 1, &["ConfigMap"]).await;
        let row = change(bus, "c", "x", |row| !row.head.tombstone).await;
        assert_eq!(
            (text(&row), row.head.view.version(&cluster("c").to_string())),
            ("1".to_owned(), Revision::new(1))
        );
        let object: Value = serde_json::from_slice(&row.body).unwrap();
        assert_eq!(object::at(&object, &["metadata", "managedFields"]), None);
        let said = complete(bus, 1).await.head.meta.complete().cloned().unwrap();
        assert_eq!(
            (said.incarnation, said.lacking.len()),
            (bus.incarnation(&Table::Changes.stream(Shard::FIRST)), 0)
        );
        fleet.apply("c", "test", config_map("x", "a", "2")).unwrap();
        change(bus, "c", "x", |row| text(row) == "2").await;
        // It no longer has the label that is asked for.
        fleet.apply("c", "test", config_map("x", "b", "2")).unwrap();
        change(bus, "c", "x", |row| row.head.tombstone).await;
        fleet.apply("c", "test", config_map("y", "a", "1")).unwrap();
        change(bus, "c", "y", |row| !row.head.tombstone).await;
        // Nobody asks any more.
        listen(bus, "c", 2, &[]).await;
        change(bus, "c", "y", |row| row.head.tombstone).await;
        let unwanted = change(bus, "c", "y", |_| true).await;
        assert!(unwanted.head.tombstone, "a table holds one row for each object");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_object_that_goes_from_one_source_to_another_stays() {
    let (server, fleet) = (Server::start(), fleet(&["c"]).await);
    fleet.apply("c", "test", config_map("x", "a", "1")).unwrap();
    let feed = registered(&fleet, &["c"]);
    with_agent(&server, &feed, async |bus| {
        let source = |label: &str| {
            let manifest = json!({"kind": "EventSource", "metadata": {"name": label}, "spec": {"resourceSelectors": [
                {"version": "v1", "kind": "ConfigMap", "labelFilters": [{"key": label, "operation": "Has"}]}]}});
            Source { name: label.to_owned(), changed: Revision::new(1), manifest: manifest.into() }
        };
        let row = Interest { revision: Revision::new(1), sources: vec![source("a"), source("b")], ..Interest::default() };
        InterestWriter::new(bus).write(&cluster("c"), &row).await.unwrap();
        complete(bus, 1).await;
        let first = change(bus, "c", "x", |_| true).await.sequence;
        fleet.apply("c", "test", config_map("x", "b", "2")).unwrap();
        let second = change(bus, "c", "x", |row| row.sequence > first).await;
        assert_eq!((second.head.tombstone, text(&second)), (false, "2".to_owned()), "it was there all the time");
        fleet.apply("c", "test", config_map("x", "c", "2")).unwrap();
        change(bus, "c", "x", |row| row.head.tombstone).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restart_publishes_what_differs_and_tombstones_for_what_went() {
    let (server, fleet) = (Server::start(), fleet(&["c"]).await);
    for name in ["same", "changed", "gone"] {
        fleet.apply("c", "test", config_map(name, "a", "1")).unwrap();
    }
    let feed = registered(&fleet, &["c"]);
    let mut before = Sequence::NONE;
    with_agent(&server, &feed, async |bus| {
        listen(bus, "c", 1, &["ConfigMap"]).await;
        for name in ["changed", "gone"] {
            change(bus, "c", name, |_| true).await;
        }
        before = change(bus, "c", "same", |_| true).await.sequence;
        complete(bus, 1).await;
    })
    .await;
    fleet.apply("c", "test", config_map("changed", "a", "2")).unwrap();
    fleet.delete("c", "v1", "ConfigMap", "default", "gone").unwrap();
    with_agent(&server, &feed, async |bus| {
        change(bus, "c", "gone", |row| row.head.tombstone).await;
        change(bus, "c", "changed", |row| text(row) == "2").await;
        assert_eq!(change(bus, "c", "same", |_| true).await.sequence, before, "it is not written again");
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_registered_kubeconfig_reads_no_file() {
    let (server, fleet) = (Server::start(), fleet(&["c"]).await);
    fleet.apply("c", "test", config_map("x", "a", "1")).unwrap();
    let feed = registered(&fleet, &[]);
    let file = json!({"current-context": "c", "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": "http://127.0.0.1:9"}}],
        "users": [{"name": "u", "user": {"tokenFile": "/etc/hostname"}}]});
    register(&feed, "c", Ok(file.to_string()));
    with_agent(&server, &feed, async |bus| {
        let mut problems = problem_feed(bus, CancellationToken::new()).subscribe();
        listen(bus, "c", 1, &["ConfigMap"]).await;
        let told = kit::told(&mut problems, |row| row.object == "kubeconfig").await;
        let says = "the kubeconfig is refused: users[0].user.tokenFile: it would read a file";
        assert!(told.error.starts_with(says) && !told.error.contains("hostname"), "{told:?}");
        register(&feed, "c", Ok(fleet.kubeconfig(&["c"])));
        change(bus, "c", "x", |_| true).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_that_cannot_be_reached_delays_only_itself_and_comes_back() {
    let (server, fleet) = (Server::start(), fleet(&["c", "d"]).await);
    for name in ["c", "d"] {
        fleet.apply(name, "test", config_map("x", "a", "1")).unwrap();
    }
    let feed = registered(&fleet, &["c"]);
    register(&feed, "d", Err("Secret d-sveltos-kubeconfig does not exist".to_owned()));
    with_agent(&server, &feed, async |bus| {
        let mut problems = problem_feed(bus, CancellationToken::new()).subscribe();
        listen(bus, "c", 1, &["ConfigMap"]).await;
        listen(bus, "d", 1, &["ConfigMap"]).await;
        change(bus, "c", "x", |_| true).await;
        let told = kit::told(&mut problems, |row| row.object == "kubeconfig").await;
        assert_eq!((told.cluster, told.stage.as_str()), (cluster("d").to_string(), "agent"));
        assert!(told.error.contains("does not exist"), "{}", told.error);
        register(&feed, "d", Ok(fleet.kubeconfig(&["d"])));
        change(bus, "d", "x", |_| true).await;
        kit::told(&mut problems, |row| row.object == "kubeconfig" && row.error.is_empty()).await;
        // It is cut off, and changes meanwhile.
        fleet.faults("d").unreachable(true);
        fleet.apply("d", "test", config_map("x", "a", "2")).unwrap();
        fleet.apply("c", "test", config_map("x", "a", "2")).unwrap();
        change(bus, "c", "x", |row| text(row) == "2").await;
        let trouble = |row: &sluice_protocol::ProblemRow| row.object.starts_with("watch of ");
        kit::told(&mut problems, |row| trouble(row) && row.error.contains("it is tried again")).await;
        fleet.faults("d").unreachable(false);
        change(bus, "d", "x", |row| text(row) == "2").await;
        kit::told(&mut problems, |row| trouble(row) && row.error.is_empty()).await;
    })
    .await;
}

/// The definition of a kind.
fn widgets() -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "widgets.example.com"}, "spec": {"group": "example.com", "scope": "Namespaced",
            "names": {"kind": "Widget", "plural": "widgets", "singular": "widget", "listKind": "WidgetList"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema":
                {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_kind_that_does_not_exist_yet_holds_back_nothing_and_is_found_when_it_comes() {
    let (server, fleet) = (Server::start(), fleet(&["c"]).await);
    fleet.apply("c", "test", config_map("x", "a", "1")).unwrap();
    let feed = registered(&fleet, &["c"]);
    with_agent(&server, &feed, async |bus| {
        listen(bus, "c", 1, &["ConfigMap", "Widget"]).await;
        change(bus, "c", "x", |_| true).await;
        let said = complete(bus, 1).await.head.meta.complete().cloned().unwrap();
        assert!(said.covers("ConfigMap"));
        fleet.apply("c", "test", widgets()).unwrap();
        let widget = json!({"apiVersion": "example.com/v1", "kind": "Widget",
            "metadata": {"namespace": "default", "name": "w", "labels": {"a": ""}}});
        fleet.apply("c", "test", widget).unwrap();
        change(bus, "c", "w", |_| true).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cloud_event_becomes_a_row_and_what_is_none_a_problem() {
    let (server, fleet) = (Server::start(), fleet(&["c"]).await);
    let registered = registered(&fleet, &["c"]);
    let agent = with_agent(&server, &registered, async |bus| {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"messagingMatchCriteria": [{"subject": "orders"}]}});
        let sources = vec![Source { name: "s".into(), changed: Revision::new(1), manifest: manifest.into() }];
        let event =
            json!({"specversion": "1.0", "id": "1", "source": "/shop", "subject": "o", "type": "created"});
        let send = async |channel: &str, id: &str, event: &Value| {
            let body = (id, event.to_string().into_bytes());
            sluice_bus::send_cloud_event(bus, &cluster("c"), channel, body).await.unwrap();
        };
        // Before anybody asks for it.
        send("orders", "1", &event).await;
        InterestWriter::new(bus)
            .write(&cluster("c"), &Interest { revision: Revision::new(1), sources, ..Interest::default() })
            .await
            .unwrap();
        let row = change(bus, "c", "o created orders", |_| true).await;
        assert_eq!(serde_json::from_slice::<Value>(&row.body).unwrap(), event);
        let sluice_protocol::Meta::Position(position) = row.head.meta else { panic!("{row:?}") };
        assert!(position.time > 0 && position.order == position.sequence.get());
        complete(bus, 1).await;
        let mut problems = problem_feed(bus, CancellationToken::new()).subscribe();
        send("orders.eu", "2", &json!({"specversion": "1.0"})).await;
        let told = kit::told(&mut problems, |row| row.object == "CloudEvents on orders.eu").await;
        assert!(told.error.contains("id: is required"), "{told:?}");
        send("orders.eu", "3", &event).await;
        change(bus, "c", "o created orders.eu", |_| true).await;
        kit::told(&mut problems, |row| row.object == "CloudEvents on orders.eu" && row.error.is_empty())
            .await;
    });
    // Boxed, since it is large.
    Box::pin(agent).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_cluster_can_do_is_on_the_bus_and_is_said_again_when_kinds_come() {
    let (server, fleet) = (Server::start(), fleet(&["c"]).await);
    let feed = registered(&fleet, &["c"]);
    with_agent(&server, &feed, async |bus| {
        let said = async |wanted: &str| {
            let has = |row: &Row| {
                let known = serde_json::from_slice::<Capabilities>(&row.body).unwrap_or_default();
                known.version == "v1.36.0" && known.api_versions.iter().any(|one| one == wanted)
            };
            let is_it = |row: &Row| row.subject == Capabilities::subject(&cluster("c")) && has(row);
            kit::row(bus, &Capabilities::rows().0, is_it).await;
        };
        said("v1/ConfigMap").await;
        said("apps/v1").await;
        fleet.apply("c", "test", widgets()).unwrap();
        said("example.com/v1/Widget").await;
        // A list of everything that is asked for does not withdraw it.
        listen(bus, "c", 1, &["ConfigMap"]).await;
        complete(bus, 1).await;
        said("example.com/v1/Widget").await;
    })
    .await;
}
