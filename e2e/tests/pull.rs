//! A cluster that pulls: nobody reaches it from outside, and who is in it needs the bus alone, with the key of that cluster.
#![allow(clippy::unwrap_used)]

use std::time::Duration;

use serde_json::{Value, json};
use sluice_api::{Gvk, object};
use sluice_e2e::fleet::Fleet;
use sluice_e2e::own_way::{addons, inside, kubeconfig_of, registration, unregistered, wait};
use sluice_e2e::scenario::MANAGEMENT;
use sluice_e2e::survival::service;
use sluice_testbed::{Options, PULLER, Replica, Stack, manifests};

/// What the management cluster shows of add-ons on the cluster that pulls.
async fn summaries(fleet: &Fleet) -> Vec<Value> {
    let summary = Gvk::new("config.projectsveltos.io", "v1beta1", "ClusterSummary");
    let all = fleet.management.list(&summary).await.unwrap();
    all.into_iter().filter(|one| one["spec"]["clusterName"] == PULLER).collect()
}

/// What the registration of the cluster says of it.
async fn status(fleet: &Fleet) -> Value {
    let registered = Gvk::new("lib.projectsveltos.io", "v1beta1", "SveltosCluster");
    let all = fleet.management.list(&registered).await.unwrap();
    let own = all.into_iter().find(|one| object::name(one) == PULLER);
    own.map(|one| one["status"].clone()).unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cluster_that_pulls_needs_the_bus_alone_and_catches_up_when_it_was_cut_off() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        clusters: 1,
        replicas: 2,
        nodes: 3,
        stream_replicas: 3,
        secured: true,
        forget_after: Some(3),
        ..Options::default()
    };
    let stack = Stack::start(dir.path(), options).await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(stack.kubeconfig()).unwrap()).await.unwrap();
    let (cluster, context) = unregistered(&stack, &fleet).await.unwrap();
    let kubeconfig = dir.path().join("inside.yaml");
    std::fs::write(&kubeconfig, kubeconfig_of(&context)).unwrap();

    let pulls = |paused: bool| registration(PULLER, &json!({"pullMode": true, "paused": paused}));
    fleet.apply(MANAGEMENT, &pulls(false)).await.unwrap();
    let mut within: Vec<Replica> = (1..=2)
        .flat_map(|number| {
            ["agent", "deployer"].map(|stage| inside(&stack, stage, number, &kubeconfig).unwrap())
        })
        .collect();

    let put = async |name: &str| {
        fleet.members[&cluster].client.apply(&service(name, manifests::EACH, 80)).await.unwrap();
    };
    put("web").await;
    wait("the add-on is there", &stack, async || addons(&fleet, &cluster).await == 1).await;
    let is_shown = |all: Vec<Value>| {
        let is_there = |one: &Value| one["status"]["featureSummaries"][0]["status"] == "Provisioned";
        all.len() == 1 && all.iter().all(is_there)
    };
    wait("people see it", &stack, async || is_shown(summaries(&fleet).await)).await;

    // The half of them may end at any time.
    within.iter_mut().filter(|replica| replica.name().ends_with("-1")).for_each(|replica| {
        replica.process().kill().unwrap();
    });
    put("shop").await;
    wait("the second add-on is there", &stack, async || addons(&fleet, &cluster).await == 2).await;

    // A pause is obeyed.
    fleet.apply(MANAGEMENT, &pulls(true)).await.unwrap();
    tokio::time::sleep(Duration::from_secs(2)).await;
    put("late").await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(addons(&fleet, &cluster).await, 2, "it is paused");
    fleet.apply(MANAGEMENT, &pulls(false)).await.unwrap();
    wait("the third add-on is there", &stack, async || addons(&fleet, &cluster).await == 3).await;

    // It is cut off, keeps all that it has, and catches up.
    within.clear();
    fleet.delete(&cluster, &service("web", manifests::EACH, 80)).await.unwrap();
    put("new").await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(addons(&fleet, &cluster).await, 3, "nobody reaches it");
    let is = async |word: &str| status(&fleet).await["connectionStatus"] == word;
    wait("its silence is told", &stack, async || is("Down").await).await;
    assert!(status(&fleet).await["agentLastReportTime"].is_string());
    within.extend(["agent", "deployer"].map(|stage| inside(&stack, stage, 1, &kubeconfig).unwrap()));
    let names = async || {
        let policy = Gvk::new("networking.k8s.io", "v1", "NetworkPolicy");
        let all = fleet.members[&cluster].client.list(&policy).await.unwrap();
        let mut names: Vec<String> = all.iter().map(|one| object::name(one).to_owned()).collect();
        names.sort();
        names
    };
    let caught_up = async || {
        let names = names().await;
        names.len() == 3 && !names.iter().any(|name| name.contains("web"))
    };
    wait("it has caught up", &stack, caught_up).await;
    wait("it is not silent any more", &stack, async || is("Healthy").await).await;
    wait("people see that", &stack, async || summaries(&fleet).await.len() == 3).await;

    // Without a registration it keeps what it has, and nothing is said of it.
    fleet.delete(MANAGEMENT, &pulls(false)).await.unwrap();
    wait("nothing is said of it", &stack, async || summaries(&fleet).await.is_empty()).await;
    assert_eq!(names().await.len(), 3);
}
