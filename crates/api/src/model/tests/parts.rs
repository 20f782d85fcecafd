//! Parts that triggers and profiles share: patches, labels, what templates read, and paces.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{are_true_or_false, must_be_there, refused, texts_are_quoted};
use crate::error::FieldError;
use crate::model::{
    Attention, DEBOUNCE, MAX_PER_MINUTE, Pace, PatchContent, Profile, SUSPEND, SpecCommon, TTL,
};

fn common(spec: Value) -> Result<SpecCommon, FieldError> {
    let object = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec});
    Profile::read(&object).map(|profile| profile.common)
}

fn wrong(path: &str, value: Value) -> String {
    refused(common, &json!({}), path, value)
}

fn pace(key: &str, text: &str) -> Result<Pace, FieldError> {
    Pace::read(&json!({"kind": "EventTrigger", "metadata": {"name": "t", "annotations": {key: text}}}))
}

#[test]
fn a_patch_is_ready_or_a_template() {
    let content =
        |text: &str| common(json!({"patches": [{"patch": text}]})).unwrap().patches.remove(0).content;
    assert!(matches!(content("- {op: remove, path: /a}"), PatchContent::Ready(_)));
    assert_eq!(content("{{ x }}: ["), PatchContent::Template("{{ x }}: [".into()));
}

#[test]
fn a_patch_without_a_target_has_none() {
    for target in [Value::Null, json!({})] {
        let read = common(json!({"patches": [{"patch": "a: 1", "target": target}]})).unwrap();
        assert_eq!(read.patches[0].target.is_none(), target.is_null());
    }
}

#[test]
fn a_patch_is_a_text() {
    let spec = json!({"patches": [{"patch": "a: 1"}]});
    must_be_there(common, &spec, &["patches[0].patch"]);
    assert!(
        refused(common, &spec, "patches[0].patch", json!({"a": 1})).contains("is not a string; quote it")
    );
}

#[test]
fn an_unknown_field_of_a_target_is_named_with_the_known_ones() {
    let error = common(json!({"patches": [{"patch": "a: 1", "target": {"labels": "a=b"}}]})).unwrap_err();
    assert_eq!(error.field, "spec.patches[0].target.labels");
    assert!(error.reason.contains("labelSelector and annotationSelector"), "{error}");
}

#[test]
fn labels_that_everything_gets_are_labels() {
    let read = common(json!({"extraLabels": {"example.com/a": "b", "c": ""}})).unwrap().extra_labels;
    assert_eq!(json!(read), json!({"example.com/a": "b", "c": ""}));
    assert!(wrong("extraLabels", json!({"a/b/c": "x"})).contains("write it as [prefix/]name"));
}

#[test]
fn a_value_that_is_no_label_may_be_an_annotation() {
    assert!(common(json!({"extraAnnotations": {"a": "any text, however long"}})).is_ok());
    let error = common(json!({"extraLabels": {"a": "any text"}})).unwrap_err();
    assert!(error.reason.contains("or put it into extraAnnotations"), "{error}");
}

#[test]
fn labels_and_annotations_are_maps_of_texts() {
    for field in ["extraLabels", "extraAnnotations"] {
        assert!(wrong(field, json!("x")).contains("is no map of texts"), "{field}");
        assert_eq!(common(json!({field: {"a": 1}})).unwrap_err().reason, "1 is not a string; quote it");
    }
}

#[test]
fn what_templates_read_needs_an_identifier_and_an_object() {
    let spec = json!({"templateResourceRefs": [{"identifier": "I", "resource": {"apiVersion": "v1", "kind": "Secret", "name": "s"}}]});
    let field = |name: &str| format!("templateResourceRefs[0].{name}");
    must_be_there(common, &spec, &[&field("identifier")]);
    must_be_there(
        common,
        &spec,
        &[&field("resource.apiVersion"), &field("resource.kind"), &field("resource.name")],
    );
    texts_are_quoted(common, &spec, &[&field("resource.namespace")]);
    are_true_or_false(common, &spec, &[&field("optional"), &field("ignoreStatusChanges")]);
    assert_eq!(
        refused(common, &spec, &field("watchFields[0]"), json!("")),
        "is required and must not be empty"
    );
}

#[test]
fn what_templates_read_says_which_changes_count() {
    let written = json!({"identifier": "I", "optional": true, "ignoreStatusChanges": true, "watchFields": ["spec.a"],
        "resource": {"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "n", "name": "d"}});
    let read = common(json!({"templateResourceRefs": [written]})).unwrap().resource_refs.remove(0);
    assert_eq!(
        (&*read.api_version, &*read.kind, &*read.namespace, &*read.name),
        ("apps/v1", "Deployment", "n", "d")
    );
    assert!(read.optional);
    assert_eq!(read.attention, Attention { ignore_status: true, fields: vec!["spec.a".into()] });
}

#[test]
fn a_label_that_changes_is_seen_and_a_counter_is_not() {
    let object = |label: &str, version: &str| json!({"metadata": {"labels": {"a": label}, "resourceVersion": version, "managedFields": [version]}});
    let all = Attention::default();
    assert!(all.sees(Some(&object("x", "1")), Some(&object("y", "1"))));
    assert!(!all.sees(Some(&object("x", "1")), Some(&object("x", "2"))));
}

#[test]
fn a_field_that_comes_or_goes_is_seen() {
    let (with, without) = (json!({"spec": {"a": 1}}), json!({}));
    for attention in [Attention::default(), Attention { ignore_status: false, fields: vec!["spec.a".into()] }]
    {
        assert!(attention.sees(Some(&with), Some(&without)) && attention.sees(Some(&without), Some(&with)));
    }
}

#[test]
fn a_field_that_is_watched_may_be_of_the_status() {
    let attention = Attention { ignore_status: true, fields: vec!["status.phase".into()] };
    assert!(
        attention.sees(Some(&json!({"status": {"phase": "a"}})), Some(&json!({"status": {"phase": "b"}})))
    );
}

#[test]
fn a_path_may_begin_with_a_dot() {
    let attention = Attention { ignore_status: false, fields: vec![".spec.a".into()] };
    assert!(attention.sees(Some(&json!({"spec": {"a": 1}})), Some(&json!({"spec": {"a": 2}}))));
    assert!(!attention.sees(Some(&json!({"spec": {"b": 1}})), Some(&json!({"spec": {"b": 2}}))));
}

#[test]
fn times_have_units_that_are_added_up() {
    for (text, micros) in [
        ("500ms", 500_000_i64),
        ("5s", 5_000_000),
        ("10m", 600_000_000),
        ("2h", 7_200_000_000),
        ("1m1s1ms", 61_001_000),
    ] {
        assert_eq!(pace(TTL, text).unwrap().ttl, Some(micros), "{text}");
        assert_eq!(pace(DEBOUNCE, text).unwrap().debounce, Some(micros), "{text}");
    }
}

#[test]
fn a_time_is_no_longer_than_a_thousand_years() {
    assert!(pace(TTL, "8784000h").is_ok() && pace(TTL, "8784001h").is_err());
}

#[test]
fn a_trigger_acts_at_most_65535_times_a_minute() {
    assert_eq!(pace(MAX_PER_MINUTE, "65535").unwrap().max_per_minute, Some(65_535));
    let error = pace(MAX_PER_MINUTE, "70000").unwrap_err();
    assert!(error.reason.ends_with("write a whole number from 1 to 65535, in quotes"), "{error}");
}

#[test]
fn each_annotation_of_pace_has_its_own_remedy() {
    for (key, remedy) in [
        (SUSPEND, "write \"true\" or \"false\""),
        (TTL, "such as 500ms, 5s, 10m or 1h30m"),
        (DEBOUNCE, "with its unit"),
    ] {
        assert!(pace(key, "x").unwrap_err().reason.contains(remedy), "{key}");
    }
}

proptest! {
    #[test]
    fn what_is_the_same_is_no_change(spec in "[ab]", status in "[ab]", ignore_status in any::<bool>(), fields in proptest::collection::vec("(spec|kind|name)(\\.name)?", 0..2)) {
        let object = json!({"metadata": {"name": "x"}, "spec": {"name": spec}, "status": status});
        let attention = Attention { ignore_status, fields };
        prop_assert!(!attention.sees(Some(&object), Some(&object)));
    }

    #[test]
    fn a_time_that_is_read_is_the_sum_of_its_parts(hours in 0..50_i64, minutes in 0..90_i64, seconds in 0..90_i64) {
        let sum = (hours * 3_600 + minutes * 60 + seconds) * 1_000_000;
        let read = pace(TTL, &format!("{hours}h{minutes}m{seconds}s")).ok().and_then(|pace| pace.ttl);
        prop_assert_eq!(read, (sum > 0).then_some(sum));
    }
}
