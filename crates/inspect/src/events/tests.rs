#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_bus::InterestWriter;
use sluice_bus::kit::{Server, write};
use sluice_kube::fake_api::FakeApi;
use sluice_protocol::interest::Lacking;
use sluice_protocol::{Body, Meta, Publish, Revision, Shard};

use super::*;
use crate::kit::{answer, cluster, connect, rows, service};

fn row(sources: &[&str]) -> Interest {
    let wanted = sources.iter().map(|name| ((*name).to_owned(), json!({"kind": "EventSource"}).into()));
    Interest::next(None, wanted.collect(), Revision::new(7)).unwrap()
}

fn said(cluster: ClusterRef, complete: Complete) -> Publish {
    let subject =
        Subject::Complete { table: Table::Reports, shard: Shard::FIRST, cluster, origin: Some(Shard::FIRST) };
    Publish::new(subject, Body::Value(Vec::new().into()), 5).meta(Meta::Complete(complete))
}

/// Cluster and EventSource, how many objects, and whether these are all.
fn short(found: &[Events]) -> Vec<(&str, &str, u64, &str)> {
    found
        .iter()
        .map(|events| (&*events.cluster, &*events.event_source, events.objects, &*events.complete))
        .collect()
}

#[tokio::test]
async fn events_are_counted_and_it_is_said_whether_these_are_all() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    let writer = InterestWriter::new(&bus);
    writer.write(&cluster("a"), &row(&["s", "t"])).await.unwrap();
    writer.write(&cluster("b"), &row(&["s"])).await.unwrap();
    let complete = Complete::of_all(bus.incarnation(&Table::Reports.stream(Shard::FIRST)), Revision::new(7));
    let rows = rows(Some(service())).into_iter().take(2);
    write(
        &bus,
        rows.chain([said(
            cluster("a"),
            Complete { lacking: vec![Lacking::Objects("t".into())], ..complete },
        )]),
    )
    .await;
    let inspector = Inspector::new(Ok(bus), Err("of a test".to_owned()));
    let all = inspector.events(&EventsFilter::default()).await.unwrap().found;
    let expected = [("default/a", "s", 1, "yes"), ("default/a", "t", 0, "no"), ("default/b", "s", 0, "no")];
    assert_eq!(short(&all), expected);
    assert!(all[2].message.starts_with("1 of 1 shards of matchers"), "{}", all[2].message);
    for (on, of, expected) in [
        (Some("a"), None, &expected[..2]),
        (Some("b"), Some("s"), &expected[2..]),
        (None, Some("t"), &expected[1..2]),
        (Some("a"), Some("s"), &expected[..1]),
    ] {
        let filter = EventsFilter { cluster: on.map(cluster), event_source: of.map(str::to_owned) };
        assert_eq!(short(&inspector.events(&filter).await.unwrap().found), expected, "{on:?} {of:?}");
    }
}

#[tokio::test]
async fn of_an_event_source_that_nobody_uses_it_is_said_what_is_used() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    InterestWriter::new(&bus).write(&cluster("a"), &row(&["services", "x"])).await.unwrap();
    let inspector = Inspector::new(Ok(bus), Err("of a test".to_owned()));
    let filter = EventsFilter { cluster: None, event_source: Some("service".into()) };
    let says = "no trigger uses an EventSource service; there is services, x".to_owned();
    assert_eq!(inspector.events(&filter).await.unwrap_err(), InspectError::NotFound(says));
}

#[test]
fn a_set_is_complete_when_every_matcher_says_so_of_the_source_as_it_is_now() {
    let at = cluster("a");
    let interest = row(&["s"]);
    let lacks = |said: &[(Shard, Complete)]| {
        let complete = [(at.clone(), said.iter().cloned().collect())].into();
        Rows { complete, shards: 2, ..Rows::default() }.of_source(&at, &interest.sources[0]).message
    };
    let complete = |revision| Complete::of_all(Incarnation::new(1), revision);
    let lacking = |what: Lacking| Complete { lacking: vec![what], ..complete(Revision::new(7)) };
    assert_eq!(
        lacks(&[(Shard::FIRST, complete(Revision::new(7))), (Shard::new(1), complete(Revision::new(8)))]),
        ""
    );
    assert!(lacks(&[(Shard::FIRST, complete(Revision::new(7)))]).starts_with("1 of 2 shards"));
    assert!(
        lacks(&[(Shard::FIRST, complete(Revision::new(7))), (Shard::new(1), complete(Revision::new(6)))])
            .starts_with("1 of 2 shards")
    );
    assert!(
        lacks(&[
            (Shard::FIRST, complete(Revision::new(7))),
            (Shard::new(1), lacking(Lacking::Objects("s".into())))
        ])
        .starts_with("a kind that it selects")
    );
    assert!(
        lacks(&[
            (Shard::FIRST, complete(Revision::new(7))),
            (Shard::new(1), lacking(Lacking::Events("s".into())))
        ])
        .starts_with("CloudEvents")
    );
}

#[tokio::test]
async fn while_the_bus_is_away_events_are_what_reports_in_the_management_cluster_say() {
    let api = FakeApi::start(answer);
    let inspector = Inspector::new(Err("of a test".to_owned()), Ok(api.client()));
    let listed = inspector.events(&EventsFilter::default()).await.unwrap();
    assert_eq!(short(&listed.found), [("default/a", "s", 1, "")]);
    assert!(listed.missing[0].contains("of a test"), "{:?}", listed.missing);
}
