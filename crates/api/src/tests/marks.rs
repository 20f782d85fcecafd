//! What says who deployed an object is no content of it.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::marks::{ANNOTATIONS, EXTRA, LABELS, PREFIX, RELOAD, take, take_all};

fn taken(mut object: Value) -> Value {
    take(&mut object);
    object
}

fn all_taken(mut object: Value) -> Value {
    take_all(&mut object);
    object
}

fn owned(api_version: &str, kind: &str) -> Value {
    json!({"metadata": {"name": "x", "ownerReferences": [{"apiVersion": api_version, "kind": kind, "name": "p"}]}})
}

#[test]
fn every_mark_goes_and_the_map_that_was_made_for_it_too() {
    for (field, names) in [("labels", &LABELS[..]), ("annotations", &ANNOTATIONS[..])] {
        for name in names {
            let key = format!("{PREFIX}{name}");
            assert_eq!(
                taken(json!({"metadata": {"name": "x", field: {key: "v"}}})),
                json!({"metadata": {"name": "x"}}),
                "{name}"
            );
        }
    }
}

#[test]
fn the_digest_of_what_a_profile_adds_goes() {
    assert_eq!(
        taken(json!({"metadata": {"annotations": {EXTRA: "x", "a": "b"}}})),
        json!({"metadata": {"annotations": {"a": "b"}}})
    );
}

#[test]
fn what_restarts_pods_is_no_content_of_a_copy_and_stays_on_what_is_left_behind() {
    let plain =
        json!({"metadata": {"name": "x"}, "spec": {"template": {"metadata": {"labels": {"a": "b"}}}}});
    let mut marked = plain.clone();
    marked["metadata"]["annotations"] = json!({RELOAD: "1"});
    marked["spec"]["template"]["metadata"]["annotations"] = json!({RELOAD: "1"});
    assert_eq!(all_taken(marked.clone()), plain);
    assert_eq!(taken(marked.clone()), marked, "without it the pods would start anew");
    marked["spec"]["template"]["metadata"]["annotations"]["mine"] = "x".into();
    assert_eq!(
        all_taken(marked)["spec"]["template"]["metadata"],
        json!({"labels": {"a": "b"}, "annotations": {"mine": "x"}})
    );
}

#[test]
fn an_annotation_that_is_called_like_a_label_of_marks_stays() {
    let object = json!({"metadata": {"annotations": {"projectsveltos.io/reason": "mine"}}});
    assert_eq!(taken(object.clone()), object);
}

#[test]
fn a_label_that_is_called_like_an_annotation_of_marks_stays() {
    let object = json!({"metadata": {"labels": {"projectsveltos.io/hash": "mine"}}});
    assert_eq!(taken(object.clone()), object);
}

#[test]
fn the_same_names_behind_another_prefix_stay() {
    let object = json!({"metadata": {"annotations": {"example.com/hash": "x", "hash": "y"}}});
    assert_eq!(all_taken(object.clone()), object);
}

#[test]
fn what_sveltos_alone_writes_goes_only_with_all_marks() {
    let object = json!({"metadata": {"annotations": {"projectsveltos.io/deploymenttype": "Remote", "projectsveltos.io/clustersummary": "s"}}});
    assert_eq!(taken(object.clone()), object);
    assert_eq!(all_taken(object), json!({"metadata": {}}));
}

#[test]
fn a_profile_of_any_version_is_no_owner() {
    for kind in ["ClusterProfile", "Profile", "ClusterSummary"] {
        for version in ["v1alpha1", "v1beta1"] {
            let object = owned(&format!("config.projectsveltos.io/{version}"), kind);
            assert_eq!(all_taken(object), json!({"metadata": {"name": "x"}}), "{kind}");
        }
    }
}

#[test]
fn other_owners_stay() {
    for object in [
        owned("apps/v1", "ReplicaSet"),
        owned("example.com/v1", "Profile"),
        owned("config.projectsveltos.io/v1beta1", "ClusterReport"),
    ] {
        assert_eq!(all_taken(object.clone()), object);
    }
}

#[test]
fn of_two_owners_the_profile_goes() {
    let mut object = owned("config.projectsveltos.io/v1beta1", "ClusterProfile");
    let other = json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r"});
    object["metadata"]["ownerReferences"].as_array_mut().unwrap().push(other.clone());
    assert_eq!(all_taken(object)["metadata"]["ownerReferences"], json!([other]));
}

#[test]
fn what_has_no_marks_stays_to_the_letter() {
    for object in [
        json!({}),
        json!("x"),
        json!({"metadata": null}),
        json!({"metadata": {"labels": {}, "annotations": null, "ownerReferences": []}}),
    ] {
        assert_eq!(all_taken(object.clone()), object);
    }
}

proptest! {
    #[test]
    fn marks_that_are_put_on_are_taken_off_again(own in proptest::collection::btree_map("[a-z]{1,3}", "[a-z]{0,3}", 1..4), value in "[a-z]{0,4}") {
        let plain = json!({"kind": "A", "metadata": {"labels": own, "annotations": own}});
        let mut marked = plain.clone();
        for (field, names) in [("labels", &LABELS[..]), ("annotations", &ANNOTATIONS[..])] {
            for name in names {
                marked["metadata"][field][format!("{PREFIX}{name}")] = json!(value);
            }
        }
        prop_assert_eq!(taken(marked), plain);
    }
}
