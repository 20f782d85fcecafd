//! Profiles that take over from others, and when what these have is withdrawn.

use sluice_protocol::rows::{Departure, State, Status};

use super::*;

/// A profile for clusters of this colour, which takes over from these.
fn profile(name: &str, colour: &str, from: &[&str]) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": name}, "spec": {
        "clusterSelector": {"matchLabels": {"colour": colour}}, "transitionFrom": from,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}})
}

fn plain() -> Value {
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: x}\n";
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"}, "data": {"a.yaml": text}})
}

fn coloured(name: &str, colour: &str) -> Value {
    registration(name, json!({"colour": colour}))
}

/// Two blue clusters, `blue`, and these profiles.
fn mk_fixture(profiles: Vec<Value>) -> Fixture {
    let clusters = ["a", "b"].map(|name| coloured(name, "blue"));
    let objects = clusters.into_iter().chain([plain(), profile("blue", "blue", &[])]).chain(profiles);
    let mut fixture = Fixture::new(objects.collect());
    fixture.ready(&[]);
    fixture
}

/// A deployer says that the cluster holds something of a profile.
fn held(cluster_name: &str, name: &str) -> Row {
    let profile = ProfileId::cluster(name);
    let meta = Meta::of_cause(&Cause::Profile(profile.clone()));
    let subject = Subject::Status {
        shard: Shard::FIRST,
        cluster: cluster(cluster_name),
        origin: Shard::FIRST,
        profile,
    };
    let body = serde_json::to_vec(&Status::new(State::Provisioned, Vec::new())).unwrap();
    Row { subject, head: Head { meta, ..Head::default() }, body: body.into(), sequence: Sequence::new(1) }
}

fn gone(cluster_name: &str, name: &str) -> Row {
    let row = held(cluster_name, name);
    Row { head: Head { tombstone: true, ..Head::default() }, body: [].into(), ..row }
}

impl Fixture {
    fn status(&mut self, row: Row) {
        self.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(row)), step));
    }

    /// Where something was withdrawn since this was asked last.
    fn withdrawals(&mut self) -> Vec<String> {
        self.take_log().into_iter().filter(|line| line.starts_with('-')).collect()
    }

    fn withdrawn(&self, place: &str) -> bool {
        self.rows.get(place).is_some_and(Option::is_none)
    }

    /// After whom what is at this place goes.
    fn after(&self, place: &str) -> Option<&str> {
        assert!(self.withdrawn(place), "{place}");
        self.departures.get(place).map(String::as_str)
    }
}

#[test]
fn a_row_says_from_whom_its_profile_takes_over() {
    let fixture = mk_fixture(vec![profile("green", "blue", &["blue", "never"])]);
    let row = fixture.rows["a/green"].as_ref().unwrap();
    assert_eq!(row.succeeds, ["blue", "never"].map(ProfileId::cluster).into());
    assert!(fixture.rows["a/blue"].as_ref().unwrap().succeeds.is_empty());
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
}

#[test]
fn what_is_withdrawn_goes_after_those_that_match_the_same_cluster() {
    let mut fixture =
        mk_fixture(vec![profile("green", "green", &["blue"]), profile("red", "red", &["blue"])]);
    fixture.put(coloured("a", "green"));
    assert_eq!(fixture.after("a/blue"), Some("green"));
    assert!(fixture.rows["b/blue"].is_some());
    fixture.put(coloured("b", "grey"));
    assert_eq!(fixture.after("b/blue"), None, "nobody takes over there");
}

#[test]
fn a_profile_that_is_deleted_goes_everywhere_after_its_successors() {
    let mut fixture =
        mk_fixture(vec![profile("green", "blue", &["blue"]), profile("red", "blue", &["blue"])]);
    fixture.delete(profile("blue", "blue", &[]));
    assert_eq!(["a/blue", "b/blue"].map(|place| fixture.after(place)), [Some("green red"); 2]);
}

#[test]
fn a_successor_that_goes_is_paused_or_stops_matching_is_not_waited_for_any_more() {
    let green = || profile("green", "green", &["blue"]);
    let mut paused = green();
    paused["metadata"]["annotations"] = json!({"profile.projectsveltos.io/paused": ""});
    let ends: [&dyn Fn(&mut Fixture); 4] = [
        &|fixture| fixture.delete(green()),
        &|fixture| fixture.put(paused.clone()),
        &|fixture| fixture.put(profile("green", "green", &[])),
        &|fixture| fixture.put(coloured("a", "grey")),
    ];
    for (number, end) in ends.into_iter().enumerate() {
        let mut fixture = mk_fixture(vec![green()]);
        fixture.put(coloured("a", "green"));
        fixture.status(held("a", "blue"));
        assert_eq!(fixture.after("a/blue"), Some("green"));
        fixture.take_log();
        end(&mut fixture);
        assert_eq!(fixture.after("a/blue"), None, "{number}");
        assert!(fixture.withdrawals().contains(&"-a".to_owned()), "{number}: its deployer is told");
        fixture.put(profile("other", "none", &[]));
        assert!(fixture.withdrawals().is_empty(), "{number}: once");
    }
}

#[test]
fn who_comes_to_take_over_while_it_is_withdrawn_is_waited_for() {
    let mut fixture = mk_fixture(Vec::new());
    fixture.status(held("a", "blue"));
    fixture.put(coloured("a", "green"));
    assert_eq!(fixture.after("a/blue"), None);
    fixture.put(profile("green", "green", &["blue"]));
    assert_eq!(fixture.after("a/blue"), Some("green"));
    // What has gone is not withdrawn any more.
    fixture.status(gone("a", "blue"));
    fixture.take_log();
    fixture.delete(profile("green", "green", &["blue"]));
    assert_eq!(fixture.withdrawals(), ["-a"], "green itself");
}

#[test]
fn what_matches_again_is_wanted_again() {
    let mut fixture = mk_fixture(vec![profile("green", "green", &["blue"])]);
    fixture.put(coloured("a", "green"));
    fixture.status(held("a", "blue"));
    fixture.put(coloured("a", "blue"));
    assert!(fixture.rows["a/blue"].is_some() && fixture.withdrawn("a/green"));
    fixture.take_log();
    fixture.delete(profile("green", "green", &["blue"]));
    assert!(fixture.rows["a/blue"].is_some() && fixture.withdrawals().is_empty());
}

/// Nothing has been decided of it there: neither that it is wanted nor that it is not.
#[test]
fn what_is_paused_stays_on_a_cluster_that_is_registered_again() {
    for is_held_before in [true, false] {
        let mut fixture = mk_fixture(vec![profile("green", "blue", &["blue"])]);
        let mut paused = profile("blue", "blue", &[]);
        paused["metadata"]["annotations"] = json!({"profile.projectsveltos.io/paused": ""});
        if is_held_before {
            fixture.status(held("a", "blue"));
        }
        fixture.delete(coloured("a", "blue"));
        assert_eq!(fixture.after("a/blue"), Some("unregistered"));
        fixture.put(paused);
        fixture.put(coloured("a", "blue"));
        fixture.status(held("a", "blue"));
        // Something else changes.
        fixture.delete(coloured("b", "blue"));
        assert_eq!(fixture.after("a/blue"), Some("unregistered"), "held before: {is_held_before}");
        fixture.put(profile("blue", "blue", &[]));
        assert!(fixture.rows["a/blue"].is_some(), "it is paused no more");
        fixture.delete(profile("blue", "blue", &[]));
        assert_eq!(fixture.after("a/blue"), Some("green"));
    }
}

#[test]
fn a_successor_that_cannot_be_read_is_waited_for() {
    let mut wrong = profile("green", "green", &["blue"]);
    wrong["spec"]["tier"] = json!("wrong");
    let mut fixture = mk_fixture(vec![wrong]);
    fixture.put(coloured("a", "grey"));
    assert_eq!(fixture.after("a/blue"), Some("green"), "it may be for this cluster");
    fixture.status(held("a", "blue"));
    fixture.put(profile("green", "green", &["blue"]));
    assert_eq!(fixture.after("a/blue"), None);
}

#[test]
fn a_chain_is_followed_over_those_that_do_not_match() {
    let profiles = vec![profile("green", "green", &["blue"]), profile("red", "red", &["green"])];
    let mut fixture = mk_fixture(profiles);
    fixture.put(coloured("a", "red"));
    assert_eq!(fixture.after("a/blue"), Some("red"));
}

#[test]
fn a_circle_is_told_of_each_in_it_and_nobody_in_it_takes_over() {
    let circle = || vec![profile("green", "green", &["red"]), profile("red", "green", &["green", "blue"])];
    let mut fixture = mk_fixture(circle());
    fixture.put(coloured("a", "green"));
    assert_eq!(fixture.after("a/blue"), None);
    assert!(fixture.rows["a/red"].as_ref().unwrap().succeeds.is_empty());
    for (name, way) in [("green", "green -> ClusterProfile red"), ("red", "red -> ClusterProfile green")] {
        let told = &fixture.problems[&format!("ClusterProfile {name}")];
        let expected =
            format!("spec.transitionFrom: ClusterProfile {way} -> ClusterProfile {name} is a circle");
        assert!(told.starts_with(&expected), "{told}");
    }
    fixture.put(profile("green", "green", &[]));
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
    let succeeds = &fixture.rows["a/red"].as_ref().unwrap().succeeds;
    assert_eq!(*succeeds, ["blue", "green"].map(ProfileId::cluster).into());
}

#[test]
fn a_profile_of_a_namespace_takes_over_there_alone() {
    let of = |name: &str, from: &[&str]| {
        let mut profile = profile(name, "blue", from);
        profile["kind"] = "Profile".into();
        profile["metadata"]["namespace"] = "default".into();
        profile
    };
    let mut fixture = mk_fixture(vec![of("green", &["blue"]), of("blue", &[])]);
    fixture.delete(profile("blue", "blue", &[]));
    assert_eq!(fixture.after("a/blue"), None, "that is a ClusterProfile");
    fixture.delete(of("blue", &[]));
    assert_eq!(fixture.after("a/default/blue"), Some("green"));
}

/// The tombstone of the former owner says after whom it goes, and the profile itself is not there any more.
#[test]
fn a_successor_of_the_renderer_goes_on_with_what_the_tombstones_say() {
    let place = |name: &str| Subject::Desired {
        shard: Shard::FIRST,
        cluster: cluster(name),
        origin: Shard::FIRST,
        profile: ProfileId::cluster("blue"),
    };
    let after = || [ProfileId::cluster("green")].into();
    let tombstone = Head {
        tombstone: true,
        time: 5,
        meta: Meta::Departure(Departure { after: after(), ..Departure::default() }),
        ..Head::default()
    };
    for (colour, expected) in [("green", None), ("grey", Some(None))] {
        let green = profile("green", "green", &["blue"]);
        let objects = vec![coloured("a", colour), plain(), green.clone()];
        let mut fixture = Fixture::with(objects, |renderer| {
            renderer.found(&place("a"), &tombstone);
            let row = ExternalInput::Status(Arc::new(held("a", "blue")));
            renderer.external(row, &mut Step::at(0));
        });
        fixture.ready(&[]);
        let said = fixture.rows.contains_key("a/blue").then(|| fixture.after("a/blue"));
        assert_eq!(said, expected, "what is said already is not said again: {colour}");
        fixture.delete(green);
        assert_eq!(fixture.after("a/blue"), None);
    }
}

/// The tombstone has expired, and the cluster still holds something.
#[test]
fn what_is_held_without_a_row_goes_after_its_successors() {
    let objects = vec![coloured("a", "green"), plain(), profile("green", "green", &["blue"])];
    let mut fixture = Fixture::with(objects, |renderer| {
        let row = ExternalInput::Status(Arc::new(held("a", "blue")));
        renderer.external(row, &mut Step::at(0));
    });
    fixture.ready(&[]);
    assert_eq!(fixture.after("a/blue"), Some("green"));
}

#[test]
fn what_is_for_the_management_cluster_goes_after_what_is_for_it() {
    let local = |name: &str, colour: &str, from: &[&str]| {
        let mut profile = profile(name, colour, from);
        profile["spec"]["policyRefs"][0]["deploymentType"] = "Local".into();
        profile
    };
    for (green, after) in
        [(local("green", "blue", &["blue"]), Some("green")), (profile("green", "blue", &["blue"]), None)]
    {
        let mut fixture = mk_fixture(vec![local("blue", "blue", &[]), green]);
        fixture.delete(local("blue", "blue", &[]));
        let of_management = |place: &&String| {
            !place.starts_with("a/") && !place.starts_with("b/") && place.ends_with("/blue")
        };
        let place = fixture.rows.keys().find(of_management).unwrap().clone();
        assert_eq!(fixture.after(&place), after);
    }
}
