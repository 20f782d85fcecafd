//! What becomes of reports and problems when sources change, and what goes along with a report.

use sluice_protocol::Sequence;

use super::*;

/// A source of this form, selecting Services.
fn custom(name: &str, changed: u64, spec: serde_json::Value) -> sluice_protocol::interest::Source {
    let manifest = json!({"kind": "EventSource", "metadata": {"name": name}, "spec": spec});
    sluice_protocol::interest::Source {
        name: name.into(),
        changed: Revision::new(changed),
        manifest: manifest.into(),
    }
}

fn interest_of(revision: u64, sources: Vec<sluice_protocol::interest::Source>) -> ExternalInput {
    ExternalInput::Interest(
        cluster(),
        Interest { revision: Revision::new(revision), sources, ..Interest::default() },
    )
}

/// What the matcher publishes, as it is.
fn published(matcher: &mut Matcher, row: &Row) -> Vec<Publish> {
    let mut step = Step::at(10);
    matcher.row(row, &mut step);
    step.into_parts().0
}

fn problems(effects: &[Effect]) -> Vec<(String, bool)> {
    let problem = |effect: &Effect| match effect {
        Effect::Problem(problem) => Some((problem.object(), problem.fault.is_some())),
        _ => None,
    };
    effects.iter().filter_map(problem).collect()
}

#[test]
fn a_report_carries_the_object_only_where_its_source_collects_it() {
    let selectors = json!([{"version": "v1", "kind": "Pod"}, {"version": "v1", "kind": "Service"}]);
    let spec = |collect: bool| json!({"collectResources": collect, "resourceSelectors": selectors});
    let mut matcher = matcher();
    let sources = vec![custom("bare", 1, spec(false)), custom("whole", 1, spec(true))];
    step(&mut matcher, |m, s| m.external(interest_of(1, sources), s));
    step(&mut matcher, |m, s| m.start(s));
    let row = change("x", None, 1);
    let reports = published(&mut matcher, &row);
    let bodies: Vec<_> = reports.iter().map(|report| report.body.clone()).collect();
    assert_eq!(bodies, [Body::value([]), Body::Value(row.body.clone())]);
    for report in &reports {
        assert_eq!(
            (report.time, report.view.version(&cluster().to_string())),
            (row.head.time, Revision::new(1))
        );
        let Meta::Report(meta) = &report.meta else { panic!("{report:?}") };
        assert_eq!(meta.selectors, [1], "the second one selected it");
    }
}

#[test]
fn a_report_without_the_object_says_which_profile_deploys_it_and_nothing_else_of_it() {
    let mut matcher = matcher();
    let spec = |collect: bool| json!({"collectResources": collect, "resourceSelectors": [{"version": "v1", "kind": "Service"}]});
    let sources = vec![custom("bare", 1, spec(false)), custom("whole", 1, spec(true))];
    step(&mut matcher, |m, s| m.external(interest_of(1, sources), s));
    step(&mut matcher, |m, s| m.start(s));
    let deployed = |by: Option<&str>, mark: u64| {
        let annotations = by.map(|by| json!({"projectsveltos.io/owner-name": by}));
        let object = json!({"apiVersion": "v1", "kind": "Service", "spec": {"mark": mark},
            "metadata": {"name": "x", "namespace": "default", "annotations": annotations}});
        Row { body: object.to_string().into_bytes().into(), ..change("x", None, mark) }
    };
    let mut said = |row: &Row| {
        let reports = published(&mut matcher, row);
        let texts: Vec<_> = reports.iter().map(|report| report.meta.to_string()).collect();
        (texts, reports[0].head().digest)
    };
    let plain = r#"{"selectors":[0]}"#;
    let (texts, before) = said(&deployed(Some("team/p"), 1));
    assert_eq!(texts, [r#"{"selectors":[0],"owner":"team/p"}"#, plain]);
    assert_eq!(said(&deployed(Some("team/p"), 2)).1, before, "that it changed is not said");
    assert_eq!(said(&deployed(None, 3)).0, [plain, plain]);
}

#[test]
fn a_source_that_can_no_longer_be_read_goes_on_as_it_was_and_the_renderer_says_why() {
    let mut matcher = started(&[("a", 1)]);
    assert_eq!(rows(&mut matcher, change("x", Some("a"), 1)), ["+a/x"]);
    let broken = custom("a", 2, json!({"resourceSelectors": [{"version": "v1", "kind": 1}]}));
    let (said, effects) = step(&mut matcher, |m, s| m.external(interest_of(2, vec![broken]), s));
    assert!(said.is_empty() && problems(&effects).is_empty());
    assert_eq!(rows(&mut matcher, change("y", Some("a"), 2)), ["+a/y"], "its last form still counts");
}

#[test]
fn what_an_agent_withdraws_because_it_watched_no_longer_is_no_proof_for_who_asks_again() {
    let mut matcher = started(&[("a", 1)]);
    let place = cluster().to_string();
    let mut known_from = |revision: u64, sequence: u64| {
        step(&mut matcher, |m, s| m.external(interest(3, &[("a", 3)]), s));
        rows(&mut matcher, change("x", Some("a"), sequence));
        let mut gone = tombstone("x", sequence + 1);
        gone.head.view.note(&place, Revision::new(revision));
        let reports = published(&mut matcher, &gone);
        assert_eq!(reports[0].body, Body::Tombstone);
        reports[0].view.version(&place).get()
    };
    assert_eq!([known_from(2, 1), known_from(3, 3), known_from(4, 5)], [2, 3, 4]);
}

#[test]
fn where_no_source_is_left_no_problem_is_left() {
    let mut matcher = started(&[("a", 1)]);
    let unreadable = Row { body: b"{".as_slice().into(), ..change("x", Some("a"), 1) };
    let (_, effects) = step(&mut matcher, |m, s| m.row(&unreadable, s));
    assert_eq!(problems(&effects), [("Service default/x".to_owned(), true)]);
    // The cluster is no longer registered: nobody will write the row again, or say that it is gone.
    let (_, effects) = step(&mut matcher, |m, s| m.external(interest(2, &[]), s));
    assert_eq!(problems(&effects), [("Service default/x".to_owned(), false)]);
}

#[test]
fn an_older_interest_row_changes_nothing() {
    let mut matcher = matcher();
    step(&mut matcher, |m, s| m.external(interest(5, &[("a", 5)]), s));
    step(&mut matcher, |m, s| m.start(s));
    let (said, effects) = step(&mut matcher, |m, s| m.external(interest(4, &[]), s));
    assert!(said.is_empty() && effects.is_empty());
    assert_eq!(matcher.view().version(&cluster().to_string()), Revision::new(5));
    assert_eq!(rows(&mut matcher, change("x", Some("a"), 1)), ["+a/x"]);
}

#[test]
fn what_was_complete_is_said_again_when_the_newest_interest_row_was_only_late() {
    let mut matcher = matcher();
    step(&mut matcher, |m, s| m.external(interest(5, &[("a", 5)]), s));
    step(&mut matcher, |m, s| m.start(s));
    step(&mut matcher, |m, s| m.caught_up(Sequence::NONE, s));
    assert_eq!(rows(&mut matcher, complete(5)), ["complete"]);
    // It is read on over a node that lags: an older row comes, and for longer than the newest can be on its way.
    let (said, _) = step(&mut matcher, |m, s| m.external(interest(4, &[]), s));
    assert!(said.is_empty());
    let mut late = Step::at(10_000_000);
    matcher.tick(&mut late);
    let (told, ..) = late.into_parts();
    let told: Vec<_> = told.iter().filter_map(|row| row.meta.complete()).collect();
    assert_eq!(told, [&Complete::of_all(Incarnation::NONE, Revision::new(5))], "a row that proves nothing");
    let (said, _) = step(&mut matcher, |m, s| m.external(interest(4, &[]), s));
    assert!(said.is_empty(), "it is as old as before");
    let (said, _) = step(&mut matcher, |m, s| m.external(interest(5, &[("a", 5)]), s));
    assert_eq!(said, ["complete"]);
    let (said, _) = step(&mut matcher, |m, s| m.external(interest(5, &[("a", 5)]), s));
    assert!(said.is_empty(), "once");
}

#[test]
fn what_a_watch_of_another_agent_shows_is_not_judged() {
    let mut matcher = started(&[("a", 1)]);
    let mut row = change("x", Some("a"), 1);
    let Subject::Change { viewer, .. } = &mut row.subject else { panic!("{row:?}") };
    *viewer = "other".into();
    assert!(rows(&mut matcher, row).is_empty());
}

#[test]
fn the_begin_and_the_end_of_a_match_are_told_with_their_rows() {
    let mut matcher = started(&[("a", 1)]);
    let lines = |matcher: &mut Matcher, row: Row| -> Vec<String> {
        let told = |row: Publish| match *row.line? {
            Line::Begin(line) => Some(format!("begin: {} {} {}", line.what, line.object, line.micros)),
            Line::Change(line) => Some(format!("change: {} {} {}", line.what, line.object, line.micros)),
        };
        published(matcher, &row).into_iter().filter_map(told).collect()
    };
    let begin = "begin: matched Service default/x (a) 5";
    assert_eq!(lines(&mut matcher, change("x", Some("a"), 1)), [begin]);
    assert_eq!(lines(&mut matcher, change("x", Some("a"), 2)), [begin], "its owner knows whether it begins");
    assert_eq!(lines(&mut matcher, change("x", None, 3)), ["change: unmatched Service default/x (a) 5"]);
    assert!(lines(&mut matcher, tombstone("x", 4)).is_empty());
}

#[test]
fn clusters_do_not_know_of_each_other() {
    let mut matcher = started(&[("a", 1)]);
    let other = ClusterRef::sveltos("default", "other");
    let mut row = change("x", Some("a"), 1);
    let Subject::Change { cluster, .. } = &mut row.subject else { panic!("{row:?}") };
    *cluster = other.clone();
    assert!(rows(&mut matcher, row.clone()).is_empty(), "nothing is asked of it");
    let sources = vec![source("a", 1)];
    let wanted = ExternalInput::Interest(
        other,
        Interest { revision: Revision::new(1), sources, ..Interest::default() },
    );
    step(&mut matcher, |m, s| m.external(wanted, s));
    assert_eq!(rows(&mut matcher, change("x", Some("a"), 2)), ["+a/x"]);
    assert_eq!(rows(&mut matcher, row), ["+a/x"]);
    let (said, _) = step(&mut matcher, |m, s| m.external(interest(2, &[]), s));
    assert_eq!(said, ["-a/x"], "the other's stays");
}

/// The row of a CloudEvent of this type.
pub(super) fn event(kind: &str, order: u64) -> Row {
    let [source, subject, channel] = ["/shop", "o", "orders"].map(str::to_owned);
    let object =
        sluice_api::cloud_event::EventKey { source, subject, kind: kind.into(), channel }.object_key();
    let subject = Subject::Change { shard: Shard::FIRST, cluster: cluster(), viewer: String::new(), object };
    let meta = Meta::Position(sluice_protocol::Position {
        order,
        sequence: Sequence::new(order),
        time: 5,
        ..sluice_protocol::Position::default()
    });
    let body = json!({"type": kind}).to_string().into_bytes().into();
    Row { subject, head: Head { time: 5, meta, ..Head::default() }, body, sequence: Sequence::new(order) }
}

pub(super) fn of_events(changed: u64, kind: &str) -> sluice_protocol::interest::Source {
    custom(
        "s",
        changed,
        json!({"messagingMatchCriteria": [{"cloudEventType": "else"}, {"cloudEventType": kind}]}),
    )
}

#[test]
fn a_report_of_a_cloud_event_carries_the_event_and_says_which_is_the_newest() {
    let mut matcher = matcher();
    step(&mut matcher, |m, s| m.external(interest_of(1, vec![of_events(1, "created")]), s));
    step(&mut matcher, |m, s| m.start(s));
    assert!(published(&mut matcher, &event("deleted", 4)).is_empty());
    let row = event("created", 3);
    let reports = published(&mut matcher, &row);
    let meta = Meta::Report(ReportMeta { selectors: vec![1], order: 3, ..ReportMeta::default() });
    assert_eq!((&reports[0].meta, &reports[0].body), (&meta, &Body::Value(row.body.clone())));
    let again = published(&mut matcher, &event("created", 7));
    assert_ne!(again[0].head().digest, reports[0].head().digest, "it is newer than the one of another type");
}

#[test]
fn what_was_reported_of_a_cloud_event_stays_unless_its_source_changes() {
    let mut matcher = matcher();
    let Row { subject: Subject::Change { object, .. }, .. } = event("created", 3) else { panic!() };
    let report = matcher.report(&cluster(), &object, "s", Body::Tombstone, 0).subject;
    matcher.found(&report, &Head::default());
    step(&mut matcher, |m, s| m.external(interest_of(1, vec![of_events(1, "created")]), s));
    step(&mut matcher, |m, s| m.start(s));
    step(&mut matcher, |m, s| m.row(&complete(1), s));
    let (said, _) = step(&mut matcher, |m, s| m.caught_up(Sequence::new(99), s));
    assert_eq!(said, ["complete"], "the agent knows only those that were sent lately");
    let (said, _) = step(&mut matcher, |m, s| m.row(&event("created", 3), s));
    assert_eq!(said, ["+s/o created orders"]);
    step(&mut matcher, |m, s| m.external(interest_of(2, vec![of_events(2, "deleted")]), s));
    let (said, _) = step(&mut matcher, |m, s| m.external(ExternalInput::Replayed(event("created", 3)), s));
    assert_eq!(said, ["-s/o created orders"]);
}

#[test]
fn a_cloud_event_of_unknown_order_keeps_what_was_said_of_it() {
    let mut matcher = matcher();
    step(&mut matcher, |m, s| m.external(interest_of(1, vec![of_events(1, "created")]), s));
    step(&mut matcher, |m, s| m.start(s));
    let mut row = event("created", 3);
    row.head.meta = Meta::Unknown("?".into());
    let (said, effects) = step(&mut matcher, |m, s| m.row(&row, s));
    assert!(said.is_empty());
    assert_eq!(problems(&effects), [("CloudEvent /shop/o created orders".to_owned(), true)]);
}
