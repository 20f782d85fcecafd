//! Clusters that are no longer registered.

use sluice_protocol::rows::Departure;

use super::*;

impl Fixture {
    fn tell(&mut self, input: ExternalInput) {
        self.run(|deployer, step| deployer.external(input, step));
    }

    fn pass(&mut self, time: i64) {
        self.now += time;
        self.run(|deployer, step| deployer.tick(step));
    }

    /// What is said of profile `p` on the cluster, and of the cluster.
    fn is_said(&self) -> (bool, bool, bool) {
        let summary = self.summaries.iter().rev().find(|summary| summary.profile == ProfileId::cluster("p"));
        let has_summary = summary.is_some_and(|summary| summary.state.is_some());
        let is_shown = self.configurations.last().is_some_and(|shown| !shown.profiles.is_empty());
        (self.statuses.get("p").is_some_and(Option::is_some), has_summary, is_shown)
    }
}

/// A cluster with a profile, shown.
fn mk_fixture() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.tell(ExternalInput::Listed);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.show();
    assert_eq!(fixture.is_said(), (true, true, true));
    fixture.take_calls();
    fixture
}

#[test]
fn what_is_said_of_a_cluster_goes_a_while_after_its_registration_and_what_it_holds_stays() {
    let mut fixture = mk_fixture();
    fixture.tell(ExternalInput::Unregistered(cluster()));
    fixture.row("p", None);
    fixture.pass(FORGET_AFTER - 1);
    assert_eq!(fixture.is_said(), (true, true, true), "whoever deletes it may be about to write it again");
    fixture.pass(1);
    assert_eq!(fixture.is_said(), (false, false, false));
    assert!(fixture.deployer.clusters.is_empty() && fixture.deployer.found.is_empty());
    assert!(fixture.take_calls().is_empty() && fixture.names() == ["a"]);
    // Registered again it is a new cluster, in which something is held.
    fixture.reach();
    assert_eq!(fixture.state("p"), Some(State::Held));
}

#[test]
fn neither_a_pause_nor_a_registration_that_is_back_in_time_is_an_end() {
    for back in [false, true] {
        let mut fixture = mk_fixture();
        if back {
            fixture.tell(ExternalInput::Unregistered(cluster()));
            fixture.pass(FORGET_AFTER / 2);
        }
        fixture.tell(ExternalInput::Unreachable(cluster()));
        fixture.pass(10 * FORGET_AFTER);
        assert_eq!(fixture.is_said(), (true, true, true));
    }
}

#[test]
fn a_new_owner_ends_what_was_said_of_a_cluster_that_was_unregistered_meanwhile() {
    let mut fixture = mk_fixture();
    let status = fixture.deployer.status_subject(&cluster(), &ProfileId::cluster("p"), Shard::FIRST);
    fixture.replace(1);
    fixture.deployer.found(&status, &Head::default());
    fixture.tell(ExternalInput::Listed);
    fixture.read_all();
    fixture.pass(FORGET_AFTER);
    assert_eq!(fixture.is_said(), (false, false, false));
    assert!(fixture.deployer.clusters.is_empty());
}

#[test]
fn rows_of_a_former_owner_may_be_found_after_all_registrations_were_told_and_the_end_of_the_table_come_late()
{
    for late in [false, true] {
        let mut fixture = mk_fixture();
        let status = fixture.deployer.status_subject(&cluster(), &ProfileId::cluster("p"), Shard::FIRST);
        fixture.deployer = Deployer::new(fixture.deployer.config.clone());
        fixture.tell(ExternalInput::Listed);
        fixture.deployer.found(&status, &Head::default());
        fixture.run(|deployer, step| deployer.start(step));
        if late {
            fixture.pass(FORGET_AFTER);
            assert_eq!(fixture.is_said(), (true, true, true), "a row of the table may say more");
            fixture.read_all();
        } else {
            fixture.read_all();
            fixture.pass(FORGET_AFTER);
        }
        assert_eq!(fixture.is_said(), (false, false, false));
    }
}

#[test]
fn before_all_registrations_are_told_nothing_is_concluded() {
    let mut fixture = mk_fixture();
    let status = fixture.deployer.status_subject(&cluster(), &ProfileId::cluster("p"), Shard::FIRST);
    fixture.replace(1);
    fixture.deployer.found(&status, &Head::default());
    fixture.read_all();
    fixture.pass(10 * FORGET_AFTER);
    assert_eq!(fixture.is_said(), (true, true, true));
}

#[test]
fn what_is_still_wanted_there_is_kept_in_mind_until_its_maker_hears_of_the_end() {
    let mut fixture = mk_fixture();
    fixture.tell(ExternalInput::Unregistered(cluster()));
    fixture.pass(FORGET_AFTER);
    assert_eq!(fixture.is_said(), (false, false, false));
    // It comes back before the maker has heard that it was away.
    fixture.reach();
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    fixture.tell(ExternalInput::Unregistered(cluster()));
    fixture.pass(FORGET_AFTER);
    fixture.row("p", None);
    assert!(fixture.deployer.clusters.is_empty());
    fixture.row("p", None);
    assert!(fixture.deployer.clusters.is_empty(), "a row of one that has gone is remembered by nobody");
}

impl Fixture {
    /// A renderer has heard that the cluster is not registered.
    fn withdraw_as_unregistered(&mut self, profile: &str) {
        let mut row = row_of(profile, None);
        row.head.meta = Meta::Departure(Departure { unregistered: true, ..Departure::default() });
        self.run(|deployer, step| deployer.row(&row, step));
    }
}

#[test]
fn what_a_cluster_holds_stays_also_where_its_renderers_hear_of_its_end_first() {
    let mut fixture = mk_fixture();
    fixture.withdraw_as_unregistered("p");
    fixture.pass(FORGET_AFTER);
    assert!(fixture.take_calls().is_empty() && fixture.names() == ["a"]);
    assert_eq!(fixture.state("p"), Some(State::Provisioned), "nothing is asked for");
    fixture.tell(ExternalInput::Unregistered(cluster()));
    fixture.pass(FORGET_AFTER);
    assert_eq!(fixture.is_said(), (false, false, false));
    assert!(fixture.deployer.clusters.is_empty() && fixture.deployer.registered.is_calm());
    assert!(fixture.take_calls().is_empty() && fixture.names() == ["a"]);
}

#[test]
fn a_cluster_that_is_back_before_its_renderers_know_keeps_what_it_holds_until_they_say_more() {
    for heard_first in [false, true] {
        let mut fixture = mk_fixture();
        if heard_first {
            fixture.tell(ExternalInput::Unregistered(cluster()));
        }
        fixture.withdraw_as_unregistered("p");
        if !heard_first {
            fixture.tell(ExternalInput::Unregistered(cluster()));
        }
        fixture.reach();
        assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Held)), "{heard_first}");
        // Nobody wants it there any more.
        fixture.row("p", None);
        assert!(fixture.names().is_empty(), "{heard_first}");
    }
}

#[test]
fn what_is_wanted_after_all_is_put_aside_no_more() {
    let mut fixture = mk_fixture();
    fixture.withdraw_as_unregistered("p");
    fixture.row("p", Some(desired("p", 100, vec![config_map("b", "1")])));
    assert!(fixture.names() == ["b"] && fixture.deployer.registered.is_calm());
    fixture.withdraw_as_unregistered("p");
    fixture.row("p", None);
    assert!(
        fixture.names().is_empty() && fixture.deployer.registered.is_calm(),
        "it is registered, and not wanted"
    );
}
