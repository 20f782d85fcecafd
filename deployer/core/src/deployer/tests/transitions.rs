//! Profiles that take over from others, which go when they are there.

use sluice_protocol::rows::Departure;

use super::releases::{conflict, releasing};
use super::*;

fn ids(names: &[&str]) -> std::collections::BTreeSet<ProfileId> {
    names.iter().map(|name| ProfileId::cluster(*name)).collect()
}

/// A profile of this tier with ConfigMaps of these names and its own content, which takes over from these.
fn of(profile: &str, tier: i32, names: &[&str], succeeds: &[&str]) -> Desired {
    let objects = names.iter().map(|name| config_map(name, profile)).collect();
    Desired { succeeds: ids(succeeds), ..desired(profile, tier, objects) }
}

impl Fixture {
    /// A profile is not wanted any more, and goes after these are there.
    fn part(&mut self, profile: &str, after: &[&str]) {
        let mut row = row_of(profile, None);
        row.head.meta = Meta::Departure(Departure { after: ids(after), ..Departure::default() });
        self.run(|deployer, step| deployer.row(&row, step));
    }

    fn contents(&self) -> Vec<String> {
        let text =
            |object: &Value| format!("{} {}", object::name(object), object::text(object, &["data", "a"]));
        self.objects.values().map(text).collect()
    }

    fn last_summary(&self, profile: &str) -> &Summary {
        self.summaries.iter().rfind(|summary| summary.profile.name == profile).unwrap()
    }

    fn told_of(&self, profile: &str) -> Option<String> {
        let named = format!("ClusterProfile {profile}");
        let problem = self.problems.iter().rfind(|problem| problem.object() == named)?;
        problem.error().map(ToString::to_string)
    }

    fn deletes(&mut self) -> Vec<String> {
        self.take_calls().into_iter().filter(|call| call.starts_with("delete")).collect()
    }
}

/// Profile `blue` is there.
fn mk_blue() -> Fixture {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("blue", Some(of("blue", 10, &["old", "x"], &[])));
    assert_eq!(fixture.contents(), ["old blue", "x blue"]);
    fixture.take_calls();
    fixture
}

#[test]
fn a_successor_takes_over_whatever_the_tiers_and_nothing_is_deleted() {
    let mut fixture = mk_blue();
    fixture.row("green", Some(of("green", 100, &["new", "x"], &["blue"])));
    (0..3).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["new green", "old blue", "x green"]);
    assert_eq!(
        (fixture.state("green"), fixture.state("blue")),
        (Some(State::Provisioned), Some(State::Failed))
    );
    assert!(
        fixture.told_of("blue").unwrap().contains("ClusterProfile green"),
        "{:?}",
        fixture.told_of("blue")
    );
    assert_eq!(fixture.deletes(), Vec::<String>::new());
    // It takes the place of its predecessor among others: one of a tier between both gets nothing.
    fixture.row("other", Some(of("other", 50, &["x"], &[])));
    assert_eq!((fixture.state("other"), fixture.contents()[2].as_str()), (Some(State::Failed), "x green"));
    // What it no longer takes over goes back.
    fixture.row("green", Some(of("green", 100, &["new", "x"], &[])));
    (0..3).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["new green", "old blue", "x blue"]);
}

#[test]
fn who_takes_over_from_nobody_that_is_there_has_no_better_rank() {
    let mut fixture = mk_blue();
    fixture.row("green", Some(of("green", 10, &["x"], &["never"])));
    assert_eq!(
        (fixture.state("green"), fixture.state("blue")),
        (Some(State::Failed), Some(State::Provisioned))
    );
}

#[test]
fn a_predecessor_goes_when_its_successor_is_there_and_says_for_whom_it_waits() {
    let mut fixture = mk_blue();
    fixture.fail = refusing("new");
    fixture.part("blue", &["green"]);
    fixture.row("green", Some(of("green", 100, &["new", "x"], &["blue"])));
    assert_eq!(
        (fixture.contents(), fixture.told_of("blue")),
        (vec!["old blue".into(), "x green".into()], None)
    );
    (0..4).for_each(|_| fixture.wait());
    let told = fixture.told_of("blue").unwrap();
    assert!(
        told.contains("stays until ClusterProfile green, which takes over from it, is Provisioned"),
        "{told}"
    );
    assert_eq!(fixture.state("blue"), Some(State::Failed));
    let summary = fixture.last_summary("blue");
    assert_eq!(summary.dependencies, "ClusterProfile green is a successor and it is not fully deployed yet");
    assert!(summary.is_leaving);
    assert_eq!(fixture.contents(), ["old blue", "x green"]);
    assert_eq!(fixture.deletes(), Vec::<String>::new());
    fixture.fail = Box::new(|_| None);
    (0..4).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["new green", "x green"]);
    assert_eq!((fixture.deletes(), fixture.told_of("blue")), (vec!["delete old".to_owned()], None));
    assert!(fixture.statuses["blue"].is_none() && !fixture.inventories.contains_key("blue"));
}

#[test]
fn a_successor_of_which_no_row_has_come_is_waited_for() {
    let mut fixture = mk_blue();
    fixture.part("blue", &["green"]);
    (0..4).for_each(|_| fixture.wait());
    let told = &fixture.last_summary("blue").dependencies;
    assert!(
        told.contains(
            "ClusterProfile green is a successor and it is not fully deployed yet. The ClusterSummary"
        ),
        "{told}"
    );
    assert_eq!(fixture.contents(), ["old blue", "x blue"]);
    fixture.row("green", Some(of("green", 100, &["x"], &["blue"])));
    assert_eq!(fixture.contents(), ["x green"]);
    assert_eq!(fixture.deletes(), ["delete old"]);
}

#[test]
fn who_is_not_named_any_more_is_not_waited_for() {
    for said in [&[][..], &["red"]] {
        let mut fixture = mk_blue();
        fixture.row("red", Some(of("red", 100, &["r"], &[])));
        fixture.part("blue", &["green", "red"]);
        assert_eq!(fixture.names(), ["old", "r", "x"]);
        fixture.part("blue", said);
        assert_eq!(fixture.names(), ["r"]);
    }
}

/// A renderer of a newer version may say when it goes in another form.
#[test]
fn a_tombstone_of_which_nobody_can_tell_when_it_counts_withdraws_nothing() {
    let mut fixture = mk_blue();
    let mut row = row_of("blue", None);
    row.head.meta = Meta::Unknown("?".into());
    fixture.run(|deployer, step| deployer.row(&row, step));
    (0..3).for_each(|_| fixture.wait());
    assert_eq!(fixture.names(), ["old", "x"]);
    assert!(fixture.told_of("blue").unwrap().contains("cannot be read"), "{:?}", fixture.told_of("blue"));
    fixture.row("blue", None);
    assert!(fixture.names().is_empty() && fixture.told_of("blue").is_none());
}

#[test]
fn a_chain_is_waited_for_as_a_whole() {
    let mut fixture = mk_blue();
    fixture.row("green", Some(of("green", 100, &["g", "x"], &["blue"])));
    fixture.fail = refusing("new");
    fixture.row("red", Some(of("red", 200, &["new", "x"], &["green"])));
    fixture.part("blue", &["red"]);
    fixture.part("green", &["red"]);
    (0..4).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["g green", "old blue", "x red"]);
    fixture.fail = Box::new(|_| None);
    (0..4).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["new red", "x red"]);
    assert!(fixture.statuses["blue"].is_none() && fixture.statuses["green"].is_none());
}

#[test]
fn a_new_owner_withdraws_nothing_until_it_is_told_once_more_after_whom() {
    let mut fixture = mk_blue();
    fixture.fail = refusing("new");
    fixture.row("green", Some(of("green", 100, &["new", "x"], &["blue"])));
    fixture.part("blue", &["green"]);
    fixture.restart();
    assert_eq!(fixture.state("blue"), Some(State::Held), "its maker hears of it");
    fixture.row("green", Some(of("green", 100, &["new", "x"], &["blue"])));
    fixture.part("blue", &["green"]);
    fixture.pass_former_calls();
    (0..4).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["old blue", "x green"]);
    assert!(fixture.told_of("blue").unwrap().contains("green"));
    fixture.fail = Box::new(|_| None);
    (0..6).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["new green", "x green"]);
}

#[test]
fn a_release_changes_hands_whatever_the_tiers() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(releasing("p", 10, vec![config_map("a", "p"), config_map("b", "p")])));
    fixture.take_calls();
    let next = releasing("q", 100, vec![config_map("a", "q"), config_map("c", "q")]);
    fixture.row("q", Some(Desired { succeeds: ids(&["p"]), ..next }));
    fixture.part("p", &["q"]);
    (0..6).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["a q", "c q"]);
    assert_eq!((fixture.state("q"), conflict(&fixture, "q")), (Some(State::Provisioned), None));
    assert_eq!(fixture.deletes(), ["delete b"]);
    assert!(fixture.statuses["p"].is_none());
}

/// The row of the successor may come before the one that says that its predecessor goes after it.
#[test]
fn a_release_is_whole_until_its_successor_is_there_whichever_row_comes_first() {
    for tombstone_first in [true, false] {
        let mut fixture = Fixture::new();
        fixture.reach();
        fixture.row("p", Some(releasing("p", 10, vec![config_map("a", "p"), config_map("b", "p")])));
        fixture.take_calls();
        let mut next = releasing("q", 100, vec![config_map("a", "q"), config_map("c", "q")]);
        let check = json!({"name": "well", "featureID": "Helm", "version": "v1", "kind": "Pod"});
        next.spec.insert("validateHealths".into(), json!([check]));
        let next = Desired { succeeds: ids(&["p"]), ..next };
        if tombstone_first {
            fixture.part("p", &["q"]);
        }
        fixture.row("q", Some(next));
        (0..4).for_each(|_| fixture.wait());
        if !tombstone_first {
            assert_eq!(fixture.contents(), ["a q", "b p", "c q"]);
            fixture.part("p", &["q"]);
        }
        (0..4).for_each(|_| fixture.wait());
        assert_eq!(fixture.contents(), ["a q", "b p", "c q"], "{tombstone_first}");
        fixture.say("well", Ok(()));
        (0..6).for_each(|_| fixture.wait());
        assert_eq!(
            (fixture.contents(), fixture.deletes()),
            (vec!["a q".into(), "c q".into()], vec!["delete b".to_owned()])
        );
    }
}

/// It is known from the inventory alone what the predecessor has.
#[test]
fn a_release_of_a_predecessor_that_nobody_has_said_anything_of_is_taken_over() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(releasing("p", 10, vec![config_map("a", "p"), config_map("b", "p")])));
    fixture.restart();
    let next = releasing("q", 100, vec![config_map("a", "q")]);
    fixture.row("q", Some(Desired { succeeds: ids(&["p"]), ..next }));
    fixture.pass_former_calls();
    (0..6).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["a q", "b p"]);
    assert_eq!(fixture.state("q"), Some(State::Provisioned));
}

#[test]
fn nobody_waits_for_another_tenant() {
    let tenant = |name: &str| Some(ServiceAccount { namespace: "team".into(), name: name.into() });
    for (of_blue, of_green, waits) in [
        (None, tenant("a"), false),
        (tenant("b"), tenant("a"), false),
        (tenant("a"), tenant("a"), true),
        (tenant("a"), None, true),
    ] {
        let mut fixture = Fixture::new();
        fixture.reach();
        fixture.row("blue", Some(Desired { account: of_blue, ..of("blue", 10, &["old"], &[]) }));
        fixture.fail = refusing("new");
        fixture.row("green", Some(Desired { account: of_green, ..of("green", 10, &["new"], &["blue"]) }));
        fixture.part("blue", &["green"]);
        assert_eq!(fixture.names().contains(&"old"), waits);
    }
}

/// Rows of different times may say so.
#[test]
fn of_two_that_take_over_from_each_other_the_tier_decides() {
    let mut fixture = mk_blue();
    fixture.row("green", Some(of("green", 100, &["x"], &["blue"])));
    fixture.row("blue", Some(of("blue", 10, &["old", "x"], &["green"])));
    (0..4).for_each(|_| fixture.wait());
    assert_eq!(fixture.contents(), ["old blue", "x blue"]);
    assert_eq!(
        (fixture.state("green"), fixture.state("blue")),
        (Some(State::Failed), Some(State::Provisioned))
    );
}
