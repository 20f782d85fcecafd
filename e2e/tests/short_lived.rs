//! Clusters that are registered and deregistered again and again leave nothing: no rows, no objects, no memory.
//! `make survive` runs it; `SLUICE_SURVIVE_CLUSTERS` says how many there are.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use sluice_api::Gvk;
use sluice_e2e::fleet::Fleet;
use sluice_e2e::scenario::MANAGEMENT;
use sluice_e2e::survival::{resident, service};
use sluice_testbed::{Options, Stack, manifests};

/// Clusters that are registered at once: each is a server of its own.
const WAVE: usize = 10;
/// So many of all clusters come before the first look, so that what grows once has grown.
const WARM: usize = 10;
const FORGET_AFTER: u64 = 2;
const TOMBSTONE_TTL: u64 = 5;
/// Streams whose rows are not of clusters, or go after minutes.
const OTHERS: [&str; 4] = ["JOURNAL", "CLOUDEVENTS", "KV_problems", "KV_content"];
/// What the memory of a stage may differ by, in bytes: what an allocator keeps differs from moment to moment.
const SLACK: u64 = 24 << 20;

/// What there is of clusters.
#[derive(Debug)]
struct Standing {
    rows: BTreeMap<String, u64>,
    objects: Vec<String>,
    memory: BTreeMap<&'static str, u64>,
}

fn how_many() -> usize {
    std::env::var("SLUICE_SURVIVE_CLUSTERS").map_or(2000, |text| text.parse().unwrap())
}

fn registration(name: &str, kubeconfig: &str) -> [Value; 2] {
    let secret = json!({"apiVersion": "v1", "kind": "Secret",
        "metadata": {"name": format!("{name}-sveltos-kubeconfig"), "namespace": "default"},
        "data": {"kubeconfig": STANDARD.encode(kubeconfig)}});
    let cluster = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster",
        "metadata": {"name": name, "namespace": "default", "labels": {manifests::CLUSTER_LABEL: "true"}}, "spec": {}});
    [secret, cluster]
}

/// Names of the objects that say something of clusters.
async fn objects(fleet: &Fleet) -> Vec<String> {
    let mut names = Vec::new();
    for (group, kind) in [
        ("config.projectsveltos.io", "ClusterSummary"),
        ("config.projectsveltos.io", "ClusterConfiguration"),
        ("lib.projectsveltos.io", "EventReport"),
    ] {
        let found = fleet.management.list(&Gvk::new(group, "v1beta1", kind)).await.unwrap();
        names.extend(found.iter().map(|object| format!("{kind} {}", object["metadata"]["name"])));
    }
    names
}

fn rows(stack: &Stack) -> BTreeMap<String, u64> {
    let program = stack.programs().find("sluice").unwrap();
    let said = Command::new(program)
        .args(["bus", "check", "-o", "json", "--nats-url", &stack.nats_url()])
        .output()
        .unwrap();
    let said: Value = serde_json::from_slice(&said.stdout).unwrap();
    let rows = said["streams"]
        .as_array()
        .unwrap()
        .iter()
        .map(|stream| (stream["name"].as_str().unwrap().to_owned(), stream["rows"].as_u64().unwrap()));
    rows.filter(|(name, _)| !OTHERS.contains(&name.as_str())).collect()
}

/// Resident memory of each stage, in bytes.
fn memory(stack: &Stack) -> BTreeMap<&'static str, u64> {
    let mut found = BTreeMap::<&'static str, u64>::new();
    stack
        .replicas()
        .values()
        .for_each(|replica| *found.entry(replica.stage()).or_default() += resident(replica.pid()).unwrap());
    found
}

/// Waits until this is so.
async fn until(what: &str, limit: Duration, mut is_so: impl AsyncFnMut() -> bool) {
    let deadline = Instant::now() + limit;
    while !is_so().await {
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

/// Registers clusters, waits until something is deployed in each, and deregisters them.
async fn wave(fleet: &Fleet, number: usize) {
    let names: Vec<String> = (0..WAVE).map(|index| format!("short-{number}-{index}")).collect();
    for (name, member) in names.iter().zip(fleet.members.values()) {
        for object in registration(name, &member.kubeconfig) {
            fleet.apply(MANAGEMENT, &object).await.unwrap();
        }
    }
    until("something is deployed in each cluster", Duration::from_secs(120), async || {
        let there = objects(fleet).await;
        let is_deployed = |name: &String| {
            there.iter().any(|object| object.starts_with("ClusterSummary") && object.contains(name.as_str()))
        };
        names.iter().all(is_deployed)
    })
    .await;
    for name in &names {
        for object in registration(name, "") {
            fleet.delete(MANAGEMENT, &object).await.unwrap();
        }
    }
}

/// Waits until nothing is said of any cluster, and looks.
async fn standing(stack: &Stack, fleet: &Fleet) -> Standing {
    let deadline = Instant::now() + Duration::from_secs(120);
    loop {
        let left = objects(fleet).await;
        if left.is_empty() {
            break;
        }
        assert!(Instant::now() < deadline, "these stay: {left:?}");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    // The rows of a stage follow those of another, and each tombstone has its time.
    let mut before = rows(stack);
    until("tombstones are gone", Duration::from_secs(120), async || {
        tokio::time::sleep(Duration::from_secs(TOMBSTONE_TTL + 2)).await;
        let now = rows(stack);
        let is_still = now == before;
        before = now;
        is_still
    })
    .await;
    Standing { rows: before, objects: objects(fleet).await, memory: memory(stack) }
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn clusters_that_come_and_go_leave_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options {
        clusters: WAVE,
        replicas: 2,
        tombstone_ttl: Some(TOMBSTONE_TTL),
        forget_after: Some(FORGET_AFTER),
        ..Options::default()
    };
    let stack = Stack::start(dir.path(), options).await.unwrap();
    let fleet = Fleet::of_kubeconfig(&std::fs::read_to_string(stack.kubeconfig()).unwrap()).await.unwrap();
    for (_, object) in manifests::management() {
        fleet.apply(MANAGEMENT, &object).await.unwrap();
    }
    for member in fleet.members.values() {
        member.client.apply(&service("web", manifests::EACH, 80)).await.unwrap();
    }
    let waves = how_many().div_ceil(WAVE).max(2);
    let warm = (waves / WARM).max(1);
    for number in 0..warm {
        wave(&fleet, number).await;
    }
    let before = standing(&stack, &fleet).await;
    for number in warm..waves {
        wave(&fleet, number).await;
    }
    let after = standing(&stack, &fleet).await;
    eprintln!("after {} clusters: {before:?}\nafter {}: {after:?}", warm * WAVE, waves * WAVE);
    assert_eq!(after.rows, before.rows);
    assert_eq!(after.objects, [] as [String; 0]);
    for (stage, bytes) in after.memory {
        let limit = before.memory[stage] + SLACK;
        assert!(
            bytes <= limit,
            "{stage}: {} MiB before, {} MiB after",
            before.memory[stage] >> 20,
            bytes >> 20
        );
    }
}
