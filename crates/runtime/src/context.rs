//! What a stage needs of its process.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sluice_bus::{Bus, Journal, Membership, Problems, Tally};
use sluice_protocol::Role;
use sluice_tasks::{End, Kept, Once, Tasks};

use crate::args::{CommonArgs, FORGET_AFTER, ForgetArgs};
use crate::metrics::Metrics;

/// What a process still waits for before it is ready, and for how many of it: two stages may wait for the same. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Readiness(Arc<Mutex<BTreeMap<&'static str, usize>>>);

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
    /// How long a cluster is not registered before everything goes that is known of it.
    pub forget_after: Duration,
    /// What this process waits for.
    pub ready: Readiness,
    /// The tasks of this process, with the token that is cancelled when it should end.
    pub tasks: Tasks,
}

impl Readiness {
    /// The process is not ready before `what` is [`Readiness::done`].
    pub fn wait_for(&self, what: &'static str) {
        *self.locked().entry(what).or_default() += 1;
    }

    /// `what` is there.
    pub fn done(&self, what: &'static str) {
        let mut missing = self.locked();
        if let Some(count) = missing.get_mut(what) {
            *count -= 1;
            if *count == 0 {
                missing.remove(what);
            }
        }
    }

    /// One thing that is waited for; `None` when ready.
    pub fn missing(&self) -> Option<&'static str> {
        self.locked().keys().next().copied()
    }

    fn locked(&self) -> MutexGuard<'_, BTreeMap<&'static str, usize>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
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
        let tasks = &tasks.of_stage(stage);
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
            forget_after: FORGET_AFTER,
            problems: Problems::start(&bus),
            journal: Journal::start(&bus),
            bus,
            metrics,
            ready,
            tasks: tasks.clone(),
        })
    }

    /// Another stage in this process, with a connection of its own.
    ///
    /// # Errors
    /// When the bus is unsuitable.
    pub async fn beside(&self, role: Role, args: &CommonArgs) -> anyhow::Result<Self> {
        self.ready.wait_for("the bus");
        let (metrics, ready) = (self.metrics.clone(), self.ready.clone());
        let context = Self::connect(role, args, metrics, ready, &self.tasks).await?;
        self.ready.done("the bus");
        Ok(context)
    }

    /// The same, which remembers clusters for as long as this says.
    #[must_use]
    pub fn forgets(self, args: ForgetArgs) -> Self {
        Self { forget_after: Duration::from_secs(args.forget_after), ..self }
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

/// Keeps the number of owned shards, their restarts, the consumers on the bus and the open problems in the metrics.
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
        context.metrics.problems_open(context.stage, &context.problems.open());
        context.metrics.upkeep();
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    End::Done
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_protocol::JournalEntry;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::kit::{self, Server};
    use crate::reporter::Reporter;

    #[test]
    fn what_is_waited_for_is_named_until_all_of_it_is_there() {
        let ready = Readiness::default();
        assert_eq!(ready.missing(), None);
        ready.wait_for("the bus");
        ready.wait_for("the management cluster");
        ready.clone().done("the bus");
        assert_eq!(ready.missing(), Some("the management cluster"));
        ready.wait_for("the management cluster");
        ready.done("the management cluster");
        assert_eq!(ready.missing(), Some("the management cluster"), "two wait for it");
        ready.done("the management cluster");
        ready.done("what nobody waits for");
        assert_eq!(ready.missing(), None);
    }

    #[tokio::test]
    async fn who_is_stopped_while_the_bus_is_away_ends_in_good_order() {
        let nobody = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
        let mut args = kit::args(&Server::start());
        args.nats.nats_url = format!("nats://{nobody}");
        let tasks = Tasks::default();
        let start = Context::start(Role::Matcher, &args, &tasks);
        let (started, ()) = tokio::join!(start, async { tasks.stop().cancel() });
        assert_eq!(started.unwrap_err().to_string(), "stopped while waiting for the bus");
    }

    #[tokio::test]
    async fn wrong_arguments_are_told_before_anything_is_served() {
        let mut args = kit::args(&Server::start());
        args.nats.nats_user = Some("me".into());
        let tasks = Tasks::default();
        let error = Context::start(Role::Matcher, &args, &tasks).await.unwrap_err().to_string();
        assert!(error.contains("--nats-password-file"), "{error}");
        assert!(tasks.ends().is_empty());
    }

    #[tokio::test]
    async fn a_process_is_ready_when_the_bus_and_what_it_waits_for_are_there() {
        let (server, tasks) = (Server::start(), Tasks::default());
        let context = Context::start(Role::Matcher, &kit::args(&server), &tasks).await.unwrap();
        assert_eq!(context.ready.missing(), None);
        let (there, comes) = tokio::sync::oneshot::channel::<()>();
        context.wait_for("the registered clusters", async { comes.await.unwrap() });
        assert_eq!(context.ready.missing(), Some("the registered clusters"));
        there.send(()).unwrap();
        kit::until(|| context.ready.missing().is_none()).await;
        tasks.stop().cancel();
    }

    #[tokio::test]
    async fn what_a_shard_reports_is_on_the_bus_in_the_journal_and_in_the_metrics() {
        let (server, tasks) = (Server::start(), Tasks::default());
        let context = kit::context(&server, Role::Matcher, &tasks).await;
        let mut problems = sluice_bus::problem_feed(&context.bus, CancellationToken::new()).subscribe();
        let mut journal = sluice_bus::journal(&context.bus).await.unwrap();
        let reporter = Reporter::new(&context, "03");
        use sluice_bus::Observer as _;
        reporter.behind(Some("7 rows were made from newer knowledge"));
        reporter.too_large("desired.00.a", Some("it is too large"));
        reporter.malformed("changes.00.x", "no head");
        let mut open = std::collections::BTreeMap::new();
        while open.len() < 3 {
            let row = kit::told(&mut problems, |row| !row.error.is_empty()).await;
            assert_eq!((row.stage.as_str(), row.cluster.as_str()), ("matcher", ""));
            open.insert(row.object, row.error);
        }
        assert_eq!(open["shard 03"], "7 rows were made from newer knowledge");
        assert_eq!(open["row desired.00.a"], "it is too large");
        assert!(open["message changes.00.x"].ends_with("delete it from its stream"), "{open:?}");
        reporter.behind(None);
        kit::told(&mut problems, |row| row.object == "shard 03" && row.error.is_empty()).await;
        reporter.record(JournalEntry::new("matcher", "matched", "c", "Service n/x (s)", 10, 4));
        loop {
            let line = journal.recv().await.unwrap();
            if line.what == "matched" {
                assert_eq!((line.object.as_str(), line.micros), ("Service n/x (s)", 6));
                break;
            }
        }
        let text = context.metrics.text();
        for line in [
            r#"sluice_problems_total{stage="matcher"} 3"#,
            r#"sluice_rows_total{stage="matcher",outcome="too_large"} 1"#,
            r#"sluice_rows_total{stage="matcher",outcome="malformed"} 1"#,
            r#"sluice_happened_total{stage="matcher",outcome="matched"} 1"#,
        ] {
            assert!(text.contains(line), "{line}: {text}");
        }
        tasks.stop().cancel();
    }
}
