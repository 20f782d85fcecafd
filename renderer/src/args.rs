//! Arguments of `sluice-renderer`.

use std::path::PathBuf;

use sluice_kube::management_client;
use sluice_protocol::Role;
use sluice_runtime::{CommonArgs, Context, ForgetArgs, LogArgs, LogFormat, stop_on_signals};

use crate::{ChartHosts, ChartSettings};

/// Decides what goes where, with what content.
#[derive(Debug, clap::Parser)]
#[command(name = "sluice-renderer", version)]
pub struct Args {
    #[command(flatten)]
    common: CommonArgs,

    #[command(flatten)]
    logs: LogArgs,

    #[command(flatten)]
    forget: ForgetArgs,

    /// Kubeconfig of the management cluster.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// Folder in which charts are kept, at most 2 GiB; without it they are fetched again after a restart.
    #[arg(long, value_name = "DIR")]
    chart_cache: Option<PathBuf>,

    /// Hosts of the own network from which charts are fetched for tenants too: names or addresses, with or without a port.
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    chart_hosts: Vec<String>,
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
        let context = Context::start(Role::Renderer, &self.common, &stop_on_signals()).await?;
        let client = management_client(self.kubeconfig.as_deref()).await?;
        let hosts = ChartHosts::These(self.chart_hosts.into_iter().collect());
        let charts = ChartSettings { cache: self.chart_cache, hosts, ..ChartSettings::default() };
        crate::run(context.forgets(self.forget), client, charts).await
    }
}
