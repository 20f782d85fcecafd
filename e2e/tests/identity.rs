//! A cluster that is reached with the identity of a cloud, by stages that are processes of their own.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use sluice_api::Gvk;
use sluice_e2e::fleet::Fleet;
use sluice_e2e::scenario::MANAGEMENT;
use sluice_e2e::survival::service;
use sluice_kube::fake_api::FakeApi;
use sluice_testbed::{Options, Stack, manifests};

/// Waits until this is so.
async fn until(what: &str, stack: &Stack, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so().await {
        if Instant::now() > deadline {
            let logs: String = stack.replicas().values().map(|replica| replica.log_end()).collect();
            panic!("in vain: {what}\n{logs}");
        }
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

fn registration(name: &str, spec: &Value) -> Value {
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": spec,
        "metadata": {"name": name, "namespace": "default", "labels": {manifests::CLUSTER_LABEL: "true"}}})
}

/// How many add-ons a cluster has.
async fn policies(fleet: &Fleet, cluster: &str) -> usize {
    let policy = Gvk::new("networking.k8s.io", "v1", "NetworkPolicy");
    fleet.members[cluster].client.list(&policy).await.unwrap().len()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_is_served_with_tokens_of_its_cloud_that_end_and_are_had_anew() {
    let dir = tempfile::tempdir().unwrap();
    // The metadata server gives the token of the simulated cluster, for a few seconds, once it is known.
    let (token, gives) = (Arc::new(std::sync::Mutex::new(String::new())), Arc::new(AtomicBool::new(false)));
    let (known, may) = (token.clone(), gives.clone());
    let metadata = FakeApi::start(move |_| match may.load(Ordering::Relaxed) {
        false => (403, json!({"error": {"message": "no identity yet"}}).to_string()),
        true => (200, json!({"access_token": *known.lock().unwrap(), "expires_in": 5}).to_string()),
    });
    let environment = [
        ("GCE_METADATA_HOST", metadata.url().replace("http://", "")),
        ("SLUICE_WORKLOAD_IDENTITY_NAMESPACES", "default".to_owned()),
    ];
    let environment = environment.map(|(name, value)| (name.to_owned(), value)).into();
    let stack =
        Stack::start(dir.path(), Options { clusters: 1, replicas: 2, environment, ..Options::default() });
    let stack = stack.await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(stack.kubeconfig()).unwrap()).await.unwrap();
    let cluster = fleet.members.keys().next().unwrap().clone();
    let context = stack.clusters().iter().find(|context| context.name != MANAGEMENT).unwrap();
    let endpoint = format!("http://{}{}", context.authority, context.prefix);
    token.lock().unwrap().clone_from(&context.token);

    // Nobody has its kubeconfig any more, and its name is another one.
    let (namespace, name) = cluster.split_once('/').unwrap();
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": format!("{name}-sveltos-kubeconfig"), "namespace": namespace}});
    fleet.delete(MANAGEMENT, &secret).await.unwrap();
    fleet.delete(MANAGEMENT, &registration(name, &json!({}))).await.unwrap();
    for (_, object) in manifests::management() {
        fleet.apply(MANAGEMENT, &object).await.unwrap();
    }
    let gcp = json!({"projectID": "p", "clusterName": "c", "location": "l"});
    let identity = json!({"provider": "GCP", "endpoint": endpoint, "gcp": gcp});
    fleet.apply(MANAGEMENT, &registration("cloud", &json!({"workloadIdentity": identity}))).await.unwrap();
    fleet.members[&cluster].client.apply(&service("web", manifests::EACH, 80)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(policies(&fleet, &cluster).await, 0, "there is no token");

    gives.store(true, Ordering::Relaxed);
    until("the add-on is there", &stack, async || policies(&fleet, &cluster).await == 1).await;
    let had = metadata.requests().len();
    tokio::time::sleep(Duration::from_secs(6)).await;
    fleet.members[&cluster].client.apply(&service("shop", manifests::EACH, 80)).await.unwrap();
    until("the second add-on is there", &stack, async || policies(&fleet, &cluster).await == 2).await;
    assert!(metadata.requests().len() > had, "the former token has ended");
}
