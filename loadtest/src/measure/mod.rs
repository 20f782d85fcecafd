//! The phases: how events are sent, and what is noted about them.

mod deaths;
mod drift;
mod events;
mod everywhere;
mod ill;
mod meter;
mod outages;
mod rows;
mod stages;

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, bail};
use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

pub use deaths::{Deaths, middle_and_longest};
pub use drift::Drift;
pub use events::{Events, Phase};
pub use everywhere::Everywhere;
pub use meter::{Cost, Meter, settled};
pub use stages::{StageTimes, What};

use crate::args::Plan;
use crate::fleet::{Arrivals, Sender};
use sluice_testbed::manifests;
use sluice_testbed::{Connection, KubeContext, Options, Stack};

/// How often rows are counted that are waited for.
const LOOK: Duration = Duration::from_millis(500);
/// Services that are added to a burst.
const MORE: u32 = 10;

/// A running pipeline, ready to be measured.
#[derive(Debug)]
pub struct Lab {
    /// Ends before the clusters that it watches.
    arrivals: Arrivals,
    /// Bus, clusters and stages; their end is the end of all.
    pub stack: Stack,
    management: KubeContext,
    targets: Vec<Arc<KubeContext>>,
    sender: Sender,
    patience: Duration,
}

// === impl Lab ===

impl Lab {
    /// Starts the pipeline and puts the sources and triggers into place.
    ///
    /// # Errors
    /// What could not be started or written.
    pub async fn start(dir: &Path, plan: &Plan) -> anyhow::Result<Self> {
        let (nodes, stream_replicas) = (plan.nodes, plan.nodes);
        let Plan { clusters, services, replicas, .. } = *plan;
        let options = Options { clusters, services, replicas, nodes, stream_replicas, ..Options::default() };
        let stack = Stack::start(dir, options).await?;
        let management = named(&stack, "management")?.clone();
        let targets: Vec<Arc<KubeContext>> = stack
            .clusters()
            .iter()
            .filter(|access| access.name != "management")
            .map(|access| Arc::new(access.clone()))
            .collect();
        set_up(&management, &targets).await?;
        let sender = Sender::connect(&management.authority).await?;
        let arrivals = Arrivals::watch(&targets);
        Ok(Self { stack, management, targets, sender, arrivals, patience: plan.patience })
    }

    /// One event in every cluster: the pipeline has seen all of them when this returns.
    ///
    /// # Errors
    /// When a cluster did not get its add-on.
    pub async fn warm_up(&mut self) -> anyhow::Result<()> {
        let phase = self.flood("warm", self.targets.len()).await?;
        if phase.applied() < phase.sent {
            bail!(
                "{} of {} clusters did not get their first add-on",
                phase.sent - phase.applied(),
                phase.sent
            );
        }
        Ok(())
    }

    /// A cluster that events go to.
    ///
    /// # Errors
    /// When there is none.
    pub fn target(&self) -> anyhow::Result<&KubeContext> {
        self.targets.first().map(AsRef::as_ref).context("there is no managed cluster")
    }

    /// Waits until so many rows are in a table.
    ///
    /// # Errors
    /// How many there are after so long.
    pub async fn wait_for_rows(&self, table: &str, rows: u64, patience: Duration) -> anyhow::Result<()> {
        let (prefix, deadline) = (format!("{}-", table.to_uppercase()), Instant::now() + patience);
        loop {
            let found = self.stack.bus().view().await.messages(&prefix);
            if found >= rows {
                return Ok(());
            }
            if Instant::now() > deadline {
                bail!("{found} of {rows} rows of {table} are there after {patience:?}");
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    /// One event after the other, each when the one before has been applied and `pause` has passed.
    ///
    /// # Errors
    /// When Services cannot be created.
    pub async fn idle(&mut self, count: u32, pause: Duration) -> anyhow::Result<Phase> {
        let before = StageTimes::of(&self.stack).await?;
        let (meter, mut events) = (Meter::start(&self.stack).await, Events::new("idle"));
        for index in 0..count {
            self.alone(&mut events, index as usize, manifests::EACH, pause).await;
        }
        let stages = StageTimes::of(&self.stack).await?.since(&before);
        let mut phase = self.finish(events, meter).await?;
        phase.stages = stages;
        Ok(phase)
    }

    /// What one more Service costs in a cluster that holds a burst already: some of them, one after the other.
    ///
    /// # Errors
    /// When Services cannot be created.
    pub async fn one_more(
        &mut self,
        size: u32,
        label: &'static str,
        cluster: usize,
        pause: Duration,
    ) -> anyhow::Result<Phase> {
        let (meter, mut events) =
            (Meter::start(&self.stack).await, Events::new(&format!("more{size}{label}")));
        for _ in 0..MORE {
            self.alone(&mut events, cluster, label, pause).await;
        }
        self.finish(events, meter).await
    }

    /// Events on a schedule that nothing holds up.
    ///
    /// # Errors
    /// When Services cannot be created.
    pub async fn paced(&mut self, name: &str, rate: u32, length: Duration) -> anyhow::Result<Phase> {
        let before = StageTimes::of(&self.stack).await?;
        let (meter, mut events) = (Meter::start(&self.stack).await, Events::new(name));
        pace(&self.targets, &self.sender, &mut events, rate, length).await?;
        self.collect(&mut events).await;
        let stages = StageTimes::of(&self.stack).await?.since(&before);
        let mut phase = self.finish(events, meter).await?;
        phase.stages = stages;
        Ok(phase)
    }

    /// Services created at once in one cluster.
    ///
    /// # Errors
    /// When Services cannot be created.
    pub async fn burst(&mut self, size: u32, label: &'static str, cluster: usize) -> anyhow::Result<Phase> {
        let (meter, mut events) =
            (Meter::start(&self.stack).await, Events::new(&format!("burst{size}{label}")));
        let due = Instant::now();
        for _ in 0..size {
            self.send(&mut events, due, cluster, label);
        }
        self.collect(&mut events).await;
        self.finish(events, meter).await
    }

    /// Services created at once over all clusters.
    ///
    /// # Errors
    /// When Services cannot be created.
    pub async fn flood(&mut self, name: &str, count: usize) -> anyhow::Result<Phase> {
        let (meter, mut events) = (Meter::start(&self.stack).await, Events::new(name));
        let due = Instant::now();
        for index in 0..count {
            self.send(&mut events, due, index, manifests::EACH);
        }
        self.collect(&mut events).await;
        self.finish(events, meter).await
    }

    fn send(&self, events: &mut Events, due: Instant, cluster: usize, label: &'static str) {
        send(&self.targets, &self.sender, events, (due, cluster, label));
    }

    /// Sends one event, waits for its add-on and then for as long as `pause`.
    async fn alone(&mut self, events: &mut Events, cluster: usize, label: &'static str, pause: Duration) {
        self.send(events, Instant::now(), cluster, label);
        self.collect(events).await;
        tokio::time::sleep(pause).await;
    }

    async fn collect(&mut self, events: &mut Events) {
        let deadline = Instant::now() + self.patience;
        while events.missing() > 0 {
            let Some(arrival) = self.arrivals.next(deadline).await else { return };
            events.arrived(&arrival);
        }
    }

    async fn finish(&mut self, events: Events, meter: Meter) -> anyhow::Result<Phase> {
        self.sender.check()?;
        let cost = meter.finish(&self.stack).await;
        events.phase(cost)
    }
}

/// Sends one event: when it should be sent, to which of the clusters, and with which label.
pub fn send(
    targets: &[Arc<KubeContext>],
    sender: &Sender,
    events: &mut Events,
    (due, cluster, label): (Instant, usize, &'static str),
) {
    if let Some(target) = targets.get(cluster % targets.len().max(1)) {
        sender.create(target, events.push(due), label);
    }
}

/// Sends events over all clusters on a schedule.
///
/// # Errors
/// When there are too many.
pub async fn pace(
    targets: &[Arc<KubeContext>],
    sender: &Sender,
    events: &mut Events,
    rate: u32,
    length: Duration,
) -> anyhow::Result<()> {
    let count = u32::try_from(length.as_millis() * u128::from(rate) / 1000)?;
    let start = Instant::now();
    for index in 0..count {
        let due = start + Duration::from_secs(1) * index / rate;
        tokio::time::sleep_until(due.into()).await;
        send(targets, sender, events, (due, index as usize, manifests::EACH));
    }
    Ok(())
}

fn named<'a>(stack: &'a Stack, name: &str) -> anyhow::Result<&'a KubeContext> {
    let found = stack.clusters().iter().find(|access| access.name == name);
    found.with_context(|| format!("the kubeconfig has no context {name}"))
}

/// Labels the clusters, and writes sources, triggers and templates.
///
/// # Errors
/// What cannot be written.
pub async fn set_up(management: &KubeContext, targets: &[Arc<KubeContext>]) -> anyhow::Result<()> {
    let mut connection = Connection::open(&management.authority).await?;
    for target in targets {
        let path = format!(
            "{}/apis/lib.projectsveltos.io/v1beta1/namespaces/default/sveltosclusters/{}",
            management.prefix, target.name
        );
        let labels = json!({"metadata": {"labels": {manifests::CLUSTER_LABEL: "true"}}}).to_string();
        let patched = connection
            .call(Method::PATCH, &path, &management.token, "application/merge-patch+json", labels.into())
            .await?;
        patched.success().with_context(|| format!("cannot label SveltosCluster default/{}", target.name))?;
    }
    apply(management, manifests::management()).await
}

/// Applies objects to the management cluster.
async fn apply(
    management: &KubeContext,
    objects: impl IntoIterator<Item = (String, Value)>,
) -> anyhow::Result<()> {
    let mut connection = Connection::open(&management.authority).await?;
    for (path, object) in objects {
        let path = format!("{}{path}?fieldManager=load&force=true", management.prefix);
        let body = Bytes::from(object.to_string());
        let applied = connection
            .call(Method::PATCH, &path, &management.token, "application/apply-patch+yaml", body)
            .await?;
        applied.success().with_context(|| format!("cannot apply {path}"))?;
    }
    Ok(())
}
