//! Clusters that are no longer registered, and reports that go.

use sluice_protocol::rows::{State, Status};

use super::*;

fn mk_fixture() -> Fixture {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture
}

impl Fixture {
    /// The bucket has what was written.
    fn hear(&mut self, name: &str, row: Interest) {
        self.run(|renderer, step| renderer.external(ExternalInput::Interest(cluster(name), row), step));
    }

    fn unregister(&mut self, name: &str) {
        self.delete(registration(name, json!({"env": "fv"})));
        self.hear(name, self.interests[&cluster(name)].clone());
    }

    fn elapse(&mut self, time: i64) {
        self.now += time;
        self.run(|renderer, step| renderer.tick(step));
    }

    fn report(&self) -> Option<&Option<Value>> {
        self.projected.iter().find(|(key, _)| key.contains("EventReport")).map(|(_, object)| object)
    }
}

#[test]
fn a_cluster_is_gone_a_while_after_its_registration_and_forgotten_with_its_interest_row() {
    let mut fixture = mk_fixture();
    fixture.unregister("a");
    assert!(fixture.wanted().is_empty(), "what came of its events goes at once");
    fixture.elapse(FORGET_AFTER - 1);
    assert!(!fixture.interests[&cluster("a")].gone);
    let before = fixture.revision();
    fixture.elapse(1);
    assert!(fixture.interests[&cluster("a")].gone && fixture.revision() > before);
    assert!(!fixture.interests[&cluster("b")].gone);
    // Its matcher takes back what it said, its agent the interest row.
    fixture.hear("a", fixture.interests[&cluster("a")].clone());
    let taken_back = Row { head: Head { tombstone: true, ..Head::default() }, ..complete(Revision::NONE) };
    fixture.row(Row { head: Head { tombstone: true, ..Head::default() }, ..report("x", true) });
    fixture.run(|renderer, step| renderer.row(&taken_back, step));
    fixture.hear("a", Interest::default());
    let renderer = &fixture.renderer;
    assert!(
        !renderer.planning.bindings.contains_key(&cluster("a")) && renderer.outgoing.departures.is_empty()
    );
    assert!(renderer.knowledge.sets.get(&cluster("a"), "s").is_none());
    let floor = renderer.knowledge.completeness.last_revision(&cluster("a"));
    fixture.elapse(10 * FORGET_AFTER);
    assert!(fixture.interests[&cluster("a")].gone, "nothing is said of it any more");
    fixture.now = 5;
    fixture.put(registration("a", json!({"env": "fv"})));
    assert!(fixture.revision() > floor, "whatever the clock says");
}

#[test]
fn a_tombstone_says_that_its_cluster_is_not_registered_and_no_more_once_it_is() {
    // Its deployer has said that something is there before the cluster is registered again, or says it only then, to a new renderer.
    says_so_of_a_cluster_that_is_not_registered(true);
    says_so_of_a_cluster_that_is_not_registered(false);
}

fn says_so_of_a_cluster_that_is_not_registered(is_held_before: bool) {
    let to = json!({"destinationClusterSelector": {"matchLabels": {"dep": "eng"}}});
    let mut fixture = Fixture::new(vec![trigger(true, to.clone()), content(true, "1")]);
    fixture.ready(&["x"]);
    let place = fixture.rows.keys().find(|place| place.starts_with("b/")).unwrap().clone();
    let profile = ProfileId::cluster(place.strip_prefix("b/").unwrap());
    let subject =
        Subject::Status { shard: Shard::FIRST, cluster: cluster("b"), origin: Shard::FIRST, profile };
    let body = serde_json::to_vec(&Status::new(State::Provisioned, Vec::new())).unwrap();
    let head = Head { meta: Meta::of_cause(&cause(Some("x"))), ..Head::default() };
    let there = Row { subject, head, body: body.into(), sequence: Sequence::new(1) };
    let says = |fixture: &mut Fixture| {
        let there = Arc::new(there.clone());
        fixture.run(|renderer, step| renderer.external(ExternalInput::Status(there), step));
    };
    if is_held_before {
        says(&mut fixture);
    }
    fixture.delete(registration("b", json!({"dep": "eng"})));
    assert_eq!(
        (&fixture.rows[&place], fixture.departures.get(&place).map(String::as_str)),
        (&None, Some("unregistered"))
    );
    // Nobody wants it there when it comes back.
    fixture.delete(trigger(true, to));
    assert_eq!(fixture.departures.get(&place).map(String::as_str), Some("unregistered"));
    fixture.put(registration("b", json!({"dep": "eng"})));
    if !is_held_before {
        assert_eq!(
            fixture.departures.get(&place).map(String::as_str),
            Some("unregistered"),
            "nothing is there"
        );
        says(&mut fixture);
    }
    assert_eq!((&fixture.rows[&place], fixture.departures.get(&place)), (&None, None));
}

#[test]
fn what_a_cluster_holds_that_leaves_is_withdrawn() {
    let to = json!({"destinationClusterSelector": {"matchLabels": {"dep": "eng"}}});
    for (finalizer, said) in [("sluice.dev/withdraw", None), ("example.com/other", Some("unregistered"))] {
        let mut fixture = Fixture::new(vec![trigger(true, to.clone()), content(true, "1")]);
        fixture.ready(&["x"]);
        let place = fixture.rows.keys().find(|place| place.starts_with("b/")).unwrap().clone();
        let mut leaving = registration("b", json!({"dep": "eng"}));
        leaving["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        leaving["metadata"]["finalizers"] = json!([finalizer]);
        fixture.put(leaving.clone());
        let told = (&fixture.rows[&place], fixture.departures.get(&place).map(String::as_str));
        assert_eq!(told, (&None, said), "{finalizer}");
        fixture.delete(leaving);
        let told = (&fixture.rows[&place], fixture.departures.get(&place).map(String::as_str));
        assert_eq!(told, (&None, said), "{finalizer}");
    }
}

#[test]
fn who_is_registered_again_in_time_is_not_gone_and_later_begins_anew() {
    let mut fixture = mk_fixture();
    fixture.unregister("a");
    fixture.elapse(FORGET_AFTER / 2);
    fixture.put(registration("a", json!({"env": "fv"})));
    fixture.hear("a", fixture.interests[&cluster("a")].clone());
    fixture.elapse(FORGET_AFTER);
    assert!(!fixture.interests[&cluster("a")].gone);
    fixture.unregister("a");
    fixture.elapse(FORGET_AFTER);
    let gone = fixture.interests[&cluster("a")].clone();
    fixture.put(registration("a", json!({"env": "fv"})));
    fixture.hear("a", gone.clone());
    let again = &fixture.interests[&cluster("a")];
    assert!(gone.gone && !again.gone && again.revision > gone.revision && again.sources.len() == 1);
}

#[test]
fn a_bucket_that_is_lost_while_a_cluster_is_away_takes_nothing_of_it() {
    let mut fixture = mk_fixture();
    fixture.unregister("a");
    let last = fixture.revision();
    fixture.hear("a", Interest::default());
    fixture.put(registration("a", json!({"env": "fv"})));
    assert!(fixture.revision() > last, "others have worked with the row that is lost");
    fixture.hear("a", fixture.interests[&cluster("a")].clone());
    assert_eq!(fixture.wanted(), ["a x 1"], "its event is still reported, and is not told again");
}

#[test]
fn a_cluster_is_said_to_be_gone_although_its_row_is_lost_as_long_as_a_matcher_speaks_of_it() {
    let mut fixture = mk_fixture();
    fixture.unregister("a");
    let last = fixture.revision();
    fixture.hear("a", Interest::default());
    fixture.elapse(FORGET_AFTER);
    assert!(fixture.interests[&cluster("a")].gone && fixture.revision() > last);
    // A matcher that comes later is told by the rows of a predecessor, and knows of no interest row.
    let mut fixture = Fixture::new(vec![]);
    fixture.delete(registration("a", json!({"env": "fv"})));
    fixture.caught_up();
    fixture.interests.clear();
    fixture.row(complete(Revision::new(77_000)));
    fixture.elapse(FORGET_AFTER);
    assert!(fixture.interests[&cluster("a")].gone && fixture.revision() > Revision::new(77_000));
    fixture.hear("a", fixture.interests[&cluster("a")].clone());
    let taken_back = Row { head: Head { tombstone: true, ..Head::default() }, ..complete(Revision::NONE) };
    fixture.run(|renderer, step| renderer.row(&taken_back, step));
    fixture.hear("a", Interest::default());
    assert!(
        fixture.renderer.outgoing.departures.is_empty()
            && !fixture.renderer.knowledge.completeness.is_spoken_of(&cluster("a"))
    );
}

#[test]
fn a_farewell_by_a_clock_that_is_behind_is_said_again_to_who_waits_for_a_later_one() {
    let mut fixture = mk_fixture();
    fixture.unregister("a");
    fixture.elapse(FORGET_AFTER);
    fixture.hear("a", fixture.interests[&cluster("a")].clone());
    // A matcher has worked with a later row, which was lost with the bucket.
    let later = fixture.revision().after_more(1_000_000);
    fixture.row(complete(later));
    fixture.elapse(FORGET_AFTER);
    assert!(fixture.interests[&cluster("a")].gone && fixture.revision() > later);
    fixture.hear("a", fixture.interests[&cluster("a")].clone());
    assert!(fixture.renderer.outgoing.departures.is_empty());
}

#[test]
fn a_farewell_that_is_due_before_the_end_of_the_input_is_said_then() {
    let row = Interest { revision: Revision::new(77_000), ..Interest::default() };
    let mut fixture = Fixture::begin(vec![], |renderer| {
        renderer.external(ExternalInput::Interest(cluster("old"), row), &mut Step::at(0));
    });
    fixture.elapse(FORGET_AFTER);
    assert!(!fixture.interests.contains_key(&cluster("old")), "others may have worked with a newer row");
    fixture.caught_up();
    assert!(fixture.interests[&cluster("old")].gone);
}

#[test]
fn who_comes_later_says_farewell_to_clusters_that_were_unregistered_meanwhile() {
    let row = Interest { revision: Revision::new(77_000), ..Interest::default() };
    let mut fixture = Fixture::with(vec![], |renderer| {
        renderer.external(ExternalInput::Interest(cluster("old"), row), &mut Step::at(0));
    });
    fixture.ready(&[]);
    fixture.elapse(FORGET_AFTER);
    let old = &fixture.interests[&cluster("old")];
    assert!(old.gone && old.revision > Revision::new(77_000));
}

#[test]
fn a_report_goes_with_its_source_with_the_last_trigger_and_with_the_cluster() {
    let written = |fixture: &mut Fixture| {
        fixture.elapse(3_000_000);
        assert!(matches!(fixture.report(), Some(Some(_))));
    };
    let gone = |fixture: &mut Fixture| {
        assert_eq!(fixture.report(), Some(&None));
        // What is still under way does not bring it back.
        fixture.row(report("x", true));
        fixture.elapse(3_000_000);
        assert_eq!(fixture.report(), Some(&None));
    };
    let mut fixture = mk_fixture();
    written(&mut fixture);
    fixture.delete(source());
    gone(&mut fixture);
    fixture.put(source());
    fixture.row(report("x", false));
    written(&mut fixture);
    fixture.delete(trigger(true, json!({})));
    gone(&mut fixture);
    let mut fixture = mk_fixture();
    written(&mut fixture);
    fixture.unregister("a");
    gone(&mut fixture);
}
