//! Arguments of `sluice-renderer`.

use std::path::PathBuf;

use anyhow::Context as _;
use sluice_kube::management_client;
use sluice_kube::outside::OwnHosts;
use sluice_protocol::Role;
use sluice_renderer_core::WithdrawGuard;
use sluice_runtime::{CommonArgs, Context, ForgetArgs, LogArgs, LogFormat, OnboardArgs, stop_on_signals};

use crate::charts::CHART_HOSTS;
use crate::{ChartSettings, Settings};

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

    #[command(flatten)]
    onboarding: OnboardArgs,

    /// Kubeconfig of the management cluster.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,

    /// Folder in which charts are kept, at most 2 GiB; without it they are fetched again after a restart.
    #[arg(long, value_name = "DIR")]
    chart_cache: Option<PathBuf>,

    /// Who is asked for charts in place of a repository: `<address of the repository>=<address of the mirror>`, separated by commas. For
    /// a network that reaches no other, and for a copy that stays.
    #[arg(long, env = "SLUICE_CHART_MIRRORS", value_name = "FROM=TO,...", value_delimiter = ',', value_parser = mirror)]
    chart_mirrors: Vec<(String, String)>,

    /// Hosts of the own network from which charts are fetched for tenants too: names or addresses, with or without a port.
    #[arg(long, value_name = "HOST,...", value_delimiter = ',')]
    chart_hosts: Vec<String>,

    /// Render also while the management cluster is older than what renderers have worked with. Without it they wait then: what was made
    /// since the backup would be withdrawn.
    #[arg(long)]
    no_restore_guard: bool,

    /// Deploy what a profile depends on (spec.dependsOn) to every cluster that the profile is for. Without it, it goes only where it
    /// selects clusters itself.
    #[arg(long, value_name = "true|false", default_value_t = true, action = clap::ArgAction::Set)]
    auto_deploy_dependencies: bool,

    /// A changed or deleted trigger, profile, selector, label or EventSource that withdraws more than this part of all add-ons within a
    /// minute, and more than 20, waits until somebody says so: `off`, or a percentage. What events take away is not held up.
    #[arg(long, env = "SLUICE_WITHDRAW_GUARD", default_value = "25%", value_name = "PERCENT")]
    withdraw_guard: String,
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
        let withdraw_guard = WithdrawGuard::read(&self.withdraw_guard).context("--withdraw-guard")?;
        let client = management_client(self.kubeconfig.as_deref()).await?;
        let context = Context::start(Role::Renderer, &self.common, &stop_on_signals()).await?;
        let hosts = OwnHosts::named(CHART_HOSTS, self.chart_hosts);
        let mirrors = self.chart_mirrors.into_iter().collect();
        let charts = ChartSettings { cache: self.chart_cache, mirrors, hosts, ..ChartSettings::default() };
        let settings = Settings {
            charts,
            guards_history: !self.no_restore_guard,
            auto_deploys: self.auto_deploy_dependencies,
            withdraw_guard,
            onboarding: self.onboarding.capi_onboard_annotation,
        };
        crate::run(context.forgets(self.forget), client, settings).await
    }
}

/// Two addresses.
fn mirror(text: &str) -> Result<(String, String), String> {
    let is_address =
        |text: &str| ["https://", "http://", "oci://"].iter().any(|scheme| text.starts_with(scheme));
    let parts = text.split_once('=').filter(|(from, to)| is_address(from) && is_address(to));
    let (from, to) =
        parts.ok_or("write two addresses, https://charts.example.com=https://mirror.example.com/charts")?;
    Ok((from.to_owned(), to.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mirror_is_two_addresses() {
        let (from, to) = ("https://charts.example.com".to_owned(), "http://10.0.0.1:8080/c".to_owned());
        assert_eq!(mirror("https://charts.example.com=http://10.0.0.1:8080/c"), Ok((from, to)));
        for text in ["", "https://a", "https://a=", "a=b", "=https://b"] {
            assert!(mirror(text).is_err(), "{text}");
        }
    }
}
