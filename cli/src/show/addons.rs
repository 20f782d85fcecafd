//! `sluice show addons`: what is deployed where.

use std::time::Duration;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use sluice_inspect::{Addon, AddonFilter};
use sluice_protocol::Role;
use sluice_tasks::Tasks;

use crate::answers::{Here, Served};
use crate::reach::{Management, Reach};
use crate::table::{Output, Table};

/// How long the bus may take to be reached: without it the answer is only some seconds older.
const PATIENCE: Duration = Duration::from_secs(1);

#[derive(Debug, clap::Args)]
#[command(
    after_help = "With a bus at hand it says what is deployed now; without one, what ClusterConfigurations say, which are written some
seconds later, and a line says so. Where people have no right to the bus's tables, use the operator's account.

Examples:
  sluice show addons --cluster workload
  sluice show addons --profile ClusterProfile/sveltos-lbh9me2lr77gokea2u5u -o json"
)]
pub(super) struct Addons {
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    management: Management,
    #[command(flatten)]
    reach: Reach,
    /// Only clusters of this namespace.
    #[arg(long)]
    namespace: Option<String>,
    /// Only clusters of this name.
    #[arg(long)]
    cluster: Option<String>,
    /// Only what this profile deploys: Kind/name.
    #[arg(long)]
    profile: Option<String>,
    /// Only Helm charts.
    #[arg(long, conflicts_with = "resources")]
    helm_charts: bool,
    /// Only objects.
    #[arg(long)]
    resources: bool,
    #[command(flatten)]
    output: Output,
}

// === impl Addons ===

impl Addons {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        if let Some(profile) = self.profile.as_deref().filter(|profile| !profile.contains('/')) {
            anyhow::bail!("--profile {profile}: write Kind/name, such as ClusterProfile/{profile}");
        }
        let here = Here { bus: Some((&self.reach, Role::Operator)), management: Some(&self.management) };
        let tasks = Tasks::default();
        let answers = self.served.answers_within(PATIENCE, here, &tasks).await?;
        let found = answers.addons(&self.filter()).await?;
        Ok(self.output.print(found, |found| table(found, self.output, &TimeZone::system()))?)
    }

    fn filter(&self) -> AddonFilter {
        AddonFilter {
            namespace: self.namespace.clone(),
            cluster: self.cluster.clone(),
            profile: self.profile.clone(),
            charts: (self.helm_charts || self.resources).then_some(self.helm_charts),
        }
    }
}

/// Wide, also the type of the deployment.
fn table(addons: Vec<Addon>, output: Output, zone: &TimeZone) -> Table {
    let wide = output.is_wide();
    let narrow = ["CLUSTER", "RESOURCE TYPE", "NAMESPACE", "NAME", "VERSION", "TIME", "PROFILES"];
    let mut header = narrow.to_vec();
    if wide {
        header.insert(6, "DEPLOYMENT TYPE");
    }
    let mut table = Table::new(&header, output.no_headers);
    for addon in addons {
        let time = local(&addon.time, zone);
        let Addon { cluster, resource_type, namespace, name, version, deployment_type, profiles, .. } = addon;
        let deployment = wide.then_some(deployment_type);
        let cells = [cluster, resource_type, namespace, name, version, time];
        table.add(cells.into_iter().chain(deployment).chain([profiles.join(", ")]));
    }
    table
}

/// A time in a zone, as Go writes it; what is no time as it is.
fn local(time: &str, zone: &TimeZone) -> String {
    match time.parse::<Timestamp>() {
        Ok(time) => time.to_zoned(zone.clone()).strftime("%Y-%m-%d %H:%M:%S %z %Z").to_string(),
        Err(_) => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use jiff::tz::offset;

    use super::*;
    use crate::table::Format;

    fn secret() -> Addon {
        Addon {
            cluster: "default/workload".into(),
            resource_type: ":Secret".into(),
            namespace: "eng".into(),
            name: "login-credentials".into(),
            version: "N/A".into(),
            time: "2025-02-28T13:23:08Z".into(),
            deployment_type: "Remote".into(),
            profiles: vec!["ClusterProfile/a".into(), "ClusterProfile/b".into()],
        }
    }

    /// The cells of a line.
    fn cells(text: &str, line: usize) -> Vec<&str> {
        text.lines().nth(line).unwrap().trim_matches('|').split('|').map(str::trim).collect()
    }

    #[test]
    fn the_table_is_that_of_sveltosctl() {
        let zone = offset(1).to_time_zone();
        let output = Output { output: Format::Table, no_headers: false };
        let text = table(vec![secret(), secret()], output, &zone).to_string();
        let header = ["CLUSTER", "RESOURCE TYPE", "NAMESPACE", "NAME", "VERSION", "TIME", "PROFILES"];
        assert_eq!(cells(&text, 1), header);
        let (time, profiles) = ("2025-02-28 14:23:08 +0100 +01", "ClusterProfile/a, ClusterProfile/b");
        let row = ["default/workload", ":Secret", "eng", "login-credentials", "N/A", time, profiles];
        assert_eq!(cells(&text, 3), row);
        assert_eq!(text.lines().count(), 6, "{text}");
    }

    #[test]
    fn wide_tables_have_the_deployment() {
        let output = Output { output: Format::Wide, no_headers: true };
        let text = table(vec![secret()], output, &TimeZone::UTC).to_string();
        assert_eq!(cells(&text, 1)[5..7], ["2025-02-28 13:23:08 +0000 UTC", "Remote"], "{text}");
    }

    #[test]
    fn arguments_are_a_filter() {
        #[derive(clap::Parser)]
        struct Whole {
            #[command(flatten)]
            addons: Addons,
        }
        let charts = |arguments: &[&str]| {
            <Whole as clap::Parser>::parse_from(["show"].iter().chain(arguments)).addons.filter().charts
        };
        assert_eq!(charts(&[]), None);
        assert_eq!((charts(&["--helm-charts"]), charts(&["--resources"])), (Some(true), Some(false)));
    }
}
