//! Objects of a chart that are watched for drift: what that costs, and how soon one is put right.

use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::Method;
use sluice_testbed::Connection;

use super::everywhere::Everywhere;
use super::meter::{Meter, settled};
use super::{Lab, apply, manifests};
use crate::fleet::Repository;

/// How many objects are deleted, one after the other.
const TIMES: usize = 20;
/// So many times as long as an allocator's memory needs to come to rest: connections that nobody uses are closed after a minute.
const CONNECTIONS: u32 = 6;

/// What was measured of it.
#[derive(Debug)]
pub struct Drift {
    /// The deletions: from each until the object is there again. `objects` are those of one cluster.
    pub put_right: Everywhere,
    /// Resident memory of all deployers with the objects deployed and nothing watched, bytes.
    pub before: u64,
    /// The same with all of them watched.
    pub watched: u64,
}

impl Drift {
    /// What watching one object takes, bytes; of a machine that gave memory back meanwhile less than nothing.
    pub fn each(&self) -> f64 {
        let count = (self.put_right.objects * self.put_right.clusters).max(1);
        (self.watched as f64 - self.before as f64) / count as f64
    }
}

impl Lab {
    /// Deploys a chart with so many objects to each cluster, watches them, and deletes some.
    ///
    /// # Errors
    /// When an object does not come, or something cannot be written.
    pub async fn drift(&mut self, objects: usize, settle: Duration) -> anyhow::Result<Drift> {
        let repository = Repository::serve().await?;
        let profile = |mode: &str| {
            let (path, mut object) = manifests::charted("drift", repository.url(), objects);
            if let Some(spec) = object.get_mut("spec").and_then(serde_json::Value::as_object_mut) {
                spec.insert("syncMode".to_owned(), mode.into());
            }
            (path, object)
        };
        apply(&self.management, [profile("Continuous")]).await?;
        self.all_there("front-drift-", objects, Instant::now()).await?;
        let before = self.deployers(settle).await;
        apply(&self.management, [profile("ContinuousWithDriftDetection")]).await?;
        let watched = self.deployers(settle).await;
        let (meter, mut times) = (Meter::start(&self.stack).await, Vec::new());
        for number in 0..TIMES {
            let cluster = number % self.targets.len().max(1);
            times.push(self.put_right(cluster, &format!("front-drift-{}", number % objects.max(1))).await?);
        }
        let (clusters, cost) = (self.targets.len(), meter.finish(&self.stack).await);
        let (name, what) = ("drift", "an object that is watched for drift and deleted");
        Ok(Drift { put_right: Everywhere { name, what, objects, clusters, times, cost }, before, watched })
    }

    /// The memory of all deployers, once they are at rest.
    async fn deployers(&self, settle: Duration) -> u64 {
        settled(&self.stack, settle * CONNECTIONS).await.get("deployer").map_or(0, |usage| usage.rss)
    }

    /// Deletes an object, and waits until it is there again.
    async fn put_right(&mut self, cluster: usize, name: &str) -> anyhow::Result<Duration> {
        let target = self.targets.get(cluster).context("there is no such cluster")?;
        let path =
            format!("{}/apis/networking.k8s.io/v1/namespaces/default/networkpolicies/{name}", target.prefix);
        let mut connection = Connection::open(&target.authority).await?;
        let due = Instant::now();
        connection.call(Method::DELETE, &path, &target.token, "", Bytes::new()).await?.success()?;
        let deadline = Instant::now() + self.patience;
        while let Some(arrival) = self.arrivals.next(deadline).await {
            if arrival.cluster == cluster && arrival.name == name && arrival.at > due {
                return Ok(arrival.at.saturating_duration_since(due));
            }
        }
        bail!("{name} was deleted, and is not put right");
    }
}
