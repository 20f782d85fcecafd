//! What an API server removes from custom resources by the schema of their definition.

use serde_json::{Value, json};

use crate::structural::prune;

/// What is left of a spec by its schema, and what is told to be gone.
fn pruned(spec: Value, schema: Value) -> (Value, Vec<String>) {
    let whole = json!({"type": "object", "properties": {"spec": schema}});
    let mut object =
        json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "spec": spec});
    let removed = prune(object.as_object_mut().unwrap(), &whole);
    (object["spec"].take(), removed)
}

fn kept(spec: Value, schema: Value) {
    let (left, removed) = pruned(spec.clone(), schema);
    assert_eq!((left, removed), (spec, Vec::<String>::new()));
}

#[test]
fn what_the_schema_names_stays_and_the_rest_goes() {
    let schema = json!({"properties": {"a": {"type": "integer"}}});
    assert_eq!(pruned(json!({"a": 1, "b": 2}), schema), (json!({"a": 1}), vec!["spec.b".to_owned()]));
}

#[test]
fn version_kind_and_metadata_of_an_object_stay_although_no_schema_names_them() {
    let mut object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", "labels": {"a": "b"}}, "status": {}});
    let removed = prune(object.as_object_mut().unwrap(), &json!({"type": "object"}));
    assert_eq!(removed, ["status"]);
    assert_eq!(
        object,
        json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "t", "labels": {"a": "b"}}})
    );
}

#[test]
fn a_map_without_a_schema_of_its_fields_is_emptied() {
    assert_eq!(pruned(json!({"a": {}}), json!({"type": "object"})), (json!({}), vec!["spec.a".to_owned()]));
}

#[test]
fn plain_values_are_not_looked_at() {
    kept(json!({"a": "x"}), json!({"properties": {"a": {"type": "integer"}}}));
    kept(json!({"a": null}), json!({"properties": {"a": {"type": "object"}}}));
}

#[test]
fn a_value_that_is_number_or_text_stays_as_it_is() {
    let schema = json!({"properties": {"a": {"x-kubernetes-int-or-string": true}}});
    kept(json!({"a": 5}), schema.clone());
    kept(json!({"a": "50%"}), schema);
}

#[test]
fn items_of_a_list_are_told_by_their_place() {
    let schema = json!({"properties": {"list": {"type": "array", "items": {"properties": {"name": {}}}}}});
    let (left, removed) = pruned(json!({"list": [{"name": "a"}, {"name": "b", "x": 1}]}), schema);
    assert_eq!(left, json!({"list": [{"name": "a"}, {"name": "b"}]}));
    assert_eq!(removed, ["spec.list[1].x"]);
}

#[test]
fn lists_in_lists_have_a_place_in_each() {
    let item = json!({"type": "array", "items": {"type": "array", "items": {"properties": {"a": {}}}}});
    let (_, removed) = pruned(json!({"m": [[], [{"a": 1}, {"b": 2}]]}), json!({"properties": {"m": item}}));
    assert_eq!(removed, ["spec.m[1][1].b"]);
}

#[test]
fn a_map_of_any_keys_keeps_its_keys_and_prunes_its_values() {
    let schema = json!({"additionalProperties": {"properties": {"a": {}}}});
    let (left, removed) = pruned(json!({"x": {"a": 1}, "y": {"b": 2}}), schema);
    assert_eq!((left, removed), (json!({"x": {"a": 1}, "y": {}}), vec!["spec.y.b".to_owned()]));
}

#[test]
fn a_map_of_any_values_keeps_everything() {
    kept(json!({"x": {"a": [{"b": 1}]}}), json!({"additionalProperties": true}));
}

#[test]
fn a_map_of_no_other_keys_keeps_none() {
    let (left, _) = pruned(json!({"x": 1}), json!({"additionalProperties": false}));
    assert_eq!(left, json!({}));
}

#[test]
fn unknown_fields_stay_where_the_schema_says_so() {
    kept(json!({"x": {"y": [1]}}), json!({"x-kubernetes-preserve-unknown-fields": true}));
}

#[test]
fn where_unknown_fields_stay_the_known_ones_are_pruned_by_their_own_schema() {
    let schema = json!({"x-kubernetes-preserve-unknown-fields": true, "properties": {"known": {"properties": {"a": {}}}}});
    let (left, removed) = pruned(json!({"known": {"a": 1, "b": 2}, "other": {"c": 3}}), schema);
    assert_eq!(
        (left, removed),
        (json!({"known": {"a": 1}, "other": {"c": 3}}), vec!["spec.known.b".to_owned()])
    );
}

#[test]
fn an_object_that_keeps_unknown_fields_prunes_its_known_ones_too() {
    let schema = json!({"x-kubernetes-preserve-unknown-fields": true, "properties": {"spec": {"properties": {"a": {}}}}});
    let mut object = json!({"kind": "Thing", "spec": {"a": 1, "b": 2}, "other": {"c": 3}});
    let removed = prune(object.as_object_mut().unwrap(), &schema);
    assert_eq!(removed, ["spec.b"]);
    assert_eq!(object, json!({"kind": "Thing", "spec": {"a": 1}, "other": {"c": 3}}));
}

#[test]
fn to_keep_unknown_fields_is_said_by_true_alone() {
    let (left, _) = pruned(json!({"x": 1}), json!({"x-kubernetes-preserve-unknown-fields": false}));
    assert_eq!(left, json!({}));
}

#[test]
fn an_embedded_object_keeps_its_identity() {
    let template = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}, "spec": {}});
    let schema = json!({"properties": {"template": {"x-kubernetes-embedded-resource": true}}});
    let (left, removed) = pruned(json!({"template": template}), schema);
    assert_eq!(left["template"], json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}));
    assert_eq!(removed, ["spec.template.spec"]);
}

#[test]
fn what_is_pruned_once_is_pruned() {
    let schema = json!({"properties": {"a": {"additionalProperties": {"properties": {"b": {}}}}}});
    let (once, _) = pruned(json!({"a": {"x": {"b": 1, "c": 2}}, "d": 3}), schema.clone());
    kept(once, schema);
}

#[test]
fn the_definitions_of_this_product_keep_what_they_do_not_know_inside_of_a_spec() {
    for definition in crate::crd::all() {
        let schema = definition.pointer("/spec/versions/0/schema/openAPIV3Schema").unwrap();
        let mut object = json!({"spec": {"future": {"a": 1}}, "status": {"future": [1]}, "spce": {}});
        let removed = prune(object.as_object_mut().unwrap(), schema);
        assert_eq!(removed, ["spce"], "{}", definition["metadata"]["name"]);
    }
}
