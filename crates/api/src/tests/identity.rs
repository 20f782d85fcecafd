//! Which names an API server takes, kind by kind, and what may be part of a path.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::identity::{validate, validate_reference};
use crate::names::{generated, is_label_key, is_label_value, is_object_name, is_path_segment};
use crate::object::{Gvk, ObjectKey};

fn named(api_version: &str, kind: &str, name: &str) -> Result<(), String> {
    let object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": name}});
    validate(&object).map_err(|error| error.to_string())
}

fn with(field: &str, value: Value) -> String {
    let mut object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": "n"}});
    match field.strip_prefix("metadata.") {
        Some(field) => object["metadata"][field] = value,
        None => object[field] = value,
    }
    validate(&object).unwrap_err().to_string()
}

fn reference(api_version: &str, kind: &str, namespace: &str, name: &str) -> Result<(), String> {
    let gvk = Gvk::parse(api_version, kind);
    validate_reference(&ObjectKey { gvk, namespace: namespace.into(), name: name.into() })
}

#[test]
fn what_is_missing_is_named_in_the_order_of_a_manifest() {
    let error = |object: Value| validate(&object).unwrap_err().to_string();
    assert!(error(json!({})).contains("apiVersion \"\" is missing"));
    assert!(error(json!({"apiVersion": "v1"})).contains("kind \"\" is missing"));
    assert!(error(json!({"apiVersion": "v1", "kind": "Pod"})).contains("metadata.name \"\" is missing"));
}

#[test]
fn what_is_no_text_counts_as_missing() {
    for field in ["apiVersion", "kind", "metadata.name"] {
        assert!(
            with(field, json!(5)).contains(&format!("{field} \"\" is missing or no text; set it")),
            "{field}"
        );
    }
}

#[test]
fn a_namespace_that_is_no_text_is_shown_as_it_is() {
    assert!(
        with("metadata.namespace", json!(5))
            .contains("metadata.namespace \"5\" is no text; put it in quotes")
    );
}

#[test]
fn a_namespace_may_be_missing_empty_or_null() {
    for namespace in [Value::Null, json!("")] {
        let object =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a", "namespace": namespace}});
        assert_eq!(validate(&object), Ok(()));
    }
}

#[test]
fn a_namespace_has_no_more_than_63_letters() {
    assert!(with("metadata.namespace", json!("a".repeat(64))).contains("is no DNS label; use at most 63"));
}

#[test]
fn every_kind_with_names_of_one_label_refuses_dots() {
    for kind in ["Service", "Namespace"] {
        assert!(named("v1", kind, "a.b").unwrap_err().contains("is no DNS label"), "{kind}");
        assert_eq!(named("v1", kind, "a-b"), Ok(()), "{kind}");
    }
}

#[test]
fn a_service_may_begin_with_a_digit_as_newer_servers_have_it() {
    assert_eq!(named("v1", "Service", "1a"), Ok(()));
}

#[test]
fn kinds_whose_names_are_segments_take_colons_and_capitals() {
    for (api_version, kind) in [
        ("rbac.authorization.k8s.io/v1", "Role"),
        ("rbac.authorization.k8s.io/v1", "RoleBinding"),
        ("rbac.authorization.k8s.io/v1", "ClusterRole"),
        ("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
        ("certificates.k8s.io/v1", "CertificateSigningRequest"),
        ("networking.k8s.io/v1", "IPAddress"),
        ("apiregistration.k8s.io/v1", "APIService"),
        ("v1", "Event"),
        ("events.k8s.io/v1", "Event"),
        ("image.openshift.io/v1", "ImageStreamTag"),
    ] {
        assert_eq!(named(api_version, kind, "System:a"), Ok(()), "{kind}");
        assert!(named(api_version, kind, "a/b").unwrap_err().contains("cannot be part of a path"), "{kind}");
    }
}

#[test]
fn names_of_kinds_that_nobody_knows_are_subdomains() {
    assert_eq!(named("example.com/v1", "Thing", "a.b-c"), Ok(()));
    assert!(named("example.com/v1", "Thing", "a:b").unwrap_err().contains("is no DNS subdomain"));
}

#[test]
fn a_group_that_only_ends_like_openshift_is_another_one() {
    assert!(named("notopenshift.io/v1", "User", "a:b").is_err());
    assert_eq!(named("openshift.io/v1", "User", "a:b"), Ok(()));
}

#[test]
fn the_version_of_a_kind_does_not_change_its_names() {
    assert_eq!(named("rbac.authorization.k8s.io/v1beta1", "Role", "a:b"), Ok(()));
}

#[test]
fn a_kind_begins_with_a_letter_and_may_have_dashes() {
    assert_eq!(named("example.com/v1", "My-Thing2", "a"), Ok(()));
    assert!(with("kind", json!("2Thing")).contains("is no kind; use at most 63 letters"));
    assert!(named("v1", &"K".repeat(64), "a").is_err());
}

#[test]
fn a_reference_may_be_without_a_version() {
    assert_eq!(
        validate_reference(&ObjectKey {
            gvk: Gvk::new("apps", "", "Deployment"),
            namespace: "n".into(),
            name: "a".into()
        }),
        Ok(())
    );
}

#[test]
fn a_reference_may_be_to_any_name_that_is_one_segment() {
    for name in ["A_b", "system:x", "a b", "é"] {
        assert_eq!(reference("v1", "ConfigMap", "n", name), Ok(()), "{name}");
    }
}

#[test]
fn the_wrong_field_of_a_reference_is_named() {
    for (result, field) in [
        (reference("V1", "Pod", "n", "a"), "apiVersion: \"V1\" is no API version"),
        (reference("a_b/v1", "Pod", "n", "a"), "apiVersion: \"a_b/v1\" is no API version"),
        (reference("v1", "", "n", "a"), "kind: \"\" is no kind"),
        (reference("v1", "Pod", "N", "a"), "namespace: \"N\" is no DNS label"),
        (reference("v1", "Pod", "n", ""), "name: \"\" cannot be part of a path"),
        (reference("v1", "Pod", "n", "."), "name: \".\" cannot be part of a path"),
    ] {
        let error = result.unwrap_err();
        assert!(error.starts_with(field), "{error}");
    }
}

#[test]
fn a_segment_of_a_path_is_all_that_stands_between_two_slashes() {
    for (text, expected) in [
        ("a", true),
        ("...", true),
        ("a:b", true),
        ("", false),
        (".", false),
        ("..", false),
        ("a/b", false),
        ("a?b", false),
        ("a#b", false),
        ("a%20b", false),
        ("a\tb", false),
        ("a\u{7f}b", false),
    ] {
        assert_eq!(is_path_segment(text), expected, "{text:?}");
    }
}

#[test]
fn values_of_labels_begin_and_end_with_a_letter_or_digit() {
    for (text, expected) in [
        ("", true),
        ("a", true),
        ("A.b_c-1", true),
        ("-a", false),
        ("a-", false),
        (".", false),
        ("_a", false),
        ("a b", false),
        ("é", false),
    ] {
        assert_eq!(is_label_value(text), expected, "{text:?}");
    }
    assert!(is_label_value(&"a".repeat(63)) && !is_label_value(&"a".repeat(64)));
}

#[test]
fn keys_of_labels_may_have_a_prefix_of_dns() {
    for (text, expected) in [
        ("a", true),
        ("example.com/a", true),
        ("example.com/A_b.c", true),
        ("", false),
        ("/a", false),
        ("a/", false),
        ("Example.com/a", false),
        ("a/b/c", false),
        ("-a", false),
    ] {
        assert_eq!(is_label_key(text), expected, "{text:?}");
    }
    assert!(
        is_label_key(&format!("{}/a", "a".repeat(253))) && !is_label_key(&format!("{}/a", "a".repeat(254)))
    );
}

#[test]
fn names_of_objects_have_no_more_than_253_letters() {
    assert!(is_object_name(&"a".repeat(253)) && !is_object_name(&"a".repeat(254)) && !is_object_name(""));
}

#[test]
fn a_generated_name_is_always_the_same_one() {
    assert_eq!(generated(&["a", "b"]), generated(&["a", "b"]));
    assert!(generated(&[]).starts_with("sveltos-"));
}

proptest! {
    #[test]
    fn generated_names_are_names_and_values_of_labels(parts in proptest::collection::vec(".{0,6}", 0..4)) {
        let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
        let name = generated(&parts);
        prop_assert!(is_object_name(&name) && is_label_value(&name) && !name.contains('.'));
    }

    #[test]
    fn other_parts_have_another_name(one in proptest::collection::vec("[ab]{0,2}", 1..4), other in proptest::collection::vec("[ab]{0,2}", 1..4)) {
        let name = |parts: &[String]| generated(&parts.iter().map(String::as_str).collect::<Vec<_>>());
        prop_assert_eq!(name(&one) == name(&other), one == other);
    }

    #[test]
    fn an_object_that_is_taken_may_be_referred_to(name in "[a-zA-Z0-9:._ -]{0,8}", namespace in "[a-z.-]{0,4}", kind in "(Pod|Role|Service)") {
        let version = if kind == "Role" { "rbac.authorization.k8s.io/v1" } else { "v1" };
        let object = json!({"apiVersion": version, "kind": kind, "metadata": {"name": name, "namespace": namespace}});
        if validate(&object).is_ok() {
            prop_assert_eq!(validate_reference(&ObjectKey::of(&object).unwrap()), Ok(()));
        }
    }

    #[test]
    fn what_is_said_of_an_object_has_a_remedy(name in "\\PC{0,8}", kind in "\\PC{0,8}") {
        if let Err(error) = named("v1", &kind, &name) {
            prop_assert!(error.contains("; "), "{}", error);
        }
    }
}
