//! Profiles that depend on others of the same cluster.

use super::*;

/// A profile with one ConfigMap of its name, which needs these.
fn needing(profile: &str, needs: &[&str]) -> Desired {
    let mut row = desired(profile, 100, vec![config_map(profile, "1")]);
    row.spec.insert("dependsOn".into(), json!(needs));
    row
}

impl Fixture {
    fn said_of(&self, profile: &str) -> String {
        let of = |summary: &&Summary| summary.profile == ProfileId::cluster(profile);
        self.summaries.iter().rfind(of).unwrap().dependencies.clone()
    }

    fn problem_of(&self, profile: &str) -> Option<String> {
        let named = format!("ClusterProfile {profile}");
        let problem = self.problems.iter().rfind(|problem| problem.object() == named)?;
        problem.error().map(ToString::to_string)
    }
}

#[test]
fn a_profile_waits_until_what_it_depends_on_is_there() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = refusing("base");
    fixture.row("base", Some(needing("base", &[])));
    fixture.row("app", Some(needing("app", &["base"])));
    assert!(fixture.names().is_empty() && !fixture.statuses.contains_key("app"), "it has not failed");
    // Work that takes long is said.
    (0..8).for_each(|_| fixture.wait());
    assert_eq!(fixture.state("app"), Some(State::Provisioning));
    assert_eq!(
        fixture.said_of("app"),
        "ClusterProfile base is a dependency and it is not fully deployed yet"
    );
    assert_eq!((fixture.said_of("base"), fixture.problem_of("app")), ("no dependencies".to_owned(), None));
    fixture.fail = Box::new(|_| None);
    (0..3).for_each(|_| fixture.wait());
    assert_eq!((fixture.names(), fixture.state("app")), (vec!["app", "base"], Some(State::Provisioned)));
    assert_eq!(fixture.said_of("app"), "All dependencies deployed");
}

#[test]
fn what_is_not_for_the_cluster_is_waited_for_and_said_so() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("app", Some(needing("app", &["base", "other"])));
    (0..4).for_each(|_| fixture.wait());
    let said = fixture.said_of("app");
    assert!(said.starts_with("ClusterProfile base is a dependency and it is not fully deployed yet. The ClusterSummary instance"), "{said}");
    assert_eq!(said.lines().count(), 2);
    assert_eq!(fixture.statuses["app"].as_ref().unwrap().errors.len(), 2);
    fixture.row("other", Some(needing("other", &[])));
    (0..4).for_each(|_| fixture.wait());
    assert_eq!(fixture.said_of("app").lines().count(), 1, "what it waits for is told anew");
    fixture.row("base", Some(needing("base", &["other"])));
    assert_eq!(fixture.names(), ["app", "base", "other"]);
    assert_eq!(
        fixture.take_calls().iter().filter(|call| call.starts_with("apply")).collect::<Vec<_>>(),
        ["apply other", "apply base", "apply app"]
    );
}

#[test]
fn what_is_there_stays_while_its_next_content_waits() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("app", Some(needing("app", &[])));
    let mut next = desired("app", 100, vec![config_map("next", "1")]);
    next.spec.insert("dependsOn".into(), json!(["base"]));
    fixture.row("app", Some(next));
    assert_eq!(fixture.names(), ["app"]);
    fixture.row("base", Some(needing("base", &[])));
    assert_eq!(fixture.names(), ["base", "next"]);
}

#[test]
fn an_object_that_moves_to_what_a_profile_depends_on_changes_hands() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("base", Some(needing("base", &[])));
    let mut app = needing("app", &["base"]);
    app.policies[0].objects.push(config_map("moved", "1"));
    fixture.row("app", Some(app));
    let mut base = needing("base", &[]);
    base.policies[0].objects.push(config_map("moved", "2"));
    fixture.take_calls();
    fixture.row("base", Some(base));
    fixture.row("app", Some(needing("app", &["base"])));
    (0..3).for_each(|_| fixture.wait());
    assert_eq!(["base", "app"].map(|profile| fixture.state(profile)), [Some(State::Provisioned); 2]);
    assert_eq!(fixture.names(), ["app", "base", "moved"]);
    assert!(fixture.take_calls().iter().all(|call| !call.starts_with("delete")));
}

#[test]
fn a_removal_waits_for_those_that_need_it_and_says_for_whom() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("base", Some(needing("base", &[])));
    fixture.row("app", Some(needing("app", &["base"])));
    fixture.row("base", None);
    assert_eq!(
        (fixture.names(), fixture.problem_of("base")),
        (vec!["app", "base"], None),
        "it may be gone in a moment"
    );
    (0..3).for_each(|_| fixture.wait());
    assert!(fixture.problem_of("base").unwrap().contains("ClusterProfile app needs it on this cluster"));
    assert_eq!(fixture.state("base"), Some(State::Failed));
    // Only the dependency is taken out.
    fixture.row("app", Some(needing("app", &[])));
    assert_eq!((fixture.names(), fixture.problem_of("base")), (vec!["app"], None));
    fixture.row("base", Some(needing("base", &[])));
    fixture.row("app", Some(needing("app", &["base"])));
    fixture.take_calls();
    fixture.row("base", None);
    fixture.row("app", None);
    assert_eq!(fixture.take_calls(), ["delete app", "delete base"]);
}

#[test]
fn a_new_owner_keeps_the_order_of_removal_by_what_inventories_say() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("base", Some(needing("base", &[])));
    fixture.row("app", Some(needing("app", &["base"])));
    fixture.restart();
    fixture.pass_former_calls();
    fixture.take_calls();
    fixture.row("base", None);
    assert_eq!(fixture.take_calls(), Vec::<String>::new());
    fixture.row("app", None);
    assert_eq!(fixture.take_calls(), ["delete app", "delete base"]);
}

#[test]
fn after_a_takeover_nothing_is_said_to_wait_that_does_not() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("base", Some(needing("base", &[])));
    fixture.row("app", Some(needing("app", &["base"])));
    fixture.restart();
    fixture.statuses.clear();
    fixture.row("app", Some(needing("app", &["base"])));
    assert!(!fixture.statuses.contains_key("app"));
    fixture.row("base", Some(needing("base", &[])));
    assert_eq!(fixture.state("app"), Some(State::Provisioned));
}

#[test]
fn a_circle_is_a_problem_that_names_it_and_ends_when_one_leaves_it() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("a", Some(needing("a", &["b"])));
    fixture.row("b", Some(needing("b", &["a"])));
    (0..3).for_each(|_| fixture.wait());
    assert!(fixture.names().is_empty());
    let told = fixture.problem_of("b").unwrap();
    assert!(told.contains("ClusterProfile b -> ClusterProfile a -> ClusterProfile b is a circle"), "{told}");
    fixture.row("a", Some(needing("a", &[])));
    (0..2).for_each(|_| fixture.wait());
    assert_eq!((fixture.names(), fixture.problem_of("b")), (vec!["a", "b"], None));
    // One that has come to be later holds nobody's removal up for ever.
    fixture.row("a", Some(needing("a", &["b"])));
    fixture.row("a", None);
    fixture.row("b", None);
    assert!(fixture.names().is_empty() && fixture.inventories.is_empty());
}

#[test]
fn what_a_tenant_needs_holds_only_what_is_its_own() {
    let tenant =
        |name: &str| Some(sluice_api::ServiceAccount { namespace: "team".into(), name: name.into() });
    for (of_base, of_app, holds) in
        [(None, tenant("a"), false), (tenant("b"), tenant("a"), false), (tenant("a"), tenant("a"), true)]
    {
        let mut fixture = Fixture::new();
        fixture.reach();
        fixture.row("base", Some(Desired { account: of_base, ..needing("base", &[]) }));
        fixture.row("app", Some(Desired { account: of_app, ..needing("app", &["base"]) }));
        fixture.row("base", None);
        assert_eq!(fixture.names().contains(&"base"), holds);
    }
}
