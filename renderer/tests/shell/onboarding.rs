//! Clusters of Cluster API: they may count only with an annotation, and get a label.

use serde_json::{Value, json};
use sluice_api::ClusterRef;
use sluice_protocol::{Body, Capabilities, Publish};
use sluice_runtime::kit;

use super::{CONFIG, MANAGEMENT, Stand};

const CAPI: &str = "cluster.x-k8s.io/v1beta2";

/// The kind, as far as anybody looks at it.
fn definition() -> Value {
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "clusters.cluster.x-k8s.io"},
        "spec": {"group": "cluster.x-k8s.io", "scope": "Namespaced",
            "names": {"kind": "Cluster", "listKind": "ClusterList", "plural": "clusters", "singular": "cluster"},
            "versions": [{"name": "v1beta2", "served": true, "storage": true, "schema": {"openAPIV3Schema": schema}}]}})
}

fn cluster(name: &str, annotations: Value) -> Value {
    json!({"apiVersion": CAPI, "kind": "Cluster", "spec": {}, "status": {"controlPlaneReady": true},
        "metadata": {"namespace": "default", "name": name, "labels": {"env": "capi"}, "annotations": annotations}})
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_of_cluster_api_counts_while_it_has_the_annotation() {
    let mut place = Stand::start().await;
    place.onboarding = "onboard-capi".parse().unwrap();
    place.put(definition());
    place.put(cluster("w", json!({"other": "x"})));
    place.put(cluster("x", json!({"onboard-capi": "x"})));
    place.put(json!({"apiVersion": CONFIG, "kind": "ClusterProfile", "metadata": {"name": "p"},
        "spec": {"clusterSelector": {"matchLabels": {"env": "capi"}}}}));
    let selected = || {
        let profile = place.get(CONFIG, "ClusterProfile", "p").unwrap_or_default();
        let clusters = profile["status"]["matchingClusters"].as_array().cloned().unwrap_or_default();
        clusters
            .iter()
            .map(|cluster| cluster["name"].as_str().unwrap_or_default().to_owned())
            .collect::<Vec<_>>()
    };
    place
        .render(async |_| {
            kit::until(|| selected() == ["x"]).await;
            place.put(cluster("w", json!({"onboard-capi": ""})));
            kit::until(|| selected() == ["w", "x"]).await;
            place.put(cluster("x", json!({})));
            kit::until(|| selected() == ["w"]).await;
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cluster_of_cluster_api_whose_agent_has_spoken_has_a_label_for_selectors_and_its_status_stays() {
    let place = Stand::start().await;
    place.put(definition());
    place.put(cluster("w", json!({})));
    let labels = || {
        let found = place.fleet.get(MANAGEMENT, CAPI, "Cluster", "default", "w").unwrap();
        (found["metadata"]["labels"].clone(), found["status"].clone())
    };
    place
        .render(async |bus| {
            let capabilities = Capabilities { version: "v1.33.4".into(), ..Capabilities::default() };
            let body = Body::value(serde_json::to_vec(&capabilities).unwrap());
            let of: ClusterRef = "capi:default/w".parse().unwrap();
            kit::write(bus, [Publish::new(Capabilities::subject(&of), body, 1)]).await;
            kit::until(|| !labels().0["sveltos-agent"].is_null()).await;
            let all = json!({"env": "capi", "sveltos-agent": "present"});
            assert_eq!(labels(), (all, json!({"controlPlaneReady": true})));
        })
        .await;
}
