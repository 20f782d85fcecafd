#![allow(clippy::unwrap_used)]

use sluice_bus::kit::Server;
use sluice_kube::fake_api::FakeApi;

use super::*;
use crate::addons::AddonFilter;
use crate::kit::{answer, cluster, connect, tell_of_a};

fn away() -> Result<Client, String> {
    Err("of a test".to_owned())
}

#[tokio::test]
async fn while_the_management_cluster_is_away_clusters_are_those_that_agents_tell_of() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    tell_of_a(&bus).await;
    let listed = Inspector::new(Ok(bus), away()).clusters(None).await.unwrap();
    let names: Vec<_> = listed.found.iter().map(|line| (line.kind.as_str(), line.name.as_str())).collect();
    assert_eq!(names, [("SveltosCluster", "a")]);
    assert!(listed.missing[0].starts_with("version, labels and readiness"), "{:?}", listed.missing);
}

#[tokio::test]
async fn while_the_management_cluster_is_away_add_ons_are_what_the_bus_tells_of_them() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    let listed = Inspector::new(Ok(bus), away()).addons(&AddonFilter::default()).await.unwrap();
    assert_eq!(listed.found.len(), 0);
    assert!(listed.missing[0].starts_with("when it was applied"), "{:?}", listed.missing);
}

#[tokio::test]
async fn while_the_bus_is_away_problems_are_what_triggers_say_of_themselves() {
    let api = FakeApi::start(answer);
    let inspector = Inspector::new(Err("of a test".to_owned()), Ok(api.client()));
    assert_eq!(said_by_objects(&api.client()).await.map(|said| said.len()), Ok(1));
    let listed = inspector.problems(&ProblemFilter::default()).await.unwrap();
    let said: Vec<_> =
        listed.found.iter().map(|problem| (problem.object.as_str(), problem.error.as_str())).collect();
    assert_eq!(said, [("EventTrigger t", "no room")]);
    assert!(listed.missing[0].contains("of a test"), "{:?}", listed.missing);
    let clusters = inspector.clusters(None).await.unwrap();
    assert_eq!((clusters.found[0].of.as_str(), clusters.missing.len()), ("v1.33.0", 0));
}

#[tokio::test]
async fn without_either_nothing_can_be_said() {
    let inspector = Inspector::new(Err("the bus is away".to_owned()), away());
    let is_away = |error: InspectError| matches!(error, InspectError::Away(_));
    let target =
        Target { cluster: cluster("a"), kind: "Service".into(), namespace: String::new(), name: "x".into() };
    assert!(is_away(inspector.trace(&target).await.unwrap_err()));
    assert!(is_away(inspector.explain(&Question::Object(target)).await.unwrap_err()));
    assert!(is_away(inspector.problems(&ProblemFilter::default()).await.unwrap_err()));
    assert!(is_away(inspector.clusters(None).await.unwrap_err()));
    assert!(is_away(inspector.addons(&AddonFilter::default()).await.unwrap_err()));
    assert!(is_away(inspector.shards(None).await.unwrap_err()));
    assert!(is_away(inspector.journal(JournalFilter::default()).await.unwrap_err()));
}

#[tokio::test]
async fn nobody_waits_for_what_happens_on_a_cluster_that_does_not_exist() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    tell_of_a(&bus).await;
    let inspector = Inspector::new(Ok(bus), away());
    let filter = |name: &str| JournalFilter { cluster: Some(cluster(name)), ..JournalFilter::default() };
    assert!(inspector.journal(filter("a")).await.is_ok());
    let error = inspector.journal(filter("aa")).await.unwrap_err();
    assert_eq!(
        error,
        InspectError::NotFound("no agent tells of a cluster default/aa; there is default/a".into())
    );
}
