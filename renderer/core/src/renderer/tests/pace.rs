//! How fast triggers act, and for how long.

use sluice_protocol::rows::ReportMeta;

use super::*;

const SECOND: i64 = 1_000_000;

/// A trigger with one profile for each event, or one for all, and an annotation of ours.
fn annotated(one: bool, annotations: Value) -> Value {
    let mut trigger = trigger(one, json!({}));
    trigger["metadata"]["annotations"] = annotations;
    trigger
}

fn with(one: bool, key: &str, value: &str) -> Fixture {
    let mut fixture =
        Fixture::new(vec![annotated(one, json!({format!("sluice.dev/{key}"): value})), content(one, "1")]);
    fixture.now = 100_000 * SECOND;
    fixture
}

/// An event that happened then.
fn report_at(name: &str, time: i64) -> Row {
    let mut row = report(name, false);
    row.head.time = time;
    row
}

impl Fixture {
    /// Lets time pass, with everything that is due meanwhile.
    fn pass(&mut self, time: i64) {
        let until = self.now + time;
        while self.wake.is_some_and(|at| at <= until) {
            self.wait();
        }
        self.now = until;
        self.run(|renderer, step| renderer.tick(step));
    }
}

#[test]
fn while_a_trigger_is_suspended_nothing_comes_and_nothing_goes() {
    let mut fixture = Fixture::new(vec![annotated(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.put(annotated(true, json!({"sluice.dev/suspend": "true"})));
    fixture.row(report("x", true));
    fixture.row(report("y", false));
    fixture.put(content(true, "2"));
    fixture.pass(60 * SECOND);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    fixture.put(annotated(true, json!({"sluice.dev/suspend": "false"})));
    assert_eq!(fixture.wanted(), ["a y 2"]);
    fixture.put(annotated(true, json!({"sluice.dev/suspend": "true"})));
    fixture.delete(annotated(true, json!({})));
    assert!(fixture.wanted().is_empty(), "it is gone");
}

#[test]
fn an_event_counts_for_as_long_as_the_annotation_says() {
    let mut fixture = with(true, "ttl", "1h");
    let now = fixture.now;
    fixture.row(report_at("x", now - 3_599 * SECOND));
    fixture.row(report_at("late", now - 3_601 * SECOND));
    fixture.row(report_at("y", now));
    fixture.ready(&[]);
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1"]);
    fixture.pass(2 * SECOND);
    assert_eq!(fixture.wanted(), ["a y 1"]);
    // What changes counts again, and a new owner knows as much.
    fixture.row(report_at("x", fixture.now));
    assert_eq!(fixture.wanted(), ["a x 1", "a y 1"]);
    fixture.put(content(true, "2"));
    fixture.pass(3_599 * SECOND);
    assert_eq!(fixture.wanted(), ["a x 2"]);
    fixture.put(annotated(true, json!({})));
    assert_eq!(fixture.wanted(), ["a late 2", "a x 2", "a y 2"], "without the annotation all of them count");
}

#[test]
fn of_all_together_those_count_that_are_young_enough() {
    let mut fixture = with(false, "ttl", "10s");
    let now = fixture.now;
    fixture.row(report_at("x", now - 8 * SECOND));
    fixture.row(report_at("y", now - 3 * SECOND));
    fixture.ready(&[]);
    assert_eq!(fixture.wanted(), ["a xy 1"]);
    fixture.pass(3 * SECOND);
    assert_eq!(fixture.wanted(), ["a y 1"]);
    fixture.pass(6 * SECOND);
    assert!(fixture.wanted().is_empty());
}

#[test]
fn events_wait_until_nothing_has_come_for_a_while() {
    let mut fixture = with(true, "debounce", "5s");
    fixture.ready(&[]);
    fixture.row(report("x", false));
    fixture.pass(4 * SECOND);
    fixture.row(report("x", false));
    fixture.pass(4 * SECOND);
    assert!(fixture.wanted().is_empty());
    fixture.pass(SECOND);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    // What goes and comes back meanwhile has not gone.
    fixture.take_log();
    fixture.row(report("x", true));
    fixture.pass(SECOND);
    fixture.row(report("x", false));
    fixture.pass(10 * SECOND);
    assert!(!fixture.take_log().contains(&"-a".to_owned()));
    fixture.row(report("x", true));
    fixture.pass(4 * SECOND);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    fixture.pass(SECOND);
    assert!(fixture.wanted().is_empty());
}

#[test]
fn a_tombstone_that_waits_proves_as_much_as_one_that_does_not() {
    for (annotation, on, off) in [("debounce", "5s", "5s"), ("suspend", "true", "false")] {
        let mut fixture = Fixture::new(vec![annotated(true, json!({})), content(true, "1")]);
        fixture.now = 100_000 * SECOND;
        for name in ["x", "y"] {
            fixture.row(report(name, false));
        }
        // Nobody says that the set is complete: a kind of the source may not be listed.
        fixture.caught_up();
        assert_eq!(fixture.wanted(), ["a x 1", "a y 1"]);
        let key = format!("sluice.dev/{annotation}");
        fixture.put(annotated(true, json!({&key: on})));
        fixture.row(report("x", true));
        fixture.row(report("y", true));
        fixture.row(report("y", false));
        assert_eq!(fixture.wanted(), ["a x 1", "a y 1"], "{annotation}");
        fixture.pass(10 * SECOND);
        fixture.put(annotated(true, json!({&key: off})));
        assert_eq!(fixture.wanted(), ["a y 1"], "{annotation}: y came back");
    }
}

#[test]
fn what_goes_after_a_pause_does_not_wait_for_the_rate() {
    let annotations = json!({"sluice.dev/debounce": "2s", "sluice.dev/max-per-minute": "1"});
    let mut fixture = Fixture::new(vec![annotated(true, annotations), content(true, "1")]);
    fixture.now = 100_000 * SECOND;
    fixture.ready(&["x"]);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    fixture.row(report("x", true));
    fixture.pass(3 * SECOND);
    assert!(fixture.wanted().is_empty());
}

#[test]
fn what_never_stops_coming_waits_ten_times_as_long_at_most() {
    let mut fixture = with(true, "debounce", "1s");
    fixture.ready(&[]);
    for _ in 0..24 {
        fixture.row(report("x", false));
        fixture.pass(SECOND / 2);
    }
    assert_eq!(fixture.wanted(), ["a x 1"]);
}

#[test]
fn a_trigger_acts_no_more_often_in_a_minute_than_it_may() {
    let mut fixture = with(true, "max-per-minute", "2");
    fixture.ready(&["a", "b", "c", "d", "e"]);
    assert_eq!(fixture.wanted(), ["a a 1", "a b 1"]);
    fixture.row(report("a", true));
    assert_eq!(fixture.wanted(), ["a b 1"], "what goes does not wait");
    fixture.pass(59 * SECOND);
    assert_eq!(fixture.wanted(), ["a b 1"]);
    fixture.pass(SECOND);
    assert_eq!(fixture.wanted(), ["a b 1", "a c 1", "a d 1"]);
    fixture.pass(60 * SECOND);
    assert_eq!(fixture.wanted(), ["a b 1", "a c 1", "a d 1", "a e 1"]);
}

#[test]
fn a_new_owner_does_not_act_on_what_is_there_already() {
    let trigger = annotated(true, json!({"sluice.dev/max-per-minute": "1"}));
    let mut first = Fixture::new(vec![trigger.clone(), content(true, "1")]);
    first.ready(&["x"]);
    let profile = ProfileId::of_path(first.rows.keys().next().unwrap().split_once('/').unwrap().1);
    let found = |renderer: &mut Renderer| {
        let subject =
            Subject::Desired { shard: Shard::FIRST, cluster: cluster("a"), origin: Shard::FIRST, profile };
        renderer.found(&subject, &Head { meta: Meta::of_cause(&cause(Some("x"))), ..Head::default() });
    };
    let mut second = Fixture::with(vec![trigger, content(true, "1")], found);
    second.ready(&["x", "y"]);
    assert_eq!(second.wanted(), ["a x 1", "a y 1"]);
}

#[test]
fn an_annotation_that_cannot_be_used_is_a_problem_and_what_is_there_stays() {
    let mut fixture = Fixture::new(vec![annotated(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    fixture.put(annotated(true, json!({"sluice.dev/ttl": "1 day"})));
    let error = &fixture.problems["EventTrigger t"];
    assert!(
        error.contains("metadata.annotations[sluice.dev/ttl]: \"1 day\" cannot be used; write a time"),
        "{error}"
    );
    assert_eq!(fixture.wanted(), ["a x 1"]);
    fixture.put(annotated(true, json!({"sluice.dev/ttl": "24h"})));
    assert!(fixture.problems.is_empty());
}

/// The object as it is when this profile deploys it, changed once more.
fn deployed(name: &str, by: &str, mark: usize) -> Row {
    let object = json!({"metadata": {"name": format!("{name}{mark}"), "annotations": {"projectsveltos.io/owner-name": by}}});
    Row { body: object.to_string().into_bytes().into(), ..report(name, false) }
}

fn own_profile(fixture: &Fixture) -> String {
    let place = fixture.rows.keys().find(|place| place.starts_with("a/")).unwrap();
    place.split_once('/').unwrap().1.to_owned()
}

#[test]
fn a_trigger_that_changes_its_own_event_slows_down_and_says_so_until_it_ends() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content(true, "1")]);
    fixture.ready(&["x"]);
    let own = own_profile(&fixture);
    fixture.take_log();
    // It answers within milliseconds, for ever.
    for mark in 0..500 {
        fixture.row(deployed("x", &own, mark));
        fixture.pass(10_000);
    }
    let rendered = fixture.take_log().len();
    assert!((5..=10).contains(&rendered), "once a second after the fifth: {rendered}");
    let error = fixture.problems.values().next().unwrap();
    let way = format!("Service default/x of ClusterProfile {own}");
    assert!(error.contains(&way) && error.contains("it is rendered once a second"), "{error}");
    fixture.pass(30 * SECOND);
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
    assert_eq!(fixture.wanted(), ["a x499 1"], "the last word counts");
    fixture.take_log();
    fixture.row(deployed("x", &own, 500));
    assert_eq!(fixture.take_log().len(), 1, "at once again");
}

/// The same of an EventSource that does not collect its objects.
fn deployed_unseen(name: &str, by: &str) -> Row {
    let meta = ReportMeta { selectors: vec![0], owner: by.into(), ..ReportMeta::default() };
    let plain = report(name, false);
    Row { head: Head { meta: Meta::Report(meta), ..plain.head }, body: [].into(), ..plain }
}

/// Content that reads the name of the event alone.
fn content_of_name() -> Value {
    let mut content = content(true, "1");
    let text = content["data"]["a.yaml"].as_str().unwrap();
    content["data"]["a.yaml"] = json!(text.replace(".Resource.metadata.name", ".MatchingResource.Name"));
    content
}

#[test]
fn a_trigger_that_makes_its_own_event_come_and_go_slows_down_although_the_event_is_not_collected() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content_of_name()]);
    fixture.row(Row { body: [].into(), ..report("x", false) });
    fixture.ready(&[]);
    assert_eq!(fixture.wanted(), ["a x 1"]);
    let own = own_profile(&fixture);
    fixture.take_log();
    // What it deploys is its event; when it is withdrawn it is none, and then it is one again: for ever.
    for _ in 0..250 {
        fixture.row(deployed_unseen("x", &own));
        fixture.pass(10_000);
        fixture.row(report("x", true));
        fixture.pass(10_000);
    }
    let rendered = fixture.take_log().len();
    assert!((5..=11).contains(&rendered), "once a second after the fifth: {rendered}");
    fixture.row(deployed_unseen("x", &own));
    fixture.pass(2 * SECOND);
    let error = fixture.problems.values().next().unwrap();
    let way = format!("Service default/x of ClusterProfile {own}");
    assert!(error.contains(&way) && error.contains("it is rendered once a second"), "{error}");
    fixture.pass(30 * SECOND);
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
    assert_eq!(fixture.wanted(), ["a x 1"], "the last word counts");
}

#[test]
fn what_another_profile_deploys_is_acted_upon_as_fast_as_it_comes_although_it_is_not_collected() {
    let profile = json!({"kind": "ClusterProfile", "metadata": {"name": "users"}, "spec": {}});
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content_of_name(), profile]);
    fixture.ready(&["x"]);
    fixture.take_log();
    for _ in 0..20 {
        fixture.row(deployed_unseen("x", "users"));
        fixture.pass(10_000);
        fixture.row(report("x", true));
        fixture.pass(10_000);
    }
    assert!(fixture.take_log().len() >= 39 && fixture.problems.is_empty(), "{:?}", fixture.problems);
}

#[test]
fn a_circle_over_other_triggers_is_found_and_a_chain_is_none() {
    let mut other = trigger(true, json!({"eventSourceName": "s2"}));
    other["metadata"]["name"] = json!("u");
    let mut second = source();
    second["metadata"]["name"] = json!("s2");
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), other, second, content(true, "1")]);
    let of_second = |mut row: Row| {
        if let Subject::Report { source, .. } = &mut row.subject {
            *source = "s2".into();
        }
        row
    };
    fixture.ready(&["x"]);
    let first = own_profile(&fixture);
    // `u` acts upon y, which the first makes. x is a user's at first: a chain, as fast as it comes.
    fixture.row(of_second(deployed("y", &first, 0)));
    let u = fixture.rows.keys().find(|place| !place.ends_with(&first)).unwrap();
    let u = u.split_once('/').unwrap().1.to_owned();
    fixture.take_log();
    for mark in 1..=40 {
        fixture.row(of_second(deployed("y", &first, mark)));
        fixture.pass(10_000);
    }
    assert_eq!((fixture.take_log().len(), fixture.problems.len()), (40, 0));
    // Now x is what `u` makes.
    for mark in 0..100 {
        fixture.row(deployed("x", &u, mark));
        fixture.row(of_second(deployed("y", &first, 100 + mark)));
        fixture.pass(10_000);
    }
    let rendered = fixture.take_log().len();
    assert!(rendered <= 14, "{rendered}");
    let errors = fixture.problems.values().cloned().collect::<Vec<_>>().join("\n");
    for way in [
        format!("Service default/x of ClusterProfile {u}"),
        format!("Service default/y of ClusterProfile {first}"),
    ] {
        assert!(errors.contains(&way), "{errors}");
    }
}

#[test]
fn a_trigger_each_of_whose_outputs_is_a_new_event_slows_down_and_says_so() {
    let mut fixture = Fixture::new(vec![trigger(true, json!({})), content_of_name()]);
    fixture.now = 100_000 * SECOND;
    fixture.ready(&["x"]);
    let profiles = |fixture: &Fixture| fixture.rows.keys().cloned().collect::<BTreeSet<_>>();
    let (mut before, mut waits) = (BTreeSet::new(), Vec::new());
    for generation in 0..12 {
        let newest = profiles(&fixture).difference(&before).next().unwrap().clone();
        before = profiles(&fixture);
        let (_, owner) = newest.split_once('/').unwrap();
        let mut row = deployed_unseen(&format!("x{generation}"), owner);
        row.head.time = fixture.now;
        fixture.row(row);
        let start = fixture.now;
        while profiles(&fixture) == before {
            assert!(fixture.now - start < 3 * SECOND, "it never comes");
            fixture.pass(SECOND / 10);
        }
        waits.push((fixture.now - start) / SECOND);
        fixture.pass(SECOND / 100);
    }
    assert_eq!(waits, [0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1], "seconds");
    let errors = fixture.problems.values().cloned().collect::<Vec<_>>().join("\n");
    assert!(
        errors.contains("Service default/x11 of ClusterProfile") && errors.contains("once a second"),
        "{errors}"
    );
    fixture.pass(30 * SECOND);
    assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
    // A user edits one of them: that is no circle.
    fixture.take_log();
    fixture.row(report("x11", false));
    assert_eq!(fixture.take_log().len(), 1);
}
