//! The small words: who a cluster, profile, trigger, account or object is, in texts that are read back.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::pattern::Pattern;
use crate::{
    ClusterKind, ClusterRef, Digest, DigestKey, FieldError, Gvk, ObjectKey, ProfileId, ServiceAccount,
    TriggerId, few,
};
use crate::{digest, object, string_data};

#[test]
fn both_registrations_of_clusters_have_a_text() {
    let capi = ClusterRef { kind: ClusterKind::Capi, namespace: "n".into(), name: "c".into() };
    assert_eq!((capi.to_string(), capi.path()), ("capi:n/c".to_owned(), "n/c".to_owned()));
    assert_ne!(capi, ClusterRef::sveltos("n", "c"));
}

#[test]
fn kinds_of_clusters_are_called_as_labels_and_specs_have_them() {
    let kinds = [ClusterKind::Sveltos, ClusterKind::Capi, ClusterKind::Management];
    assert_eq!(kinds.map(ClusterKind::lower), ["sveltos", "capi", "local"]);
    assert_eq!(kinds.map(ClusterKind::title), ["Sveltos", "Capi", "Local"]);
}

#[test]
fn what_is_no_cluster_is_told_with_all_forms() {
    for text in ["", "c", "sveltos:c", "sveltos:/c", "capi:n/", "capi:n/a/b", "Sveltos:n/c"] {
        let error = text.parse::<ClusterRef>().unwrap_err().to_string();
        assert!(
            error.starts_with(&format!("cluster {text:?} is not written as sveltos:<namespace>/<name>")),
            "{error}"
        );
    }
}

#[test]
fn a_role_request_is_one_more_profile() {
    let request = ProfileId::of_object("RoleRequest", "", "team");
    assert_eq!((request.kind(), request.object_name()), ("RoleRequest", "team"));
    assert!(
        request.is_role_request() && !ProfileId::of_object("ClusterProfile", "", "team").is_role_request()
    );
}

#[test]
fn a_profile_of_a_namespace_is_no_role_request_whatever_its_name() {
    assert_eq!(ProfileId::new("n", "rolerequest:x").kind(), "Profile");
}

#[test]
fn what_is_no_profile_is_told_with_all_forms() {
    for text in ["", "p", "Profile p", "ClusterProfile n/p", "ClusterProfile ", "Other p", "Profile n/a/b"] {
        let error = text.parse::<ProfileId>().unwrap_err().to_string();
        assert!(
            error.contains(
                "\"ClusterProfile <name>\", \"Profile <namespace>/<name>\" or \"RoleRequest <name>\""
            ),
            "{error}"
        );
    }
}

#[test]
fn a_trigger_is_read_by_its_kind_and_name() {
    let id: TriggerId = "EventBasedAddOn/x".parse().unwrap();
    assert_eq!(
        (id.kind(), id.name(), id.described().as_str()),
        ("EventBasedAddOn", "x", "EventBasedAddOn x")
    );
    let error = "x".parse::<TriggerId>().unwrap_err().to_string();
    assert_eq!(error, "trigger \"x\" is not written as \"<kind>/<name>\"");
}

#[test]
fn the_labels_of_an_account_name_it() {
    let account = ServiceAccount { namespace: "team".into(), name: "deployer".into() };
    let labels: serde_json::Map<_, _> =
        account.labels().into_iter().map(|(key, value)| (key.to_owned(), value.into())).collect();
    let manifest = json!({"kind": "EventTrigger", "metadata": {"name": "t", "labels": labels}});
    assert_eq!(ServiceAccount::of(&manifest), Ok(Some(account)));
}

#[test]
fn an_account_is_in_the_groups_of_all_of_its_namespace_and_of_all_that_are_known() {
    let account = ServiceAccount { namespace: "team".into(), name: "deployer".into() };
    let groups = ["system:serviceaccounts", "system:serviceaccounts:team", "system:authenticated"];
    assert_eq!(account.groups(), groups);
}

#[test]
fn in_clusters_an_account_lives_where_everything_generated_does() {
    let account = ServiceAccount { namespace: "team".into(), name: "deployer".into() };
    assert_eq!(account.in_clusters().to_string(), "projectsveltos/team--deployer");
}

#[test]
fn an_account_whose_namespace_is_missing_names_that_label() {
    let labels = json!({"projectsveltos.io/serviceaccount-namespace": "team"});
    let error = ServiceAccount::of(&json!({"kind": "Profile", "metadata": {"name": "p", "labels": labels}}))
        .unwrap_err();
    assert_eq!(error.field, "metadata.labels.projectsveltos.io/serviceaccount-name");
    assert_eq!(error.object, "Profile p");
}

#[test]
fn core_kinds_have_no_group_in_their_version() {
    assert_eq!(Gvk::parse("v1", "Pod"), Gvk::new("", "v1", "Pod"));
    assert_eq!(
        (Gvk::parse("v1", "Pod").api_version(), Gvk::parse("apps/v1", "X").api_version()),
        ("v1".into(), "apps/v1".into())
    );
    assert_eq!(Gvk::parse("apps/v1", "Deployment").to_string(), "apps/v1/Deployment");
}

#[test]
fn the_same_kind_may_be_of_another_version() {
    let one = Gvk::parse("apps/v1", "Deployment");
    assert!(one.is_kind_of(&Gvk::parse("apps/v1beta1", "Deployment")));
    assert!(!one.is_kind_of(&Gvk::parse("extensions/v1", "Deployment")));
    assert!(!one.is_kind_of(&Gvk::parse("apps/v1", "ReplicaSet")));
}

#[test]
fn an_object_is_described_by_kind_and_place() {
    for (object, expected) in [
        (json!({"kind": "Pod", "metadata": {"namespace": "n", "name": "p"}}), "Pod n/p"),
        (json!({"kind": "Node", "metadata": {"name": "p"}}), "Node p"),
        (json!({"metadata": {"name": "p"}}), "object p"),
    ] {
        assert_eq!(object::describe(&object), expected);
    }
}

#[test]
fn what_is_no_text_is_read_as_an_empty_one() {
    let object = json!({"a": {"b": 5, "c": "x"}});
    assert_eq!((object::text(&object, &["a", "b"]), object::text(&object, &["a", "c"])), ("", "x"));
    assert_eq!((object::text(&object, &["a", "c", "d"]), object::at(&object, &["x"])), ("", None));
}

#[test]
fn a_version_of_an_object_that_is_no_number_is_zero() {
    let version = |value: Value| object::resource_version(&json!({"metadata": {"resourceVersion": value}}));
    assert_eq!([json!("17"), json!("x"), json!(17), Value::Null].map(version), [17, 0, 0, 0]);
}

#[test]
fn labels_and_annotations_are_texts_or_none() {
    let object = json!({"metadata": {"labels": {"a": "b", "n": 1}, "annotations": {"c": ""}}});
    assert_eq!((object::label(&object, "a"), object::label(&object, "n")), (Some("b"), None));
    assert_eq!((object::annotation(&object, "c"), object::annotation(&object, "a")), (Some(""), None));
}

#[test]
fn a_map_of_metadata_is_made_where_there_is_none() {
    for mut object in [json!({}), json!({"metadata": {}}), json!({"metadata": {"labels": null}})] {
        object::metadata_map(&mut object, "labels").unwrap().insert("a".into(), "b".into());
        assert_eq!(object, json!({"metadata": {"labels": {"a": "b"}}}));
    }
}

#[test]
fn a_map_of_metadata_is_not_put_over_something_else() {
    for mut object in [json!("x"), json!({"metadata": 5}), json!({"metadata": {"labels": ["a"]}})] {
        let before = object.clone();
        assert!(object::metadata_map(&mut object, "labels").is_none());
        assert_eq!(object, before);
    }
}

#[test]
fn an_error_of_a_field_says_object_field_and_reason() {
    let error = FieldError::new("Pod p", "spec.x", "is wrong; mend it");
    assert_eq!(error.to_string(), "Pod p: spec.x: is wrong; mend it");
}

#[test]
fn none_and_one_are_named_as_they_are() {
    assert_eq!(few(", ", [""; 0]), "");
    assert_eq!(few(", ", ["a"]), "a");
}

#[test]
fn dashes_and_slashes_of_an_expression_stand_for_themselves() {
    assert_eq!(Pattern::read("a-b/c").unwrap(), Pattern::Plain("a-b/c".into()));
    assert!(matches!(Pattern::read("a.b").unwrap(), Pattern::Regex(_)));
}

#[test]
fn expressions_are_equal_by_what_was_written() {
    assert_eq!(Pattern::read("a.b"), Pattern::read("a.b"));
    assert_ne!(Pattern::read("a.b"), Pattern::read("a.c"));
    assert_eq!(Pattern::read("").unwrap(), Pattern::default());
}

#[test]
fn a_digest_of_other_length_or_letters_is_none() {
    for text in ["", "0", &"0".repeat(31), &"0".repeat(33), &"g".repeat(32), &"é".repeat(16)] {
        assert!(text.parse::<Digest>().is_err(), "{text}");
    }
}

#[test]
fn a_digest_is_read_in_capitals_too() {
    let digest = Digest::of(&[b"x"]);
    assert_eq!(digest.to_string().to_uppercase().parse(), Ok(digest));
}

#[test]
fn an_empty_part_counts_in_a_digest() {
    assert_ne!(Digest::of(&[b"a"]), Digest::of(&[b"a", b""]));
    assert_ne!(DigestKey::new([1; 32]).digest(&[b"a"]), DigestKey::new([1; 32]).digest(&[b"a", b""]));
}

#[test]
fn the_hash_of_sveltos_is_of_the_bytes_alone() {
    let abc = "sha256:ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest::sveltos_hash(b"abc"), abc);
}

/// What becomes of an object with these texts.
fn folded(mut object: Value) -> Result<Value, String> {
    string_data::fold(&mut object).map(|()| object)
}

#[test]
fn texts_of_a_secret_are_its_data_where_there_is_none_yet() {
    for data in [Value::Null, json!({})] {
        let object = json!({"kind": "Secret", "data": data, "stringData": {"a": "é"}});
        assert_eq!(folded(object), Ok(json!({"kind": "Secret", "data": {"a": "w6k="}})));
    }
}

#[test]
fn texts_that_are_null_are_taken_off() {
    assert_eq!(folded(json!({"kind": "Secret", "stringData": null})), Ok(json!({"kind": "Secret"})));
}

#[test]
fn texts_of_other_kinds_are_none_of_ours() {
    let other = json!({"kind": "Thing", "stringData": 5});
    assert_eq!(folded(other.clone()), Ok(other));
}

#[test]
fn what_cannot_be_folded_is_named() {
    assert_eq!(
        folded(json!({"kind": "Secret", "stringData": "x"})),
        Err("stringData is no map of texts".into())
    );
    assert_eq!(
        folded(json!({"kind": "Secret", "data": 5, "stringData": {"a": "x"}})),
        Err("data is no map".into())
    );
}

/// Names as users give them.
fn name() -> impl Strategy<Value = String> {
    "[a-z][a-z0-9.-]{0,6}"
}

proptest! {
    #[test]
    fn every_cluster_is_read_back(namespace in name(), name in name(), is_capi in any::<bool>()) {
        let kind = if is_capi { ClusterKind::Capi } else { ClusterKind::Sveltos };
        let cluster = ClusterRef { kind, namespace, name };
        prop_assert_eq!(cluster.to_string().parse(), Ok(cluster.clone()));
        let json = serde_json::to_value(&cluster).unwrap();
        prop_assert_eq!(serde_json::from_value::<ClusterRef>(json).unwrap(), cluster);
    }

    #[test]
    fn every_profile_is_read_back_by_text_and_path(namespace in "([a-z]{1,3})?", name in name(), is_request in any::<bool>()) {
        let id = if is_request { ProfileId::role_request(&name) } else { ProfileId::new(namespace, name) };
        prop_assert_eq!(id.to_string().parse(), Ok(id.clone()));
        prop_assert_eq!(ProfileId::of_path(&id.path()), id);
    }

    #[test]
    fn whatever_is_read_as_an_identity_is_written_as_it_was(text in "(sveltos:|capi:|ClusterProfile |Profile |RoleRequest )?[a-z/: ]{0,6}") {
        if let Ok(cluster) = text.parse::<ClusterRef>() {
            prop_assert_eq!(cluster.to_string(), text.clone());
        }
        if let Ok(profile) = text.parse::<ProfileId>() {
            prop_assert_eq!(profile.to_string(), text);
        }
    }

    #[test]
    fn every_version_is_read_back(group in "([a-z]{1,4}\\.io)?", version in "v[1-3]") {
        let gvk = Gvk::new(group, version, "Thing");
        prop_assert_eq!(Gvk::parse(&gvk.api_version(), "Thing"), gvk);
    }

    #[test]
    fn keys_of_objects_are_ordered_by_namespace_then_name(names in proptest::collection::vec(("[ab]{0,2}", "[ab]{1,2}"), 2..6)) {
        let key = |(namespace, name): (String, String)| ObjectKey { gvk: Gvk::new("", "v1", "Pod"), namespace, name };
        let mut keys: Vec<_> = names.into_iter().map(key).collect();
        keys.sort();
        prop_assert!(keys.is_sorted_by_key(|key| (key.namespace.clone(), key.name.clone())));
    }

    #[test]
    fn a_list_names_five_and_counts_all(count in 0..20_usize) {
        let told = few(",", 0..count);
        let (named, more) = told.split_once(" and ").map_or((told.as_str(), 0), |(named, more)| {
            (named, more.trim_end_matches(" more").parse().unwrap())
        });
        let named = named.split(',').filter(|item| !item.is_empty()).count();
        prop_assert_eq!((named, named + more), (count.min(5), count));
    }

    #[test]
    fn an_expression_is_read_as_it_is_written_or_refused(text in "[ -~]{0,10}") {
        match Pattern::read(&text) {
            Ok(pattern) => prop_assert_eq!(pattern.text(), text),
            Err(error) => prop_assert!(error.contains("is no regular expression"), "{}", error),
        }
    }

    #[test]
    fn a_plain_expression_is_in_every_text_that_holds_it(part in "[a-z/-]{1,4}", before in "[a-z]{0,3}", after in "[a-z]{0,3}") {
        let text = format!("{before}{part}{after}");
        prop_assert!(Pattern::read(&part).unwrap().matches(&text));
    }
}
