//! Releases of charts: whose they are, and what is said of them.

use sluice_protocol::rows::Release;

use super::*;
use crate::releases::{Helm, ReleaseSummary};

/// A profile with one release that has these objects.
pub(super) fn releasing(profile: &str, tier: i32, objects: Vec<Value>) -> Desired {
    let mut desired = desired(profile, tier, objects);
    let policy = &mut desired.policies[0];
    (policy.kind, policy.namespace, policy.name) = ("HelmChart".into(), "web".into(), "site".into());
    policy.release = Some(Release {
        repository: "https://charts.example.com".into(),
        version: "1.2.0".into(),
        app_version: String::new(),
        values: "0".into(),
    });
    desired
}

/// What the ClusterSummary of a profile said last of its charts.
fn helm(fixture: &Fixture, profile: &str) -> Helm {
    let summaries = fixture.summaries.iter().rev();
    summaries.filter(|summary| summary.profile.name == profile).find_map(|s| s.helm.clone()).unwrap()
}

pub(super) fn conflict(fixture: &Fixture, profile: &str) -> Option<String> {
    let ReleaseSummary { conflict, .. } = helm(fixture, profile).releases.remove(0);
    conflict
}

/// Releases that the last ClusterConfiguration lists.
fn listed(fixture: &Fixture) -> Vec<(String, Vec<String>)> {
    let owned = fixture.configurations.last().unwrap().profiles.iter();
    let releases = |owned: &crate::configuration::Owned| owned.inventory.releases.keys().cloned().collect();
    let all = owned.map(|owned| (owned.profile.path(), releases(owned)));
    all.filter(|(_, releases): &(_, Vec<_>)| !releases.is_empty()).collect()
}

#[test]
fn of_two_profiles_with_one_release_the_elder_keeps_it_and_the_other_has_nothing_of_it() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(releasing("p", 100, vec![config_map("a", "1")])));
    // Also where both want the same.
    fixture.row("q", Some(releasing("q", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    fixture.show();
    assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Provisioned), Some(State::Failed)));
    assert_eq!(conflict(&fixture, "p"), None);
    let text = conflict(&fixture, "q").unwrap();
    assert!(text.starts_with("release web/site is managed by ClusterProfile p, which keeps it"), "{text}");
    assert_eq!(helm(&fixture, "q").errors, [text]);
    assert_eq!(fixture.objects.len(), 1, "nothing of q is there");
    let of_p = ("p".to_owned(), vec!["web/site".to_owned()]);
    assert_eq!(listed(&fixture), std::slice::from_ref(&of_p));
    fixture.restart();
    fixture.row("q", Some(releasing("q", 100, vec![config_map("b", "1")])));
    fixture.row("p", Some(releasing("p", 100, vec![config_map("a", "1")])));
    fixture.show();
    assert_eq!(conflict(&fixture, "p"), None, "its inventory says that it was first");
    assert!(conflict(&fixture, "q").is_some() && listed(&fixture) == [of_p]);
    fixture.pass_former_calls();
    fixture.row("p", None);
    assert_eq!((fixture.state("q"), conflict(&fixture, "q")), (Some(State::Provisioned), None));
    let names: Vec<_> = fixture.objects.keys().map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["b"]);
}

#[test]
fn a_lower_tier_takes_a_release_and_what_the_other_had_of_it_goes() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(releasing("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    fixture.row("q", Some(releasing("q", 50, vec![config_map("a", "1")])));
    fixture.show();
    assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Failed), Some(State::Provisioned)));
    assert!(conflict(&fixture, "p").is_some() && conflict(&fixture, "q").is_none());
    assert_eq!(listed(&fixture), [("q".to_owned(), vec!["web/site".to_owned()])]);
    let names: Vec<_> = fixture.objects.keys().map(|key| key.name.as_str()).collect();
    assert_eq!(names, ["a"]);
}

#[test]
fn nothing_of_a_release_goes_while_its_heir_waits_for_another_chart() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(releasing("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    fixture.fail = Box::new(|request| {
        let Request::Apply { object, .. } = request else { return None };
        (object::name(object) == "bad").then(|| Failure::new(Class::Refused, "it is refused"))
    });
    let mut both = releasing("q", 50, vec![config_map("a", "2")]);
    let other =
        Policy { name: "other".into(), objects: vec![config_map("bad", "1")], ..both.policies[0].clone() };
    both.policies.insert(0, other);
    fixture.row("q", Some(both));
    (0..6).for_each(|_| fixture.wait());
    assert_eq!(fixture.names(), ["a", "b"]);
    fixture.fail = Box::new(|_| None);
    (0..4).for_each(|_| fixture.wait());
    assert_eq!(fixture.names(), ["a", "bad"]);
}

#[test]
fn errors_of_a_charts_objects_are_of_the_feature_helm_alone() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| {
        let Request::Apply { object, .. } = request else { return None };
        (object::name(object) == "b").then(|| Failure::new(Class::Refused, "b is refused"))
    });
    let mut both = releasing("p", 100, vec![config_map("b", "1")]);
    both.policies.extend(desired("p", 100, vec![config_map("a", "1")]).policies);
    fixture.row("p", Some(both));
    let summary = fixture.summaries.last().unwrap();
    assert!(summary.has_resources && summary.errors.is_empty(), "{summary:?}");
    let helm = summary.helm.as_ref().unwrap();
    assert!(helm.errors[0].contains("b is refused") && helm.releases[0].conflict.is_none());
}

/// What Helm had installed with this content, after it was taken over for profile `p`.
fn taken_over(content: &str) -> Fixture {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(releasing("p", 100, vec![config_map("a", "drawn"), config_map("b", "drawn")])));
    for object in fixture.objects.values_mut() {
        object["data"]["a"] = content.into();
        object["metadata"]["annotations"] =
            json!({"meta.helm.sh/release-namespace": "web", "meta.helm.sh/release-name": "site"});
    }
    let stored = fixture.inventories.get_mut("p").unwrap();
    let mut inventory = (*stored.inventory).clone();
    inventory.adopted.clone_from(&inventory.releases);
    stored.inventory = inventory.into();
    fixture.calls.clear();
    fixture.restart();
    fixture
}

#[test]
fn what_helm_has_installed_is_left_as_it_is_until_its_values_or_its_version_change() {
    let mut fixture = taken_over("as Helm drew it");
    let mut wanted = releasing("p", 100, vec![config_map("a", "drawn"), config_map("b", "drawn")]);
    fixture.row("p", Some(wanted.clone()));
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    assert_eq!(fixture.calls, [] as [&str; 0]);
    // Another owner finds it, too.
    fixture.restart();
    fixture.row("p", Some(wanted.clone()));
    assert_eq!(fixture.calls, [] as [&str; 0]);
    assert!(fixture.objects.values().all(|object| object["data"]["a"] == "as Helm drew it"));
    // What is missing is made.
    fixture.objects.pop_first();
    fixture.restart();
    fixture.row("p", Some(wanted.clone()));
    assert_eq!(fixture.names(), ["a", "b"]);
    let applied: Vec<_> = fixture.calls.iter().filter(|call| call.starts_with("apply")).collect();
    assert_eq!(applied, ["apply a"]);

    wanted.policies[0].release.as_mut().unwrap().values = "1".into();
    fixture.row("p", Some(wanted));
    assert!(fixture.objects.values().all(|object| object["data"]["a"] == "drawn"));
    assert!(fixture.inventories["p"].inventory.adopted.is_empty());
}

#[test]
fn what_helm_has_installed_and_nobody_wants_any_more_goes() {
    let mut fixture = taken_over("as Helm drew it");
    fixture.pass_former_calls();
    fixture.row("p", Some(releasing("p", 100, vec![config_map("a", "drawn")])));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "as Helm drew it");
    fixture.row("p", None);
    fixture.wait();
    assert_eq!(fixture.names(), [] as [&str; 0]);
}

#[test]
fn what_another_controller_calls_otherwise_is_ours_as_it_is() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let wanted = |data: &str| desired("p", 100, vec![config_map("a", data)]);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    for object in fixture.objects.values_mut() {
        object["metadata"]["annotations"]["projectsveltos.io/owner-name"] = "sveltos-x".into();
        object["metadata"]["annotations"]["projectsveltos.io/reference-name"] = "sveltos-y".into();
    }
    let stored = fixture.inventories.get_mut("p").unwrap();
    let mut inventory = (*stored.inventory).clone();
    inventory.formerly = "sveltos-x".into();
    stored.inventory = inventory.into();
    fixture.restart();
    fixture.pass_former_calls();
    fixture.calls.clear();
    fixture.row("p", Some(wanted("1")));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
    assert!(!fixture.calls.contains(&"apply a".to_owned()), "{:?}", fixture.calls);
    // What changes says what it is called now.
    fixture.row("p", Some(wanted("2")));
    let annotations = &fixture.objects.values().next().unwrap()["metadata"]["annotations"];
    assert_eq!(annotations["projectsveltos.io/owner-name"], "p");
    fixture.row("p", None);
    assert_eq!(fixture.names(), [] as [&str; 0]);
}

#[test]
fn what_others_have_is_not_ours_because_it_is_called_so() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let object = fixture.objects.values_mut().next().unwrap();
    object["metadata"]["annotations"]["projectsveltos.io/owner-name"] = "sveltos-x".into();
    fixture.restart();
    fixture.row("p", None);
    assert_eq!(fixture.names(), ["a"], "the inventory says nothing of a former name");
}
