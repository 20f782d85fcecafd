//! What the server does not let be changed as wanted.

use super::*;

/// The server lets nobody change `data.a` of an object that is there.
fn immutable(fixture: &mut Fixture) {
    fixture.fail = Box::new(|request| {
        let Request::Apply { object, against: Some(_), .. } = request else { return None };
        (object["data"]["a"] != "1").then(|| Failure::new(Class::Immutable, "data.a: field is immutable"))
    });
}

fn mk_fixture(object: Value) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![object])));
    fixture.take_calls();
    immutable(&mut fixture);
    fixture
}

fn forced(objects: Vec<Value>) -> Desired {
    let mut desired = desired("p", 100, objects);
    desired.policies[0].force = true;
    desired
}

#[test]
fn it_is_deleted_and_made_anew_where_that_is_asked_for() {
    let mut annotated = config_map("a", "2");
    annotated["metadata"]["annotations"] = json!({"projectsveltos.io/forceRecreate": ""});
    for row in [forced(vec![config_map("a", "2")]), desired("p", 100, vec![annotated])] {
        let mut fixture = mk_fixture(config_map("a", "1"));
        fixture.row("p", Some(row));
        assert_eq!(fixture.take_calls(), ["delete a", "apply a"]);
        assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "2");
        assert_eq!(fixture.state("p"), Some(State::Provisioned));
    }
}

#[test]
fn without_that_it_stays_and_the_remedy_is_said() {
    let mut fixture = mk_fixture(config_map("a", "1"));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    assert!(fixture.take_calls().is_empty());
    let errors = &fixture.statuses["p"].as_ref().unwrap().errors;
    assert!(errors[0].contains("field is immutable; only a new object can be so: annotate it with projectsveltos.io/forceRecreate"), "{errors:?}");
}

#[test]
fn what_others_are_in_is_never_deleted_for_that() {
    let kinds = [
        ("v1", "Namespace"),
        ("v1", "PersistentVolume"),
        ("v1", "PersistentVolumeClaim"),
        ("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
    ];
    for (api_version, kind) in kinds {
        let of = |data: &str| json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "a"}, "data": {"a": data}});
        let mut fixture = mk_fixture(of("1"));
        fixture.row("p", Some(forced(vec![of("2")])));
        assert!(fixture.take_calls().is_empty(), "{kind}");
        let errors = &fixture.statuses["p"].as_ref().unwrap().errors;
        assert!(errors[0].contains("never deleted to be made anew"), "{errors:?}");
    }
}

#[test]
fn nothing_is_deleted_for_it_before_every_renderer_has_spoken() {
    let mut fixture = mk_fixture(config_map("a", "1"));
    fixture.replace(1);
    fixture.row("p", Some(forced(vec![config_map("a", "2")])));
    fixture.reach();
    fixture.read_some();
    assert_eq!(fixture.names(), ["a"]);
    assert!(!fixture.take_calls().contains(&"delete a".to_owned()));
    fixture.said(Shard::FIRST, LIFE);
    fixture.pass_former_calls();
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "2");
}

#[test]
fn what_its_finalizers_hold_is_made_anew_when_they_are_done() {
    let mut held = config_map("a", "1");
    held["metadata"]["finalizers"] = json!(["x"]);
    let mut fixture = mk_fixture(held);
    fixture.row("p", Some(forced(vec![config_map("a", "2")])));
    assert_eq!(fixture.take_calls(), ["delete a"]);
    let errors = fixture.statuses["p"].as_ref().unwrap().errors.clone();
    assert!(errors[0].contains("waits for the object of this name to go"), "{errors:?}");
    fixture.objects.clear();
    fixture.wait();
    assert_eq!(fixture.take_calls(), ["apply a"]);
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}

#[test]
fn an_owner_that_ends_in_between_leaves_it_to_the_next_one() {
    let mut fixture = mk_fixture(config_map("a", "1"));
    let mut given_up = false;
    fixture.fail = Box::new(move |request| {
        let Request::Apply { object, against, .. } = request else { return None };
        if against.is_some() && object["data"]["a"] != "1" {
            return Some(Failure::new(Class::Immutable, "data.a: field is immutable"));
        }
        (!std::mem::replace(&mut given_up, true)).then(|| Failure::new(Class::Transient, "gone"))
    });
    fixture.row("p", Some(forced(vec![config_map("a", "2")])));
    assert_eq!(fixture.names(), Vec::<&str>::new(), "it is gone, and its inventory names it");
    assert_eq!(fixture.inventories["p"].inventory.objects.len(), 1);
    fixture.restart();
    fixture.row("p", Some(forced(vec![config_map("a", "2")])));
    fixture.pass_former_calls();
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
}

#[test]
fn it_is_not_tried_twice_in_one_run() {
    let mut fixture = mk_fixture(config_map("a", "1"));
    fixture.fail = Box::new(|request| {
        let Request::Apply { object, .. } = request else { return None };
        (object["data"]["a"] == "2").then(|| Failure::new(Class::Immutable, "data.a: field is immutable"))
    });
    fixture.row("p", Some(forced(vec![config_map("a", "2")])));
    assert_eq!(fixture.take_calls(), ["delete a"]);
    assert_eq!(fixture.state("p"), Some(State::Failed));
}

#[test]
fn what_cannot_be_done_yet_counts_as_failed_while_the_rest_is_applied_once() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut lacking = desired("p", 100, vec![config_map("a", "1")]);
    let feature = sluice_api::model::Feature::Kustomize;
    lacking.lacks = BTreeMap::from([(feature, vec!["spec.kustomizationRefs: not yet".to_owned()])]);
    fixture.row("p", Some(lacking));
    assert_eq!(fixture.take_calls(), ["inventory 1", "apply a"]);
    let status = fixture.statuses["p"].clone().unwrap();
    assert_eq!(
        (status.state, status.errors),
        (State::Failed, vec!["spec.kustomizationRefs: not yet".to_owned()])
    );
    assert!(fixture.problems.iter().all(|problem| problem.fault.is_none()), "whose profile it is says so");
    let summary = fixture.summaries.last().unwrap();
    assert!(summary.errors.is_empty() && summary.failures == 0 && summary.lacks.contains_key(&feature));
    assert!(fixture.deployer.clusters[&cluster()].jobs.values().all(|job| job.retry_at.is_none()));
}

#[test]
fn of_what_a_secret_holds_the_path_is_told_and_no_value() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| {
        let refused = r#"ConfigMap "a" is invalid: data.a: Invalid value: "hunter2": too short"#;
        matches!(request, Request::Apply { .. }).then(|| Failure::new(Class::Refused, refused))
    });
    for (kind, is_told) in [("Secret", false), ("ConfigMap", true)] {
        let mut row = desired(kind, 100, vec![config_map(&kind.to_lowercase(), "1")]);
        row.policies[0].kind = kind.into();
        fixture.row(kind, Some(row));
        let errors = &fixture.statuses[kind].as_ref().unwrap().errors;
        assert!(errors[0].contains("data.a") && errors[0].contains("hunter2") == is_told, "{errors:?}");
    }
}
