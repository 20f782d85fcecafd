//! Rows of tenants.

use std::sync::{Arc, Mutex};

use proptest::prelude::*;
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
            Request::Prove { object, account } => {
                line("prove", object::name(object), &Some(account.clone()));
            }
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
    assert_eq!(
        take(&seen),
        ["apply a for team-a/x", "delete b for itself"],
        "what goes was its own to put there"
    );
    fixture.row("p", Some(of_tenant("y", vec![config_map("c", "1")])));
    assert_eq!(take(&seen), ["apply c for team-a/y", "delete a for itself"]);
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
        fixture.problems.iter().all(|problem| problem.object() == "ClusterProfile p"),
        "{:?}",
        fixture.problems
    );
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!(fixture.state("p"), Some(State::Provisioned), "it is tried again");
}

/// Nobody may write anything for a tenant.
fn forbid(fixture: &mut Fixture) {
    fixture.fail = Box::new(|request| {
        let of_tenant = match request {
            Request::Apply { account, .. } => account.is_some(),
            Request::Prove { .. } => true,
            _ => false,
        };
        of_tenant.then(|| Failure::new(Class::Forbidden, "it cannot patch"))
    });
}

fn tenants(name: &str, tier: i32, objects: Vec<Value>) -> Desired {
    Desired { account: Some(account("x")), ..desired(name, tier, objects) }
}

fn data(fixture: &Fixture) -> Vec<String> {
    let text = |object: &Value| format!("{} {}", object::name(object), object::text(object, &["data", "a"]));
    fixture.objects.values().map(text).collect()
}

/// Runs until everything that is tried again has been.
fn settle(fixture: &mut Fixture) {
    (0..12).for_each(|_| fixture.wait());
}

#[test]
fn a_tier_without_a_right_takes_nothing_and_freezes_nothing() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    forbid(&mut fixture);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p1")])));
    fixture.row("t", Some(tenants("t", 1, vec![config_map("a", "t"), config_map("b", "t")])));
    let errors = &fixture.statuses["t"].as_ref().unwrap().errors;
    assert!(
        errors.iter().any(|text| text.contains("ClusterProfile p") && text.contains("it cannot patch")),
        "{errors:?}"
    );
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p2")])));
    assert_eq!((data(&fixture), fixture.state("p")), (vec!["a p2".to_owned()], Some(State::Provisioned)));
    fixture.row("p", None);
    settle(&mut fixture);
    assert!(fixture.objects.is_empty() && fixture.statuses["p"].is_none(), "{:?}", data(&fixture));
}

#[test]
fn who_may_not_write_what_is_free_does_not_keep_it_from_others() {
    let mut fixture = Fixture::new();
    fixture.reach();
    forbid(&mut fixture);
    fixture.row("t", Some(tenants("t", 1, vec![config_map("a", "t")])));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p")])));
    settle(&mut fixture);
    assert_eq!((data(&fixture), fixture.state("p")), (vec!["a p".to_owned()], Some(State::Provisioned)));
}

#[test]
fn who_wants_the_same_without_a_right_does_not_hold_it() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    forbid(&mut fixture);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.row("t", Some(tenants("t", 1, vec![config_map("a", "1")])));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    settle(&mut fixture);
    assert_eq!((data(&fixture), fixture.state("p")), (vec!["a 2".to_owned()], Some(State::Provisioned)));
    fixture.row("t", Some(tenants("t", 1, vec![config_map("a", "2")])));
    fixture.row("p", None);
    settle(&mut fixture);
    assert!(fixture.objects.is_empty() && fixture.statuses["p"].is_none(), "{:?}", data(&fixture));
}

#[test]
fn a_tenant_proves_its_right_before_anybody_loses_anything() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p")])));
    let seen = watched(&mut fixture);
    fixture.row("t", Some(tenants("t", 1, vec![config_map("a", "t")])));
    assert_eq!(take(&seen), ["prove a for team-a/x", "apply a for team-a/x"]);
    assert_eq!((fixture.state("p"), fixture.state("t")), (Some(State::Failed), Some(State::Provisioned)));
    fixture.row("t", Some(tenants("t", 1, vec![config_map("a", "t2")])));
    assert_eq!(take(&seen), ["apply a for team-a/x"], "it has written it");
    forbid(&mut fixture);
    fixture.row("t", Some(tenants("t", 1, vec![config_map("a", "t3")])));
    settle(&mut fixture);
    assert_eq!(
        (data(&fixture), fixture.state("p")),
        (vec!["a p".to_owned()], Some(State::Provisioned)),
        "the right has gone"
    );
}

#[test]
fn tenants_of_one_account_go_by_tier() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("t", Some(tenants("t", 100, vec![config_map("a", "t")])));
    let seen = watched(&mut fixture);
    fixture.row("u", Some(tenants("u", 1, vec![config_map("a", "u")])));
    assert_eq!(take(&seen), ["apply a for team-a/x"]);
}

#[test]
fn a_release_is_not_a_tenants_because_it_says_so() {
    let release =
        |name: &str, tier: i32, objects: Vec<Value>| super::releases::releasing(name, tier, objects);
    let of_tenant = |desired: Desired| Desired { account: Some(account("x")), ..desired };
    for tenant_first in [true, false] {
        let mut fixture = Fixture::new();
        fixture.reach();
        fixture.pass_former_calls();
        forbid(&mut fixture);
        let rows = [
            ("t", of_tenant(release("t", 1, vec![config_map("a", "t"), config_map("c", "t")]))),
            ("p", release("p", 100, vec![config_map("a", "p1"), config_map("b", "p1")])),
        ];
        let rows: Vec<_> = if tenant_first { rows.into() } else { rows.into_iter().rev().collect() };
        rows.into_iter().for_each(|(name, row)| fixture.row(name, Some(row)));
        settle(&mut fixture);
        assert_eq!(data(&fixture), ["a p1", "b p1"], "{tenant_first}");
        fixture.row("p", Some(release("p", 100, vec![config_map("a", "p2"), config_map("b", "p2")])));
        assert_eq!(
            (data(&fixture), fixture.state("p")),
            (vec!["a p2".into(), "b p2".into()], Some(State::Provisioned))
        );
        fixture.row("p", None);
        settle(&mut fixture);
        assert!(fixture.objects.is_empty() && fixture.statuses["p"].is_none(), "{:?}", data(&fixture));
    }
}

#[derive(Clone, Debug)]
enum Op {
    /// This profile wants this of these objects, of this tier.
    Row {
        profile: usize,
        tier: i32,
        content: u8,
        objects: [bool; 2],
        chart: bool,
    },
    /// It goes.
    Gone(usize),
    /// Tenants may write the first object, the second.
    Rights([bool; 2]),
    Wait,
}

fn op() -> impl Strategy<Value = Op> {
    let row = |(profile, tier, content, objects, chart)| Op::Row { profile, tier, content, objects, chart };
    prop_oneof![
        6 => (0..3usize, 1..4i32, 0..2u8, any::<[bool; 2]>(), any::<bool>()).prop_map(row),
        2 => (0..3usize).prop_map(Op::Gone),
        2 => any::<[bool; 2]>().prop_map(Op::Rights),
        1 => Just(Op::Wait),
    ]
}

proptest! {
    /// Whatever came before: once nobody may write anything for tenants, a profile without an account has what it wants, what it does not
    /// want goes, and everything comes to rest.
    #[test]
    fn tenants_without_rights_are_as_if_they_were_not_there(ops in proptest::collection::vec(op(), 0..25)) {
        let (fixture, wanted) = play(ops);
        let (content, objects) = wanted.unwrap_or_default();
        for (name, wants) in ["a", "b"].into_iter().zip(objects) {
            let there = data(&fixture).into_iter().find(|text| text.starts_with(name));
            if wants {
                prop_assert_eq!(there, Some(format!("{name} {content}")));
            } else if let Some(there) = there {
                let owner = fixture.objects.values().find(|object| object::name(object) == name).map(Live::of);
                prop_assert!(owner.unwrap().owner.is_some_and(|owner| owner.name == "u"), "{} is nobody's", there);
            }
        }
        prop_assert!(fixture.statuses.get("p").is_none_or(|status| status.as_ref().is_none_or(|status| status.state == State::Provisioned)));
        prop_assert!(fixture.statuses.get("t").is_none_or(Option::is_none));
    }
}

/// Which of the two objects tenants may write.
fn grant(fixture: &mut Fixture, rights: [bool; 2]) {
    fixture.fail = Box::new(move |request| {
        let object = match request {
            Request::Apply { object, account: Some(_), .. } | Request::Prove { object, .. } => object,
            _ => return None,
        };
        let may = if object::name(object) == "a" { rights[0] } else { rights[1] };
        (!may).then(|| Failure::new(Class::Forbidden, "it cannot patch"))
    });
}

/// Plays these, takes all rights away, and lets everything come to rest; what `p` wants in the end: which content, of which objects.
fn play(ops: Vec<Op>) -> (Fixture, Option<(u8, [bool; 2])>) {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    let names = ["p", "t", "u"];
    let mut wanted: Option<(u8, [bool; 2])> = None;
    for op in ops {
        match op {
            Op::Row { profile, tier, content, objects, chart } => {
                let names_of = ["a", "b"].into_iter().zip(objects).filter(|(_, wants)| *wants);
                let objects_of = names_of.map(|(name, _)| config_map(name, &content.to_string())).collect();
                let row = match chart {
                    true => super::releases::releasing(names[profile], tier, objects_of),
                    false => desired(names[profile], tier, objects_of),
                };
                let account = [None, Some(account("x")), Some(account("y"))][profile].clone();
                fixture.row(names[profile], Some(Desired { account, ..row }));
                wanted = if profile == 0 { Some((content, objects)) } else { wanted };
            }
            Op::Gone(profile) => {
                fixture.row(names[profile], None);
                wanted = if profile == 0 { None } else { wanted };
            }
            Op::Rights(rights) => grant(&mut fixture, rights),
            Op::Wait => fixture.wait(),
        }
    }
    forbid(&mut fixture);
    fixture.row("t", None);
    fixture.row("u", Some(tenants("u", 1, vec![config_map("a", "9"), config_map("b", "9")])));
    (0..60).for_each(|_| fixture.wait());
    (fixture, wanted)
}

#[test]
fn two_that_may_not_write_what_each_other_leaves_come_to_rest() {
    let row = |profile, objects| Op::Row { profile, tier: 1, content: 0, objects, chart: false };
    let (first, second) = ([true, false], [false, true]);
    play(vec![row(2, first), Op::Rights([false, false]), row(1, second), row(1, first), row(2, second)]);
}
