//! What the simulator does at once and a real cluster does by its controllers: namespaces, dependents
//! and definitions go with what is in them.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_simcluster::{FleetConfig, SimFleet};

const CLUSTER: &str = "management";

async fn fleet() -> SimFleet {
    SimFleet::start(FleetConfig::default()).await.unwrap()
}

fn apply(fleet: &SimFleet, object: Value) -> Value {
    fleet.apply(CLUSTER, "test", object).unwrap()
}

fn config_map(namespace: &str, name: &str, metadata: Value) -> Value {
    let mut object =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": namespace}});
    object["metadata"].as_object_mut().unwrap().extend(metadata.as_object().unwrap().clone());
    object
}

fn names(fleet: &SimFleet, namespace: &str) -> Vec<String> {
    let found = fleet.list(CLUSTER, "v1", "ConfigMap", namespace).unwrap();
    found.iter().map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
}

#[tokio::test]
async fn a_namespace_goes_with_its_contents() {
    let fleet = fleet().await;
    apply(&fleet, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}));
    apply(&fleet, config_map("n", "a", json!({})));
    assert!(fleet.delete(CLUSTER, "v1", "Namespace", "", "n").unwrap());
    assert_eq!(fleet.get(CLUSTER, "v1", "Namespace", "", "n"), None);
    assert_eq!(names(&fleet, "n"), Vec::<String>::new());
}

#[tokio::test]
async fn a_finalizer_holds_its_namespace_back() {
    let fleet = fleet().await;
    apply(&fleet, json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}));
    apply(&fleet, config_map("n", "held", json!({"finalizers": ["example.com/x"]})));
    apply(&fleet, config_map("n", "free", json!({})));
    assert!(!fleet.delete(CLUSTER, "v1", "Namespace", "", "n").unwrap());
    assert_eq!(names(&fleet, "n"), ["held"]);
    let namespace = fleet.get(CLUSTER, "v1", "Namespace", "", "n").unwrap();
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let refused = fleet.apply(CLUSTER, "test", config_map("n", "new", json!({}))).unwrap_err();
    assert_eq!((refused.code, refused.reason), (403, "Forbidden"));
    apply(&fleet, config_map("n", "held", json!({})));
    assert_eq!(fleet.get(CLUSTER, "v1", "Namespace", "", "n"), None);
}

#[tokio::test]
async fn dependents_go_with_their_last_owner() {
    let fleet = fleet().await;
    let owner = |name: &str| {
        let uid = apply(&fleet, config_map("default", name, json!({})))["metadata"]["uid"].clone();
        json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid})
    };
    let (one, two) = (owner("one"), owner("two"));
    apply(&fleet, config_map("default", "of-one", json!({"ownerReferences": [one]})));
    apply(&fleet, config_map("default", "of-both", json!({"ownerReferences": [one, two]})));
    fleet.delete(CLUSTER, "v1", "ConfigMap", "default", "one").unwrap();
    assert_eq!(names(&fleet, "default"), ["of-both", "two"]);
    fleet.delete(CLUSTER, "v1", "ConfigMap", "default", "two").unwrap();
    assert_eq!(names(&fleet, "default"), Vec::<String>::new());
}

#[tokio::test]
async fn a_definition_goes_with_its_instances() {
    let fleet = fleet().await;
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    apply(
        &fleet,
        json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "things.example.com"},
            "spec": {
                "group": "example.com", "scope": "Cluster", "names": {"plural": "things", "kind": "Thing"},
                "versions": [{"name": "v1", "served": true, "storage": true, "schema": schema}],
            },
        }),
    );
    let thing = json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": "t"}, "free": {"a": [1]}});
    assert_eq!(apply(&fleet, thing.clone())["free"], json!({"a": [1]}));
    assert!(
        fleet
            .delete(CLUSTER, "apiextensions.k8s.io/v1", "CustomResourceDefinition", "", "things.example.com")
            .unwrap()
    );
    assert_eq!(fleet.apply(CLUSTER, "test", thing).unwrap_err().code, 404);
}

#[tokio::test]
async fn clusters_are_apart_and_come_and_go() {
    let fleet = fleet().await;
    fleet.add_cluster("other").unwrap();
    assert!(fleet.add_cluster("other").is_err());
    apply(&fleet, config_map("default", "a", json!({})));
    assert_eq!(fleet.list("other", "v1", "ConfigMap", "").unwrap(), Vec::<Value>::new());
    fleet.remove_cluster("other");
    assert_eq!(fleet.list("other", "v1", "ConfigMap", "").unwrap_err().code, 404);
}
