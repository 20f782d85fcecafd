//! CloudEvents that are sent to the cluster.

use std::collections::BTreeMap;

use sluice_protocol::{EventIds, Position, Sequence};

use super::*;
use crate::events::Sent;

fn sources(revision: u64, criteria: &[&str]) -> ExternalInput {
    let source = |name: &&str| {
        let manifest = json!({"kind": "EventSource", "metadata": {"name": name}, "spec": {"messagingMatchCriteria": [{"cloudEventType": name}]}});
        Source { name: (*name).into(), changed: Revision::new(revision), manifest: manifest.into() }
    };
    ExternalInput::Interest(Interest {
        revision: Revision::new(revision),
        sources: criteria.iter().map(source).collect(),
        ..Interest::default()
    })
}

fn sent(id: u64, kind: &str, sequence: u64) -> ExternalInput {
    sent_as(&sequence.to_string(), id, kind, sequence)
}

/// The same with an id of the event.
fn sent_as(event: &str, id: u64, kind: &str, sequence: u64) -> ExternalInput {
    let event = json!({"specversion": "1.0", "id": event, "source": "/shop", "subject": "o", "type": kind});
    message(id, &event.to_string(), sequence)
}

fn message(id: u64, body: &str, sequence: u64) -> ExternalInput {
    let (channel, headers, body) = ("orders".to_owned(), BTreeMap::new(), body.as_bytes().to_vec());
    let time = i64::try_from(sequence).unwrap() * 10;
    ExternalInput::Sent(
        WatchId::new(id),
        Sent { channel, headers, body, sequence: Sequence::new(sequence), time },
    )
}

/// An agent that reads what is sent, and effects and rows of the beginning.
fn listening() -> Agent {
    let mut agent = agent();
    side(&mut agent, sources(1, &["created"]));
    assert_eq!(step(&mut agent, |agent, step| agent.start(step)), ["complete", "complete", "listen 1"]);
    agent
}

/// It begins.
fn side_of_start(agent: &mut Agent) {
    agent.start(&mut Step::at(1));
}

/// What is published: the id of each event, and its position.
fn published(agent: &mut Agent, input: ExternalInput) -> Vec<(String, Meta)> {
    let mut step = Step::at(10);
    agent.external(input, &mut step);
    let rows = step.into_parts().0.into_iter().filter(|row| matches!(row.subject, Subject::Change { .. }));
    let event = |row: Publish| {
        let Body::Value(body) = row.body else { panic!("nothing withdraws an event") };
        let event: serde_json::Value = serde_json::from_slice(&body).unwrap();
        let id = event["id"].as_str().unwrap().to_owned();
        let Meta::Position(position) = row.meta else { panic!("{:?}", row.meta) };
        assert!(position.ids.has(&id));
        (id, Meta::Position(Position { ids: EventIds::default(), ..position }))
    };
    rows.map(event).collect()
}

fn at(order: u64, sequence: u64) -> Meta {
    Meta::Position(Position {
        order,
        sequence: Sequence::new(sequence),
        time: i64::try_from(sequence).unwrap() * 10,
        ..Position::default()
    })
}

#[test]
fn of_what_was_sent_before_the_last_of_each_type_counts_and_later_each() {
    let mut agent = listening();
    for (kind, sequence) in [("created", 1), ("deleted", 2), ("created", 3)] {
        assert!(published(&mut agent, sent(1, kind, sequence)).is_empty(), "what follows may be newer");
    }
    let all = published(&mut agent, ExternalInput::SentAll(WatchId::new(1)));
    assert_eq!(all, [("2".to_owned(), at(2, 2)), ("3".to_owned(), at(3, 3))]);
    assert_eq!(published(&mut agent, sent(1, "created", 4)), [("4".to_owned(), at(4, 4))]);
    assert!(published(&mut agent, sent(1, "created", 3)).is_empty(), "it is older");
}

#[test]
fn what_is_sent_once_more_is_the_same_event_however_late_and_whoever_takes_over() {
    let log = [("1", "created", 1), ("3", "created", 2), ("2", "deleted", 3), ("1", "created", 4)];
    // One after the other, and as a log that is read from its first message.
    let mut live = listening();
    published(&mut live, ExternalInput::SentAll(WatchId::new(1)));
    let accepted: Vec<_> = log
        .iter()
        .flat_map(|(id, kind, sequence)| published(&mut live, sent_as(id, 1, kind, *sequence)))
        .map(|(id, _)| id)
        .collect();
    assert_eq!(accepted, ["1", "3", "2"]);
    let mut later = listening();
    for (id, kind, sequence) in log {
        published(&mut later, sent_as(id, 1, kind, sequence));
    }
    let mut step = Step::at(1);
    later.external(ExternalInput::SentAll(WatchId::new(1)), &mut step);
    let rows: Vec<_> = step.into_parts().0.into_iter().filter(|row| !row.barrier).collect();
    let bodies: Vec<_> = rows.iter().map(|row| row.head()).collect();
    assert_eq!(bodies.len(), 2, "the newest of each type");
    // Who takes over knows it from the rows: the log may have lost its beginning.
    let mut heir = agent();
    for row in &rows {
        heir.found(&row.subject, &row.head());
    }
    side(&mut heir, sources(1, &["created"]));
    side_of_start(&mut heir);
    published(&mut heir, sent_as("1", 1, "created", 4));
    assert!(published(&mut heir, ExternalInput::SentAll(WatchId::new(1))).is_empty());
    assert!(published(&mut heir, sent_as("3", 1, "created", 9)).is_empty());
    assert_eq!(published(&mut heir, sent_as("4", 1, "created", 10)), [("4".to_owned(), at(10, 10))]);
}

#[test]
fn a_source_of_events_is_not_complete_before_all_have_come() {
    let mut agent = agent();
    side(&mut agent, sources(1, &["created"]));
    let mut step = Step::at(1);
    agent.start(&mut step);
    let said = step.into_parts().0[0].meta.complete().unwrap().lacking.clone();
    assert_eq!(said, [Lacking::Objects("created".into()), Lacking::Events("created".into())]);
    assert_eq!(lacking(&mut agent, ExternalInput::SentAll(WatchId::new(2))), None, "that is another reading");
    assert_eq!(lacking(&mut agent, ExternalInput::SentAll(WatchId::new(1))), Some(vec![]));
}

#[test]
fn a_kind_that_may_not_be_listed_says_nothing_against_events() {
    let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {
        "resourceSelectors": [{"version": "v1", "kind": "Pod"}], "messagingMatchCriteria": [{}]}});
    let sources = vec![Source { name: "s".into(), changed: Revision::new(1), manifest: manifest.into() }];
    let mut agent = agent();
    side(
        &mut agent,
        ExternalInput::Interest(Interest { revision: Revision::new(1), sources, ..Interest::default() }),
    );
    step(&mut agent, |agent, step| agent.start(step));
    side(&mut agent, ExternalInput::SentAll(WatchId::new(2)));
    assert_eq!(lacking(&mut agent, ExternalInput::Troubled(WatchId::new(1))), Some(vec!["s".to_owned()]));
}

#[test]
fn who_takes_over_replaces_nothing_by_what_is_older_and_withdraws_nothing() {
    let mut agent = agent();
    let (old, new) = (sent(1, "created", 3), sent(1, "created", 6));
    let event = sluice_api::cloud_event::EventKey {
        source: "/shop".into(),
        subject: "o".into(),
        kind: "created".into(),
        channel: "orders".into(),
    };
    let subject = agent.subject(own(event.object_key()));
    agent.found(&subject, &Head { meta: at(5, 5), ..Head::default() });
    side(&mut agent, sources(1, &["created"]));
    step(&mut agent, |agent, step| agent.start(step));
    assert!(published(&mut agent, old).is_empty());
    assert!(
        published(&mut agent, ExternalInput::SentAll(WatchId::new(1))).is_empty(),
        "nothing is withdrawn either"
    );
    assert_eq!(published(&mut agent, new), [("6".to_owned(), at(6, 6))]);
}

#[test]
fn a_row_of_a_newer_version_is_replaced_by_what_was_sent_after_it() {
    let mut agent = agent();
    let event = sluice_api::cloud_event::EventKey {
        source: "/shop".into(),
        subject: "o".into(),
        kind: "created".into(),
        channel: "orders".into(),
    };
    let subject = agent.subject(own(event.object_key()));
    agent.found(&subject, &Head { time: 50, meta: Meta::Unknown("?".into()), ..Head::default() });
    side(&mut agent, sources(1, &["created"]));
    step(&mut agent, |agent, step| agent.start(step));
    side(&mut agent, ExternalInput::SentAll(WatchId::new(1)));
    assert!(published(&mut agent, sent(1, "created", 5)).is_empty());
    assert_eq!(published(&mut agent, sent(1, "created", 6)), [("6".to_owned(), at(6, 6))]);
}

#[test]
fn nothing_is_read_that_nobody_asks_for() {
    let mut agent = listening();
    assert_eq!(
        side(&mut agent, sources(2, &["created", "deleted"])),
        ["complete", "complete"],
        "it is read already"
    );
    assert_eq!(side(&mut agent, sources(3, &[])), ["complete", "complete", "Unlisten"]);
    assert!(published(&mut agent, sent(1, "created", 1)).is_empty());
    assert_eq!(side(&mut agent, sources(4, &["created"])), ["complete", "complete", "listen 2"]);
    published(&mut agent, sent(2, "created", 1));
    assert!(
        published(&mut agent, ExternalInput::SentAll(WatchId::new(1))).is_empty(),
        "that reading has ended"
    );
    assert_eq!(published(&mut agent, ExternalInput::SentAll(WatchId::new(2))), [("1".to_owned(), at(1, 1))]);
}

#[test]
fn what_is_no_event_is_told_with_its_channel_until_a_good_one_comes() {
    let mut agent = listening();
    let problem = |agent: &mut Agent, input| {
        let mut step = Step::at(1);
        agent.external(input, &mut step);
        step.into_parts().1
    };
    let effects = problem(&mut agent, message(1, "{}", 7));
    let [Effect::Refused, Effect::Problem(told)] = &effects[..] else { panic!("{effects:?}") };
    assert_eq!((told.stage, &*told.object()), ("agent", "CloudEvents on orders"));
    let error = told.error().map(str::to_owned).unwrap();
    assert!(error.starts_with("message 7: specversion: is required"), "{error}");
    let effects = problem(&mut agent, sent(1, "created", 8));
    assert!(matches!(&effects[..], [Effect::Problem(resolved)] if resolved.error().is_none()), "{effects:?}");
    assert!(problem(&mut agent, sent(1, "created", 9)).is_empty());
}
