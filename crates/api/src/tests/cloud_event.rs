//! CloudEvents as messages, in files, and as items of a cluster.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::cloud_event::{CloudEvent, EventKey, first_of, is_event, item_of, source_and_subject};
use crate::object::{Gvk, ObjectKey};

fn event(more: Value) -> Result<CloudEvent, String> {
    let mut event = json!({"specversion": "1.0", "id": "1", "source": "/shop", "type": "created"});
    event.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    CloudEvent::read(event)
}

fn binary(headers: &[(&str, &str)], body: &[u8]) -> Result<CloudEvent, String> {
    let least = [("ce-specversion", "1.0"), ("ce-id", "1"), ("ce-source", "/shop"), ("ce-type", "created")];
    let all = least.iter().chain(headers).map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    CloudEvent::of_message(&all.collect::<BTreeMap<_, _>>(), body)
}

fn key(source: &str, subject: &str) -> EventKey {
    EventKey {
        source: source.into(),
        subject: subject.into(),
        kind: "created".into(),
        channel: "orders".into(),
    }
}

fn pod() -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Pod"), namespace: "n".into(), name: "a b".into() }
}

#[test]
fn a_subject_may_be_missing() {
    assert_eq!(event(json!({})).unwrap().subject, "");
    assert_eq!(event(json!({"subject": null})).unwrap().subject, "");
}

#[test]
fn extensions_of_an_event_are_kept() {
    assert_eq!(event(json!({"tenant": "a", "data": [1]})).unwrap().object["tenant"], "a");
}

#[test]
fn an_empty_attribute_is_a_missing_one() {
    for attribute in ["id", "source", "type"] {
        let error = event(json!({attribute: ""})).unwrap_err();
        assert_eq!(error, format!("{attribute}: is required and must not be empty"));
    }
}

#[test]
fn an_event_without_a_version_says_what_to_write() {
    assert_eq!(event(json!({"specversion": ""})).unwrap_err(), "specversion: is required; write \"1.0\"");
}

#[test]
fn attributes_of_headers_are_unescaped() {
    let read = binary(&[("ce-subject", "caf%C3%A9%20%25"), ("ce-tenant", "a%2")], b"").unwrap();
    assert_eq!((read.subject.as_str(), &read.object["tenant"]), ("café %", &json!("a%2")));
}

#[test]
fn a_header_that_is_no_utf_8_is_refused() {
    assert!(binary(&[("ce-subject", "%ff")], b"").unwrap_err().contains("is no UTF-8"));
}

#[test]
fn headers_are_called_in_any_case() {
    let read = binary(&[("CE-Subject", "x"), ("CONTENT-TYPE", "application/json")], b"[1]").unwrap();
    assert_eq!((read.subject.as_str(), &read.object["data"]), ("x", &json!([1])));
}

#[test]
fn a_body_without_a_content_type_is_json() {
    assert_eq!(binary(&[], b"{\"a\": 1}").unwrap().object["data"], json!({"a": 1}));
    assert!(binary(&[], b"plain").unwrap_err().starts_with("data: it is no JSON"));
}

#[test]
fn a_body_of_text_is_text_also_where_it_looks_like_json() {
    let read = binary(&[("content-type", "text/plain")], b"5").unwrap();
    assert_eq!(read.object["data"], json!("5"));
}

#[test]
fn kinds_of_json_are_json() {
    let read = binary(&[("content-type", "application/vnd.example+json; charset=utf-8")], b"5").unwrap();
    assert_eq!(read.object["data"], json!(5));
}

#[test]
fn what_is_no_map_is_no_event() {
    for value in [json!([]), json!("x"), Value::Null] {
        assert_eq!(CloudEvent::read(value).unwrap_err(), "it is no CloudEvent: it must be one JSON object");
    }
}

#[test]
fn an_event_of_a_file_goes_to_a_subject_of_its_own() {
    assert_eq!(event(json!({"natssubject": "orders.created"})).unwrap().channel(), Ok("orders.created"));
    assert_eq!(event(json!({})).unwrap().channel(), Ok("events"));
}

#[test]
fn a_key_has_the_names_of_its_event() {
    let key = event(json!({"subject": "7"})).unwrap().key("orders").unwrap();
    let parts = [&*key.source, &*key.subject, &*key.kind, &*key.channel];
    assert_eq!(parts, ["/shop", "7", "created", "orders"]);
}

#[test]
fn names_of_512_bytes_are_not_too_long() {
    let subject = |length: usize| event(json!({"subject": "x".repeat(length)})).unwrap().key("").map(|_| ());
    let others = "/shop".len() + "created".len();
    assert_eq!(subject(512 - others), Ok(()));
    assert!(subject(513 - others).unwrap_err().contains("513 bytes together; they may have 512"));
}

#[test]
fn events_of_one_source_and_subject_are_one_item() {
    let other = EventKey { kind: "changed".into(), channel: "x".into(), ..key("/shop", "7") };
    assert_eq!(item_of(&key("/shop", "7").object_key()), item_of(&other.object_key()));
}

#[test]
fn an_object_is_an_item_of_its_own() {
    assert_eq!(item_of(&pod()), pod());
    assert_eq!((source_and_subject(&pod()), EventKey::of(&pod()), is_event(&pod())), (None, None, false));
}

#[test]
fn an_item_is_no_key_of_an_event() {
    assert_eq!(EventKey::of(&item_of(&key("/shop", "7").object_key())), None);
}

#[test]
fn a_key_that_is_written_otherwise_is_none() {
    let written = ObjectKey { name: "a b c d".into(), ..key("/shop", "7").object_key() };
    assert_eq!(EventKey::of(&written), None);
    let escaped = ObjectKey { name: "%41 b c".into(), ..written };
    assert_eq!(EventKey::of(&escaped), None, "an A is not escaped");
}

#[test]
fn the_first_key_of_an_item_is_before_all_its_events_and_after_those_of_shorter_subjects() {
    let first = first_of(&item_of(&key("/shop", "7").object_key()));
    assert!(first <= key("/shop", "7").object_key() && first > key("/shop", "6").object_key());
    assert!(first < key("/shop", "70").object_key());
}
