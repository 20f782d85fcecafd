//! What goes to few clusters at a time.

use sluice_protocol::rows::{State, Status};

use super::*;

pub(super) fn profile(max_update: Value) -> Value {
    json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {
        "clusterSelector": {"matchExpressions": [{"key": "in", "operator": "Exists"}]},
        "maxUpdate": max_update,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "plain"}]}})
}

pub(super) fn plain(mark: &str) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: own, mark: \"{mark}\"}}\n"
    );
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "plain"}, "data": {"a.yaml": text}})
}

pub(super) fn annotated(mut object: Value, key: &str, value: &str) -> Value {
    object["metadata"]["annotations"] = json!({key: value});
    object
}

pub(super) const NAMES: [&str; 4] = ["a", "b", "c", "d"];

pub(super) fn registered(name: &str) -> Value {
    registration(name, json!({"in": "yes"}))
}

/// Four clusters, and this profile.
pub(super) fn mk_fixture(profile: Value) -> Fixture {
    let clusters = NAMES.map(registered).into_iter();
    let mut fixture = Fixture::new(clusters.chain([profile, plain("1")]).collect());
    fixture.ready(&[]);
    fixture
}

impl Fixture {
    /// The marks of what each cluster should have.
    fn marks(&self) -> String {
        let mark = |name: &str| {
            let row = self.rows.get(&format!("{name}/p"))?.as_ref()?;
            Some(row.policies[0].objects[0]["data"]["mark"].as_str().unwrap().to_owned())
        };
        NAMES.map(|name| mark(name).unwrap_or("-".into())).concat()
    }

    /// The head of a row, as a deployer or a successor reads it.
    fn head(&self, name: &str) -> Head {
        let cause = Cause::Profile(ProfileId::cluster("p"));
        let desired = self.rows[&format!("{name}/p")].as_ref().unwrap();
        let bytes = serde_json::to_vec(desired).unwrap();
        Publish::new(subject(name), Body::value(bytes), 1).meta(Meta::of_cause(&cause)).head()
    }

    /// A deployer says what became of the row that a cluster has.
    fn say(&mut self, name: &str, state: State) {
        let status = Status { row: Some(self.head(name).digest), ..Status::new(state, Vec::new()) };
        let row = status_row(name, &status);
        self.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(row)), step));
        self.now += 300_000;
        self.run(|renderer, step| renderer.tick(step));
    }

    fn news(&self) -> &str {
        self.problems.get("ClusterProfile p").map_or("", String::as_str)
    }
}

pub(super) fn subject(name: &str) -> Subject {
    Subject::Desired {
        shard: Shard::FIRST,
        cluster: cluster(name),
        origin: Shard::FIRST,
        profile: ProfileId::cluster("p"),
    }
}

pub(super) fn status_row(name: &str, status: &Status) -> Row {
    let subject = Subject::Status {
        shard: Shard::FIRST,
        cluster: cluster(name),
        origin: Shard::FIRST,
        profile: ProfileId::cluster("p"),
    };
    let meta = Meta::of_cause(&Cause::Profile(ProfileId::cluster("p")));
    let body = serde_json::to_vec(status).unwrap().into();
    Row { subject, head: Head { meta, ..Head::default() }, body, sequence: Sequence::new(1) }
}

/// All four have the first content.
fn rolled_out(profile: Value) -> Fixture {
    let mut fixture = mk_fixture(profile);
    for name in NAMES {
        fixture.say(name, State::Provisioned);
    }
    assert_eq!((fixture.marks().as_str(), fixture.news()), ("1111", ""));
    fixture
}

#[test]
fn new_clusters_get_it_one_after_the_other() {
    let mut fixture = mk_fixture(profile(json!(1)));
    assert_eq!(fixture.marks(), "1---");
    assert!(fixture.rows.values().flatten().all(|row| row.staged));
    assert!(
        fixture.news().contains("rollout: 0 of 4 clusters have it, 1 are being updated"),
        "{}",
        fixture.news()
    );
    fixture.say("a", State::Provisioned);
    assert_eq!(fixture.marks(), "11--");
}

#[test]
fn a_new_content_goes_to_so_many_and_the_others_keep_what_they_have() {
    let mut fixture = rolled_out(profile(json!("30%")));
    fixture.put(plain("2"));
    assert_eq!(fixture.marks(), "2211", "three tenths of four are two");
    fixture.say("b", State::Provisioned);
    assert_eq!(fixture.marks(), "2221");
    fixture.put(plain("3"));
    assert_eq!(fixture.marks(), "3321", "it begins anew");
    for name in NAMES {
        fixture.say(name, State::Provisioned);
    }
    assert_eq!((fixture.marks().as_str(), fixture.news()), ("3333", ""));
}

#[test]
fn a_successor_sees_by_digest_who_has_what() {
    let mut before = rolled_out(profile(json!(1)));
    before.put(plain("2"));
    before.say("a", State::Provisioned);
    assert_eq!(before.marks(), "2211", "b is being updated");
    let clusters = NAMES.map(registered).into_iter();
    let objects = clusters.chain([profile(json!(1)), plain("2")]).collect();
    let mut after = Fixture::with(objects, |renderer| {
        for name in NAMES {
            renderer.found(&subject(name), &before.head(name));
        }
    });
    for name in ["a", "c", "d"] {
        let status =
            Status { row: Some(before.head(name).digest), ..Status::new(State::Provisioned, Vec::new()) };
        let row = status_row(name, &status);
        after.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(row)), step));
    }
    after.ready(&[]);
    assert_eq!(after.marks(), "22--", "what others have is as it was");
    assert!(!after.log.iter().any(|line| line.starts_with('-')), "{:?}", after.log);
    after.say("b", State::Provisioned);
    assert_eq!(after.marks(), "222-");
}

/// A cluster that holds something of the profile and has no row, since the table was lost, waits like all others, and loses nothing.
#[test]
fn what_a_waiting_cluster_holds_is_not_withdrawn() {
    let mut fixture = mk_fixture(profile(json!(1)));
    assert_eq!(fixture.marks(), "1---");
    let held = status_row("d", &Status::new(State::Held, Vec::new()));
    fixture.run(|renderer, step| renderer.external(ExternalInput::Status(Arc::new(held)), step));
    fixture.wait();
    assert!(!fixture.log.iter().any(|line| line.starts_with('-')), "{:?}", fixture.log);
    for name in NAMES {
        fixture.say(name, State::Provisioned);
    }
    assert_eq!(fixture.marks(), "1111");
}

#[test]
fn a_cluster_that_is_paused_is_passed_over() {
    let mut fixture = rolled_out(profile(json!(1)));
    let mut paused = registered("a");
    paused["spec"]["paused"] = true.into();
    fixture.put(paused);
    fixture.put(plain("2"));
    assert_eq!(fixture.marks(), "1211");
    fixture.say("b", State::Provisioned);
    fixture.say("c", State::Provisioned);
    fixture.say("d", State::Provisioned);
    assert_eq!(fixture.marks(), "1222");
    assert!(
        fixture.news().contains("1 are passed over, paused or away (sveltos:default/a)"),
        "{}",
        fixture.news()
    );
    fixture.put(registered("a"));
    assert_eq!((fixture.marks().as_str(), fixture.news()), ("2222", ""));
}

#[test]
fn a_cluster_whose_pause_ends_by_itself_has_its_turn_then() {
    let mut fixture = rolled_out(profile(json!(1)));
    fixture.put(annotated(registered("a"), "sluice.dev/paused-until", "1970-01-01T01:00:00Z"));
    fixture.put(plain("2"));
    for name in ["b", "c", "d"] {
        fixture.say(name, State::Provisioned);
    }
    assert_eq!(fixture.marks(), "1222");
    fixture.now = 3_600_000_000 - 1;
    fixture.run(|renderer, step| renderer.tick(step));
    assert_eq!((fixture.marks().as_str(), fixture.wake), ("1222", Some(3_600_000_000)));
    fixture.wait();
    assert_eq!((fixture.marks().as_str(), fixture.news()), ("2222", ""));
}

#[test]
fn what_a_registration_says_wrong_is_told_of_it() {
    let wrong = annotated(registered("a"), "sluice.dev/paused-until", "soon");
    let mut fixture = Fixture::new(vec![wrong]);
    fixture.ready(&[]);
    let told = fixture.problems.get("registration").map(String::as_str).unwrap_or_default();
    assert!(told.contains("paused-until") && told.contains("\"soon\" cannot be used"), "{told}");
    fixture.put(registered("a"));
    assert_eq!(fixture.problems.get("registration").map(String::as_str).unwrap_or_default(), "");
}

#[test]
fn a_cluster_that_is_away_is_passed_over() {
    let mut fixture = rolled_out(profile(json!(1)));
    fixture.put(plain("2"));
    let mut down = registered("a");
    down["status"]["connectionStatus"] = "Down".into();
    fixture.put(down);
    assert_eq!(fixture.marks(), "2211");
}

#[test]
fn it_stops_where_it_fails_and_says_so() {
    let mut fixture = rolled_out(profile(json!(1)));
    fixture.put(plain("2"));
    fixture.say("a", State::Failed);
    assert_eq!(fixture.marks(), "2111");
    let told = "rollout: 0 of 4 clusters have it, 1 failed (sveltos:default/a), 3 wait for their turn; it goes to no more clusters";
    assert!(fixture.news().starts_with(told), "{}", fixture.news());
    fixture.put(annotated(profile(json!(1)), "sluice.dev/rollout-failure-budget", "1"));
    assert_eq!(fixture.marks(), "2211");
    fixture.put(plain("3"));
    assert_eq!(fixture.marks(), "3211", "what was mended begins where it failed");
}

#[test]
fn what_is_not_approved_goes_to_the_first_alone() {
    let key = "sluice.dev/rollout-approve";
    let mut fixture = rolled_out(profile(json!(1)));
    fixture.put(annotated(profile(json!(1)), key, "x"));
    fixture.put(plain("2"));
    fixture.say("a", State::Provisioned);
    assert_eq!(fixture.marks(), "2111");
    let told = fixture.news().to_owned();
    let called = told.rsplit_once('"').and_then(|(text, _)| text.rsplit_once('"')).unwrap().1;
    fixture.put(annotated(profile(json!(1)), key, called));
    assert_eq!(fixture.marks(), "2211", "{told}");
    fixture.put(plain("3"));
    fixture.say("a", State::Provisioned);
    assert_eq!(fixture.marks(), "3211", "that is another content");
}

#[test]
fn without_a_limit_all_get_it_at_once() {
    let mut fixture = rolled_out(profile(json!(1)));
    fixture.put(plain("2"));
    assert_eq!(fixture.marks(), "2111");
    fixture.put(profile(json!(0)));
    assert_eq!((fixture.marks().as_str(), fixture.news()), ("2222", ""));
    assert!(fixture.rows.values().flatten().all(|row| !row.staged));
}

#[test]
fn a_profile_that_goes_goes_everywhere_at_once() {
    let mut fixture = rolled_out(profile(json!(1)));
    fixture.put(plain("2"));
    fixture.delete(profile(json!(1)));
    assert_eq!((fixture.marks().as_str(), fixture.news()), ("----", ""));
}

#[test]
fn what_events_lead_to_goes_to_few_destinations_at_a_time() {
    let extra = json!({"destinationClusterSelector": {"matchExpressions": [{"key": "in", "operator": "Exists"}]}, "maxUpdate": 2});
    let clusters = ["c", "d", "e"].map(registered).into_iter();
    let mut fixture = Fixture::new(clusters.chain([trigger(true, extra), content(true, "1")]).collect());
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted().len(), 2, "{:?}", fixture.wanted());
    assert!(
        fixture.problems.values().any(|text| text.contains("0 of 3 clusters have it")),
        "{:?}",
        fixture.problems
    );
}

#[test]
fn a_dry_run_gives_it_to_all_at_once() {
    let clusters = NAMES.map(registered).into_iter();
    let objects = clusters.chain([profile(json!(1)), plain("1")]).collect();
    let mut fixture = Fixture::with(objects, |renderer| renderer.planning.rollouts.turn_off());
    fixture.ready(&[]);
    assert_eq!((fixture.marks().as_str(), fixture.news()), ("1111", ""));
}

/// It is wanted there, and waits for its turn: nothing says that it should go.
#[test]
fn what_waits_for_its_turn_on_a_cluster_that_is_back_stays() {
    let mut fixture = mk_fixture(profile(json!(1)));
    NAMES.into_iter().for_each(|name| fixture.say(name, State::Provisioned));
    fixture.delete(registered("d"));
    assert_eq!(fixture.departures.get("d/p").map(String::as_str), Some("unregistered"));
    fixture.put(plain("2"));
    fixture.take_log();
    fixture.put(registered("d"));
    assert!(fixture.take_log().iter().all(|line| line != "-d"));
    for name in ["a", "b", "c", "d"] {
        fixture.say(name, State::Provisioned);
    }
    assert_eq!(fixture.marks(), "2222");
}

#[test]
fn each_of_two_rollouts_that_begin_together_counts_its_own_time() {
    let with = |name: &str| {
        let mut profile = annotated(profile(json!(1)), "sluice.dev/rollout-failure-budget", "2");
        profile["metadata"]["name"] = name.into();
        profile
    };
    let clusters = NAMES.map(registered).into_iter();
    let mut fixture = Fixture::new(clusters.chain([with("p"), with("q"), plain("1")]).collect());
    fixture.ready(&[]);
    let have = |fixture: &Fixture, profile: &str| {
        NAMES
            .iter()
            .filter(|name| fixture.rows.get(&format!("{name}/{profile}")).is_some_and(Option::is_some))
            .count()
    };
    assert_eq!(["p", "q"].map(|name| have(&fixture, name)), [1, 1]);
    // Nobody says what becomes of them.
    fixture.now += 600_000_001;
    fixture.run(|renderer, step| renderer.tick(step));
    assert_eq!(["p", "q"].map(|name| have(&fixture, name)), [2, 2]);
}
