//! A change of a profile that deletes much of what it has waits until somebody says so.

use super::*;

fn with(names: &[&str]) -> Desired {
    desired("p", 100, names.iter().map(|name| config_map(name, "1")).collect())
}

fn deployed() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(with(&["a", "b", "c", "d", "e", "f"])));
    fixture.take_calls();
    fixture
}

fn asked(fixture: &Fixture) -> String {
    fixture.statuses["p"].as_ref().unwrap().errors.join("; ")
}

#[test]
fn nothing_goes_until_what_goes_is_named() {
    let mut fixture = deployed();
    fixture.row("p", Some(with(&["a", "b"])));
    assert_eq!((fixture.names().len(), fixture.state("p")), (6, Some(State::Failed)));
    let text = asked(&fixture);
    assert!(text.starts_with("it would delete 4 of 6 objects (ConfigMap default/c, "), "{text}");
    let called = text.split('"').nth(1).unwrap().to_owned();
    let allowed = |called: &str, names: &[&str]| Some(Desired { allow_prune: called.into(), ..with(names) });
    fixture.row("p", allowed(&called, &["a"]));
    assert_eq!(fixture.names().len(), 6, "that is another plan");
    fixture.row("p", allowed(&format!("of-another-cluster, {called}"), &["a", "b"]));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a", "b"], Some(State::Provisioned)));
}

#[test]
fn what_is_new_is_applied_all_the_same_and_a_correction_ends_it() {
    let mut fixture = deployed();
    fixture.row("p", Some(with(&["g"])));
    assert_eq!(fixture.names().len(), 7);
    fixture.row("p", Some(with(&["a", "b", "c", "d", "e", "f", "g"])));
    assert_eq!((fixture.names().len(), fixture.state("p")), (7, Some(State::Provisioned)));
}

#[test]
fn few_objects_and_small_parts_go_at_once() {
    let mut fixture = deployed();
    fixture.row("p", Some(with(&["a", "b", "c"])));
    assert_eq!(fixture.names(), ["a", "b", "c"], "three are few");
}

#[test]
fn a_profile_that_is_deleted_takes_everything_along() {
    let mut fixture = deployed();
    fixture.row("p", None);
    assert!(fixture.names().is_empty());
}

#[test]
fn what_another_profile_takes_over_is_not_deleted() {
    let mut fixture = deployed();
    let same = |names: &[&str]| Desired {
        policies: desired("q", 200, names.iter().map(|name| config_map(name, "1")).collect()).policies,
        ..desired("q", 200, Vec::new())
    };
    fixture.row("q", Some(same(&["c", "d", "e", "f"])));
    fixture.row("p", Some(with(&["a", "b"])));
    assert!(!asked(&fixture).contains("it would delete"), "{}", asked(&fixture));
    (0..3).for_each(|_| fixture.wait());
    assert_eq!((fixture.names().len(), fixture.state("p")), (6, Some(State::Provisioned)));
}

#[test]
fn a_successor_asks_for_the_same() {
    let mut fixture = deployed();
    fixture.row("p", Some(with(&["a", "b"])));
    let text = asked(&fixture);
    fixture.replace(1);
    fixture.row("p", Some(with(&["a", "b"])));
    fixture.reach();
    fixture.read_all();
    fixture.pass_former_calls();
    assert_eq!((fixture.names().len(), asked(&fixture)), (6, text));
}

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}})
}

/// A profile that has a namespace, which it does not want any more, and one thing in it of somebody else.
fn with_a_stranger() -> (Fixture, ObjectKey) {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    fixture.row("p", Some(desired("p", 100, vec![namespace("default"), config_map("a", "1")])));
    let stranger = ObjectKey {
        gvk: Gvk::new("", "v1", "Secret"),
        namespace: "default".into(),
        name: "of-somebody-else".into(),
    };
    fixture.objects.insert(stranger.clone(), json!({"metadata": {"name": "of-somebody-else"}}));
    fixture.take_calls();
    (fixture, stranger)
}

fn without_namespace(allowed: &str) -> Desired {
    Desired { allow_prune: allowed.into(), ..with(&["a"]) }
}

#[test]
fn a_namespace_does_not_go_while_something_of_others_is_in_it() {
    let (mut fixture, stranger) = with_a_stranger();
    fixture.row("p", Some(without_namespace("")));
    let text = asked(&fixture);
    let expected = "it would delete Namespace default, and Secret default/of-somebody-else with it, which is not of this profile; \
                    it deletes nothing until somebody says so: set the annotation sluice.dev/allow-prune: \"";
    assert!(text.starts_with(expected), "{text}");
    assert_eq!((fixture.names().len(), fixture.state("p")), (3, Some(State::Failed)));
    fixture.objects.remove(&stranger);
    fixture.wait();
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
}

#[test]
fn it_goes_with_what_is_in_it_once_that_is_named() {
    let (mut fixture, _) = with_a_stranger();
    fixture.row("p", Some(without_namespace("")));
    let called = asked(&fixture).split('"').nth(1).unwrap().to_owned();
    fixture.take_calls();
    fixture.row("p", Some(without_namespace(&called)));
    assert_eq!(fixture.take_calls()[0], "delete default", "nothing is asked");
}

#[test]
fn a_profile_that_is_deleted_asks_nobody_what_goes_along() {
    let (mut fixture, _) = with_a_stranger();
    fixture.row("p", None);
    assert!(!fixture.take_calls().iter().any(|call| call.starts_with("along")));
    assert_eq!(fixture.names(), ["of-somebody-else"]);
}

#[test]
fn what_cannot_be_seen_does_not_go() {
    let (mut fixture, stranger) = with_a_stranger();
    fixture.objects.remove(&stranger);
    let forbidden = "secrets is forbidden; allow `list`";
    fixture.fail = Box::new(move |request| match request {
        Request::Along { .. } => Some(Failure::new(Class::Refused, forbidden)),
        _ => None,
    });
    fixture.row("p", Some(without_namespace("")));
    let text = asked(&fixture);
    assert!(
        text.contains(&format!("what would go with it cannot be seen: {forbidden}; it deletes")),
        "{text}"
    );
    assert_eq!(fixture.names().len(), 2);
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
}

#[test]
fn claims_and_definitions_are_asked_of_and_nothing_else_is() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let claim = json!({"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data", "namespace": "default"}});
    fixture.row("p", Some(desired("p", 100, vec![claim, config_map("a", "1"), config_map("b", "1")])));
    fixture.take_calls();
    fixture.row("p", Some(with(&["a"])));
    let asked = fixture.take_calls().into_iter().filter(|call| call.starts_with("along"));
    assert_eq!(asked.collect::<Vec<_>>(), ["along data"]);
    assert_eq!(fixture.names(), ["a"], "nothing is in it");
}
