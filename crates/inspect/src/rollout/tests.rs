#![allow(clippy::unwrap_used)]

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::model::user_object;
use sluice_api::{Digest, ProfileId, TriggerId};
use sluice_bus::kit::{Server, write};
use sluice_kube::fake_api::FakeApi;
use sluice_protocol::rows::{Cause, Desired, EventCause, Good, Staged, State, Status, spec_digest};
use sluice_protocol::{About, Fault, ProblemRow, Shard};

use super::facts::{At, OnBus, Wanted};
use super::*;
use crate::kit::{answer, cluster, connect, rows, service};

fn profile(name: &str, spec: &Value) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": name}, "spec": spec,
        "status": {"matchingClusters": [{"namespace": "default", "name": "z"}]}})
}

fn registered(name: &str, paused: bool) -> Value {
    json!({"kind": "SveltosCluster", "metadata": {"name": name, "namespace": "default"}, "spec": {"paused": paused}})
}

fn at(cluster_name: &str, profile: &str) -> At {
    (cluster(cluster_name), Shard::FIRST, ProfileId::cluster(profile))
}

fn row(version: u8) -> Digest {
    Digest::of(&[&[version]])
}

fn wanted() -> Wanted {
    Wanted { row: row(1), cause: Cause::Profile(ProfileId::cluster("p")), staged: None }
}

/// The profile `p` on these clusters, of which a deployer says this.
fn mk_facts(spec: &Value, said: Vec<(&str, Option<Status>)>) -> Facts {
    let mut on_bus = OnBus::default();
    for (name, status) in said {
        on_bus.desired.insert(at(name, "p"), wanted());
        status.into_iter().for_each(|status| drop(on_bus.statuses.insert(at(name, "p"), status)));
    }
    let objects = [profile("p", spec), registered("a", false), registered("b", true)];
    Facts {
        key: user_object("ClusterProfile", "", "p"),
        now: 0,
        management: Ok(objects.into_iter().map(Arc::new).collect()),
        on_bus: Ok(on_bus),
    }
}

fn status(state: State, errors: &[&str]) -> Status {
    Status::new(state, errors.iter().map(|&error| error.to_owned()).collect())
}

fn told(about: About, text: &str, waiting: &[&str]) -> ProblemRow {
    let waiting = waiting.iter().map(|name| cluster(name)).collect();
    ProblemRow::new("renderer", "", about, Fault::note(text).waiting(waiting), 1)
}

/// Cluster, state and what is said of it.
fn lines(rollout: Rollout) -> Vec<[String; 3]> {
    rollout.clusters.into_iter().map(|place| [place.cluster, place.state, place.says]).collect()
}

#[test]
fn of_each_cluster_it_is_told_how_it_stands() {
    let spec = json!({"maxUpdate": 1});
    let of = |row: Digest| {
        Some(Status { row: Some(row), spec: spec_digest(&spec), ..status(State::Provisioned, &[]) })
    };
    let said = vec![
        ("a", of(row(1))),
        ("b", None),
        ("c", of(row(0))),
        ("d", Some(status(State::Failed, &["no room"]))),
        ("e", Some(status(State::Provisioning, &["waits for ClusterProfile q"]))),
        ("f", of(row(1))),
    ];
    let mut facts = mk_facts(&spec, said);
    let about = About::Profile(ProfileId::cluster("p"));
    facts.on_bus.as_mut().unwrap().problems =
        vec![told(about, "x; note: rollout: 1 of 6 clusters have it", &["f", "z"])];
    let rollout = picture(&facts).unwrap();
    assert_eq!(rollout.says, "1 of 6 clusters have it");
    assert_eq!(
        lines(rollout),
        [
            ["default/a", "has it", ""],
            ["default/b", "waits", "the cluster is paused"],
            ["default/c", "is being updated", "what is said of it is about its former content"],
            ["default/d", "failed", "no room"],
            ["default/e", "waits", "waits for ClusterProfile q"],
            ["default/f", "waits", "its turn has not come: it keeps what it has"],
            ["default/z", "waits", "its turn has not come"],
        ]
    );
}

#[test]
fn clusters_that_go_back_say_from_what_to_what_and_why() {
    let said = |row: Digest, state| Some(Status { row: Some(row), ..status(state, &["gone"]) });
    let mut facts = mk_facts(
        &json!({"maxUpdate": 1}),
        vec![
            ("c", said(row(1), State::Provisioned)),
            ("d", said(row(0), State::Provisioned)),
            ("e", said(row(1), State::Failed)),
            ("f", None),
        ],
    );
    let on_bus = facts.on_bus.as_mut().unwrap();
    let staged = |called: &str, round, back: Option<&str>| Staged {
        cause: Arc::new(Cause::Profile(ProfileId::cluster("p"))),
        called: called.into(),
        round,
        good: Some(Good { called: "1a".into(), row: row(2) }),
        back: back.map(str::to_owned),
    };
    for (at, wanted) in &mut on_bus.desired {
        let is_old = *at == self::at("f", "p");
        let staged = if is_old { staged("1a", 1, None) } else { staged("2b", 2, Some("it failed")) };
        wanted.staged = Some(Arc::new(staged));
    }
    let rollout = picture(&facts).unwrap();
    assert_eq!(rollout.called, ["2b"]);
    let says = "from 2b to 1a: it failed";
    assert_eq!(
        lines(rollout)[..4],
        [
            ["default/c", "went back", says],
            ["default/d", "goes back", says],
            ["default/e", "failed", "gone"],
            ["default/f", "is being updated", "no deployer has said anything of it"],
        ]
    );
}

#[test]
fn what_is_said_of_one_event_is_not_said_of_others() {
    let event = |source: &str| EventCause {
        trigger: TriggerId::new("EventTrigger", "t"),
        cluster: cluster("a"),
        source: source.into(),
        item: None,
    };
    let mut facts = mk_facts(&json!({}), Vec::new());
    facts.key = user_object("EventTrigger", "", "t");
    let on_bus = facts.on_bus.as_mut().unwrap();
    for name in ["one", "other"] {
        on_bus
            .desired
            .insert(at("a", name), Wanted { row: row(1), cause: Cause::from(event(name)), staged: None });
        on_bus.statuses.insert(at("a", name), status(State::Provisioned, &[]));
    }
    on_bus.problems =
        ["one", "two"].map(|name| told(About::Event(Arc::new(event(name))), "rollout: soon", &["a"])).into();
    let rollout = picture(&facts).unwrap();
    let states = rollout.clusters.iter().map(|place| (&*place.profile, &*place.state));
    assert_eq!(
        states.collect::<Vec<_>>(),
        [("ClusterProfile one", "waits"), ("ClusterProfile other", "has it")]
    );
    assert_eq!(rollout.says, "EventTrigger t, EventSource one: soon; EventTrigger t, EventSource two: soon");
}

#[test]
fn the_order_is_that_of_the_deployer() {
    let spec = json!({"dependsOn": ["base"], "transitionFrom": ["old"],
        "preDeployChecks": [{"name": "window", "featureID": "Resources", "kind": "ConfigMap"}],
        "validateHealths": [{"name": "ready", "featureID": "Helm"}]});
    let mut facts = mk_facts(&spec, vec![("a", None)]);
    let on_bus = facts.on_bus.as_mut().unwrap();
    on_bus.statuses.insert(at("a", "base"), status(State::Provisioned, &[]));
    on_bus.statuses.insert(at("b", "base"), status(State::Failed, &[]));
    let object = |version: &str, kind: &str| json!({"apiVersion": version, "kind": kind});
    let desired = json!({"ownerKind": "ClusterProfile", "ownerName": "p", "tier": 100,
        "cause": Cause::Profile(ProfileId::cluster("p")), "spec": spec, "policies": [
        {"kind": "ConfigMap", "namespace": "n", "name": "web", "tier": 100, "objects": [object("apps/v1", "Deployment"),
            object("v1", "ConfigMap"), object("v1", "Secret"), object("v1", "ConfigMap"), object("v1", "Namespace")]},
        {"kind": "HelmChart", "namespace": "n", "name": "r", "tier": 100, "objects": [],
            "release": {"repository": "x", "version": "1.2.0", "values": ""}}]});
    on_bus.newest = Some((cluster("a"), serde_json::from_value::<Desired>(desired).unwrap()));
    let rollout = picture(&facts).unwrap();
    let parts: Vec<_> =
        rollout.order.iter().map(|part| format!("{}: {}: {}", part.what, part.which, part.says)).collect();
    assert_eq!(
        parts,
        [
            "dependsOn: ClusterProfile base: provisioned on 1 of its 2 clusters, not on default/b",
            "transitionFrom: ClusterProfile old: it is on no cluster any more",
            "preDeployChecks: window: before anything of policyRefs is written; looks at ConfigMap",
            "helmCharts 1: release n/r, version 1.2.0: nothing",
            "policyRefs 1: ConfigMap n/web: Namespace, then 2 ConfigMap, Secret, then Deployment",
            "validateHealths: ready: once all of helmCharts is there, and from then on",
        ]
    );
}

#[test]
fn what_is_not_rendered_is_told_as_it_is_written() {
    let spec = json!({"policyRefs": [{"kind": "Secret", "namespace": "n", "name": "s"}], "dependsOn": ["none"],
        "helmCharts": [{"releaseName": "r", "releaseNamespace": "n", "chartVersion": "1"}]});
    let rollout = picture(&mk_facts(&spec, Vec::new())).unwrap();
    let parts: Vec<_> = rollout.order.iter().map(|part| [&*part.which, &*part.says]).collect();
    let expected = [
        ["ClusterProfile none", "there is none"],
        ["release n/r, version 1", "not rendered"],
        ["Secret n/s", "not rendered"],
    ];
    assert_eq!(parts, expected);
    assert_eq!(rollout.says, "it goes to all clusters at once");
}

#[test]
fn what_is_deleted_is_told_until_it_has_gone() {
    let mut facts = mk_facts(&json!({}), Vec::new());
    facts.management = Ok(Vec::new());
    facts.on_bus.as_mut().unwrap().statuses.insert(at("a", "p"), status(State::Failed, &["not drained"]));
    let rollout = picture(&facts).unwrap();
    assert_eq!(rollout.says, "it is deleted");
    assert_eq!(lines(rollout), [["default/a", "removes it", "not drained"]]);
}

#[test]
fn what_does_not_exist_is_said_with_what_exists() {
    let mut facts = mk_facts(&json!({}), Vec::new());
    facts.key = user_object("ClusterProfile", "", "o");
    assert_eq!(picture(&facts).unwrap_err().to_string(), "there is no ClusterProfile o; there is p");
    facts.management = Err("away".into());
    let half = picture(&facts).unwrap();
    assert_eq!(
        (&*half.says, half.missing),
        ("how far it is cannot be told", vec!["what the management cluster holds: away".to_owned()])
    );
    facts.on_bus = Err("away too".into());
    assert_eq!(picture(&facts).unwrap_err(), InspectError::Away("away too; away".into()));
}

#[tokio::test]
async fn bus_and_management_cluster_are_asked() {
    let server = Server::start();
    let (bus, _tasks) = connect(&server).await;
    write(&bus, rows(Some(service()))).await;
    let api = FakeApi::start(answer);
    let inspector = Inspector::new(Ok(bus), Ok(api.client()));
    let rollout = inspector.rollout(&user_object("EventTrigger", "", "t")).await.unwrap();
    let place = Place {
        cluster: "default/b".into(),
        profile: "ClusterProfile p".into(),
        state: "failed".into(),
        says: "no room".into(),
    };
    assert_eq!(rollout.clusters, std::slice::from_ref(&place));
    let made = inspector.rollout(&user_object("ClusterProfile", "", "p")).await.unwrap();
    let [made] = &made.clusters[..] else { panic!("{made:?}") };
    assert_eq!(
        *made,
        Place { profile: String::new(), ..place },
        "what a trigger has made is asked for by its name"
    );
    let part = Part {
        what: "policyRefs 1".into(),
        which: "ConfigMap default/content".into(),
        says: "ConfigMap".into(),
    };
    assert_eq!((rollout.order, rollout.missing), (vec![part], Vec::new()));
}
