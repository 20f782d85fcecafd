#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_bus::InterestWriter;
use sluice_bus::kit::{Server, write};
use sluice_kube::fake_api::{FakeApi, Request};
use sluice_protocol::interest::{Complete, Interest};
use sluice_protocol::rows::{ReportMeta, State};
use sluice_protocol::{Body, Meta, Publish, Revision, Shard};

use super::*;
use crate::kit::{cluster, connect, rows, service};
use crate::trace::Target;

fn question() -> Question {
    Question::Trigger { name: "t".into(), cluster: cluster("b") }
}

/// A management cluster with a trigger and its EventSource, which knows no Cluster API.
fn answer(request: &Request) -> (u16, String) {
    let resource = |plural: &str, kind: &str| json!({"name": plural, "singularName": "", "namespaced": false, "kind": kind, "verbs": ["list"]});
    let cluster = |name: &str| json!({"metadata": {"namespace": "default", "name": name, "labels": {"env": "fv"}}, "spec": {"data": {}}, "status": {"ready": true}});
    let listed = |items: Value| json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "1"}, "items": items});
    let path = request.path.split('?').next().unwrap_or_default();
    let body = match path {
        "/apis" => json!({"kind": "APIGroupList", "groups": []}),
        "/apis/lib.projectsveltos.io/v1beta1" => json!({"kind": "APIResourceList", "groupVersion": "lib.projectsveltos.io/v1beta1",
            "resources": [resource("eventtriggers", "EventTrigger"), resource("eventsources", "EventSource"), resource("sveltosclusters", "SveltosCluster"), resource("eventreports", "EventReport")]}),
        "/apis/lib.projectsveltos.io/v1beta1/sveltosclusters" => listed(json!([cluster("a")])),
        "/apis/lib.projectsveltos.io/v1beta1/eventtriggers" => listed(json!([
            {"metadata": {"name": "other"}, "spec": {"eventSourceName": "none"}},
            {"metadata": {"name": "t"}, "spec": {"eventSourceName": "s", "sourceClusterSelector": {"matchLabels": {"env": "fv"}}}}])),
        "/apis/lib.projectsveltos.io/v1beta1/eventsources" => listed(json!([
            {"metadata": {"name": "s"}, "spec": {"version": "v1", "kind": "Service"}}])),
        "/apis/lib.projectsveltos.io/v1beta1/eventreports" => listed(json!([
            {"metadata": {"namespace": "default", "name": "r"}, "spec": {"eventSourceName": "s"}}])),
        _ => return (404, json!({"kind": "Status", "code": 404, "reason": "NotFound", "status": "Failure", "message": "none"}).to_string()),
    };
    (200, body.to_string())
}

#[tokio::test]
async fn what_bus_and_management_cluster_know_of_a_trigger_is_gathered() {
    let (server, api) = (Server::start(), FakeApi::start(answer));
    let (bus, _tasks) = connect(&server).await;
    write(&bus, rows(Some(service()))).await;
    let facts = gather(Ok(&bus), Ok(api.client()), &question()).await;
    let kinds: Vec<_> = facts.management.unwrap().iter().map(|object| object["kind"].to_string()).collect();
    assert_eq!(kinds, ["\"EventSource\"", "\"EventTrigger\"", "\"EventTrigger\"", "\"SveltosCluster\""]);
    let on_bus = facts.on_bus.unwrap();
    assert_eq!(on_bus.reports, [(cluster("a"), service())]);
    assert!(on_bus.objects.is_empty(), "there is an event");
    assert_eq!(on_bus.desired[0].profile(), ProfileId::cluster("p"));
    let status = Status::new(State::Failed, vec!["no room".into()]);
    assert_eq!(on_bus.statuses, [(ProfileId::cluster("p"), Shard::FIRST, status)]);
}

#[tokio::test]
async fn who_is_away_is_named_and_the_other_one_is_read() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    write(&bus, rows(None)).await;
    let facts = gather(Ok(&bus), Err("it is away".into()), &question()).await;
    assert_eq!(facts.management.unwrap_err(), "it is away");
    assert_eq!(facts.on_bus.unwrap().desired.len(), 1);
    let api = FakeApi::start(|_| (403, json!({"kind": "Status", "code": 403, "message": "no"}).to_string()));
    let facts = gather(Err("it is gone".into()), Ok(api.client()), &question()).await;
    assert!(facts.management.unwrap_err().starts_with("the management cluster: "));
    assert_eq!(facts.on_bus.unwrap_err(), "it is gone");
}

#[tokio::test]
async fn where_there_is_no_event_some_of_the_objects_that_may_be_one_are_read() {
    let (server, api) = (Server::start(), FakeApi::start(answer));
    let (bus, _tasks) = connect(&server).await;
    let named = |at: &str, name: String| {
        let object = ObjectKey { name: name.as_str().into(), ..service() };
        let subject =
            Subject::Change { shard: Shard::FIRST, cluster: cluster(at), viewer: String::new(), object };
        sluice_protocol::Publish::new(subject, sluice_protocol::Body::Value(b"{}".to_vec().into()), 5)
    };
    let elsewhere = named("c", "web".to_owned());
    write(&bus, std::iter::once(elsewhere).chain((0..8).map(|number| named("a", format!("w{number}")))))
        .await;
    let on_bus = gather(Ok(&bus), Ok(api.client()), &question()).await.on_bus.unwrap();
    let found: Vec<_> = on_bus.objects.iter().map(|(at, key, _)| (at.name.as_str(), &*key.name)).collect();
    assert_eq!(found, [("a", "w0"), ("a", "w1"), ("a", "w2"), ("a", "w3"), ("a", "w4")]);
}

fn of_web(kind: &str) -> Question {
    let target =
        Target { cluster: cluster("a"), kind: kind.into(), namespace: "shop".into(), name: "web".into() };
    Question::Event(target)
}

/// An EventSource that chooses among all, as renderers hand it on.
fn choosing() -> Value {
    let script = "function evaluate() return {resources = resources} end";
    json!({"kind": "EventSource", "metadata": {"name": "s"},
        "spec": {"version": "v1", "kind": "Service", "aggregatedSelection": script}})
}

#[tokio::test]
async fn what_the_bus_knows_of_an_event_is_gathered() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    let interest = Interest::next(None, vec![("s".to_owned(), choosing().into())], Revision::new(7)).unwrap();
    InterestWriter::new(&bus).write(&cluster("a"), &interest).await.unwrap();
    let incarnation = |table: Table| bus.incarnation(&table.stream(Shard::FIRST));
    let complete = |table: Table, origin: Option<Shard>| {
        let subject = Subject::Complete { table, shard: Shard::FIRST, cluster: cluster("a"), origin };
        let meta = Meta::Complete(Complete::of_all(incarnation(table), Revision::new(7)));
        Publish::new(subject, Body::Value(Vec::new().into()), 5).meta(meta)
    };
    let changed = |object: ObjectKey, viewer: &str| {
        let subject =
            Subject::Change { shard: Shard::FIRST, cluster: cluster("a"), viewer: viewer.into(), object };
        Publish::new(subject, Body::Value(b"{}".to_vec().into()), 5)
    };
    let object =
        |kind: &str, name: &str| ObjectKey { gvk: Gvk::new("", "v1", kind), name: name.into(), ..service() };
    let report = |object: ObjectKey| {
        let subject = Subject::Report {
            shard: Shard::FIRST,
            cluster: cluster("a"),
            source: "s".into(),
            origin: Shard::FIRST,
            object,
        };
        let meta = Meta::Report(ReportMeta { selectors: vec![3], ..ReportMeta::default() });
        Publish::new(subject, Body::Value(b"{}".to_vec().into()), 5).meta(meta)
    };
    let written = [
        changed(service(), ""),
        changed(service(), "a-tenant"),
        changed(object("Service", "other"), ""),
        changed(object("Pod", "web"), ""),
        report(service()),
        report(object("Service", "other")),
        complete(Table::Changes, None),
        complete(Table::Reports, Some(Shard::FIRST)),
    ];
    write(&bus, written).await;
    let event = gather(Ok(&bus), Err("it is away".into()), &of_web("svc")).await.on_bus.unwrap().event;
    assert_eq!(event.interest.unwrap().sources[0].name, "s");
    assert_eq!(event.objects, [(service(), Arc::new(json!({})))]);
    let sights = ["", "a-tenant"].map(|viewer| (service(), viewer.to_owned()));
    assert_eq!(event.sights, sights.into());
    assert_eq!(event.others, [object("Service", "other")]);
    assert_eq!(event.reports, [("s".to_owned(), service())].into());
    let set: Vec<_> =
        event.sets["s"].iter().map(|(key, selectors, _)| (&*key.name, &selectors[..])).collect();
    assert_eq!(set, [("web", &[3][..]), ("other", &[3][..])]);
    let told = (
        Complete::of_all(incarnation(Table::Changes), Revision::new(7)),
        Complete::of_all(incarnation(Table::Reports), Revision::new(7)),
    );
    assert_eq!((event.told, event.matched), (vec![told.0], vec![told.1]));
    let event = gather(Ok(&bus), Err("it is away".into()), &of_web("pods")).await.on_bus.unwrap().event;
    assert_eq!((event.objects.len(), event.others.len(), event.reports.len()), (1, 0, 0));
}

#[tokio::test]
async fn event_reports_are_read_where_the_bus_is_away() {
    let api = FakeApi::start(answer);
    let facts = gather(Err("it is away".into()), Ok(api.client()), &of_web("svc")).await;
    assert_eq!(facts.of_kind(&[EVENT_REPORT]).count(), 1);
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    let facts = gather(Ok(&bus), Ok(api.client()), &of_web("svc")).await;
    assert_eq!((facts.of_kind(&[EVENT_REPORT]).count(), facts.of_kind(&["EventSource"]).count()), (0, 1));
}
