//! Clusters whose registrations wait until nothing is left there.

use super::*;

impl Fixture {
    fn leave(&mut self) {
        self.run(|deployer, step| deployer.external(ExternalInput::Leaving(cluster()), step));
    }
}

fn left(names: &[&str]) -> Left {
    names.iter().map(|name| ProfileId::cluster(*name)).collect()
}

/// A cluster with profiles `p` and `q`.
fn mk_fixture() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.row("q", Some(desired("q", 100, vec![config_map("b", "1")])));
    fixture
}

#[test]
fn what_is_left_of_a_cluster_that_leaves_is_told_until_it_is_nothing() {
    let mut fixture = mk_fixture();
    assert!(fixture.left.is_empty(), "nobody asks");
    fixture.leave();
    fixture.row("p", None);
    fixture.row("q", None);
    assert_eq!(fixture.left, [left(&["p", "q"]), left(&["q"]), left(&[])]);
    assert!(fixture.names().is_empty());
    fixture.leave();
    assert_eq!(fixture.left.len(), 3, "it is said once");
}

#[test]
fn a_cluster_without_add_ons_has_nothing_left() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.leave();
    assert_eq!(fixture.left, [left(&[])]);
}

#[test]
fn what_cannot_be_removed_is_left() {
    let mut fixture = mk_fixture();
    fixture.leave();
    fixture.fail = Box::new(|request| {
        matches!(request, Request::Delete { .. }).then(|| Failure::new(Class::Refused, "no"))
    });
    fixture.row("p", None);
    fixture.row("q", None);
    assert_eq!(fixture.left, [left(&["p", "q"])]);
}

#[test]
fn the_next_owner_says_it_once_it_knows_the_cluster() {
    let mut fixture = mk_fixture();
    fixture.row("p", None);
    fixture.replace(1);
    fixture.leave();
    fixture.reach();
    assert!(fixture.left.is_empty(), "not all rows have come");
    fixture.read_all();
    assert_eq!(fixture.left, [left(&["q"])]);
}

#[test]
fn of_a_cluster_that_cannot_be_reached_nothing_is_said() {
    let mut fixture = mk_fixture();
    fixture.run(|deployer, step| deployer.external(ExternalInput::Unreachable(cluster()), step));
    fixture.leave();
    fixture.row("p", None);
    assert!(fixture.left.is_empty());
    fixture.reach();
    assert_eq!(
        fixture.left,
        [left(&["p", "q"])],
        "of what is held its renderer says once more that nobody wants it"
    );
    fixture.row("p", None);
    assert_eq!(fixture.left.last(), Some(&left(&["q"])));
}
