//! A maker that gives a row to few clusters at a time waits for what becomes of that very row.

use super::*;

fn staged(data: &str) -> Desired {
    Desired { staged: true, ..desired("p", 100, vec![config_map("x", data)]) }
}

fn digest(desired: &Desired) -> Option<Digest> {
    Some(row_of("p", Some(desired.clone())).head.digest)
}

fn said(fixture: &Fixture) -> (State, Option<Digest>) {
    let status = fixture.statuses["p"].as_ref().unwrap();
    (status.state, status.row)
}

#[test]
fn its_status_names_the_row_and_that_of_others_none() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(staged("1")));
    assert_eq!(said(&fixture), (State::Provisioned, digest(&staged("1"))));
    fixture.row("p", Some(staged("2")));
    assert_eq!(said(&fixture), (State::Provisioned, digest(&staged("2"))));
    fixture.row("p", Some(Desired { staged: false, ..staged("3") }));
    assert_eq!(said(&fixture), (State::Provisioned, None));
}

#[test]
fn so_does_the_status_of_one_that_fails() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = refusing("x");
    fixture.row("p", Some(staged("1")));
    assert_eq!(said(&fixture), (State::Failed, digest(&staged("1"))));
}
