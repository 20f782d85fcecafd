//! What people see, and when.

use sluice_protocol::WantedSet;

use super::*;

/// What the last ClusterConfiguration lists.
fn listed(fixture: &Fixture) -> Vec<(String, Vec<String>)> {
    let owned = fixture.configurations.last().unwrap().profiles.iter().map(|owned| {
        let there = owned.inventory.objects.iter().filter(|key| !owned.missing.contains(*key));
        (owned.profile.path(), there.map(|key| key.name.clone()).collect())
    });
    owned.collect()
}

#[test]
fn a_cluster_configuration_lists_what_profiles_own_and_goes_with_the_last() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    fixture.row("q", Some(desired("q", 100, vec![config_map("d", "1")])));
    fixture.show();
    let of = |profile: &str, names: &[&str]| {
        (profile.to_owned(), names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(listed(&fixture), [of("p", &["a", "b"]), of("q", &["d"])]);
    let before = fixture.configurations.len();
    let begun = fixture.now;
    for content in ["2", "3", "4", "5"] {
        fixture.now += 100_000;
        fixture.row("q", Some(desired("q", 100, vec![config_map("d", content)])));
    }
    fixture.show();
    assert_eq!((fixture.configurations.len(), fixture.now), (before + 1, begun + 5_000_000));
    fixture.restart();
    fixture.show();
    assert_eq!(listed(&fixture), [of("p", &["a", "b"]), of("q", &["d"])], "a new owner says the same");
    fixture.row("p", None);
    fixture.row("q", None);
    fixture.show();
    assert_eq!(listed(&fixture), []);
}

/// Of which rows the last ClusterConfiguration is.
fn of_rows(fixture: &Fixture) -> Option<Digest> {
    fixture.configurations.last().unwrap().of_rows
}

#[test]
fn a_cluster_configuration_says_of_which_rows_it_is_once_they_are_worked_off() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    let mut wanted = WantedSet::default();
    let mut row = |name: &str, content: &str| {
        let row = row_of(name, Some(desired(name, 100, vec![config_map(name, content)])));
        let Subject::Desired { origin, profile, .. } = &row.subject else { panic!("{row:?}") };
        wanted.add(profile, *origin, row.head.digest);
        (row, wanted.digest())
    };
    let (first, _) = row("p", "1");
    let (second, both) = row("q", "1");
    fixture.run(|deployer, step| deployer.row(&first, step));
    fixture.run(|deployer, step| deployer.row(&second, step));
    fixture.show();
    assert_eq!(of_rows(&fixture), Some(both));
    let (changed, after) = row("p", "2");
    let calls = fixture.hold(|deployer, step| deployer.row(&changed, step));
    let again = second.clone();
    fixture.run(|deployer, step| deployer.row(&again, step));
    fixture.show();
    assert_eq!(of_rows(&fixture), None, "one is under way");
    for (id, request) in calls {
        let reply = fixture.serve(request);
        fixture.run(|deployer, step| deployer.external(ExternalInput::Reply(cluster(), id, reply), step));
    }
    fixture.show();
    assert_eq!(of_rows(&fixture), Some(after));
    fixture.restart();
    fixture.show();
    assert_eq!(of_rows(&fixture), None, "a new owner has read no row");
    fixture.run(|deployer, step| deployer.row(&second, step));
    fixture.run(|deployer, step| deployer.row(&changed, step));
    fixture.show();
    assert_eq!(of_rows(&fixture), Some(after), "it says the same");
}

#[test]
fn what_could_not_be_created_is_not_listed() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| {
        let Request::Apply { object, .. } = request else { return None };
        (object::name(object) == "b").then(|| Failure::new(Class::Refused, "b is refused"))
    });
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    fixture.show();
    assert_eq!(listed(&fixture), [("p".to_owned(), vec!["a".to_owned()])]);
    let summary = fixture.summaries.last().unwrap();
    let failures = summary.failures;
    assert!(summary.state == Some(State::Failed) && failures > 0);
    fixture.wait();
    assert_eq!(fixture.summaries.last().unwrap().failures, failures + 1);
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    fixture.show();
    let summary = fixture.summaries.last().unwrap();
    assert_eq!((summary.state, summary.failures), (Some(State::Provisioned), 0));
    assert!(summary.applied_at > 0 && summary.kinds.len() == 1);
    assert_eq!(listed(&fixture)[0].1, ["a", "b"]);
}

#[test]
fn work_that_takes_long_is_said_and_what_ends_soon_is_not() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    let first = row_of("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.run(|deployer, step| deployer.row(&first, step));
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    let said = |fixture: &mut Fixture| {
        let mut step = Step::at(fixture.now);
        fixture.deployer.tick(&mut step);
        let (rows, effects, _) = step.into_parts();
        let states = rows.iter().map(|row| match &row.body {
            Body::Value(bytes) => Some(serde_json::from_slice::<Status>(bytes).unwrap().state),
            Body::Tombstone => None,
        });
        let shown = effects.iter().any(
            |effect| matches!(effect, Effect::Summary(summary) if summary.state == Some(State::Provisioning)),
        );
        (states.collect::<Vec<_>>(), shown)
    };
    fixture.now += 10_000_000;
    assert_eq!(said(&mut fixture), (vec![], false), "it has ended");
    let second = row_of("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    let calls = fixture.hold(|deployer, step| deployer.row(&second, step));
    assert!(!calls.is_empty());
    fixture.now += 2_900_000;
    assert_eq!(said(&mut fixture), (vec![], false));
    fixture.now += 100_000;
    assert_eq!(said(&mut fixture), (vec![Some(State::Provisioning)], true));
    for (id, request) in calls {
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        fixture.run(|deployer, step| deployer.external(reply, step));
    }
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    fixture.now += 10_000_000;
    assert_eq!(said(&mut fixture), (vec![], false));
}

/// A new owner that finds this said, and reads a profile that waits for another one: what it says within so many seconds.
fn waits_after_takeover(found: &[&str], seconds: i64) -> Option<State> {
    let mut fixture = Fixture::new();
    let mut app = desired("app", 100, vec![config_map("app", "1")]);
    app.spec.insert("dependsOn".into(), json!(["base"]));
    fixture.replace(1);
    fixture.reach();
    for name in found {
        let status = fixture.deployer.status_subject(&cluster(), &ProfileId::cluster(*name), Shard::FIRST);
        fixture.statuses.insert((*name).into(), Some(Status::new(State::Provisioning, Vec::new())));
        fixture.deployer.found(&status, &Head::default());
    }
    let row = row_of("app", Some(app));
    fixture.run(|deployer, step| deployer.row(&row, step));
    fixture.read_all();
    assert!(found.is_empty() || fixture.statuses["app"].is_some(), "it was withdrawn");
    fixture.statuses.clear();
    fixture.now += seconds * 1_000_000;
    fixture.run(|deployer, step| deployer.tick(step));
    fixture.statuses.get("app")?.as_ref().map(|status| status.state)
}

#[test]
fn why_a_profile_waits_stays_said_after_a_takeover() {
    assert_eq!(waits_after_takeover(&["app"], 29), None, "it stands already");
    assert_eq!(waits_after_takeover(&["app"], 31), Some(State::Provisioning));
}

#[test]
fn why_a_profile_waits_is_said_soon_where_nobody_has_said_anything_of_it() {
    assert_eq!(waits_after_takeover(&[], 4), Some(State::Provisioning));
}

#[test]
fn of_a_cluster_that_nobody_can_reach_nothing_is_said() {
    let mut fixture = Fixture::new();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.now += 60_000_000;
    fixture.run(|deployer, step| deployer.tick(step));
    assert!(fixture.statuses.is_empty() && fixture.summaries.is_empty() && fixture.configurations.is_empty());
}
