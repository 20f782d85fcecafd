//! All stages in this process, one or more replicas of each.

use std::net::SocketAddr;
use std::time::Duration;

use kube::Client;
use sluice_bus::{Bus, journal};
use sluice_protocol::{Happened, Role};
use sluice_runtime::{CommonArgs, Context, Metrics, NatsArgs, Readiness, access_feed, serve};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

use super::Args;

/// How long the stages get to leave properly.
const GRACE: Duration = Duration::from_secs(5);

/// The running stages.
pub(super) struct Pipeline {
    bus: Bus,
    admin: SocketAddr,
    ready: Readiness,
    tasks: JoinSet<(&'static str, anyhow::Result<()>)>,
}

impl Pipeline {
    /// Starts what `--stages` names.
    pub(super) async fn start(
        args: &Args,
        nats: String,
        management: &Client,
        stop: &CancellationToken,
    ) -> anyhow::Result<Self> {
        let (metrics, ready) = (Metrics::new(), Readiness::default());
        let admin = serve("127.0.0.1:0".parse()?, metrics.clone(), ready.clone(), stop.clone()).await?;
        let mut tasks = JoinSet::new();
        let feed = access_feed(management, stop);
        let context = |role: Role, replica: usize| {
            let common = CommonArgs {
                nats: NatsArgs::plain(nats.clone()),
                http_addr: admin,
                name: Some(format!("up-{replica}")),
                tombstone_ttl: args.tombstone_ttl,
                shards: args.shards,
                stream_replicas: args.nodes,
            };
            let (metrics, ready, stop) = (metrics.clone(), ready.clone(), stop.clone());
            async move { Context::connect(role, &common, metrics, ready, stop).await }
        };
        let bus = context(Role::Operator, 0).await?.bus;
        for replica in 1..=args.replicas.max(1) {
            for stage in args.stages.split(',').map(str::trim) {
                match stage {
                    "agent" => {
                        let (context, feed) = (context(Role::Agent(None), replica).await?, feed.clone());
                        tasks.spawn(async move { ("agent", sluice_agent::run(context, feed, None).await) });
                    }
                    "matcher" => {
                        let context = context(Role::Matcher, replica).await?;
                        tasks.spawn(async move { ("matcher", sluice_matcher::run(context).await) });
                    }
                    "renderer" => {
                        let (context, client) = (context(Role::Renderer, replica).await?, management.clone());
                        tasks.spawn(async move { ("renderer", sluice_renderer::run(context, client).await) });
                    }
                    "deployer" => {
                        let (context, client, feed) =
                            (context(Role::Deployer, replica).await?, management.clone(), feed.clone());
                        tasks.spawn(async move {
                            ("deployer", sluice_deployer::run(context, client, feed).await)
                        });
                    }
                    "none" | "" => {}
                    other => anyhow::bail!(
                        "--stages: {other:?} is none of agent, matcher, renderer, deployer, none"
                    ),
                }
            }
        }
        Ok(Self { bus, admin, ready, tasks })
    }

    /// Where metrics and health are served.
    pub(super) fn admin(&self) -> SocketAddr {
        self.admin
    }

    /// What happens from now on.
    pub(super) async fn journal(&self) -> anyhow::Result<mpsc::Receiver<Happened>> {
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
    pub(super) async fn stopped(mut self) {
        let ended = tokio::time::timeout(GRACE, async {
            while let Some(ended) = self.tasks.join_next().await {
                if let Ok((stage, Err(error))) = ended {
                    tracing::error!(stage, error = format!("{error:#}"), "a stage failed");
                }
            }
        });
        if ended.await.is_err() {
            tracing::warn!("a stage did not stop in time");
        }
    }
}
