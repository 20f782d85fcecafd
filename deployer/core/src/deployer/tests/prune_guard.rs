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
