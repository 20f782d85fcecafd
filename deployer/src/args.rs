//! Arguments of `sluice-deployer`.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::Context as _;
use sluice_api::ClusterRef;
use sluice_deployer_core::PruneGuard;
use sluice_kube::management_client;
use sluice_kube::outside::OwnHosts;
use sluice_protocol::Role;
use sluice_runtime::{
    AccessArgs, CommonArgs, Context, ForgetArgs, InsideArgs, LogArgs, LogFormat, OnboardArgs, access_feed_of,
    own_access, stop_on_signals,
};

use crate::Settings;

/// Makes clusters look like their list of profiles.
#[derive(Debug, clap::Parser)]
#[command(name = "sluice-deployer", version)]
pub struct Args {
    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    logs: LogArgs,

    #[command(flatten)]
    access: AccessArgs,

    #[command(flatten)]
    onboarding: OnboardArgs,

    #[command(flatten)]
    forget: ForgetArgs,

    /// A change of a profile that deletes more objects than the number, and the percentage of what it has in a cluster, waits until
    /// somebody says so: `off`, or a number of objects and a percentage.
    #[arg(long, env = "SLUICE_PRUNE_GUARD", default_value = "20,50", value_name = "OBJECTS,PERCENT")]
    prune_guard: String,

    /// Hosts of the own network where checks of tenants may ask for numbers too: names or addresses, with or without a port.
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    metric_hosts: Vec<String>,

    #[command(flatten)]
    inside: InsideArgs,

    /// The agent of the cluster is in this process as well: what both need is there once. Needs --cluster.
    #[arg(long, requires = "cluster")]
    with_agent: bool,

    /// Kubeconfig of the management cluster, where registrations and kubeconfigs are.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
}

impl Args {
    /// How logs are to be written.
    pub fn log_format(&self) -> LogFormat {
        self.logs.log_format
    }

    /// Runs until a signal.
    ///
    /// # Errors
    /// When arguments or the bus cannot be used.
    pub async fn run(self) -> anyhow::Result<()> {
        let settings = Settings {
            prune_guard: PruneGuard::read(&self.prune_guard).context("--prune-guard")?,
            metric_hosts: Arc::new(OwnHosts::named("--metric-hosts", self.metric_hosts)),
        };
        let tasks = stop_on_signals();
        if let Some(cluster) = self.inside.only()? {
            let kubeconfig = self.inside.kubeconfig()?.context(
                "--cluster: a deployer of one cluster is in it; add --in-cluster, or --cluster-kubeconfig",
            )?;
            let context = Context::start(Role::Deployer(Some(cluster.clone())), &self.common, &tasks).await?;
            let agent = match self.with_agent {
                true => Some(context.beside(Role::Agent(Some(cluster.clone())), &self.common).await?),
                false => None,
            };
            let watches = watches(agent, &cluster, &kubeconfig);
            let deploys =
                crate::run_inside(context.forgets(self.forget), cluster.clone(), &kubeconfig, settings);
            return tokio::try_join!(watches, deploys).map(|_| ());
        }
        let client = management_client(self.kubeconfig.as_deref()).await?;
        let context = Context::start(Role::Deployer(None), &self.common, &tasks).await?;
        let feed = access_feed_of(&context, &client, self.access.accepted(self.onboarding), None);
        crate::run(context.forgets(self.forget), client, feed, settings).await
    }
}

/// Runs the agent of this cluster, where this process has it.
async fn watches(agent: Option<Context>, cluster: &ClusterRef, kubeconfig: &str) -> anyhow::Result<()> {
    let Some(context) = agent else { return Ok(()) };
    sluice_agent::run(context, own_access(cluster, kubeconfig), Some(cluster.clone())).await
}
