//! A storm of changes to Services, the same in every run.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use serde_json::{Value, json};
use sluice_testbed::manifests::{ALL, EACH};
use tokio::task::JoinSet;

use crate::cluster_client::ClusterClient;
use crate::fleet::Fleet;

/// Simulated clusters.
pub const CLUSTERS: usize = 12;

/// Services in each cluster that come, change and go.
const RESTLESS: u64 = 20;
/// Services in each cluster that are only ever edited: nothing may ever delete what is made for them.
const STEADY: u64 = 5;
/// The first port. Each change has a port of its own, so that an older state can be told from a newer one.
const FIRST_PORT: u64 = 1000;
/// Pause between two changes of one cluster: a thousand changes take about four seconds.
const PAUSE: Duration = Duration::from_millis(40);
/// How long the storm may take until the middle.
const PATIENCE: Duration = Duration::from_secs(60);

/// Changes that are under way, one cluster after the other in its own order.
pub struct Changes {
    done: Arc<AtomicU64>,
    total: u64,
    tasks: JoinSet<anyhow::Result<()>>,
}

// === impl Changes ===

impl Changes {
    /// Begins `total` changes in all clusters but `except`; `first` is the number of the first one, and grows from
    /// storm to storm.
    pub fn begin(fleet: &Fleet, first: u64, total: u64, except: &[&str]) -> Self {
        let (done, mut tasks) = (Arc::new(AtomicU64::new(0)), JoinSet::new());
        let members = fleet.members.iter().filter(|(name, _)| !except.contains(&name.as_str()));
        let clients: Vec<ClusterClient> = members.map(|(_, member)| member.client.clone()).collect();
        let count = clients.len() as u64;
        for (index, client) in (0..).zip(clients) {
            let done = done.clone();
            #[expect(clippy::disallowed_methods, reason = "every result is awaited")]
            tasks.spawn(async move {
                for number in (first..first + total).filter(|number| number % count == index) {
                    change(&client, number, count).await.with_context(|| format!("change {number}"))?;
                    done.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(PAUSE).await;
                }
                Ok(())
            });
        }
        Self { done, total, tasks }
    }

    /// Waits until this part of the changes has been made.
    ///
    /// # Errors
    /// When the clusters are too slow.
    pub async fn part(&self, part: f64) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        while (self.done.load(Ordering::Relaxed) as f64) < part * self.total as f64 {
            if Instant::now() > deadline {
                bail!("only {} of {} changes were made", self.done.load(Ordering::Relaxed), self.total);
            }
            tokio::time::sleep(PAUSE).await;
        }
        Ok(())
    }

    /// Waits until all changes have been made.
    ///
    /// # Errors
    /// The first change that could not be made.
    pub async fn finish(mut self) -> anyhow::Result<()> {
        while let Some(done) = self.tasks.join_next().await {
            done.context("the changes were interrupted")??;
        }
        Ok(())
    }
}

/// The Services that every cluster begins with.
pub(super) async fn first(client: &ClusterClient) -> anyhow::Result<()> {
    for number in 0..STEADY {
        client.apply(&service(&format!("steady-{number}"), EACH, FIRST_PORT - 1)).await?;
    }
    for number in 0..RESTLESS {
        let (name, label) = restless(number);
        client.apply(&service(&name, label, FIRST_PORT - 1)).await?;
    }
    Ok(())
}

/// So many more that nobody ever edits.
pub(super) async fn still(client: &ClusterClient, count: usize) -> anyhow::Result<()> {
    for number in 0..count {
        client.apply(&service(&format!("still-{number}"), EACH, FIRST_PORT - 1)).await?;
    }
    Ok(())
}

/// A Service with one port.
pub fn service(name: &str, label: &str, port: u64) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default", "labels": {"sveltos": label}},
        "spec": {
            "selector": {"app.kubernetes.io/name": "MyApp"},
            "ports": [{"name": "http", "protocol": "TCP", "port": port, "targetPort": 9376}],
        },
    })
}

/// Two of three have a profile of their own, the others share one.
fn restless(number: u64) -> (String, &'static str) {
    if number.is_multiple_of(3) { (format!("all-{number}"), ALL) } else { (format!("each-{number}"), EACH) }
}

/// One change: mostly edits, now and then a lost label or a deletion.
pub(super) async fn change(client: &ClusterClient, number: u64, clusters: u64) -> anyhow::Result<()> {
    let (own, port) = (number / clusters, FIRST_PORT + number);
    if own % 7 == 0 {
        let name = format!("steady-{}", own / 7 % STEADY);
        return client.apply(&service(&name, EACH, port)).await;
    }
    let (name, label) = restless(own * 13 % RESTLESS);
    // The same Service meets another kind of change each time.
    match (own * 7 + own / RESTLESS) % 10 {
        3 => client.delete(&service(&name, label, port)).await,
        5 => client.apply(&service(&name, "none", port)).await,
        _ => client.apply(&service(&name, label, port)).await,
    }
}
