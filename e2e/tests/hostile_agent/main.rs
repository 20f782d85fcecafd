//! A fleet in which the agent of one cluster is hostile: it has its credential, and does with it what it likes.
//! `make survive ARGS=hostile` runs it: three nodes with users and TLS, two replicas of each stage, changes all the while.
#![allow(clippy::unwrap_used)]

mod attacks;

use std::time::{Duration, Instant};

use anyhow::Context as _;
use attacks::Hostile;
use serde_json::json;
use sluice_e2e::survival::{Installation, Settings, resident};
use sluice_testbed::STAGES;
use sluice_testbed::manifests::CLUSTER_LABEL;

/// How long each attack goes on.
const LONG: Duration = Duration::from_secs(8);
/// More than any stage needs for twelve small clusters, whatever a thirteenth one sends, MiB.
const MEMORY: u64 = 600;

/// The cluster is registered as the others are, and triggers select it.
async fn register(installation: &mut Installation) -> anyhow::Result<()> {
    let labels = json!({CLUSTER_LABEL: "true"});
    let metadata = json!({"name": attacks::NAME, "namespace": "default", "labels": labels});
    let cluster = json!({
        "apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "metadata": metadata, "spec": {}});
    installation.apply(cluster).await
}

/// How long changes took from a cluster's API server to the NetworkPolicy there, in words.
fn told(installation: &Installation, since: Instant) -> String {
    let mut took = installation.watcher.latencies(since);
    took.sort_unstable();
    let at = |share: usize| took.get((took.len().max(1) - 1) * share / 100).copied().unwrap_or_default();
    format!("{} changes, p50 {:.1?}, p99 {:.1?}", took.len(), at(50), at(99))
}

/// The replicas that hold more than any needs.
fn large(installation: &Installation) -> anyhow::Result<Vec<String>> {
    let mut large = Vec::new();
    for replica in installation.stack.replicas().values() {
        let mib = resident(replica.pid()).with_context(|| replica.name().to_owned())? >> 20;
        if mib > MEMORY {
            large.push(format!("{}: {mib} MiB", replica.name()));
        }
    }
    Ok(large)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes: make survive"]
async fn a_hostile_agent_stops_nobody_and_takes_nothing() {
    let settings = Settings { secured: true, ..Settings::read().unwrap() };
    let faults = async |installation: &mut Installation| {
        register(installation).await?;
        let quiet = Instant::now();
        tokio::time::sleep(LONG).await;
        installation.say(&format!("alone: {}", told(installation, quiet)));
        let hostile = Hostile::connect(installation).await?;
        let before: Vec<u32> = installation.stack.replicas().values().map(|replica| replica.pid()).collect();
        for attack in attacks::ALL {
            let begun = Instant::now();
            let sent = hostile.attack(*attack, LONG).await?;
            installation.say(&format!("{attack:?}, {sent} messages: {}", told(installation, begun)));
            let large = large(installation)?;
            anyhow::ensure!(large.is_empty(), "{attack:?}: {large:?}");
        }
        let after: Vec<u32> = installation.stack.replicas().values().map(|replica| replica.pid()).collect();
        anyhow::ensure!(before == after && before.len() == 2 * STAGES.len(), "a replica has ended");
        Ok(())
    };
    settings.survive(faults).await.unwrap();
}
