//! What is known of kinds: their scope, what people call them, and what a definition says.

use serde_json::{Value, json};

use crate::kinds::{self, Kind, Naming, built_in_kinds, is_called, key_of, known, meant, sveltos_kinds};
use crate::object::Gvk;

fn definition(names: Value, versions: Value) -> Value {
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": versions}})
}

fn version_of(versions: Value) -> String {
    Kind::of_definition(&definition(json!({"kind": "Thing", "plural": "things"}), versions)).unwrap().version
}

fn built_in(api_version: &str, kind: &str) -> &'static Kind {
    known(&Gvk::parse(api_version, kind)).unwrap()
}

fn short(name: &str) -> Option<String> {
    meant(name).map(|kind| kind.gvk().to_string())
}

#[test]
fn a_definition_says_how_its_kind_is_called() {
    let names = json!({"kind": "Thing", "plural": "things", "shortNames": ["th", "tg"]});
    let kind = Kind::of_definition(&definition(names, json!([{"name": "v1", "storage": true}]))).unwrap();
    assert_eq!(kind.gvk(), Gvk::new("example.com", "v1", "Thing"));
    assert_eq!((kind.plural.as_str(), kind.is_cluster_scoped), ("things", false));
    for name in ["Thing", "things", "th", "TG"] {
        assert!(kind.is_called(name), "{name}");
    }
    assert!(!kind.is_called("t"));
}

#[test]
fn a_definition_says_where_its_objects_live() {
    let mut cluster = definition(json!({"kind": "Thing"}), json!([]));
    cluster["spec"]["scope"] = json!("Cluster");
    assert!(Kind::of_definition(&cluster).unwrap().is_cluster_scoped);
}

#[test]
fn the_version_that_is_stored_is_preferred() {
    let versions = json!([{"name": "v1beta1", "served": true}, {"name": "v1", "served": true, "storage": true}, {"name": "v2"}]);
    assert_eq!(version_of(versions), "v1");
}

#[test]
fn a_version_that_is_not_served_is_not_preferred() {
    let versions = json!([{"name": "v1", "served": false, "storage": true}, {"name": "v2", "served": true}, {"name": "v3"}]);
    assert_eq!(version_of(versions), "v2");
}

#[test]
fn a_definition_without_versions_has_none() {
    assert_eq!(version_of(json!([])), "");
    assert_eq!(version_of(Value::Null), "");
}

#[test]
fn only_definitions_define() {
    let names = json!({"kind": "Thing"});
    let mut other = definition(names.clone(), json!([]));
    other["kind"] = json!("ConfigMap");
    assert_eq!(Kind::of_definition(&other), None);
    let mut foreign = definition(names, json!([]));
    foreign["apiVersion"] = json!("example.com/v1");
    assert_eq!(Kind::of_definition(&foreign), None);
    assert_eq!(Kind::of_definition(&definition(json!({"plural": "things"}), json!([]))), None);
}

#[test]
fn the_version_of_a_definition_does_not_matter() {
    let mut old = definition(json!({"kind": "Thing"}), json!([]));
    old["apiVersion"] = json!("apiextensions.k8s.io/v1beta1");
    assert!(Kind::of_definition(&old).is_some());
}

#[test]
fn the_abbreviations_of_kubectl_mean_their_kinds() {
    for (name, expected) in [
        ("po", "v1/Pod"),
        ("cm", "v1/ConfigMap"),
        ("svc", "v1/Service"),
        ("sa", "v1/ServiceAccount"),
        ("ns", "v1/Namespace"),
        ("no", "v1/Node"),
        ("pv", "v1/PersistentVolume"),
        ("pvc", "v1/PersistentVolumeClaim"),
        ("ep", "v1/Endpoints"),
        ("rc", "v1/ReplicationController"),
        ("quota", "v1/ResourceQuota"),
        ("limits", "v1/LimitRange"),
        ("ds", "apps/v1/DaemonSet"),
        ("sts", "apps/v1/StatefulSet"),
        ("rs", "apps/v1/ReplicaSet"),
        ("cj", "batch/v1/CronJob"),
        ("hpa", "autoscaling/v2/HorizontalPodAutoscaler"),
        ("ing", "networking.k8s.io/v1/Ingress"),
        ("netpol", "networking.k8s.io/v1/NetworkPolicy"),
        ("pdb", "policy/v1/PodDisruptionBudget"),
        ("pc", "scheduling.k8s.io/v1/PriorityClass"),
        ("sc", "storage.k8s.io/v1/StorageClass"),
        ("crd", "apiextensions.k8s.io/v1/CustomResourceDefinition"),
        ("crds", "apiextensions.k8s.io/v1/CustomResourceDefinition"),
        ("csr", "certificates.k8s.io/v1/CertificateSigningRequest"),
    ] {
        assert_eq!(short(name).as_deref(), Some(expected), "{name}");
    }
}

#[test]
fn kinds_of_sveltos_are_meant_by_kind_and_plural() {
    for (name, expected) in [
        ("eventtrigger", "lib.projectsveltos.io/v1beta1/EventTrigger"),
        ("EventSources", "lib.projectsveltos.io/v1beta1/EventSource"),
        ("sveltosclusters.lib.projectsveltos.io", "lib.projectsveltos.io/v1beta1/SveltosCluster"),
        ("clustersummaries", "config.projectsveltos.io/v1beta1/ClusterSummary"),
        ("profiles.v1beta1.config.projectsveltos.io", "config.projectsveltos.io/v1beta1/Profile"),
    ] {
        assert_eq!(short(name).as_deref(), Some(expected), "{name}");
    }
}

#[test]
fn a_group_behind_the_name_chooses_among_kinds_of_one_name() {
    assert_eq!(short("events").as_deref(), Some("v1/Event"));
    assert_eq!(short("events.events.k8s.io").as_deref(), Some("events.k8s.io/v1/Event"));
    assert_eq!(short("ing.extensions").as_deref(), Some("extensions/v1beta1/Ingress"));
}

#[test]
fn core_kinds_are_named_with_their_version() {
    let pod = Gvk::parse("v1", "Pod");
    assert!(is_called(&pod, "pods.v1") && is_called(&pod, "po.core"));
    assert!(!is_called(&pod, "pods.v2") && !is_called(&pod, "pods.apps"));
}

#[test]
fn plurals_of_unknown_kinds_follow_from_their_end() {
    for (kind, plural) in [
        ("Widget", "widgets"),
        ("Policy", "policies"),
        ("Gateway", "gateways"),
        ("Class", "classes"),
        ("Box", "boxes"),
        ("Mesh", "meshes"),
        ("Batch", "batches"),
        ("Y", "ys"),
    ] {
        assert!(is_called(&Gvk::new("example.com", "v1", kind), plural), "{plural}");
    }
}

#[test]
fn the_singular_is_the_kind_in_small_letters() {
    for kind in built_in_kinds().iter().chain(sveltos_kinds()) {
        assert!(is_called(&kind.gvk(), &kind.kind.to_lowercase()), "{}", kind.kind);
        assert!(is_called(
            &kind.gvk(),
            &format!("{}.{}", kind.plural, if kind.group.is_empty() { "core" } else { &kind.group })
        ));
    }
}

#[test]
fn a_kind_is_known_in_every_version_and_only_of_its_group() {
    assert!(known(&Gvk::parse("apps/v1beta2", "Deployment")).is_some());
    assert!(known(&Gvk::parse("example.com/v1", "Deployment")).is_none());
    assert!(built_in("v1", "Pod").is_kind_of(&Gvk::parse("v2", "Pod")));
    assert!(!built_in("v1", "Pod").is_kind_of(&Gvk::parse("apps/v1", "Pod")));
}

#[test]
fn groups_of_definitions_are_not_built_in() {
    for group in ["", "apps", "rbac.authorization.k8s.io", "apiextensions.k8s.io"] {
        assert!(kinds::is_built_in_group(group), "{group}");
    }
    for group in ["lib.projectsveltos.io", "gateway.networking.k8s.io", "example.com", "v1"] {
        assert!(!kinds::is_built_in_group(group), "{group}");
    }
}

#[test]
fn what_holds_others_is_what_data_goes_with() {
    let holding: Vec<_> =
        built_in_kinds().iter().filter(|kind| kind.holds_others).map(|kind| kind.kind.as_str()).collect();
    assert_eq!(
        holding,
        ["PersistentVolumeClaim", "Namespace", "PersistentVolume", "CustomResourceDefinition"]
    );
}

#[test]
fn rights_have_names_of_any_segment() {
    for kind in ["Role", "RoleBinding", "ClusterRole", "ClusterRoleBinding"] {
        assert_eq!(built_in("rbac.authorization.k8s.io/v1", kind).naming, Naming::Segment, "{kind}");
    }
    assert_eq!(built_in("v1", "Namespace").naming, Naming::Label);
    assert_eq!(built_in("v1", "ConfigMap").naming, Naming::Subdomain);
}

#[test]
fn a_namespace_is_completed_by_the_kind() {
    let namespace = |api_version: &str, kind: &str, namespace: &str| {
        let metadata = json!({"name": "x", "namespace": namespace});
        key_of(&json!({"apiVersion": api_version, "kind": kind, "metadata": metadata})).unwrap().namespace
    };
    assert_eq!(namespace("v1", "ConfigMap", ""), "default");
    assert_eq!(namespace("v1", "ConfigMap", "shop"), "shop");
    assert_eq!(namespace("v1", "Namespace", "shop"), "");
    assert_eq!(namespace("config.projectsveltos.io/v1beta1", "ClusterProfile", "shop"), "");
    assert_eq!(namespace("config.projectsveltos.io/v1alpha1", "Profile", ""), "default");
}

#[test]
fn of_a_kind_that_only_a_server_knows_the_namespace_is_as_written() {
    let key = |metadata: Value| {
        key_of(&json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": metadata})).unwrap()
    };
    assert_eq!(key(json!({"name": "x"})).namespace, "");
    assert_eq!(key(json!({"name": "x", "namespace": "shop"})).namespace, "shop");
}

#[test]
fn what_has_no_identity_has_no_key() {
    for object in [json!({}), json!({"apiVersion": "v1", "kind": "Pod", "metadata": {}}), json!("x")] {
        assert_eq!(key_of(&object), None, "{object}");
    }
}
