//! A cluster that is reached with the identity of a cloud, by stages that are processes of their own.
#![allow(clippy::unwrap_used)]

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::json;
use sluice_e2e::fleet::Fleet;
use sluice_e2e::own_way::{addons, registration, unregistered, wait};
use sluice_e2e::scenario::MANAGEMENT;
use sluice_e2e::survival::service;
use sluice_kube::fake_api::FakeApi;
use sluice_testbed::{Options, Stack, manifests};

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
    let (cluster, context) = unregistered(&stack, &fleet).await.unwrap();
    let endpoint = format!("http://{}{}", context.authority, context.prefix);
    token.lock().unwrap().clone_from(&context.token);

    let gcp = json!({"projectID": "p", "clusterName": "c", "location": "l"});
    let identity = json!({"provider": "GCP", "endpoint": endpoint, "gcp": gcp});
    fleet.apply(MANAGEMENT, &registration("cloud", &json!({"workloadIdentity": identity}))).await.unwrap();
    fleet.members[&cluster].client.apply(&service("web", manifests::EACH, 80)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(addons(&fleet, &cluster).await, 0, "there is no token");

    gives.store(true, Ordering::Relaxed);
    wait("the add-on is there", &stack, async || addons(&fleet, &cluster).await == 1).await;
    let had = metadata.requests().len();
    tokio::time::sleep(Duration::from_secs(6)).await;
    fleet.members[&cluster].client.apply(&service("shop", manifests::EACH, 80)).await.unwrap();
    wait("the second add-on is there", &stack, async || addons(&fleet, &cluster).await == 2).await;
    assert!(metadata.requests().len() > had, "the former token has ended");
}
