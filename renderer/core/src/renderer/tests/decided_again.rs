//! Rows of a former owner that knew more, once as much is known here: see [`Core::reconsider`].

use sluice_protocol::rows::{State, Status};

use super::*;

/// A former owner's row on cluster `a`.
fn there(renderer: &Renderer, profile: &str, maker: &Cause) -> (Subject, Head) {
    let head = Head { meta: Meta::of_cause(maker), ..Head::default() };
    (renderer.desired(&cluster("a"), &ProfileId::cluster(profile)), head)
}

fn reconsider(fixture: &mut Fixture, rows: &[(Subject, Head)]) {
    fixture.run(|renderer, step| assert!(renderer.reconsider(rows, step)));
}

/// A trigger whose profiles are all called `p`.
fn named() -> Value {
    trigger(true, json!({"profileNameFormat": "p"}))
}

#[test]
fn what_it_wants_is_said_again_although_nothing_has_changed_here() {
    let mut fixture = Fixture::new(vec![named(), content(true, "1")]);
    fixture.ready(&["x"]);
    assert_eq!(fixture.take_log(), ["+a"]);
    let rows = [there(&fixture.renderer, "p", &cause(Some("x")))];
    reconsider(&mut fixture, &rows);
    assert_eq!(fixture.take_log(), ["+a"]);
}

#[test]
fn of_what_it_cannot_tell_nothing_is_said_and_the_row_stays() {
    let mut fixture = Fixture::new(vec![named(), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.row(Row { body: b"{".as_slice().into(), ..report("x", false) });
    fixture.take_log();
    let rows = [there(&fixture.renderer, "p", &cause(Some("x")))];
    reconsider(&mut fixture, &rows);
    assert!(fixture.take_log().is_empty());
    fixture.row(report("x", false));
    assert_eq!(fixture.take_log(), ["+a"], "now it can tell");
}

/// What it had withdrawn from older knowledge is there again, whoever made it.
#[test]
fn a_row_without_a_cause_is_withdrawn_once_more() {
    let mut fixture = Fixture::new(vec![named(), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.row(report("x", true));
    assert_eq!(fixture.take_log(), ["+a", "-a"]);
    let rows = [there(&fixture.renderer, "p", &cause(Some("x")))];
    reconsider(&mut fixture, &rows);
    assert_eq!(fixture.take_log(), ["-a"]);
}

/// `y` has the name by older knowledge, and the row is of `x`.
#[test]
fn the_name_is_of_the_cause_of_the_row() {
    let mut fixture = Fixture::new(vec![named(), content(true, "1")]);
    fixture.ready(&["y"]);
    assert_eq!(fixture.wanted(), ["a y 1"]);
    fixture.row(report("x", false));
    fixture.take_log();
    let rows = [there(&fixture.renderer, "p", &cause(Some("x")))];
    reconsider(&mut fixture, &rows);
    assert_eq!(fixture.take_log(), ["+a"], "nothing goes in between");
    assert_eq!(fixture.wanted(), ["a x 1"]);
    fixture.row(report("x", true));
    assert_eq!(fixture.wanted(), ["a y 1"], "who waits gets it");
}

/// The same, and there is no cause for the row any more.
#[test]
fn a_name_whose_row_has_no_cause_goes_to_who_waits_for_it() {
    let mut fixture = Fixture::new(vec![named(), content(true, "1")]);
    fixture.ready(&["y"]);
    fixture.take_log();
    let rows = [there(&fixture.renderer, "p", &cause(Some("gone")))];
    reconsider(&mut fixture, &rows);
    assert_eq!(fixture.take_log(), ["+a"], "it does not go in between");
    assert_eq!(fixture.wanted(), ["a y 1"]);
}

/// A deployer asked for the tombstone of a former owner; the answer was made from older knowledge, and does not count.
#[test]
fn a_tombstone_that_was_asked_for_is_said_once_more() {
    let mut fixture = Fixture::new(vec![]);
    fixture.caught_up();
    let gone = Cause::Profile(ProfileId::cluster("p"));
    let body = serde_json::to_vec(&Status::new(State::Held, Vec::new())).unwrap();
    let asks = Row { body: body.into(), ..held_by("a", "p", &gone) };
    fixture.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(asks)), step));
    assert_eq!(fixture.take_log(), ["-a"]);
    let (subject, _) = there(&fixture.renderer, "p", &gone);
    let tombstone = Head { tombstone: true, ..Head::default() };
    reconsider(&mut fixture, &[(subject.clone(), tombstone.clone())]);
    assert_eq!(fixture.take_log(), ["-a"]);
    let released = Row { head: tombstone.clone(), ..held_by("a", "p", &gone) };
    fixture.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(released)), step));
    reconsider(&mut fixture, &[(subject, tombstone)]);
    assert!(fixture.take_log().is_empty(), "nothing is there any more");
}
