//! Arguments of `sluice-agent`.

use std::path::PathBuf;

use sluice_kube::management_client;
use sluice_protocol::Role;
use sluice_runtime::{
    AccessArgs, CommonArgs, Context, InsideArgs, LogArgs, LogFormat, OnboardArgs, access_feed_of, own_access,
    stop_on_signals,
};

/// Streams the changes of managed clusters onto the bus.
#[derive(Debug, clap::Parser)]
#[command(name = "sluice-agent", version)]
pub struct Args {
    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    logs: LogArgs,

    #[command(flatten)]
    access: AccessArgs,

    #[command(flatten)]
    onboarding: OnboardArgs,

    /// Kubeconfig of the management cluster, where registrations and kubeconfigs are.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    #[command(flatten)]
    inside: InsideArgs,
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
        let only = self.inside.only()?;
        let tasks = stop_on_signals();
        let context = Context::start(Role::Agent(only.clone()), &self.common, &tasks).await?;
        let feed = match (self.inside.kubeconfig()?, &only) {
            (Some(text), Some(cluster)) => own_access(cluster, &text),
            _ => {
                let client = management_client(self.kubeconfig.as_deref()).await?;
                access_feed_of(&context, &client, self.access.accepted(self.onboarding), only.as_ref())
            }
        };
        crate::run(context, feed, only).await
    }
}
