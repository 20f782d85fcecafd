//! One cause whose add-ons go to every cluster.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use anyhow::bail;

use super::meter::{Cost, Meter};
use super::{Lab, apply, manifests};
use crate::fleet::Repository;

/// How often each is measured.
const TIMES: usize = 3;

/// What was measured of it.
#[derive(Debug)]
pub struct Everywhere {
    /// Names its figures, as `--only` does.
    pub name: &'static str,
    /// The cause.
    pub what: &'static str,
    /// Objects of each cluster.
    pub objects: usize,
    /// Clusters that got them.
    pub clusters: usize,
    /// From the cause until the last object was in the last cluster, each time.
    pub times: Vec<Duration>,
    /// What all of them cost.
    pub cost: Cost,
}

impl Lab {
    /// Services, one after the other, whose add-on goes to all clusters with equal content.
    ///
    /// # Errors
    /// When an object does not come, or something cannot be written.
    pub async fn event_everywhere(&mut self, pause: Duration) -> anyhow::Result<Everywhere> {
        apply(&self.management, manifests::far()).await?;
        // The first one waits until the source is known everywhere.
        self.event("far-first", 1).await?;
        tokio::time::sleep(pause).await;
        let (meter, mut times) = (Meter::start(&self.stack).await, Vec::new());
        for number in 0..TIMES {
            times.push(self.event(&format!("far-{number}"), 1).await?);
            tokio::time::sleep(pause).await;
        }
        self.sender.check()?;
        let (clusters, cost) = (self.targets.len(), meter.finish(&self.stack).await);
        let (name, what) = ("everywhere-event", "an event, its add-on to all");
        Ok(Everywhere { name, what, objects: 1, clusters, times, cost })
    }

    /// Profiles, one after the other, of a chart with so many objects.
    ///
    /// # Errors
    /// When an object does not come, or something cannot be written.
    pub async fn chart_everywhere(&mut self, objects: usize, pause: Duration) -> anyhow::Result<Everywhere> {
        let repository = Repository::serve().await?;
        let (meter, mut times) = (Meter::start(&self.stack).await, Vec::new());
        for number in 0..TIMES {
            let name = format!("chart-{number}");
            let due = Instant::now();
            apply(&self.management, [manifests::charted(&name, repository.url(), objects)]).await?;
            times.push(self.all_there(&format!("front-{name}-"), objects, due).await?);
            tokio::time::sleep(pause).await;
        }
        let (clusters, cost) = (self.targets.len(), meter.finish(&self.stack).await);
        let (name, what) = ("everywhere-chart", "a profile with a chart, the first one fetched");
        Ok(Everywhere { name, what, objects, clusters, times, cost })
    }

    async fn event(&mut self, name: &str, objects: usize) -> anyhow::Result<Duration> {
        let due = Instant::now();
        if let Some(target) = self.targets.first() {
            self.sender.create(target, name.to_owned(), manifests::FAR);
        }
        self.all_there(&format!("front-{name}"), objects, due).await
    }

    /// Waits until every cluster has so many objects whose names begin so.
    pub(super) async fn all_there(
        &mut self,
        prefix: &str,
        objects: usize,
        due: Instant,
    ) -> anyhow::Result<Duration> {
        let (deadline, wanted) = (Instant::now() + self.patience, objects * self.targets.len());
        let (mut seen, mut last) = (BTreeSet::new(), due);
        while seen.len() < wanted {
            let Some(arrival) = self.arrivals.next(deadline).await else {
                bail!("{} of {wanted} objects {prefix}… are there", seen.len());
            };
            if arrival.name.starts_with(prefix) {
                last = last.max(arrival.at);
                seen.insert((arrival.cluster, arrival.name));
            }
        }
        Ok(last.saturating_duration_since(due))
    }
}
