//! Requests of roles, what has no effect or cannot be done, templates, and what holds for every kind.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::{must_be_there, refused};
use crate::error::FieldError;
use crate::model::{
    ClusterSet, EventSource, Feature, FieldLocation, IGNORED, Profile, Sees, Trigger, ignored,
    management_kinds, registration, templated_fields, templates, user_object,
};
use crate::{ClusterKind, ClusterRef};

fn request(spec: Value) -> Result<Profile, FieldError> {
    Profile::read(&json!({"kind": "RoleRequest", "metadata": {"name": "r"}, "spec": spec}))
}

fn tenant() -> Value {
    json!({"serviceAccountName": "deployer", "serviceAccountNamespace": "team"})
}

fn lacking(spec: Value) -> Vec<(Feature, usize)> {
    let object = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec});
    let profile = Profile::read(&object).unwrap();
    profile.common.lacks().into_iter().map(|(feature, told)| (feature, told.len())).collect()
}

#[test]
fn a_role_request_grants_to_its_tenant() {
    let profile = request(tenant()).unwrap();
    assert_eq!(profile.grants_to.unwrap().to_string(), "team/deployer");
    assert_eq!((profile.id.to_string(), profile.common.tier), ("RoleRequest r".to_owned(), 100));
    assert!(profile.clusters.is_empty() && profile.sets.is_empty() && profile.selector.is_empty());
}

#[test]
fn a_role_request_selects_by_either_spelling_and_the_newer_one_counts() {
    let selector = |more: Value| {
        let mut spec = tenant();
        spec.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        request(spec).unwrap().selector.to_string()
    };
    assert_eq!(selector(json!({"selector": "a=old"})), "a=old");
    assert_eq!(selector(json!({"clusterSelector": "a=new"})), "a=new");
    assert_eq!(
        selector(json!({"clusterSelector": {"matchLabels": {"a": "new"}}, "selector": "a=old"})),
        "a=new"
    );
}

#[test]
fn a_role_request_needs_its_tenant_by_name() {
    must_be_there(request, &tenant(), &["serviceAccountName", "serviceAccountNamespace"]);
    for field in ["serviceAccountName", "serviceAccountNamespace"] {
        let reason = refused(request, &tenant(), field, json!("A b"));
        assert_eq!(reason, "\"A b\" is not a name; name the tenant's ServiceAccount");
    }
}

#[test]
fn a_namespace_that_could_be_two_is_refused_for_a_tenant() {
    let reason = refused(request, &tenant(), "serviceAccountNamespace", json!("a--b"));
    assert!(reason.contains("take a ServiceAccount of another namespace"), "{reason}");
}

#[test]
fn roles_are_never_for_the_management_cluster() {
    let mut spec = tenant();
    spec["roleRefs"] = json!([{"kind": "ConfigMap", "name": "x", "deploymentType": "Local"}]);
    assert_eq!(request(spec).unwrap_err().field, "spec.roleRefs[0].deploymentType");
}

#[test]
fn everything_without_effect_is_told_of_in_every_kind_that_has_it() {
    for one in IGNORED {
        for kind in one.kinds {
            let mut object = json!({"kind": kind, "metadata": {"name": "x"}, "spec": {}});
            let field = match one.at {
                FieldLocation::Field(name) => {
                    object["spec"][name] = json!("x");
                    format!("spec.{name}")
                }
                FieldLocation::Annotation(name) => {
                    object["metadata"]["annotations"] = json!({name: ""});
                    format!("metadata.annotations.{name}")
                }
                FieldLocation::Label(name) => {
                    object["metadata"]["labels"] = json!({name: ""});
                    format!("metadata.labels.{name}")
                }
            };
            let told: Vec<_> = ignored(&object).into_iter().map(|told| (told.field, told.reason)).collect();
            assert_eq!(told, [(field, one.why.to_owned())], "{kind}");
        }
    }
}

#[test]
fn nothing_is_without_effect_in_kinds_that_do_not_have_it() {
    let object = json!({"kind": "ClusterSet", "metadata": {"name": "x"}, "spec": {"maxUpdate": 1, "expirationSeconds": 600}});
    assert_eq!(ignored(&object), []);
}

#[test]
fn what_says_nothing_is_not_told_of() {
    for nothing in [Value::Null, json!(false), json!(0), json!(""), json!([]), json!({})] {
        assert_eq!(ignored(&json!({"kind": "RoleRequest", "spec": {"expirationSeconds": nothing}})), []);
    }
}

#[test]
fn a_field_of_a_feature_is_lacking_in_it() {
    assert_eq!(lacking(json!({"kustomizationRefs": [{"name": "x"}]})), [(Feature::Kustomize, 1)]);
}

#[test]
fn a_check_is_lacking_in_the_feature_that_it_names() {
    let check = |feature: &str| json!({"name": "a", "featureID": feature, "metricSource": {"url": "http://p.m.svc", "secretRef": {"namespace": "n", "name": "s"}}});
    let checks = [check("Helm"), check("Resources")];
    assert_eq!(lacking(json!({"validateHealths": checks})), [(Feature::Resources, 2), (Feature::Helm, 2)]);
}

#[test]
fn what_is_about_the_whole_is_lacking_in_everything_that_is_deployed() {
    let checks = json!([{"name": "x", "metricSource": {"url": "http://p.m.svc", "secretRef": {"namespace": "n", "name": "s"}}}]);
    let spec = json!({"validateHealths": checks, "policyRefs": [{"kind": "ConfigMap", "name": "a"}]});
    assert_eq!(lacking(spec), [(Feature::Resources, 1)]);
    assert_eq!(lacking(json!({"validateHealths": checks})), [(Feature::Resources, 1)]);
}

#[test]
fn what_can_be_done_lacks_nothing() {
    assert_eq!(lacking(json!({"policyRefs": [{"kind": "ConfigMap", "name": "a"}]})), []);
}

#[test]
fn templates_of_both_eras_of_triggers_are_the_same_fields() {
    assert_eq!(templated_fields("EventTrigger"), templated_fields("EventBasedAddOn"));
    assert_eq!(templated_fields("ClusterProfile"), templated_fields("Profile"));
}

#[test]
fn roles_of_a_request_see_their_destination() {
    let request =
        json!({"kind": "RoleRequest", "spec": {"roleRefs": [{"name": "{{ a }}", "namespace": "n"}]}});
    let found: Vec<_> = templates(&request).into_iter().map(|one| (one.path, one.sees)).collect();
    assert_eq!(found, [("spec.roleRefs[0].name".to_owned(), Sees::Destination)]);
}

#[test]
fn only_what_has_actions_is_a_template() {
    for text in ["plain", "{ a }", "}}", ""] {
        assert!(
            templates(&json!({"kind": "EventTrigger", "spec": {"eventSourceName": text}})).is_empty(),
            "{text}"
        );
    }
}

#[test]
fn a_list_that_is_none_has_no_templates() {
    for wrong in [json!("{{ a }}"), json!({"name": "{{ a }}"}), Value::Null, json!([["{{ a }}"]])] {
        assert!(templates(&json!({"kind": "Profile", "spec": {"policyRefs": wrong}})).is_empty(), "{wrong}");
    }
}

#[test]
fn objects_of_users_are_of_the_group_of_their_kind() {
    for (kind, group) in [
        ("ClusterProfile", "config.projectsveltos.io"),
        ("Profile", "config.projectsveltos.io"),
        ("EventTrigger", "lib.projectsveltos.io"),
        ("ClusterSet", "lib.projectsveltos.io"),
    ] {
        assert_eq!(user_object(kind, "", "x").gvk.group, group, "{kind}");
    }
}

#[test]
fn every_kind_that_users_write_is_watched_in_a_version_that_is_served() {
    for kind in management_kinds() {
        let known = crate::kinds::known(&kind).map(|known| known.version.clone());
        let is_foreign = kind.group == "cluster.x-k8s.io";
        assert!(is_foreign || known.as_ref() == Some(&kind.version), "{kind}: {known:?}");
    }
}

#[test]
fn only_clusters_of_sveltos_have_a_registration_of_its_kind() {
    let cluster = ClusterRef::sveltos("n", "c");
    assert_eq!(registration(&cluster).unwrap().to_string(), "SveltosCluster n/c");
    assert_eq!(registration(&ClusterRef { kind: ClusterKind::Capi, ..cluster }), None);
    assert_eq!(registration(&ClusterRef::management()), None);
}

/// Any value where a user may write one.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..200_i64).prop_map(Value::from),
        "(ConfigMap|Local|x|\\{\\{ a|a: \\[)?".prop_map(Value::from),
    ];
    let fields = proptest::sample::select(vec![
        "policyRefs",
        "patches",
        "patch",
        "target",
        "helmCharts",
        "kind",
        "name",
        "namespace",
        "tier",
        "syncMode",
        "options",
        "clusterSelector",
        "sourceClusterSelector",
        "matchLabels",
        "matchExpressions",
        "resourceSelectors",
        "version",
        "eventSourceName",
        "clusterRefs",
        "extraLabels",
    ]);
    leaf.prop_recursive(4, 24, 4, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map(fields.clone(), inner, 0..5).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn whatever_is_written_is_read_or_refused_by_its_field(spec in anything()) {
        let of = |kind: &str| json!({"kind": kind, "metadata": {"name": "x"}, "spec": spec});
        let errors = [
            Profile::read(&of("ClusterProfile")).err(),
            Profile::read(&of("RoleRequest")).err(),
            Trigger::read(&of("EventTrigger")).err(),
            EventSource::read(&of("EventSource")).err(),
            ClusterSet::read(&of("ClusterSet")).err(),
        ];
        for error in errors.into_iter().flatten() {
            prop_assert!(error.field.starts_with("spec.") && error.object.ends_with(" x") && !error.reason.is_empty(), "{}", error);
        }
    }

    #[test]
    fn every_template_that_is_found_stands_where_its_path_says(spec in anything()) {
        let manifest = json!({"kind": "EventTrigger", "spec": spec});
        for found in templates(&manifest) {
            let pointer = format!("/{}", found.path.replace('[', "/").replace(']', "").replace('.', "/"));
            prop_assert_eq!(manifest.pointer(&pointer).and_then(Value::as_str), Some(found.text));
        }
    }
}
