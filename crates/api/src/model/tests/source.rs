//! Event sources of both forms, and criteria of CloudEvents.

use serde_json::{Value, json};

use super::{are_lists, are_true_or_false, must_be_there, refused, texts_are_quoted};
use crate::cloud_event::EventKey;
use crate::error::FieldError;
use crate::model::EventSource;
use crate::object::ObjectKey;

fn read(spec: Value) -> Result<EventSource, FieldError> {
    EventSource::read(&json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": spec}))
}

fn listed() -> Value {
    json!({"resourceSelectors": [{"group": "", "version": "v1", "kind": "Service"}]})
}

fn flat() -> Value {
    json!({"group": "", "version": "v1", "kind": "Service"})
}

fn object(labels: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Service", "metadata": {"namespace": "shop", "name": "web", "labels": labels}})
}

/// Whether a selector with these fields selects the Service `shop/web` with the label `env: fv`, and why not.
fn asked(more: Value) -> (bool, Option<String>) {
    let mut spec = listed();
    let selector = spec["resourceSelectors"][0].as_object_mut().unwrap();
    selector.extend(more.as_object().unwrap().clone());
    let (source, object) = (read(spec).unwrap(), object(json!({"env": "fv"})));
    let key = ObjectKey::of(&object).unwrap();
    (source.selectors[0].selects(&key, &object), source.selectors[0].unmet(&key, &object))
}

fn event(source: &str, kind: &str, subject: &str, channel: &str) -> EventKey {
    EventKey { source: source.into(), subject: subject.into(), kind: kind.into(), channel: channel.into() }
}

fn criteria(criteria: Value) -> crate::model::Criteria {
    read(json!({"messagingMatchCriteria": [criteria]})).unwrap().criteria.remove(0)
}

#[test]
fn a_source_that_says_the_least_has_every_default() {
    let source = read(listed()).unwrap();
    assert_eq!(source.name, "s");
    assert!(
        source.criteria.is_empty()
            && !source.collect
            && source.aggregate.is_none()
            && !source.needs_objects()
    );
    let selector = &source.selectors[0];
    assert_eq!((&*selector.namespace, &*selector.name, selector.deleting), ("", "", false));
    assert!(selector.labels.is_empty() && selector.evaluate.is_none() && selector.rules.is_empty());
}

#[test]
fn a_source_of_messages_alone_needs_no_selector() {
    let source = read(json!({"messagingMatchCriteria": [{}]})).unwrap();
    assert_eq!((source.selectors.len(), source.criteria.len()), (0, 1));
}

#[test]
fn a_source_of_nothing_is_refused_with_both_ways_out() {
    for nothing in
        [json!({}), json!({"resourceSelectors": []}), json!({"collectResources": true}), Value::Null]
    {
        let error = read(nothing).unwrap_err();
        assert_eq!(error.field, "spec.resourceSelectors");
        assert!(error.reason.contains("set spec.messagingMatchCriteria"), "{error}");
    }
}

#[test]
fn the_flat_form_and_the_list_are_added_up() {
    let mut both = listed();
    both.as_object_mut()
        .unwrap()
        .extend(json!({"version": "v1", "kind": "Pod"}).as_object().unwrap().clone());
    let kinds: Vec<_> = read(both).unwrap().selectors.iter().map(|one| one.gvk.kind.clone()).collect();
    assert_eq!(kinds, ["Service", "Pod"]);
}

#[test]
fn a_namespace_alone_is_no_flat_form() {
    let mut spec = listed();
    spec["namespace"] = json!("x");
    assert_eq!(read(spec).unwrap().selectors.len(), 1);
}

#[test]
fn version_and_kind_are_needed_in_both_forms() {
    must_be_there(read, &flat(), &["version", "kind"]);
    must_be_there(read, &listed(), &["resourceSelectors[0].version", "resourceSelectors[0].kind"]);
}

#[test]
fn the_group_may_be_missing_and_is_that_of_core_kinds() {
    let source = read(json!({"resourceSelectors": [{"version": "v1", "kind": "Pod"}]})).unwrap();
    assert_eq!(source.selectors[0].gvk.to_string(), "v1/Pod");
}

#[test]
fn texts_of_a_source_are_quoted() {
    texts_are_quoted(
        read,
        &flat(),
        &["group", "version", "kind", "namespace", "script", "aggregatedSelection"],
    );
    for field in ["group", "namespace", "name", "evaluate"] {
        texts_are_quoted(read, &listed(), &[&format!("resourceSelectors[0].{field}")]);
    }
}

#[test]
fn switches_of_a_source_are_true_or_false() {
    are_true_or_false(
        read,
        &listed(),
        &["collectResources", "resourceSelectors[0].includeDeletingResources"],
    );
}

#[test]
fn lists_of_a_source_are_lists() {
    are_lists(read, &listed(), &["resourceSelectors", "messagingMatchCriteria"]);
    for field in ["labelFilters", "labelsFilters", "evaluateCEL"] {
        are_lists(read, &listed(), &[&format!("resourceSelectors[0].{field}")]);
    }
}

#[test]
fn both_spellings_of_filters_count_together() {
    let source =
        read(json!({"version": "v1", "kind": "Pod", "labelFilters": [{"key": "a", "operation": "Has"}],
        "labelsFilters": [{"key": "b", "operation": "DoesNotHave"}]}));
    assert_eq!(source.unwrap().selectors[0].labels.to_string(), "a,!b");
}

#[test]
fn filters_and_selector_count_together() {
    let both = json!({"labelFilters": [{"key": "env", "operation": "Equal", "value": "fv"}], "selector": {"matchLabels": {"tier": "a"}}});
    assert_eq!(asked(both), (false, Some("its labels do not fulfil tier=a,env=fv".to_owned())));
}

#[test]
fn a_filter_needs_key_and_operation() {
    let mut spec = listed();
    spec["resourceSelectors"][0]["labelFilters"] = json!([{"key": "a", "operation": "Has"}]);
    let field = |name: &str| format!("resourceSelectors[0].labelFilters[0].{name}");
    must_be_there(read, &spec, &[&field("key"), &field("operation")]);
    texts_are_quoted(read, &spec, &[&field("value")]);
}

#[test]
fn a_selector_of_labels_that_cannot_be_read_does_not_select_everything() {
    for wrong in
        [json!({"matchLabels": ["env"]}), json!({"matchExpressions": "env"}), json!({"labels": {}}), json!(1)]
    {
        refused(read, &listed(), "resourceSelectors[0].selector", wrong);
    }
}

#[test]
fn a_selector_without_conditions_selects_every_object_of_its_kind() {
    assert_eq!(asked(json!({})), (true, None));
}

#[test]
fn namespace_and_name_are_compared_as_a_whole() {
    assert!(asked(json!({"namespace": "shop", "name": "web"})).0);
    assert_eq!(asked(json!({"namespace": "sho"})).1.unwrap(), "its namespace is \"shop\", not \"sho\"");
    assert_eq!(asked(json!({"name": "we"})).1.unwrap(), "its name is \"web\", not \"we\"");
}

#[test]
fn another_version_is_another_kind() {
    let unmet = asked(json!({"version": "v2"})).1.unwrap();
    assert_eq!(unmet, "its kind is \"v1/Service\", not \"v2/Service\"");
}

#[test]
fn every_operation_of_a_filter_looks_at_the_label() {
    for (operation, value, expected) in [
        ("Equal", "fv", true),
        ("Equal", "other", false),
        ("Different", "fv", false),
        ("Different", "other", true),
        ("Has", "", true),
        ("DoesNotHave", "", false),
    ] {
        let filter = json!({"labelFilters": [{"key": "env", "operation": operation, "value": value}]});
        assert_eq!(asked(filter).0, expected, "{operation} {value}");
    }
}

#[test]
fn a_script_of_blanks_is_none() {
    let mut spec = listed();
    spec["resourceSelectors"][0]["evaluate"] = json!(" \n");
    assert_eq!(read(spec).unwrap().selectors[0].evaluate, None);
}

#[test]
fn whole_objects_are_needed_where_they_are_collected() {
    let mut spec = listed();
    spec["collectResources"] = json!(true);
    assert!(read(spec).unwrap().needs_objects());
}

#[test]
fn a_rule_needs_an_expression_and_no_name() {
    let mut spec = listed();
    spec["resourceSelectors"][0]["evaluateCEL"] = json!([{"rule": "true"}]);
    assert_eq!(read(spec.clone()).unwrap().selectors[0].rules[0].name, "");
    must_be_there(read, &spec, &["resourceSelectors[0].evaluateCEL[0].rule"]);
}

#[test]
fn criteria_without_conditions_select_every_message() {
    assert!(criteria(json!({})).selects(&event("a", "b", "c", "d")));
    assert_eq!(criteria(json!({})).unmet(&event("", "", "", "")), None);
}

#[test]
fn every_condition_of_criteria_names_its_attribute() {
    for (field, what) in [
        ("subject", "message's subject"),
        ("cloudEventSource", "source"),
        ("cloudEventType", "type"),
        ("cloudEventSubject", "subject"),
    ] {
        let unmet = criteria(json!({field: "^x$"})).unmet(&event("a", "a", "a", "a")).unwrap();
        assert_eq!(unmet, format!("its {what} is \"a\", which \"^x$\" does not match"));
    }
}

#[test]
fn criteria_are_unmet_exactly_where_they_do_not_select() {
    let both = criteria(json!({"cloudEventSource": "/shop", "cloudEventType": "created|changed"}));
    for (source, kind) in
        [("/shop", "created"), ("/shop/a", "changed"), ("/other", "created"), ("/shop", "gone")]
    {
        let event = event(source, kind, "", "events");
        assert_eq!(both.unmet(&event).is_none(), both.selects(&event), "{source} {kind}");
    }
    assert!(!both.selects(&event("/shop", "gone", "", "")));
}

#[test]
fn a_condition_that_is_no_expression_names_its_field() {
    for field in ["subject", "cloudEventSource", "cloudEventType", "cloudEventSubject"] {
        let path = format!("messagingMatchCriteria[0].{field}");
        let spec = json!({"messagingMatchCriteria": [{}]});
        assert!(refused(read, &spec, &path, json!("(")).contains("write it as RE2 has them"), "{field}");
        texts_are_quoted(read, &spec, &[&path]);
    }
}
