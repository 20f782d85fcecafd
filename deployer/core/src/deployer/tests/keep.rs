//! What stays when nobody wants it any more.

use super::releases::releasing;
use super::*;

const KEEP: &str = "helm.sh/resource-policy";

fn kept(name: &str, data: &str) -> Value {
    let mut object = config_map(name, data);
    object["metadata"]["annotations"] = json!({KEEP: "keep"});
    object
}

fn definition(text: &str) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"}, "spec": {"group": "example.com", "text": text}})
}

/// A chart that brings a definition along.
fn bringing(profile: &str, text: &str, upgrade: bool) -> Desired {
    let mut desired = releasing(profile, 100, vec![config_map(profile, "1")]);
    desired.policies[0].name = profile.into();
    desired.policies[0].objects.insert(0, definition(text));
    (desired.policies[0].crds, desired.policies[0].upgrade_crds) = (1, upgrade);
    desired
}

fn has_marks(object: &Value) -> bool {
    let mut bare = object.clone();
    sluice_api::marks::take_all(&mut bare);
    bare != *object
}

fn named<'f>(fixture: &'f Fixture, name: &str) -> Option<&'f Value> {
    fixture.objects.values().find(|object| object::name(object) == name)
}

#[test]
fn what_says_that_it_stays_survives_an_upgrade_and_a_removal_as_nobodys() {
    for removed in [true, false] {
        let mut fixture = Fixture::new();
        fixture.reach();
        fixture.row("p", Some(desired("p", 100, vec![kept("a", "1"), config_map("b", "1")])));
        let next = (!removed).then(|| desired("p", 100, vec![config_map("c", "1")]));
        fixture.row("p", next);
        let names = if removed { vec!["a"] } else { vec!["a", "c"] };
        assert_eq!(fixture.names(), names);
        assert!(!has_marks(named(&fixture, "a").unwrap()), "{:?}", fixture.objects);
        let left = |stored: &Stored| stored.inventory.objects.iter().any(|key| key.name == "a");
        assert!(!fixture.inventories.values().any(left));
        let told = fixture.problems.iter().find(|problem| problem.object() == "ConfigMap default/a").unwrap();
        let text = told.fault.as_ref().unwrap().to_string();
        assert!(
            text.starts_with("note: stays here") && text.contains("ClusterProfile p has let it go"),
            "{text}"
        );
        fixture.now += 2 * 3_600_000_000;
        fixture.run(|deployer, step| deployer.tick(step));
        let ended = |problem: &Problem| problem.object() == "ConfigMap default/a" && problem.fault.is_none();
        assert!(fixture.problems.iter().any(ended), "it is told for a while");
    }
}

#[test]
fn it_may_say_so_only_where_it_lives_or_only_where_it_was_rendered_last() {
    for live in [true, false] {
        let mut fixture = Fixture::new();
        fixture.reach();
        let object = if live { config_map("a", "1") } else { kept("a", "1") };
        fixture.row("p", Some(desired("p", 100, vec![object])));
        let key = fixture.objects.keys().next().unwrap().clone();
        let annotations =
            fixture.objects.get_mut(&key).unwrap()["metadata"]["annotations"].as_object_mut().unwrap();
        match live {
            true => drop(annotations.insert(KEEP.into(), "keep".into())),
            false => drop(annotations.remove(KEEP)),
        }
        fixture.restart();
        fixture.row("p", None);
        fixture.pass_former_calls();
        assert_eq!(fixture.names(), ["a"], "live: {live}");
        assert!(!has_marks(named(&fixture, "a").unwrap()) && fixture.inventories.is_empty());
    }
}

#[test]
fn what_is_rendered_as_staying_stays_also_where_it_could_not_be_applied_so() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.fail = Box::new(|request| {
        matches!(request, Request::Apply { .. }).then(|| Failure::new(Class::Refused, "not allowed"))
    });
    fixture.row("p", Some(desired("p", 100, vec![kept("a", "2")])));
    fixture.row("p", None);
    assert_eq!(fixture.names(), ["a"]);
}

#[test]
fn who_takes_it_back_from_an_object_that_it_stays_takes_it_along() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![kept("a", "1")])));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.row("p", None);
    assert!(fixture.objects.is_empty());
}

#[test]
fn a_namespace_stays_with_what_stays_in_it() {
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "default"}});
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![namespace, kept("a", "1"), config_map("b", "1")])));
    fixture.row("p", None);
    let mut names = fixture.names();
    names.sort_unstable();
    assert_eq!((names, fixture.inventories.len()), (vec!["a", "default"], 0));
}

#[test]
fn what_a_chart_brings_along_is_made_where_it_is_missing_and_never_removed() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(bringing("p", "1", false)));
    assert_eq!(named(&fixture, "things.example.com").unwrap()["spec"]["text"], "1");
    fixture.row("q", Some(bringing("q", "2", false)));
    assert_eq!(fixture.state("q"), Some(State::Provisioned), "two charts may bring the same along");
    fixture.row("p", Some(bringing("p", "3", false)));
    assert_eq!(named(&fixture, "things.example.com").unwrap()["spec"]["text"], "1", "it is not changed");
    fixture.row("p", None);
    fixture.wait();
    assert!(has_marks(named(&fixture, "things.example.com").unwrap()), "q has it as well");
    fixture.row("q", None);
    fixture.wait();
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["things.example.com"], 0));
    assert!(!has_marks(named(&fixture, "things.example.com").unwrap()));
    assert!(!fixture.calls.iter().any(|call| call == "delete things.example.com"));
}

#[test]
fn what_a_chart_brings_along_is_changed_where_it_says_so() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut there = definition("of a user");
    there["metadata"]["uid"] = "u".into();
    there["metadata"]["resourceVersion"] = "5".into();
    fixture.objects.insert(ObjectKey::of(&there).unwrap(), there);
    fixture.row("p", Some(bringing("p", "1", false)));
    assert_eq!(named(&fixture, "things.example.com").unwrap()["spec"]["text"], "of a user");
    fixture.row("p", Some(bringing("p", "1", true)));
    assert_eq!(named(&fixture, "things.example.com").unwrap()["spec"]["text"], "1");
    fixture.take_calls();
    fixture.row("p", Some(bringing("p", "2", true)));
    assert_eq!(fixture.take_calls(), ["apply things.example.com"]);
}

#[test]
fn a_definition_that_a_former_version_owned_is_let_go_and_never_removed() {
    for first_rendered in [true, false] {
        let mut fixture = Fixture::new();
        fixture.reach();
        let mut former = releasing("p", 100, vec![definition("1")]);
        former.policies[0].name = "p".into();
        fixture.row("p", Some(former));
        let stored = fixture.inventories.get_mut("p").unwrap();
        std::sync::Arc::make_mut(&mut stored.inventory).stay = None;
        fixture.restart();
        if first_rendered {
            fixture.row("p", Some(bringing("p", "1", false)));
        }
        fixture.pass_former_calls();
        fixture.row("p", None);
        fixture.wait();
        assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["things.example.com"], 0));
        assert!(!has_marks(named(&fixture, "things.example.com").unwrap()));
    }
}
