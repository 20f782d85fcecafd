//! Directives of strategic merges, operations of JSON patches, and what both leave as it is.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::super::{Patch, Rule, Target};

fn deployment(pod: Value) -> Value {
    json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"template": {"spec": pod}}})
}

fn apply(patch: Value, object: &Value) -> Result<Option<Value>, String> {
    let patched = Patch::read(patch).and_then(|patch| patch.apply(object));
    patched.map_err(|error| error.to_string())
}

/// The pod of a Deployment after a patch of it.
fn patched(pod: Value, patch: Value) -> Result<Value, String> {
    let patch = json!({"spec": {"template": {"spec": patch}}});
    apply(patch, &deployment(pod)).map(|patched| patched.unwrap()["spec"]["template"]["spec"].clone())
}

fn two() -> Value {
    json!({"containers": [{"name": "a", "image": "x"}, {"name": "b", "image": "y"}], "hostNetwork": true})
}

/// What operations make of an object with a spec.
fn operated(spec: Value, operations: Value) -> Result<Value, String> {
    let object = json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x"}, "spec": spec});
    apply(operations, &object).map(|patched| patched.unwrap()["spec"].clone())
}

#[test]
fn an_item_is_deleted_by_its_key() {
    let after = patched(two(), json!({"containers": [{"name": "a", "$patch": "delete"}]})).unwrap();
    assert_eq!(after["containers"], json!([{"name": "b", "image": "y"}]));
}

#[test]
fn an_item_may_be_deleted_and_made_anew_in_one_patch() {
    let items = json!([{"name": "a", "$patch": "delete"}, {"name": "a", "image": "z"}]);
    let after = patched(two(), json!({"containers": items})).unwrap();
    assert_eq!(after["containers"], json!([{"name": "a", "image": "z"}, {"name": "b", "image": "y"}]));
}

#[test]
fn a_directive_is_no_field_of_what_it_makes() {
    for directive in ["merge", "replace"] {
        let after = patched(two(), json!({"$patch": directive, "hostIPC": true})).unwrap();
        assert!(after.get("$patch").is_none() && after["hostIPC"] == true, "{after}");
    }
}

#[test]
fn a_replaced_map_has_nothing_of_the_former_one() {
    let after = patched(two(), json!({"$patch": "replace", "containers": [{"name": "c"}]})).unwrap();
    assert_eq!(after, json!({"containers": [{"name": "c"}]}));
}

#[test]
fn a_replaced_list_has_nothing_of_the_former_one_wherever_the_directive_stands() {
    for list in [json!([{"$patch": "replace"}, {"name": "c"}]), json!([{"name": "c"}, {"$patch": "replace"}])]
    {
        let after = patched(two(), json!({"containers": list})).unwrap();
        assert_eq!(after["containers"], json!([{"name": "c"}]));
    }
}

#[test]
fn a_list_without_keys_may_be_said_to_be_replaced() {
    let after = patched(
        json!({"tolerations": [{"key": "a"}]}),
        json!({"tolerations": [{"$patch": "replace"}, {"key": "b"}]}),
    );
    assert_eq!(after.unwrap()["tolerations"], json!([{"key": "b"}]));
}

#[test]
fn a_map_that_is_not_there_is_not_deleted() {
    let after = patched(two(), json!({"securityContext": {"$patch": "delete"}})).unwrap();
    assert_eq!(after, two());
}

#[test]
fn an_unknown_directive_is_named_with_its_place() {
    for wrong in [json!("remove"), json!(true), Value::Null] {
        let error = patched(two(), json!({"containers": [{"name": "a", "$patch": wrong}]})).unwrap_err();
        let expected = format!(
            "spec.template.spec.containers[0].$patch: {wrong} is no directive; use merge, replace or delete"
        );
        assert_eq!(error, expected);
    }
}

#[test]
fn retained_keys_drop_the_others() {
    let volumes = json!({"volumes": [{"name": "v", "emptyDir": {}}]});
    let change =
        json!({"volumes": [{"name": "v", "$retainKeys": ["name", "secret"], "secret": {"secretName": "s"}}]});
    let after = patched(volumes, change).unwrap();
    assert_eq!(after["volumes"], json!([{"name": "v", "secret": {"secretName": "s"}}]));
}

#[test]
fn a_retained_key_need_not_be_set() {
    let after = patched(two(), json!({"$retainKeys": ["hostNetwork", "other"]})).unwrap();
    assert_eq!(after, json!({"hostNetwork": true}));
}

#[test]
fn retained_keys_are_a_list() {
    let error = patched(two(), json!({"$retainKeys": "containers"})).unwrap_err();
    assert_eq!(error, "spec.template.spec.$retainKeys: must be a list");
}

#[test]
fn an_order_arranges_what_is_there() {
    let after =
        patched(two(), json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}]})).unwrap();
    let names: Vec<_> =
        after["containers"].as_array().unwrap().iter().map(|one| one["name"].clone()).collect();
    assert_eq!(names, ["b", "a"]);
}

#[test]
fn an_order_of_what_is_not_there_makes_nothing() {
    let after = patched(two(), json!({"$setElementOrder/volumes": [{"name": "v"}]})).unwrap();
    assert_eq!(after, two());
}

#[test]
fn a_value_is_taken_from_a_set() {
    let mut object = deployment(two());
    object["metadata"]["finalizers"] = json!(["a", "b"]);
    let patched = apply(json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "z"]}}), &object);
    assert_eq!(patched.unwrap().unwrap()["metadata"]["finalizers"], json!(["b"]));
}

#[test]
fn a_merge_does_not_change_who_the_object_is() {
    let patch =
        json!({"apiVersion": "v2", "kind": "Other", "metadata": {"name": "other", "namespace": "other"}});
    assert_eq!(apply(patch, &deployment(two())), Ok(Some(deployment(two()))));
}

#[test]
fn a_merge_gives_no_namespace_to_an_object_without_one() {
    let mut object = deployment(two());
    object["metadata"].as_object_mut().unwrap().remove("namespace");
    let patched =
        apply(json!({"metadata": {"namespace": "x", "labels": {"a": "b"}}}), &object).unwrap().unwrap();
    assert_eq!(patched["metadata"], json!({"name": "web", "labels": {"a": "b"}}));
}

#[test]
fn operations_may_change_a_name() {
    let patch = json!([{"op": "replace", "path": "/metadata/name", "value": "api"}]);
    assert_eq!(apply(patch, &deployment(two())).unwrap().unwrap()["metadata"]["name"], "api");
}

#[test]
fn a_map_is_set_over_a_plain_value_and_a_plain_value_over_a_map() {
    assert_eq!(patched(json!({"a": 1}), json!({"a": {"b": 2}})).unwrap()["a"], json!({"b": 2}));
    assert_eq!(patched(json!({"a": {"b": 2}}), json!({"a": 1})).unwrap()["a"], json!(1));
}

#[test]
fn a_field_that_is_null_goes_at_every_depth() {
    let after =
        patched(json!({"a": {"b": 1, "c": {"d": 2, "e": 3}}}), json!({"a": {"b": null, "c": {"d": null}}}));
    assert_eq!(after.unwrap(), json!({"a": {"c": {"e": 3}}}));
}

#[test]
fn operations_work_one_after_another() {
    let operations = json!([{"op": "add", "path": "/spec/a", "value": {}}, {"op": "add", "path": "/spec/a/b", "value": 1}]);
    assert_eq!(operated(json!({}), operations), Ok(json!({"a": {"b": 1}})));
}

#[test]
fn a_value_of_null_is_added() {
    assert_eq!(
        operated(json!({}), json!([{"op": "add", "path": "/spec/a", "value": null}])),
        Ok(json!({"a": null}))
    );
}

#[test]
fn an_item_is_put_before_the_one_at_its_place() {
    let operations = json!([{"op": "add", "path": "/spec/list/1", "value": "x"}]);
    assert_eq!(operated(json!({"list": ["a", "b"]}), operations), Ok(json!({"list": ["a", "x", "b"]})));
}

#[test]
fn what_is_replaced_must_be_there() {
    let error = operated(json!({}), json!([{"op": "replace", "path": "/spec/a", "value": 1}])).unwrap_err();
    assert!(error.starts_with("operation 1, replace \"/spec/a\": "), "{error}");
}

#[test]
fn the_operation_that_does_not_apply_is_counted_from_one() {
    let operations =
        json!([{"op": "add", "path": "/spec/a", "value": 1}, {"op": "test", "path": "/spec/a", "value": 2}]);
    let error = operated(json!({}), operations).unwrap_err();
    assert!(error.starts_with("operation 2, test \"/spec/a\": "), "{error}");
}

#[test]
fn a_test_of_equal_values_passes_whatever_their_order_of_fields() {
    let operations = json!([{"op": "test", "path": "/spec", "value": {"b": 2, "a": 1}}]);
    assert_eq!(operated(json!({"a": 1, "b": 2}), operations), Ok(json!({"a": 1, "b": 2})));
}

#[test]
fn an_operation_without_what_it_needs_is_refused_when_it_is_read() {
    for operation in [
        json!({"op": "add", "path": "/a"}),
        json!({"op": "move", "path": "/a"}),
        json!({"op": "remove"}),
        json!({"path": "/a", "value": 1}),
        json!({"op": "add", "path": 5, "value": 1}),
        json!({"op": "add", "path": "no/slash", "value": 1}),
    ] {
        let error = Patch::read(json!([operation])).unwrap_err().to_string();
        assert!(error.starts_with("operation 1: ") && error.ends_with("as RFC 6902 has them"), "{error}");
    }
}

#[test]
fn an_empty_list_of_operations_changes_nothing() {
    assert_eq!(apply(json!([]), &deployment(two())), Ok(Some(deployment(two()))));
}

#[test]
fn a_patch_that_names_no_object_is_for_all() {
    let patch = Patch::read(json!({"metadata": {"labels": {"a": "b"}}})).unwrap();
    assert!(patch.is_for(None, &deployment(two())) && patch.is_for(None, &json!({"kind": "Pod"})));
}

#[test]
fn every_name_that_a_patch_says_must_be_the_same() {
    for (said, expected) in [
        (json!({"apiVersion": "apps/v1"}), true),
        (json!({"apiVersion": "apps/v2"}), false),
        (json!({"metadata": {"namespace": "shop"}}), true),
        (json!({"metadata": {"namespace": "other", "name": "web"}}), false),
    ] {
        assert_eq!(Patch::read(said.clone()).unwrap().is_for(None, &deployment(two())), expected, "{said}");
    }
}

#[test]
fn an_empty_target_is_for_all_whatever_the_patch_names() {
    let patch = Patch::read(json!({"kind": "Other"})).unwrap();
    assert!(patch.is_for(Some(&Target::default()), &deployment(two())));
}

#[test]
fn a_rule_leaves_the_objects_of_others_as_they_are() {
    let rule = Rule::read_all("patch: '$patch: delete'\ntarget: {kind: StatefulSet}").unwrap().remove(0);
    assert_eq!(rule.apply(deployment(two())), Ok(Some(deployment(two()))));
}

#[test]
fn a_rule_may_delete_its_objects() {
    let rule = Rule::read_all("patch: '$patch: delete'\ntarget: {kind: Deployment}").unwrap().remove(0);
    assert_eq!(rule.apply(deployment(two())), Ok(None));
}

#[test]
fn a_target_of_labels_is_read_with_every_operator() {
    let labelled = |labels: Value| json!({"kind": "A", "metadata": {"labels": labels}});
    let target = Target::read(&json!({"labelSelector": "a in (x,y),!b,c!=z"})).unwrap();
    assert!(target.selects(&labelled(json!({"a": "x"}))));
    assert!(
        !target.selects(&labelled(json!({"a": "x", "b": ""})))
            && !target.selects(&labelled(json!({"a": "y", "c": "z"})))
    );
    assert!(!target.selects(&json!({"kind": "A"})));
}

fn labels() -> impl Strategy<Value = std::collections::BTreeMap<String, String>> {
    proptest::collection::btree_map("[a-c]", "[x-z]{0,2}", 0..4)
}

proptest! {
    #[test]
    fn a_patch_of_labels_leaves_every_other_label(had in labels(), given in labels()) {
        let mut object = deployment(two());
        object["metadata"]["labels"] = json!(had);
        let patched = apply(json!({"metadata": {"labels": given}}), &object).unwrap().unwrap();
        let mut expected = had;
        expected.extend(given);
        prop_assert_eq!(&patched["metadata"]["labels"], &json!(expected));
    }

    #[test]
    fn a_merge_keeps_identity_whatever_it_says(version in "[a-z/0-9]{0,6}", kind in "[A-Za-z]{0,6}", name in "[a-z]{0,4}") {
        let patch = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": name}, "data": {"a": "b"}});
        let patched = apply(patch, &deployment(two())).unwrap().unwrap();
        let (before, after) = (crate::ObjectKey::of(&deployment(two())), crate::ObjectKey::of(&patched));
        prop_assert_eq!(before, after);
    }

    #[test]
    fn what_is_added_is_there_and_removed_again_is_gone(key in "[a-z~/]{1,4}", value in "[a-z]{0,4}") {
        let path = format!("/spec/{}", key.replace('~', "~0").replace('/', "~1"));
        let added = operated(json!({}), json!([{"op": "add", "path": path, "value": value}])).unwrap();
        prop_assert_eq!(&added, &json!({key: value}));
        prop_assert_eq!(operated(added, json!([{"op": "remove", "path": path}])), Ok(json!({})));
    }
}
