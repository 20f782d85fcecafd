//! CloudEvents: what they lead to, and that only an event or its makers take it away.

use sluice_api::cloud_event::{EventKey, item_of};
use sluice_protocol::rows::ReportMeta;

use super::*;

const ACTION: &str = r#"{{ if eq .CloudEvent.type "deleted" }}Delete{{ else }}Create{{ end }}"#;

fn event_key(subject: &str, kind: &str) -> ObjectKey {
    let [source, subject, kind, channel] = ["/shop", subject, kind, "orders"].map(str::to_owned);
    EventKey { source, subject, kind, channel }.object_key()
}

fn event(subject: &str, kind: &str, order: u64) -> Row {
    let object = event_key(subject, kind);
    let body = json!({"id": order.to_string(), "type": kind, "subject": subject}).to_string();
    let meta = Meta::Report(ReportMeta { selectors: vec![0], order, ..ReportMeta::default() });
    let subject = Subject::Report {
        shard: Shard::FIRST,
        cluster: cluster("a"),
        source: "s".into(),
        origin: Shard::FIRST,
        object,
    };
    let head = Head { time: 5, meta, ..Head::default() };
    Row { subject, head, body: body.into_bytes().into(), sequence: Sequence::new(1) }
}

fn gone(row: Row) -> Row {
    Row { head: Head { tombstone: true, ..Head::default() }, body: [].into(), ..row }
}

/// The source selects both, objects and events.
fn mixed() -> Value {
    json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {
        "resourceSelectors": [{"version": "v1", "kind": "Service"}], "messagingMatchCriteria": [{"subject": "orders"}]}})
}

fn content_of(names: &str) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: x}}\ndata: {{names: \"{names}\", mark: \"1\"}}\n"
    );
    json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "content",
        "annotations": {"projectsveltos.io/instantiate": "ok"}}, "data": {"a.yaml": text}})
}

fn each() -> Value {
    content_of("{{ .CloudEvent.subject }}-{{ .CloudEvent.id }}")
}

fn ready(objects: Vec<Value>, rows: Vec<Row>) -> Fixture {
    let mut fixture = Fixture::new([vec![mixed()], objects].concat());
    rows.into_iter().for_each(|row| fixture.row(row));
    fixture.ready(&[]);
    fixture
}

#[test]
fn of_one_source_and_subject_the_newest_event_counts_whatever_its_type_and_order_of_arrival() {
    for rows in [
        [event("o", "created", 3), event("o", "changed", 4), event("p", "created", 2)],
        [event("o", "changed", 4), event("p", "created", 2), event("o", "created", 3)],
    ] {
        let fixture = ready(vec![trigger(true, json!({})), each()], rows.to_vec());
        assert_eq!(fixture.wanted(), ["a o-4 1", "a p-2 1"]);
        assert!(fixture.problems.is_empty(), "{:?}", fixture.problems);
    }
}

#[test]
fn an_event_whose_action_is_to_delete_withdraws_what_its_source_and_subject_led_to_and_no_more() {
    let rows = vec![event("o", "created", 3), event("p", "created", 4)];
    let mut fixture = ready(vec![trigger(true, json!({"cloudEventAction": ACTION})), each()], rows);
    assert_eq!(fixture.wanted(), ["a o-3 1", "a p-4 1"]);
    fixture.row(event("o", "deleted", 5));
    assert_eq!(fixture.wanted(), ["a p-4 1"]);
    fixture.take_log();
    fixture.row(event("o", "deleted", 6));
    assert!(fixture.take_log().is_empty(), "it is gone already");
    fixture.row(event("o", "created", 7));
    assert_eq!(fixture.wanted(), ["a o-7 1", "a p-4 1"]);
    fixture.put(trigger(true, json!({"cloudEventAction": "Delete"})));
    assert!(fixture.wanted().is_empty());
    fixture.put(trigger(true, json!({})));
    assert_eq!(fixture.wanted(), ["a o-7 1", "a p-4 1"]);
}

/// In Sveltos an event that deletes ends the pass: the generators of later events make nothing.
#[test]
fn generators_follow_the_action_of_their_own_event() {
    let template = json!({"kind": "ConfigMap", "metadata": {"namespace": "default", "name": "template"}, "data": {"a": "{{ .CloudEvent.id }}"}});
    let generator =
        json!([{"namespace": "default", "name": "template", "nameFormat": "made-{{ .CloudEvent.subject }}"}]);
    let made = trigger(true, json!({"cloudEventAction": ACTION, "configMapGenerator": generator}));
    let rows = vec![event("o", "deleted", 3), event("p", "created", 4), event("q", "created", 5)];
    let mut fixture = ready(vec![made, each(), template], rows);
    let names = |fixture: &Fixture| {
        let made = fixture.projected.iter().filter(|(_, object)| object.is_some());
        let names = made.filter_map(|(key, _)| key.strip_prefix("ConfigMap projectsveltos/made-"));
        names.map(str::to_owned).collect::<Vec<_>>()
    };
    assert_eq!(names(&fixture), ["p", "q"]);
    fixture.row(event("p", "deleted", 6));
    assert_eq!(names(&fixture), ["q"]);
}

/// In Sveltos it is a nil pointer.
#[test]
fn an_action_that_there_is_not_is_a_problem_and_what_is_there_stays() {
    let of_type = trigger(true, json!({"cloudEventAction": "{{ .CloudEvent.type }}"}));
    let mut fixture = ready(vec![of_type, each()], vec![event("o", "Create", 3)]);
    assert_eq!(fixture.wanted(), ["a o-3 1"]);
    fixture.row(event("o", "Explode", 4));
    assert_eq!(fixture.wanted(), ["a o-3 1"]);
    let error = &fixture.problems["EventTrigger t, EventSource s, CloudEvent /shop/o"];
    assert!(
        error.contains("spec.cloudEventAction: \"Explode\" is no action; write Create, Delete"),
        "{error}"
    );
    fixture.put(trigger(true, json!({"cloudEventAction": "{{ .CloudEvent.nothing }}"})));
    let error = &fixture.problems["EventTrigger t, EventSource s, CloudEvent /shop/o"];
    assert!(error.contains("spec.cloudEventAction: ") && error.contains("nothing"), "{error}");
    assert_eq!(fixture.wanted(), ["a o-3 1"]);
    fixture.row(event("o", "Delete", 5));
    fixture.put(trigger(true, json!({"cloudEventAction": "{{ .CloudEvent.type }}"})));
    assert!(fixture.wanted().is_empty() && fixture.problems.is_empty());
    fixture.put(trigger(true, json!({"cloudEventAction": "Explode"})));
    assert!(fixture.problems["EventTrigger t"].contains("spec.cloudEventAction: \"Explode\" is no action"));
}

#[test]
fn absence_takes_no_event_away_and_a_tombstone_of_its_present_source_does() {
    let rows = vec![event("o", "created", 3), event("o", "changed", 4)];
    let mut fixture = ready(vec![trigger(true, json!({})), each()], rows);
    fixture.row(gone(event("o", "changed", 4)));
    assert_eq!(fixture.wanted(), ["a o-3 1"], "the other one matches still");
    fixture.row(gone(event("o", "created", 3)));
    assert!(fixture.wanted().is_empty());

    // Somebody else made it, and no report says so any more.
    let found = |renderer: &mut Renderer| {
        let profile = ProfileId::cluster("made-before");
        let subject =
            Subject::Desired { shard: Shard::FIRST, cluster: cluster("a"), origin: Shard::FIRST, profile };
        let mut item = cause(None);
        if let Cause::Event(event) = &mut item {
            Arc::make_mut(event).item = Some(item_of(&event_key("o", "created")));
        }
        renderer.found(&subject, &Head { meta: Meta::of_cause(&item), ..Head::default() });
    };
    let mut fixture = Fixture::with(vec![mixed(), trigger(true, json!({})), each()], found);
    fixture.ready(&["x"]);
    assert!(!fixture.take_log().contains(&"-a".to_owned()), "all are lost, and nothing proves that it went");
    fixture.delete(trigger(true, json!({})));
    assert!(fixture.take_log().contains(&"-a".to_owned()), "its trigger went");
}

#[test]
fn an_event_waits_for_the_newer_ones_that_may_be_missing_and_for_nothing_else() {
    let deletes = trigger(true, json!({"cloudEventAction": ACTION}));
    let mut fixture = Fixture::new(vec![mixed(), deletes, each()]);
    let says = |revision: Revision, lacking: &[&str]| {
        let lacking = lacking.iter().map(|name| (*name).to_owned().into()).collect();
        let mut row = complete(revision);
        row.head.meta = Meta::Complete(Complete { lacking, ..Complete::of_all(INCARNATION, revision) });
        row
    };
    let revision = fixture.revision();
    fixture.row(event("o", "created", 3));
    fixture.row(says(revision, &["s", "~s"]));
    fixture.caught_up();
    assert!(fixture.wanted().is_empty(), "a newer one may delete it");
    fixture.row(says(revision, &["s"]));
    assert_eq!(fixture.wanted(), ["a o-3 1"], "what is unknown of objects does not concern it");
    fixture.row(event("o", "deleted", 4));
    assert!(fixture.wanted().is_empty());
}

#[test]
fn one_template_sees_all_events_in_their_order_beside_the_objects() {
    let all = content_of(
        "{{ range .CloudEvents }}{{ .subject }}{{ end }}-{{ len .Resources }}-{{ len .MatchingResources }}",
    );
    // Without oneForEvent the action means nothing.
    let of_all = trigger(false, json!({"cloudEventAction": "Delete"}));
    let rows = vec![event("o", "changed", 7), event("o", "created", 3), event("p", "created", 4)];
    let mut fixture = ready(vec![of_all, all], rows);
    fixture.row(report("x", false));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a po-1-1 1"]);
    for row in [event("o", "changed", 7), event("o", "created", 3), event("p", "created", 4)] {
        fixture.row(gone(row));
    }
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a -1-1 1"]);
    fixture.row(report("x", true));
    fixture.wait();
    assert!(fixture.wanted().is_empty());
}

#[test]
fn an_empty_set_of_events_is_no_reason_to_withdraw_what_was_made_of_them() {
    let found = |renderer: &mut Renderer| {
        let profile = ProfileId::cluster("made-before");
        let subject =
            Subject::Desired { shard: Shard::FIRST, cluster: cluster("a"), origin: Shard::FIRST, profile };
        renderer.found(&subject, &Head { meta: Meta::of_cause(&cause(None)), ..Head::default() });
    };
    let all = content_of("{{ len .CloudEvents }}");
    let mut fixture = Fixture::with(vec![mixed(), trigger(false, json!({})), all.clone()], found);
    fixture.ready(&[]);
    assert!(fixture.take_log().is_empty());
    fixture.row(event("o", "created", 3));
    fixture.wait();
    assert_eq!(fixture.wanted(), ["a 1 1"]);
    fixture.row(gone(event("o", "created", 3)));
    fixture.wait();
    assert!(fixture.wanted().is_empty());
}

#[test]
fn where_there_is_no_event_its_template_sees_none() {
    let mut fixture = ready(vec![trigger(true, json!({"cloudEventAction": "Delete"})), each()], vec![]);
    fixture.row(report("x", false));
    let error = &fixture.problems["EventTrigger t, EventSource s, Service default/x"];
    assert!(error.contains("subject"), "{error}");
    fixture.put(content(true, "1"));
    assert_eq!(fixture.wanted(), ["a x 1"], "the action is one of CloudEvents");
}
