//! The matcher on a real bus: what it makes of the rows of others.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_api::{ClusterRef, Gvk, ObjectKey};
use sluice_bus::{Bus, InterestWriter, problem_feed};
use sluice_protocol::interest::{Complete, Interest, Source};
use sluice_protocol::{Body, Meta, Publish, Revision, Role, Row, Shard, Subject, Table, View};
use sluice_runtime::Context;
use sluice_runtime::kit::{self, Server};
use sluice_tasks::Tasks;
use tokio_util::sync::CancellationToken;

fn cluster() -> ClusterRef {
    ClusterRef::sveltos("default", "c")
}

/// Runs a matcher until `script` has ended.
async fn with_matcher(server: &Server, script: impl AsyncFnOnce(&Bus)) {
    let script = async |context: &Context| script(&context.bus).await;
    kit::with_stage(server, Role::Matcher, sluice_matcher::run, script).await;
}

/// These sources, each of which selects Services with the label of its name.
async fn listen(bus: &Bus, revision: u64, labels: &[&str]) {
    let source = |label: &&str| {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": label}, "spec": {"collectResources": true,
            "resourceSelectors": [{"version": "v1", "kind": "Service", "labelFilters": [{"key": label, "operation": "Has"}]}]}});
        Source { name: (*label).to_owned(), changed: Revision::new(revision), manifest: manifest.into() }
    };
    let row = Interest {
        revision: Revision::new(revision),
        sources: labels.iter().map(source).collect(),
        ..Interest::default()
    };
    InterestWriter::new(bus).write(&cluster(), &row).await.unwrap();
}

fn service(name: &str, label: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "n", "labels": {label: ""}}})
}

/// A row of the agent about a Service.
fn change(name: &str, body: Body) -> Publish {
    let gvk = Gvk::new("", "v1", "Service");
    let object = ObjectKey { gvk, namespace: "n".into(), name: name.into() };
    let subject = Subject::Change { shard: Shard::FIRST, cluster: cluster(), viewer: String::new(), object };
    let mut view = View::default();
    view.note(&cluster().to_string(), Revision::new(1));
    Publish::new(subject, body, 5).view(view)
}

fn there(name: &str, label: &str) -> Publish {
    change(name, Body::value(service(name, label).to_string().into_bytes()))
}

/// Waits for the report of a Service by this source, or its tombstone.
async fn report(bus: &Bus, name: &str, by: &str, gone: bool) -> Row {
    let wanted = |row: &Row| {
        matches!(&row.subject, Subject::Report { source, object, .. } if source == by && object.name == name)
            && row.head.tombstone == gone
    };
    kit::row(bus, &Table::Reports.stream(Shard::FIRST), wanted).await
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_become_reports_and_what_is_complete_is_said_to_be() {
    let server = Server::start();
    with_matcher(&server, async |bus| {
        listen(bus, 1, &["a"]).await;
        kit::write(bus, [there("x", "a"), there("y", "b")]).await;
        let row = report(bus, "x", "a", false).await;
        assert_eq!(serde_json::from_slice::<Value>(&row.body).unwrap(), service("x", "a"));
        assert_eq!((row.head.time, row.head.view.version(&cluster().to_string())), (5, Revision::new(1)));
        // Of what is there already another source is told without its agent.
        listen(bus, 2, &["a", "b"]).await;
        report(bus, "y", "b", false).await;
        kit::write(bus, [change("x", Body::Tombstone)]).await;
        report(bus, "x", "a", true).await;
        let subject = Subject::Complete {
            table: Table::Changes,
            shard: Shard::FIRST,
            cluster: cluster(),
            origin: None,
        };
        let said = Complete::of_all(bus.incarnation(&Table::Changes.stream(Shard::FIRST)), Revision::new(2));
        kit::write(bus, [Publish::new(subject, Body::value([]), 0).meta(Meta::Complete(said))]).await;
        let complete =
            |row: &Row| matches!(row.subject, Subject::Complete { origin: Some(Shard::FIRST), .. });
        let row = kit::row(bus, &Table::Reports.stream(Shard::FIRST), complete).await;
        let expected =
            Complete::of_all(bus.incarnation(&Table::Reports.stream(Shard::FIRST)), Revision::new(2));
        assert_eq!(row.head.meta.complete(), Some(&expected));
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_cannot_be_read_or_judged_is_a_problem_and_holds_nothing_up() {
    let server = Server::start();
    with_matcher(&server, async |bus| {
        let feed = problem_feed(bus, CancellationToken::new());
        let mut problems = feed.subscribe();
        listen(bus, 1, &["a"]).await;
        kit::write(bus, [change("broken", Body::value(*b"{")), there("y", "a")]).await;
        report(bus, "y", "a", false).await;
        let told = kit::told(&mut problems, |row| row.object == "Service n/broken").await;
        assert!(told.error.contains("cannot be read") && told.stage == "matcher", "{told:?}");
        kit::write(bus, [there("broken", "a")]).await;
        report(bus, "broken", "a", false).await;
        kit::told(&mut problems, |row| row.object == "Service n/broken" && row.error.is_empty()).await;
    })
    .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_replica_withdraws_what_went_while_nobody_worked() {
    let server = Server::start();
    with_matcher(&server, async |bus| {
        listen(bus, 1, &["a"]).await;
        kit::write(bus, [there("x", "a"), there("y", "a")]).await;
        report(bus, "x", "a", false).await;
        report(bus, "y", "a", false).await;
    })
    .await;
    let tasks = Tasks::default();
    let context = kit::context(&server, Role::Matcher, &tasks).await;
    kit::write(&context.bus, [change("x", Body::Tombstone)]).await;
    tasks.stop().cancel();
    with_matcher(&server, async |bus| {
        report(bus, "x", "a", true).await;
        let y = report(bus, "y", "a", false).await;
        assert!(!y.head.tombstone);
    })
    .await;
}
