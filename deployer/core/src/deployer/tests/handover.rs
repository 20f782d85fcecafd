//! What goes from one profile to another, and is there all the time.

use super::releases::{conflict, releasing};
use super::*;

/// Profile `p` has a release with the objects `a` and `b`; profile `q` wants it with `a` and `c`, and waits.
fn mk_waiting() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(of_p()));
    fixture.row("q", Some(of_q(100)));
    assert_eq!((fixture.state("q"), fixture.names()), (Some(State::Failed), vec!["a", "b"]));
    fixture.take_calls();
    fixture
}

fn of_p() -> Desired {
    releasing("p", 100, vec![config_map("a", "p"), config_map("b", "p")])
}

fn of_q(tier: i32) -> Desired {
    releasing("q", tier, vec![config_map("a", "q"), config_map("c", "q")])
}

fn uid(fixture: &Fixture, name: &str) -> String {
    let object = fixture.objects.values().find(|object| object::name(object) == name).unwrap();
    object::text(object, &["metadata", "uid"]).to_owned()
}

fn data(fixture: &Fixture) -> Vec<String> {
    let text = |object: &Value| format!("{} {}", object::name(object), object::text(object, &["data", "a"]));
    fixture.objects.values().map(text).collect()
}

/// Runs until nothing is tried again.
fn settle(fixture: &mut Fixture) {
    for _ in 0..4 {
        fixture.wait();
    }
}

#[test]
fn a_release_whose_profile_goes_is_taken_over_in_place_and_then_what_is_left_of_it_goes() {
    let mut fixture = mk_waiting();
    let before = uid(&fixture, "a");
    fixture.row("p", None);
    settle(&mut fixture);
    assert_eq!(data(&fixture), ["a q", "c q"]);
    assert_eq!(uid(&fixture, "a"), before, "it was there all the time");
    let calls = fixture.take_calls();
    let place = |call: &str| calls.iter().position(|made| made == call);
    assert!(place("delete b") > place("apply a") && place("delete b") > place("apply c"), "{calls:?}");
    assert_eq!((fixture.state("q"), conflict(&fixture, "q")), (Some(State::Provisioned), None));
    assert!(fixture.statuses["p"].is_none() && !fixture.inventories.contains_key("p"));
}

#[test]
fn a_release_that_a_profile_no_longer_has_is_taken_over_in_place() {
    let mut fixture = mk_waiting();
    let before = uid(&fixture, "a");
    fixture.row("p", Some(desired("p", 100, vec![config_map("d", "p")])));
    settle(&mut fixture);
    assert_eq!(data(&fixture), ["a q", "c q", "d p"]);
    assert_eq!(uid(&fixture, "a"), before);
    assert_eq!(
        (fixture.state("p"), fixture.state("q")),
        (Some(State::Provisioned), Some(State::Provisioned))
    );
    assert!(fixture.inventories["p"].inventory.releases.is_empty());
}

#[test]
fn a_release_goes_on_whichever_row_comes_first() {
    for q_first in [true, false] {
        let mut fixture = Fixture::new();
        fixture.reach();
        fixture.row("p", Some(of_p()));
        let before = uid(&fixture, "a");
        if q_first {
            fixture.row("q", Some(of_q(100)));
        }
        fixture.row("p", None);
        fixture.now += 1_000_000;
        assert_eq!(data(&fixture).len(), 2, "nothing goes before the other row can have come");
        if !q_first {
            fixture.row("q", Some(of_q(100)));
        }
        settle(&mut fixture);
        assert_eq!((data(&fixture), uid(&fixture, "a")), (vec!["a q".to_owned(), "c q".to_owned()], before));
        assert!(!fixture.inventories.contains_key("p"));
    }
}

#[test]
fn a_release_that_nobody_wants_goes_after_a_while() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(of_p()));
    fixture.row("p", None);
    assert_eq!(data(&fixture).len(), 2);
    fixture.wait();
    assert!(fixture.objects.is_empty() && fixture.inventories.is_empty(), "{:?}", data(&fixture));
    assert_eq!(fixture.statuses["p"], None);
}

/// The server refuses what `q` makes of this object.
fn refuse(fixture: &mut Fixture, name: &'static str) {
    fixture.fail = Box::new(move |request| {
        let Request::Apply { object, .. } = request else { return None };
        let refused = object::name(object) == name && object["data"]["a"] == "q";
        refused.then(|| Failure::new(Class::Refused, "not allowed"))
    });
}

#[test]
fn nothing_of_a_release_is_deleted_while_its_heir_cannot_settle() {
    let mut fixture = mk_waiting();
    refuse(&mut fixture, "c");
    fixture.row("p", None);
    (0..20).for_each(|_| fixture.wait());
    assert_eq!(data(&fixture), ["a q", "b p"], "who had it is gone, nobody could get it back");
    let errors = &fixture.statuses["p"].as_ref().unwrap().errors;
    assert_eq!(
        errors,
        &["release web/site waits until ClusterProfile q has taken it over: nothing of it is deleted before"]
    );
    fixture.fail = Box::new(|_| None);
    (0..20).for_each(|_| fixture.wait());
    assert_eq!(data(&fixture), ["a q", "c q"]);
    assert!(!fixture.inventories.contains_key("p"));
}

#[test]
fn who_takes_a_release_and_cannot_settle_gives_it_back() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(of_p()));
    let before = uid(&fixture, "a");
    refuse(&mut fixture, "c");
    fixture.row("q", Some(of_q(50)));
    assert_eq!(data(&fixture), ["a q", "b p"], "the lower tier takes it over");
    (0..20).for_each(|_| fixture.wait());
    assert_eq!(data(&fixture), ["a p", "b p"]);
    assert_eq!(uid(&fixture, "a"), before);
    assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Provisioned), Some(State::Failed)));
    let text = conflict(&fixture, "q").unwrap();
    assert!(text.contains("was given back to ClusterProfile p") && text.contains("not allowed"), "{text}");
    assert!(!fixture.calls.iter().any(|call| call.starts_with("delete")), "{:?}", fixture.calls);
    fixture.fail = Box::new(|_| None);
    let mut mended = of_q(50);
    mended.policies[0].objects.pop();
    fixture.row("q", Some(mended));
    (0..20).for_each(|_| fixture.wait());
    assert_eq!(data(&fixture), ["a q"], "it is tried again when its row changes");
    assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Failed), Some(State::Provisioned)));
}

#[test]
fn what_takes_over_is_safe_wherever_an_owner_ends() {
    for last in 0..24 {
        let mut fixture = mk_waiting();
        let before = uid(&fixture, "a");
        let mut calls = 0;
        fixture.fail = Box::new(move |_| {
            calls += 1;
            (calls > last).then(|| Failure::new(Class::Unanswered, "gone"))
        });
        fixture.row("p", None);
        fixture.fail = Box::new(|_| None);
        fixture.replace(1);
        fixture.row("q", Some(of_q(100)));
        fixture.row("p", None);
        fixture.reach();
        fixture.read_all();
        fixture.row("p", None);
        fixture.pass_former_calls();
        (0..20).for_each(|_| fixture.wait());
        assert_eq!(data(&fixture), ["a q", "c q"], "after {last} calls");
        assert_eq!(uid(&fixture, "a"), before, "after {last} calls");
        assert!(!fixture.inventories.contains_key("p"), "after {last} calls");
    }
}

#[test]
fn an_object_of_other_content_is_taken_over_in_place() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p")])));
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "q")])));
    let before = uid(&fixture, "a");
    fixture.row("p", None);
    settle(&mut fixture);
    assert_eq!((data(&fixture), uid(&fixture, "a")), (vec!["a q".to_owned()], before));
    assert!(!fixture.inventories.contains_key("p"));
}
