#![allow(clippy::unwrap_used)]

use serde_json::json;

use sluice_protocol::interest::Lacking;
use sluice_protocol::subject::cluster_shard;
use sluice_protocol::{Incarnation, Publish, Sequence, Table};

use super::*;

mod leaving;
mod limits;
mod property;
mod sources;
mod tenants;

const INPUT: Incarnation = Incarnation::new(7);

fn cluster() -> ClusterRef {
    ClusterRef::sveltos("default", "c")
}

fn matcher() -> Matcher {
    Matcher::new(Config {
        shard: Shard::FIRST,
        shards: 1,
        input: INPUT,
        outputs: vec![Incarnation::new(9)],
        limits: Limits::default(),
    })
}

fn source(label: &str, changed: u64) -> sluice_protocol::interest::Source {
    let manifest = json!({"kind": "EventSource", "metadata": {"name": label}, "spec": {"collectResources": true,
        "resourceSelectors": [{"version": "v1", "kind": "Service", "labelFilters": [{"key": label, "operation": "Has"}]}]}});
    sluice_protocol::interest::Source {
        name: label.into(),
        changed: Revision::new(changed),
        manifest: manifest.into(),
    }
}

fn interest(revision: u64, labels: &[(&str, u64)]) -> ExternalInput {
    let sources = labels.iter().map(|(label, changed)| source(label, *changed)).collect();
    ExternalInput::Interest(
        cluster(),
        Interest { revision: Revision::new(revision), sources, ..Interest::default() },
    )
}

fn key(name: &str) -> ObjectKey {
    ObjectKey {
        gvk: sluice_api::Gvk::new("", "v1", "Service"),
        namespace: "default".into(),
        name: name.into(),
    }
}

fn change(name: &str, label: Option<&str>, sequence: u64) -> Row {
    let subject =
        Subject::Change { shard: Shard::FIRST, cluster: cluster(), viewer: String::new(), object: key(name) };
    let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default",
        "labels": label.map(|label| json!({label: ""}))}});
    Row {
        subject,
        head: Head { time: 5, ..Head::default() },
        body: object.to_string().into_bytes().into(),
        sequence: Sequence::new(sequence),
    }
}

fn tombstone(name: &str, sequence: u64) -> Row {
    let row = change(name, None, sequence);
    Row { head: Head { tombstone: true, ..row.head }, body: [].into(), ..row }
}

fn complete(revision: u64) -> Row {
    let subject =
        Subject::Complete { table: Table::Changes, shard: Shard::FIRST, cluster: cluster(), origin: None };
    let meta = Meta::Complete(Complete::of_all(INPUT, Revision::new(revision)));
    Row { subject, head: Head { meta, ..Head::default() }, body: [].into(), sequence: Sequence::new(99) }
}

/// Runs `f` and returns what it published, as `+source/name`, `-source/name` or `complete`.
fn step(
    matcher: &mut Matcher,
    f: impl FnOnce(&mut Matcher, &mut Step<Effect>),
) -> (Vec<String>, Vec<Effect>) {
    let mut step = Step::at(10);
    f(matcher, &mut step);
    let (rows, effects, _) = step.into_parts();
    let describe = |row: &Publish| match (&row.subject, &row.body) {
        (Subject::Report { source, object, .. }, Body::Value(_)) => format!("+{source}/{}", object.name),
        (Subject::Report { source, object, .. }, Body::Tombstone) => format!("-{source}/{}", object.name),
        (Subject::Complete { .. }, _) => "complete".to_owned(),
        other => format!("{other:?}"),
    };
    (rows.iter().map(describe).collect(), effects)
}

fn started(labels: &[(&str, u64)]) -> Matcher {
    let mut matcher = matcher();
    step(&mut matcher, |m, s| m.external(interest(1, labels), s));
    step(&mut matcher, |m, s| m.start(s));
    matcher
}

/// A row that is the last of the table.
fn rows(matcher: &mut Matcher, row: Row) -> Vec<String> {
    let last = matches!(row.subject, Subject::Complete { .. }) && matcher.caught_up;
    step(matcher, |m, s| {
        m.row(&row, s);
        if last {
            m.caught_up(Sequence::END, s);
        }
    })
    .0
}

#[test]
fn matching_objects_are_reported_and_withdrawn() {
    let mut matcher = started(&[("a", 1), ("b", 1)]);
    assert_eq!(rows(&mut matcher, change("x", Some("a"), 1)), ["+a/x"]);
    assert_eq!(rows(&mut matcher, change("x", Some("b"), 2)), ["-a/x", "+b/x"]);
    assert_eq!(rows(&mut matcher, tombstone("x", 3)), ["-b/x"]);
    assert!(rows(&mut matcher, tombstone("x", 4)).is_empty());
}

#[test]
fn a_source_is_not_complete_while_nobody_can_tell_whether_an_object_is_its_event() {
    let mut matcher = started(&[("a", 1), ("b", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    let unreadable = Row { body: b"{".as_slice().into(), ..change("x", None, 1) };
    rows(&mut matcher, unreadable.clone());
    assert_eq!(rows(&mut matcher, complete(1)), ["complete"]);
    let lacking = |matcher: &Matcher| matcher.clusters[&cluster()].told.clone().unwrap().lacking;
    assert_eq!(lacking(&matcher), ["a", "b"].map(|name| Lacking::Objects(name.into())));
    assert_eq!(rows(&mut matcher, change("x", Some("a"), 2)), ["+a/x", "complete", "complete"]);
    assert!(lacking(&matcher).is_empty());
    // What was said stands: the object was no event of b then.
    assert!(rows(&mut matcher, Row { sequence: Sequence::new(3), ..unreadable }).is_empty());
    assert_eq!(rows(&mut matcher, tombstone("x", 4)), ["-a/x"]);
}

#[test]
fn without_an_interest_row_nothing_is_known_and_nothing_is_withdrawn() {
    let mut matcher = matcher();
    let subject = matcher.report(&cluster(), &key("x"), "a", Body::Tombstone, 0).subject;
    matcher.found(&subject, &Head::default());
    step(&mut matcher, |m, s| m.start(s));
    assert!(rows(&mut matcher, change("x", None, 1)).is_empty());
    assert!(rows(&mut matcher, complete(1)).is_empty());
    assert!(step(&mut matcher, |m, s| m.caught_up(Sequence::END, s)).0.is_empty());
}

#[test]
fn a_found_report_without_a_cause_goes_when_the_cluster_is_complete() {
    let mut matcher = matcher();
    for name in ["x", "y"] {
        let subject = matcher.report(&cluster(), &key(name), "a", Body::Tombstone, 0).subject;
        matcher.found(&subject, &Head::default());
    }
    step(&mut matcher, |m, s| m.external(interest(1, &[("a", 1)]), s));
    assert!(step(&mut matcher, |m, s| m.start(s)).0.is_empty());
    assert_eq!(rows(&mut matcher, change("x", Some("a"), 1)), ["+a/x"]);
    assert!(step(&mut matcher, |m, s| m.caught_up(Sequence::END, s)).0.is_empty(), "absence is no proof");
    assert_eq!(rows(&mut matcher, complete(1)), ["-a/y", "complete"]);
    assert!(rows(&mut matcher, complete(1)).is_empty(), "told once");
}

#[test]
fn what_a_completeness_row_does_not_cover_stays_and_is_passed_on() {
    let mut matcher = matcher();
    for source in ["a", "b"] {
        let subject = matcher.report(&cluster(), &key("x"), source, Body::Tombstone, 0).subject;
        matcher.found(&subject, &Head::default());
    }
    step(&mut matcher, |m, s| m.external(interest(1, &[("a", 1), ("b", 1)]), s));
    step(&mut matcher, |m, s| m.start(s));
    step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
    let mut row = complete(1);
    let lacking = Complete {
        lacking: vec![Lacking::Objects("b".to_owned())],
        ..Complete::of_all(INPUT, Revision::new(1))
    };
    row.head.meta = Meta::Complete(lacking.clone());
    assert_eq!(rows(&mut matcher, row), ["-a/x", "complete"]);
    let said = matcher.complete_row(&cluster(), &lacking).meta;
    assert!(said.to_string().contains(r#""lacking":["b"]"#), "{said}");
    assert_eq!(rows(&mut matcher, complete(1)), ["-b/x", "complete"]);
}

#[test]
fn completeness_counts_when_everything_in_the_table_has_been_read() {
    let mut matcher = matcher();
    let subject = matcher.report(&cluster(), &key("x"), "a", Body::Tombstone, 0).subject;
    matcher.found(&subject, &Head::default());
    step(&mut matcher, |m, s| m.external(interest(1, &[("a", 1)]), s));
    step(&mut matcher, |m, s| m.start(s));
    step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
    assert!(step(&mut matcher, |m, s| m.row(&complete(1), s)).0.is_empty(), "a replaced row may follow");
    assert_eq!(rows(&mut matcher, change("x", Some("a"), 100)), ["+a/x"]);
    assert_eq!(step(&mut matcher, |m, s| m.caught_up(Sequence::END, s)).0, ["complete"]);
}

#[test]
fn what_a_predecessor_told_counts_in_the_life_of_the_stream_it_was_told_in() {
    for (life, again) in [(9, false), (8, true)] {
        let mut matcher = matcher();
        let subject =
            matcher.complete_row(&cluster(), &Complete::of_all(Incarnation::NONE, Revision::new(1))).subject;
        let meta = Meta::Complete(Complete::of_all(Incarnation::new(life), Revision::new(1)));
        matcher.found(&subject, &Head { meta, ..Head::default() });
        step(&mut matcher, |m, s| m.external(interest(1, &[("a", 1)]), s));
        step(&mut matcher, |m, s| m.start(s));
        step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
        assert_eq!(!rows(&mut matcher, complete(1)).is_empty(), again, "told in life {life}");
    }
}

#[test]
fn a_completeness_row_of_a_former_life_proves_nothing() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
    let mut row = complete(1);
    row.head.meta = Meta::Complete(Complete::of_all(INPUT.next(), Revision::new(1)));
    assert!(rows(&mut matcher, row).is_empty());
}

#[test]
fn a_removed_source_takes_its_reports_along() {
    let mut matcher = started(&[("a", 1), ("b", 1)]);
    rows(&mut matcher, change("x", Some("a"), 1));
    let (published, effects) = step(&mut matcher, |m, s| m.external(interest(2, &[("b", 1)]), s));
    assert_eq!(published, ["-a/x"]);
    assert!(!effects.iter().any(|effect| matches!(effect, Effect::Replay(..))));
}

#[test]
fn a_new_source_replays_and_is_complete_after_it() {
    let mut matcher = started(&[]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
    assert!(rows(&mut matcher, change("x", Some("a"), 1)).is_empty());
    let (_, effects) = step(&mut matcher, |m, s| m.external(interest(2, &[("a", 2)]), s));
    assert!(effects.contains(&Effect::Replay(cluster(), 1)));
    assert!(rows(&mut matcher, complete(2)).is_empty(), "the replay is still under way");
    let replayed =
        step(&mut matcher, |m, s| m.external(ExternalInput::Replayed(change("x", Some("a"), 1)), s)).0;
    assert_eq!(replayed, ["+a/x"]);
    assert_eq!(
        step(&mut matcher, |m, s| m.external(ExternalInput::ReplayDone(cluster(), 1), s)).0,
        ["complete"]
    );
}

#[test]
fn a_replay_never_brings_back_older_rows() {
    let mut matcher = started(&[]);
    step(&mut matcher, |m, s| m.external(interest(2, &[("a", 2)]), s));
    assert!(rows(&mut matcher, tombstone("x", 8)).is_empty());
    assert!(
        step(&mut matcher, |m, s| m.external(ExternalInput::Replayed(change("x", Some("a"), 5)), s))
            .0
            .is_empty()
    );
}

#[test]
fn a_second_replay_remembers_what_was_newer_than_the_first() {
    let mut matcher = started(&[]);
    step(&mut matcher, |m, s| m.external(interest(2, &[("a", 2)]), s));
    assert!(rows(&mut matcher, tombstone("x", 8)).is_empty());
    step(&mut matcher, |m, s| m.external(interest(3, &[("a", 3)]), s));
    assert!(
        step(&mut matcher, |m, s| m.external(ExternalInput::Replayed(change("x", Some("a"), 5)), s))
            .0
            .is_empty()
    );
}

#[test]
fn a_changed_source_withdraws_what_it_no_longer_selects() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
    rows(&mut matcher, change("x", Some("a"), 1));
    let mut changed = source("b", 2);
    changed.name = "a".into();
    let row = Interest { revision: Revision::new(2), sources: vec![changed], ..Interest::default() };
    step(&mut matcher, |m, s| m.external(ExternalInput::Interest(cluster(), row), s));
    assert_eq!(
        step(&mut matcher, |m, s| m.external(ExternalInput::Replayed(change("x", Some("a"), 1)), s)).0,
        ["-a/x"]
    );
}

#[test]
fn a_failing_script_keeps_the_last_verdict_and_heals() {
    let mut matcher = matcher();
    let manifest = json!({"kind": "EventSource", "metadata": {"name": "a"}, "spec": {"resourceSelectors":
        [{"version": "v1", "kind": "Service", "evaluate": "function evaluate() return { matching = obj.metadata.labels.a ~= nil } end"}]}});
    let row = Interest {
        revision: Revision::new(1),
        sources: vec![sluice_protocol::interest::Source {
            name: "a".into(),
            changed: Revision::new(1),
            manifest: manifest.into(),
        }],
        ..Interest::default()
    };
    step(&mut matcher, |m, s| m.external(ExternalInput::Interest(cluster(), row), s));
    step(&mut matcher, |m, s| m.start(s));
    assert_eq!(rows(&mut matcher, change("x", Some("a"), 1)), ["+a/x"]);
    let (published, effects) = step(&mut matcher, |m, s| m.row(&change("x", None, 2), s));
    assert!(published.is_empty());
    let problem = |effects: &[Effect]| {
        effects.iter().find_map(|e| if let Effect::Problem(p) = e { Some(p.clone()) } else { None })
    };
    let opened = problem(&effects).unwrap();
    assert_eq!(opened.object(), "EventSource a, Service default/x");
    assert!(opened.error().unwrap().contains("index nil"));
    let (_, effects) = step(&mut matcher, |m, s| m.row(&change("x", Some("b"), 3), s));
    assert_eq!(problem(&effects).unwrap().error(), None);
}

#[test]
fn a_removed_source_takes_its_problems_along() {
    let mut matcher = matcher();
    let manifest = json!({"kind": "EventSource", "metadata": {"name": "a"}, "spec": {"resourceSelectors":
        [{"version": "v1", "kind": "Service", "evaluate": "function evaluate() return nil + 1 end"}]}});
    let sources = vec![sluice_protocol::interest::Source {
        name: "a".into(),
        changed: Revision::new(1),
        manifest: manifest.into(),
    }];
    step(&mut matcher, |m, s| {
        m.external(
            ExternalInput::Interest(
                cluster(),
                Interest { revision: Revision::new(1), sources, ..Interest::default() },
            ),
            s,
        )
    });
    step(&mut matcher, |m, s| m.start(s));
    let (_, effects) = step(&mut matcher, |m, s| m.row(&change("x", Some("a"), 1), s));
    assert!(matches!(&effects[..], [Effect::Problem(problem)] if problem.fault.is_some()));
    let (_, effects) = step(&mut matcher, |m, s| m.external(interest(2, &[]), s));
    assert!(matches!(&effects[..], [Effect::Problem(problem)] if problem.fault.is_none()), "{effects:?}");
}

/// A new owner that has found a report of the object `x` by the source `a`.
fn with_a_report_of_x() -> Matcher {
    let mut matcher = matcher();
    step(&mut matcher, |m, s| m.external(interest(1, &[("a", 1)]), s));
    let found = Subject::Report {
        shard: cluster_shard(&cluster(), 1),
        cluster: cluster(),
        source: "a".into(),
        origin: Shard::FIRST,
        object: key("x"),
    };
    matcher.found(&found, &Head::default());
    step(&mut matcher, |m, s| m.start(s));
    matcher
}

#[test]
fn an_unreadable_row_withdraws_nothing_after_a_takeover() {
    let mut matcher = with_a_report_of_x();
    let row = Row { body: b"{".as_slice().into(), ..change("x", Some("a"), 1) };
    assert!(rows(&mut matcher, row).is_empty());
    step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
    assert_eq!(rows(&mut matcher, complete(1)), ["complete"]);
}

#[test]
fn what_was_taken_back_before_an_unreadable_row_is_still_reported_after_a_takeover() {
    let mut matcher = with_a_report_of_x();
    let object = change("x", Some("a"), 1);
    let gone = Row { head: Head { tombstone: true, ..Head::default() }, ..object.clone() };
    // The owner publishes none of this yet, and the last row says that what there is stays.
    rows(&mut matcher, gone.clone());
    assert!(rows(&mut matcher, Row { body: b"{".as_slice().into(), ..object }).is_empty());
    step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
    assert_eq!(rows(&mut matcher, gone), ["-a/x"]);
}

#[test]
fn a_malformed_row_is_a_problem_and_no_more() {
    let mut matcher = started(&[("a", 1)]);
    let row = Row { body: b"{".as_slice().into(), ..change("x", None, 1) };
    let (published, effects) = step(&mut matcher, |m, s| m.row(&row, s));
    assert!(
        published.is_empty()
            && matches!(&effects[..], [Effect::Problem(problem)] if problem.error().unwrap().contains("cannot be read"))
    );
    let gone = Row { head: Head { tombstone: true, ..Head::default() }, ..row };
    let (_, effects) = step(&mut matcher, |m, s| m.row(&gone, s));
    assert!(matches!(&effects[..], [Effect::Problem(problem)] if problem.fault.is_none()), "{effects:?}");
}

#[test]
fn a_row_that_holds_another_object_than_it_says_is_no_event() {
    let mut matcher = started(&[("a", 1)]);
    let own = change("x", Some("a"), 1);
    for body in [change("y", Some("a"), 1).body, b"{}".as_slice().into(), b"[1]".as_slice().into()] {
        let (published, effects) = step(&mut matcher, |m, s| m.row(&Row { body, ..own.clone() }, s));
        assert!(published.is_empty(), "{published:?}");
        assert!(matches!(&effects[..], [Effect::Problem(problem)] if problem.fault.is_some()), "{effects:?}");
    }
    assert_eq!(rows(&mut matcher, own), ["+a/x"]);
}

#[test]
fn the_renderer_is_told_of_a_newer_revision_that_does_not_come() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    assert_eq!(rows(&mut matcher, complete(1)), ["complete"]);
    assert!(rows(&mut matcher, complete(5)).is_empty());
    let tick = |matcher: &mut Matcher, now: i64| {
        let mut step = Step::at(now);
        matcher.tick(&mut step);
        step.into_parts().0
    };
    assert!(tick(&mut matcher, 1_000_000).is_empty(), "it may be on its way");
    let said = tick(&mut matcher, 6_000_000);
    let [said] = &said[..] else { panic!("{said:?}") };
    assert_eq!(said.meta, Meta::Complete(Complete::of_all(Incarnation::NONE, Revision::new(5))));
    assert!(tick(&mut matcher, 20_000_000).is_empty(), "said once");
    let mut row = change("x", Some("a"), 100);
    row.head.view.note(&cluster().to_string(), Revision::new(6));
    rows(&mut matcher, row);
    assert_eq!(tick(&mut matcher, 26_000_000).len(), 1, "a row that is newer than what was complete");
    // Once it is there, it is complete.
    assert_eq!(step(&mut matcher, |m, s| m.external(interest(5, &[("a", 1)]), s)).0, ["complete"]);
    rows(&mut matcher, complete(5));
    assert!(tick(&mut matcher, 40_000_000).is_empty());
    // It is lost, and an older one is written in its place.
    step(&mut matcher, |m, s| m.external(interest(3, &[("a", 1)]), s));
    let said = tick(&mut matcher, 46_000_000);
    let [said] = &said[..] else { panic!("{said:?}") };
    assert_eq!(said.meta, Meta::Complete(Complete::of_all(Incarnation::NONE, Revision::new(5))));
}

#[test]
fn the_renderer_is_told_of_the_newest_revision_when_rows_are_lost_twice() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    let mut told_of = |input: ExternalInput| step(&mut matcher, |m, s| m.external(input, s));
    let lost = || ExternalInput::Interest(cluster(), Interest::default());
    told_of(interest(4, &[("a", 1)]));
    told_of(lost());
    told_of(interest(6, &[("a", 1)]));
    told_of(lost());
    // Who writes it the second time has heard of 4 alone.
    told_of(interest(5, &[("a", 1)]));
    let mut step = Step::at(20_000_000);
    matcher.tick(&mut step);
    let (said, ..) = step.into_parts();
    let [said] = &said[..] else { panic!("{said:?}") };
    assert_eq!(said.meta, Meta::Complete(Complete::of_all(Incarnation::NONE, Revision::new(6))));
}

#[test]
fn a_revision_after_which_there_is_none_is_not_believed() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    let mut row = change("x", Some("a"), 100);
    row.head.view.note(&cluster().to_string(), Revision::new(u64::MAX));
    rows(&mut matcher, row);
    rows(&mut matcher, complete(u64::MAX - 1));
    let mut step = Step::at(20_000_000);
    matcher.tick(&mut step);
    let told: Vec<_> =
        step.into_parts().0.into_iter().filter_map(|row| row.meta.complete().cloned()).collect();
    assert_eq!(told, []);
}

#[test]
fn the_renderer_is_told_of_what_a_predecessors_tombstone_was_made_from() {
    let mut matcher = matcher();
    step(&mut matcher, |m, s| m.external(interest(3, &[("a", 1)]), s));
    let mut gone = Head { tombstone: true, ..Head::default() };
    gone.view.note(&cluster().to_string(), Revision::new(5));
    let subject = matcher.report(&cluster(), &key("x"), "a", Body::Tombstone, 0).subject;
    matcher.found(&subject, &gone);
    step(&mut matcher, |m, s| m.start(s));
    let tick = |matcher: &mut Matcher, now: i64| {
        let mut step = Step::at(now);
        matcher.tick(&mut step);
        step.into_parts().0
    };
    assert!(tick(&mut matcher, 1_000_000).is_empty(), "the row may be on its way");
    let said = tick(&mut matcher, 6_000_000);
    let [said] = &said[..] else { panic!("{said:?}") };
    assert_eq!(said.meta, Meta::Complete(Complete::of_all(Incarnation::NONE, Revision::new(5))));
}

/// Rows of a former owner that knew more are judged once as much is known, whatever was wanted before.
#[test]
fn what_a_former_owner_knew_better_is_judged_again() {
    let mut matcher = started(&[("a", 1)]);
    step(&mut matcher, |m, s| m.caught_up(Sequence::END, s));
    rows(&mut matcher, change("x", Some("a"), 1));
    let subject = |name: &str| matcher.report(&cluster(), &key(name), "a", Body::Tombstone, 0).subject;
    let found = [(subject("x"), Head::default()), (subject("y"), Head::default())];
    let (published, effects) = step(&mut matcher, |m, s| assert!(m.reconsider(&found, s)));
    assert!(published.is_empty());
    assert_eq!(effects, [Effect::Replay(cluster(), 1)]);
    assert_eq!(
        step(&mut matcher, |m, s| m.external(ExternalInput::Replayed(change("x", Some("a"), 1)), s)).0,
        ["+a/x"]
    );
    step(&mut matcher, |m, s| m.external(ExternalInput::ReplayDone(cluster(), 1), s));
    assert_eq!(rows(&mut matcher, complete(1)), ["-a/y", "complete"], "it has no cause");
}
