//! What a stage needs of its process.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_bus::{Bus, Journal, Membership, Problems, Tally};
use sluice_protocol::Role;
use sluice_tasks::{End, Kept, Once, Tasks};

use crate::args::CommonArgs;
use crate::metrics::Metrics;

/// What a process still waits for before it is ready. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<Mutex<BTreeSet<&'static str>>>);

/// One stage in one process.
#[derive(Clone, Debug)]
pub struct Context {
    /// Name of the stage.
    pub stage: &'static str,
    /// Name of the replica.
    pub name: String,
    /// The connection that the whole process shares.
    pub bus: Bus,
    /// The problems of this process.
    pub problems: Problems,
    /// The journal of this process.
    pub journal: Journal,
    /// The metrics of this process.
    pub metrics: Metrics,
    /// What this process waits for.
    pub ready: Readiness,
    /// The tasks of this process, with the token that is cancelled when it should end.
    pub tasks: Tasks,
}

impl Readiness {
    /// The process is not ready before `what` is [`Readiness::done`].
    pub fn wait_for(&self, what: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(what);
    }

    /// `what` is there.
    pub fn done(&self, what: &'static str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(what);
    }

    /// One thing that is waited for; `None` when ready.
    pub fn missing(&self) -> Option<&'static str> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).first().copied()
    }
}

impl Context {
    /// Serves the admin endpoint and connects to the bus, in this order: health answers while the bus is away.
    ///
    /// # Errors
    /// When the endpoint cannot be bound, or the bus is unsuitable.
    pub async fn start(role: Role, args: &CommonArgs, tasks: &Tasks) -> anyhow::Result<Self> {
        // What is wrong with the arguments is said before anything is served.
        args.bus_options(role.clone())?;
        let (metrics, ready) = (Metrics::new(), Readiness::default());
        ready.wait_for("the bus");
        let addr = crate::admin::serve(args.http_addr, metrics.clone(), ready.clone(), tasks).await?;
        tracing::info!(stage = role.name(), name = args.replica(), %addr, "serving metrics and health");
        let context = Self::connect(role, args, metrics, ready.clone(), tasks).await?;
        ready.done("the bus");
        Ok(context)
    }

    /// Connects to the bus, for a process that has an admin endpoint already.
    ///
    /// # Errors
    /// When the bus is unsuitable.
    pub async fn connect(
        role: Role,
        args: &CommonArgs,
        metrics: Metrics,
        ready: Readiness,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let (stage, options) = (role.name(), args.bus_options(role)?);
        let bus = tokio::select! {
            bus = Bus::connect(&options, tasks) => bus?,
            () = tasks.stop().cancelled() => {
                tasks.verdict()?;
                anyhow::bail!("stopped while waiting for the bus")
            }
        };
        Ok(Self {
            stage,
            name: args.replica(),
            problems: Problems::start(&bus),
            journal: Journal::start(&bus),
            bus,
            metrics,
            ready,
            tasks: tasks.clone(),
        })
    }

    /// Joins the members of the stage, or of a part of it.
    ///
    /// # Errors
    /// When the name cannot be used.
    pub fn join(&self, group: &str) -> anyhow::Result<Membership> {
        Ok(Membership::join(&self.bus, group, &self.name, self.tasks.stop().clone())?)
    }

    /// The process is not ready before `there` is done; `what` says what it waits for.
    pub fn wait_for(&self, what: &'static str, there: impl Future<Output = ()> + Send + 'static) {
        self.ready.wait_for(what);
        let ready = self.ready.clone();
        self.tasks.spawn(Once::Readiness, async move {
            there.await;
            ready.done(what);
            End::Done
        });
    }
}

/// Keeps the number of owned shards, their restarts and the consumers on the bus in the metrics.
pub fn count_shards(context: &Context, tally: &Tally) {
    let (shards, tally) = (context.clone(), tally.clone());
    context.tasks.keep(Kept::ShardMetrics, move || count_again_and_again(shards.clone(), tally.clone()));
}

async fn count_again_and_again(context: Context, tally: Tally) -> End {
    while !context.tasks.stop().is_cancelled() {
        context.metrics.shards_owned(context.stage, tally.get());
        context.metrics.bus_consumers(context.stage, context.bus.consumers());
        for (reason, count) in tally.restarts() {
            context.metrics.shard_restarts(context.stage, reason, count);
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    End::Done
}
