//! Dry runs: everything is tried, nothing is written, and a report says what would become of it.

use sluice_protocol::rows::Release;

use super::*;
use crate::report::{Action, ReportLines};

fn dry(objects: Vec<Value>) -> Desired {
    Desired { dry_run: true, ..desired("p", 100, objects) }
}

impl Fixture {
    /// What the newest report says of objects, as `name action`; and how many there were.
    fn reported(&self) -> (Vec<String>, usize) {
        let lines = self.reports.last().and_then(|report| report.lines.as_ref());
        let objects = lines.into_iter().flat_map(|lines| &lines.objects);
        let lines = objects.map(|(key, line)| format!("{} {}", key.name, line.action.title())).collect();
        (lines, self.reports.len())
    }

    fn lines(&self) -> &ReportLines {
        self.reports.last().unwrap().lines.as_ref().unwrap()
    }
}

#[test]
fn what_would_be_made_changed_and_deleted_is_tried_and_told() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row(
        "p",
        Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "1"), config_map("c", "1")])),
    );
    fixture.take_calls();
    let objects = fixture.objects.clone();
    fixture.row("p", Some(dry(vec![config_map("a", "1"), config_map("b", "2"), config_map("d", "1")])));
    let expected = ["a No Action", "b Update", "c Delete", "d Create"].map(str::to_owned).to_vec();
    assert_eq!(fixture.reported(), (expected, 1));
    assert_eq!(fixture.state("p"), Some(State::DryRun));
    assert!(fixture.take_calls().is_empty() && fixture.objects == objects, "nothing is written");
    let line = |name: &str| {
        let mut lines = fixture.lines().objects.iter();
        lines.find(|(key, _)| key.name == name).map(|(_, line)| line.message.as_str())
    };
    assert_eq!((line("b"), line("d")), (Some("it differs"), Some("")));
    assert!(line("a").unwrap().starts_with("Object already deployed."));
}

#[test]
fn it_is_tried_again_when_what_is_there_has_changed_a_minute_later() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(dry(vec![config_map("a", "1"), config_map("b", "1")])));
    assert_eq!(fixture.reported().0, ["a Create", "b Create"]);
    fixture.pass_former_calls();
    fixture.tried.clear();
    let began = fixture.now;
    while fixture.now < began + 60_000_000 {
        fixture.wait();
    }
    assert!(fixture.tried.is_empty(), "nothing has changed: {:?}", fixture.tried);
    let mut there = config_map("a", "1");
    there["metadata"]["uid"] = "u".into();
    there["metadata"]["resourceVersion"] = "7".into();
    fixture.objects.insert(ObjectKey::of(&there).unwrap(), there);
    fixture.wait();
    assert_eq!(fixture.tried, ["apply a"], "the other one is as it was");
    assert_eq!(fixture.reported(), (vec!["a No Action".to_owned(), "b Create".to_owned()], 2));
    fixture.wait();
    assert_eq!(fixture.reported().1, 2, "what is no news is not told again");
}

#[test]
fn what_another_profile_has_is_a_conflict_and_stays_its_own() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "1")])));
    fixture.row("p", Some(dry(vec![config_map("a", "2")])));
    assert_eq!(fixture.reported().0, ["a Conflict"]);
    let message = &fixture.lines().objects.values().next().unwrap().message;
    assert!(message.contains("is ClusterProfile q"), "{message}");
    let better = Desired { tier: 50, ..dry(vec![config_map("a", "2")]) };
    fixture.row("p", Some(better));
    assert_eq!(fixture.reported().0, ["a Update"], "it would take it over");
    assert_eq!(fixture.state("q"), Some(State::Provisioned));
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "1");
}

#[test]
fn what_the_server_refuses_is_an_error_of_that_object() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| match request {
        Request::Rehearse { object, .. } if object::name(object) == "a" => {
            Some(Failure::new(Class::Refused, "quota"))
        }
        _ => None,
    });
    fixture.row("p", Some(dry(vec![config_map("a", "1"), config_map("b", "1")])));
    assert_eq!(fixture.reported().0, ["a Error", "b Create"]);
    assert_eq!(fixture.state("p"), Some(State::DryRun));
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!(
        fixture.reported().0,
        ["a Create", "b Create"],
        "it is tried again although nothing has changed"
    );
}

#[test]
fn a_row_without_anything_tells_what_would_go() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.row("p", Some(Desired { policies: Vec::new(), ..dry(Vec::new()) }));
    assert_eq!((fixture.reported().0, fixture.names()), (vec!["a Delete".to_owned()], vec!["a"]));
}

#[test]
fn the_report_goes_with_the_mode_and_with_the_profile() {
    for row in [Some(desired("p", 100, vec![config_map("a", "1")])), None] {
        let mut fixture = Fixture::new();
        fixture.reach();
        fixture.row("p", Some(dry(vec![config_map("a", "1")])));
        assert!(fixture.reports.last().unwrap().lines.is_some());
        fixture.row("p", row.clone());
        assert_eq!(fixture.reports.len(), 2);
        assert!(fixture.reports.last().unwrap().lines.is_none());
        assert_eq!(fixture.names().len(), usize::from(row.is_some()));
    }
}

#[test]
fn releases_say_what_would_become_of_them() {
    let release = |version: &str, values: &str| Release {
        repository: "r".into(),
        version: version.into(),
        app_version: String::new(),
        values: values.into(),
    };
    let with = |releases: Vec<(&str, Release)>, dry_run| {
        let policy = |(name, release): (&str, Release)| Policy {
            kind: "HelmChart".into(),
            namespace: "n".into(),
            name: name.into(),
            tier: 100,
            release: Some(release),
            objects: vec![config_map(name, "1")],
            ..Policy::default()
        };
        let policies = releases.into_iter().map(policy).collect();
        Some(Desired { dry_run, policies, ..desired("p", 100, Vec::new()) })
    };
    let mut fixture = Fixture::new();
    fixture.reach();
    let before = ["same", "newer", "valued", "gone"].map(|name| (name, release("1.0.0", "v"))).to_vec();
    fixture.row("p", with(before, false));
    let after = vec![
        ("same", release("1.0.0", "v")),
        ("newer", release("2.0.0", "v")),
        ("valued", release("1.0.0", "w")),
        ("new", release("1.0.0", "v")),
    ];
    fixture.row("p", with(after, true));
    let action = |name: &str| fixture.lines().releases[&format!("n/{name}")].1.action;
    assert_eq!(
        [action("same"), action("newer"), action("valued")],
        [Action::Nothing, Action::Upgrade, Action::UpdateValues]
    );
    assert_eq!([action("new"), action("gone")], [Action::Install, Action::Delete]);
    let upgrade = &fixture.lines().releases["n/newer"].1.message;
    assert_eq!(upgrade, "Current version: \"1.0.0\". Would move to version: \"2.0.0\"");
    assert!(fixture.lines().objects.values().any(|line| line.of_chart));
}

#[test]
fn equal_content_of_another_profile_is_no_conflict() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "1")])));
    fixture.row("p", Some(dry(vec![config_map("a", "1")])));
    assert_eq!(fixture.reported().0, ["a No Action"]);
}

#[test]
fn what_would_be_made_anew_says_so() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| match request {
        Request::Rehearse { .. } => Some(Failure::new(Class::Immutable, "field is immutable")),
        _ => None,
    });
    let forced = |force| {
        let mut row = dry(vec![config_map("a", "1")]);
        row.policies[0].force = force;
        Some(row)
    };
    fixture.row("p", forced(false));
    assert_eq!(fixture.reported().0, ["a Error"]);
    fixture.row("p", forced(true));
    assert_eq!(fixture.reported().0, ["a Update"]);
}

#[test]
fn a_definition_that_a_chart_brings_along_stays_as_it_is_unless_the_profile_says_otherwise() {
    let definition = json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "things.example.com"}});
    let brings = |upgrade_crds| {
        let policy = Policy {
            kind: "HelmChart".into(),
            namespace: "n".into(),
            name: "r".into(),
            tier: 100,
            crds: 1,
            upgrade_crds,
            objects: vec![definition.clone()],
            ..Policy::default()
        };
        Some(Desired { policies: vec![policy], ..dry(Vec::new()) })
    };
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", brings(false));
    assert_eq!(fixture.reported().0, ["things.example.com Create"]);
    let mut there = definition.clone();
    there["data"] = json!({"old": "yes"});
    fixture.objects.insert(ObjectKey::of(&there).unwrap(), there);
    fixture.row("p", Some(Desired { tier: 99, ..brings(false).unwrap() }));
    assert_eq!(fixture.reported().0, ["things.example.com No Action"]);
    fixture.row("p", brings(true));
    assert_eq!(fixture.reported().0, ["things.example.com Update"]);
}

/// Work begins anew while the server is being asked: the answer is nobody's, and the question is asked again.
#[test]
fn what_is_interrupted_is_tried_again() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let row = row_of("p", Some(dry(vec![config_map("a", "1")])));
    let looks = fixture.hold(|deployer, step| deployer.row(&row, step));
    let answer = |fixture: &mut Fixture, calls: Vec<(CallId, Request)>| {
        let mut more = Vec::new();
        for (id, request) in calls {
            let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
            more.extend(fixture.hold(|deployer, step| deployer.external(reply, step)));
        }
        more
    };
    let tries = answer(&mut fixture, looks);
    assert!(matches!(tries[..], [(_, Request::Rehearse { .. })]), "{tries:?}");
    fixture.hold(|deployer, step| deployer.row(&row, step));
    let mut calls = answer(&mut fixture, tries);
    assert!(!calls.is_empty(), "it begins anew");
    let (id, request) = calls.remove(0);
    let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
    fixture.run(|deployer, step| deployer.external(reply, step));
    assert_eq!(fixture.reported().0, ["a Create"]);
}

#[test]
fn what_goes_of_a_chart_is_told_among_its_objects_and_what_stays_is_not() {
    let mut stays = config_map("kept", "1");
    stays["metadata"]["annotations"] = json!({"helm.sh/resource-policy": "keep"});
    let of_chart = |objects: Vec<Value>| {
        let policy = Policy {
            kind: "HelmChart".into(),
            namespace: "n".into(),
            name: "r".into(),
            tier: 100,
            objects,
            ..Policy::default()
        };
        Desired { policies: vec![policy], ..desired("p", 100, Vec::new()) }
    };
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(of_chart(vec![config_map("gone", "1"), stays])));
    fixture.row("p", Some(Desired { dry_run: true, ..of_chart(Vec::new()) }));
    assert_eq!(fixture.reported().0, ["gone Delete"]);
    assert!(fixture.lines().objects.values().all(|line| line.of_chart));
}
