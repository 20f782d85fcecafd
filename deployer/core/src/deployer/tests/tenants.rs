//! Rows of tenants.

use std::sync::{Arc, Mutex};

use sluice_api::ServiceAccount;

use super::*;

fn account(name: &str) -> ServiceAccount {
    ServiceAccount { namespace: "team-a".into(), name: name.into() }
}

fn of_tenant(name: &str, objects: Vec<Value>) -> Desired {
    Desired { account: Some(account(name)), ..desired("p", 100, objects) }
}

/// For whom each object was written, from now on.
fn watched(fixture: &mut Fixture) -> Arc<Mutex<Vec<String>>> {
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = seen.clone();
    fixture.fail = Box::new(move |request| {
        let line = |verb: &str, name: &str, account: &Option<ServiceAccount>| {
            let whom = account.as_ref().map_or("itself".to_owned(), ToString::to_string);
            told.lock().unwrap().push(format!("{verb} {name} for {whom}"));
        };
        match request {
            Request::Apply { object, account, .. } => line("apply", object::name(object), account),
            Request::Delete { key, account, .. } => line("delete", &key.name, account),
            Request::Release { key, account, .. } => line("release", &key.name, account),
            _ => {}
        }
        None
    });
    seen
}

fn take(seen: &Mutex<Vec<String>>) -> Vec<String> {
    std::mem::take(&mut *seen.lock().unwrap())
}

#[test]
fn objects_of_a_tenant_are_written_for_it_while_it_wants_anything() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let seen = watched(&mut fixture);
    fixture.row("p", Some(of_tenant("x", vec![config_map("a", "1"), config_map("b", "1")])));
    assert_eq!(take(&seen), ["apply a for team-a/x", "apply b for team-a/x"]);
    fixture.pass_former_calls();
    fixture.row("p", Some(of_tenant("x", vec![config_map("a", "2")])));
    assert_eq!(take(&seen), ["apply a for team-a/x", "delete b for team-a/x"]);
    fixture.row("p", Some(of_tenant("y", vec![config_map("c", "1")])));
    assert_eq!(
        take(&seen),
        ["apply c for team-a/y", "delete a for team-a/y"],
        "it answers for what goes now"
    );
    fixture.row("p", Some(desired("p", 100, vec![config_map("d", "1")])));
    assert_eq!(take(&seen), ["apply d for itself", "delete c for itself"]);
}

#[test]
fn what_a_tenant_leaves_goes_without_its_rights() {
    for (leave, verb) in [(false, "delete"), (true, "release")] {
        let mut fixture = Fixture::new();
        fixture.reach();
        fixture.pass_former_calls();
        let row = Desired { leave, ..of_tenant("x", vec![config_map("a", "1")]) };
        fixture.row("p", Some(row));
        let seen = watched(&mut fixture);
        fixture.row("p", None);
        assert_eq!(take(&seen), [format!("{verb} a for itself")]);
        assert_eq!(fixture.statuses["p"], None);
    }
}

#[test]
fn an_inventory_names_no_account() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(of_tenant("x", vec![config_map("a", "1")])));
    let inventory = fixture.inventories["p"].inventory.to_object(crate::Kept::Registered).unwrap();
    assert!(!inventory.to_string().contains("team-a"), "{inventory}");
}

#[test]
fn a_right_that_is_missing_is_the_profiles_problem_and_no_trouble_of_the_server() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| {
        let refused = || Failure::new(Class::Refused, "it cannot patch");
        matches!(request, Request::Apply { account: Some(_), .. }).then(refused)
    });
    fixture.row("p", Some(of_tenant("x", (0..20).map(|n| config_map(&format!("a{n}"), "1")).collect())));
    fixture.row("q", Some(desired("q", 100, vec![config_map("b", "1")])));
    assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Failed), Some(State::Provisioned)));
    assert!(
        fixture.problems.iter().all(|problem| problem.object == "ClusterProfile p"),
        "{:?}",
        fixture.problems
    );
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!(fixture.state("p"), Some(State::Provisioned), "it is tried again");
}
