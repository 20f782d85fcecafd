//! All stages in this process, one or more replicas of each.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use kube::Client;
use sluice_bus::{Bus, journal};
use sluice_deployer::PruneGuard;
use sluice_kube::outside::OwnHosts;
use sluice_protocol::{JournalEntry, Role};
use sluice_renderer::Settings;
use sluice_runtime::{Accepted, CommonArgs, Context, Metrics, NatsArgs, Readiness, access_feed, serve};
use sluice_tasks::{End, Once, Tasks};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::Args;
use crate::reach;

/// How long the stages get to leave properly.
const GRACE: Duration = Duration::from_secs(5);

/// The running stages.
pub(super) struct Pipeline {
    bus: Bus,
    admin: SocketAddr,
    ready: Readiness,
    stages: Vec<JoinHandle<()>>,
}

impl Pipeline {
    /// Starts what `--stages` names.
    pub(super) async fn start(
        args: &Args,
        nats: String,
        management: &Client,
        settings: Settings,
        tasks: &Tasks,
    ) -> anyhow::Result<Self> {
        let (metrics, ready) = (Metrics::new(), Readiness::default());
        let admin = serve("127.0.0.1:0".parse()?, metrics.clone(), ready.clone(), tasks).await?;
        let mut stages = Vec::new();
        let feed = access_feed(management, tasks, Accepted::from(settings.onboarding.clone()));
        let context = |role: Role, replica: usize| {
            let common = CommonArgs {
                nats: NatsArgs::plain(nats.clone()),
                http_addr: admin,
                name: Some(format!("up-{replica}")),
                tombstone_ttl: args.tombstone_ttl,
                shards: args.shards,
                stream_replicas: args.nodes,
                bus_keys: Some(args.dir.join(reach::KEYS).display().to_string()),
            };
            let (metrics, ready) = (metrics.clone(), ready.clone());
            let forget = args.forget;
            async move {
                Context::connect(role, &common, metrics, ready, tasks).await.map(|it| it.forgets(forget))
            }
        };
        // What people are shown of Secrets is sealed for it.
        let bus = context(Role::Inspect, 0).await?.bus;
        for replica in 1..=args.replicas.max(1) {
            for stage in args.stages.split(',').map(str::trim) {
                match stage {
                    "agent" => {
                        let (context, feed) = (context(Role::Agent(None), replica).await?, feed.clone());
                        stages.push(run_stage(tasks, "agent", sluice_agent::run(context, feed, None)));
                    }
                    "matcher" => {
                        let context = context(Role::Matcher, replica).await?;
                        stages.push(run_stage(tasks, "matcher", sluice_matcher::run(context)));
                    }
                    "renderer" => {
                        let (context, client) = (context(Role::Renderer, replica).await?, management.clone());
                        let work = sluice_renderer::run(context, client, settings.clone());
                        stages.push(run_stage(tasks, "renderer", work));
                    }
                    "deployer" => {
                        let (context, client, feed) =
                            (context(Role::Deployer(None), replica).await?, management.clone(), feed.clone());
                        let work = sluice_deployer::run(context, client, feed, deployer());
                        stages.push(run_stage(tasks, "deployer", work));
                    }
                    "none" | "" => {}
                    other => anyhow::bail!(
                        "--stages: {other:?} is none of agent, matcher, renderer, deployer, none"
                    ),
                }
            }
        }
        Ok(Self { bus, admin, ready, stages })
    }

    /// Where metrics and health are served.
    pub(super) fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// Its bus, as those see it who answer.
    pub(super) fn bus(&self) -> Bus {
        self.bus.clone()
    }

    /// What happens from now on.
    pub(super) async fn journal(&self) -> anyhow::Result<mpsc::Receiver<JournalEntry>> {
        Ok(journal(&self.bus).await?)
    }

    /// Waits until every stage serves.
    pub(super) async fn ready(&self, stop: &CancellationToken) {
        tokio::time::sleep(Duration::from_millis(500)).await;
        while self.ready.missing().is_some() && !stop.is_cancelled() {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Waits until every stage has ended; those that take too long are dropped.
    pub(super) async fn stopped(self) {
        let ended = tokio::time::timeout(GRACE, async {
            for stage in self.stages {
                // A stage that panics has been told of, and has stopped the others.
                stage.await.ok();
            }
        });
        if ended.await.is_err() {
            tracing::warn!("a stage did not stop in time");
        }
    }
}

/// One of the stages. When one ends by itself the others end with it.
fn run_stage(
    tasks: &Tasks,
    name: &'static str,
    work: impl Future<Output = anyhow::Result<()>> + Send + 'static,
) -> JoinHandle<()> {
    tasks.spawn(Once::Stage, async move {
        if let Err(error) = work.await {
            tracing::error!(stage = name, error = format!("{error:#}"), "a stage failed");
        }
        End::Early
    })
}

/// How deployers work here. Whoever runs this is the only tenant there is.
fn deployer() -> sluice_deployer::Settings {
    sluice_deployer::Settings { prune_guard: Some(PruneGuard::USUAL), metric_hosts: Arc::new(OwnHosts::All) }
}
