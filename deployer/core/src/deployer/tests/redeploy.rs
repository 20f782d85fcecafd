//! What is applied once more because somebody asked for it.

use super::*;

fn asked(tokens: &[&str], data: &str) -> Desired {
    let redeploy = tokens.iter().map(|token| (*token).to_owned()).collect();
    Desired { redeploy, ..desired("p", 100, vec![config_map("a", data), config_map("b", "1")]) }
}

/// A cluster with the profile on it, which was never asked to be applied anew.
fn deployed() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(asked(&[], "1")));
    assert_eq!(fixture.take_calls(), ["inventory 2", "apply a", "apply b"]);
    fixture
}

/// A new owner reads the row that is there.
fn restarted(fixture: &mut Fixture, row: Desired) -> Vec<String> {
    fixture.replace(1);
    fixture.row("p", Some(row));
    fixture.reach();
    fixture.read_all();
    fixture.pass_former_calls();
    fixture.take_calls()
}

#[test]
fn all_objects_are_applied_anew_once_and_not_again_after_a_restart() {
    let mut fixture = deployed();
    fixture.row("p", Some(asked(&["x"], "1")));
    assert_eq!(fixture.take_calls(), ["apply a", "apply b", "inventory 2"]);
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    fixture.row("p", Some(asked(&["x"], "1")));
    assert_eq!(fixture.take_calls(), Vec::<String>::new());
    assert_eq!(restarted(&mut fixture, asked(&["x"], "1")), Vec::<String>::new());
}

#[test]
fn only_what_is_new_among_what_was_asked_counts() {
    let mut fixture = deployed();
    fixture.row("p", Some(asked(&["x"], "1")));
    fixture.take_calls();
    fixture.row("p", Some(asked(&["x", "y"], "1")));
    assert_eq!(fixture.take_calls(), ["apply a", "apply b", "inventory 2"]);
    for tokens in [&["y"][..], &[], &["x"]] {
        fixture.row("p", Some(asked(tokens, "1")));
        assert_eq!(fixture.take_calls(), Vec::<String>::new(), "{tokens:?}");
    }
    fixture.row("p", Some(asked(&["y"], "2")));
    assert_eq!(fixture.take_calls(), ["apply a"], "what changes afterwards is applied alone");
}

#[test]
fn what_a_crash_left_undone_is_done_by_the_next_owner() {
    let mut fixture = deployed();
    fixture.fail = Box::new(|request| {
        matches!(request, Request::WriteInventory { .. })
            .then(|| Failure::new(Class::Transient, "it does not answer"))
    });
    fixture.row("p", Some(asked(&["x"], "1")));
    assert_eq!(fixture.take_calls(), ["apply a", "apply b"]);
    fixture.fail = Box::new(|_| None);
    let calls = restarted(&mut fixture, asked(&["x"], "1"));
    assert_eq!(calls, ["apply a", "apply b", "inventory 2"]);
}

#[test]
fn an_object_that_fails_is_tried_again_alone_and_then_it_is_noted() {
    let mut fixture = deployed();
    fixture.fail = Box::new(|request| match request {
        Request::Apply { object, .. } if object::name(object) == "b" => {
            Some(Failure::new(Class::Refused, "no"))
        }
        _ => None,
    });
    fixture.row("p", Some(asked(&["x"], "1")));
    assert_eq!((fixture.take_calls(), fixture.state("p")), (vec!["apply a".to_owned()], Some(State::Failed)));
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!(fixture.take_calls(), ["apply b", "inventory 2"]);
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}

#[test]
fn what_is_deployed_once_is_deployed_once_more() {
    let once = |tokens: &[&str], data: &str| Desired { one_time: true, ..asked(tokens, data) };
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(once(&[], "1")));
    fixture.row("p", Some(once(&[], "2")));
    fixture.take_calls();
    fixture.row("p", Some(once(&["x"], "2")));
    assert_eq!(fixture.take_calls(), ["inventory 2", "apply a", "apply b", "inventory 2"]);
    fixture.row("p", Some(once(&["x"], "3")));
    assert_eq!(fixture.take_calls(), Vec::<String>::new());
}

#[test]
fn what_another_profile_has_is_left_to_it() {
    let mut fixture = deployed();
    let other = |tokens: &[&str]| {
        let redeploy = tokens.iter().map(|token| (*token).to_owned()).collect();
        Desired { redeploy, ..desired("q", 100, vec![config_map("a", "1"), config_map("c", "1")]) }
    };
    fixture.row("q", Some(other(&[])));
    fixture.take_calls();
    fixture.row("q", Some(other(&["x"])));
    assert_eq!(fixture.take_calls(), ["apply c", "inventory 2"]);
}

#[test]
fn a_dry_run_applies_nothing_whatever_it_is_asked() {
    let mut fixture = deployed();
    fixture.row("p", Some(Desired { dry_run: true, ..asked(&["x"], "1") }));
    assert_eq!(fixture.take_calls(), Vec::<String>::new());
}
