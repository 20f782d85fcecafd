//! `sluice show addons`: what is deployed where, of ClusterConfigurations.

use anyhow::Context as _;
use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde::Serialize;
use sluice_api::Gvk;
use sluice_api::model::CONFIG_GROUP;
use sluice_api::wire::{ClusterConfiguration, Feature};
use sluice_kube::list;

use crate::reach::Management;
use crate::table::{Format, Output, Table};

#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  sluice show addons --cluster workload
  sluice show addons --profile ClusterProfile/sveltos-lbh9me2lr77gokea2u5u -o json")]
pub(super) struct Addons {
    #[command(flatten)]
    management: Management,
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

/// Something that is deployed in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
struct Addon {
    cluster: String,
    resource_type: String,
    namespace: String,
    name: String,
    version: String,
    /// As it is written: RFC 3339.
    time: String,
    deployment_type: String,
    profiles: Vec<String>,
}

// === impl Addons ===

impl Addons {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        if let Some(profile) = self.profile.as_deref().filter(|profile| !profile.contains('/')) {
            anyhow::bail!("--profile {profile}: write Kind/name, such as ClusterProfile/{profile}");
        }
        let found = addons(&self.configurations().await?, |addon| self.wants(addon));
        if self.output.output == Format::Json {
            for addon in found {
                println!("{}", serde_json::to_string(&addon)?);
            }
            return Ok(());
        }
        print!("{}", table(found, self.output, &TimeZone::system()));
        Ok(())
    }

    async fn configurations(&self) -> anyhow::Result<Vec<ClusterConfiguration>> {
        let client = self.management.client().await?;
        let gvk = Gvk::new(CONFIG_GROUP, "v1beta1", "ClusterConfiguration");
        let listed =
            list(&client, &gvk, self.namespace.as_deref()).await.context("listing ClusterConfigurations")?;
        let listed = listed.context(
            "the management cluster has no ClusterConfigurations: `sluice seed` installs their definition",
        )?;
        let read = listed.into_iter().map(serde_json::from_value).collect::<Result<_, _>>();
        read.context("a ClusterConfiguration has another form than expected")
    }

    fn wants(&self, addon: &Addon) -> bool {
        let is_chart = addon.resource_type == CHART;
        let (namespace, name) = addon.cluster.split_once('/').unwrap_or_default();
        self.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
            && self.cluster.as_deref().is_none_or(|wanted| wanted == name)
            && self
                .profile
                .as_deref()
                .is_none_or(|wanted| addon.profiles.iter().any(|profile| profile == wanted))
            && (!self.helm_charts || is_chart)
            && (!self.resources || !is_chart)
    }
}

// === impl Addon ===

impl Addon {
    /// What tells it from all others.
    fn place(&self) -> [&str; 4] {
        [&self.cluster, &self.resource_type, &self.namespace, &self.name]
    }
}

/// What a Helm chart is called where objects have their kind.
const CHART: &str = "helm chart";

/// All that is deployed and wanted, in order; what several profiles deploy once.
fn addons(configurations: &[ClusterConfiguration], wanted: impl Fn(&Addon) -> bool) -> Vec<Addon> {
    let mut found = Vec::new();
    for configuration in configurations {
        let cluster = cluster_of(configuration);
        let Some(status) = &configuration.status else { continue };
        for by in &status.cluster_profile_resources {
            add(&mut found, &cluster, &format!("ClusterProfile/{}", by.cluster_profile_name), &by.features);
        }
        for by in &status.profile_resources {
            add(&mut found, &cluster, &format!("Profile/{}", by.profile_name), &by.features);
        }
    }
    found.sort();
    let mut merged: Vec<Addon> = Vec::new();
    for addon in found {
        match merged.last_mut() {
            Some(last) if last.place() == addon.place() => {
                last.time = last.time.clone().max(addon.time);
                last.profiles.extend(addon.profiles);
            }
            _ => merged.push(addon),
        }
    }
    merged.retain(wanted);
    merged
}

fn add(found: &mut Vec<Addon>, cluster: &str, profile: &str, features: &[Feature]) {
    for feature in features {
        let profiles = || vec![profile.to_owned()];
        found.extend(feature.resources.iter().map(|resource| Addon {
            cluster: cluster.to_owned(),
            resource_type: format!("{}:{}", resource.group, resource.kind),
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
            version: "N/A".to_owned(),
            time: resource.last_applied_time.clone(),
            deployment_type: if resource.deployment_type.is_empty() {
                "Remote".to_owned()
            } else {
                resource.deployment_type.clone()
            },
            profiles: profiles(),
        }));
        found.extend(feature.charts.iter().map(|chart| Addon {
            cluster: cluster.to_owned(),
            resource_type: CHART.to_owned(),
            namespace: chart.namespace.clone(),
            name: chart.release_name.clone(),
            version: chart.chart_version.clone(),
            time: chart.last_applied_time.clone(),
            deployment_type: "Remote".to_owned(),
            profiles: profiles(),
        }));
    }
}

/// The cluster of a ClusterConfiguration, whose name is the kind of registration, two dashes and the cluster's name.
fn cluster_of(configuration: &ClusterConfiguration) -> String {
    let name = &configuration.metadata.name;
    let cluster = name.split_once("--").map_or(name.as_str(), |(_, cluster)| cluster);
    format!("{}/{cluster}", configuration.metadata.namespace)
}

/// Wide, also the type of the deployment.
fn table(addons: Vec<Addon>, output: Output, zone: &TimeZone) -> Table {
    let wide = output.output == Format::Wide;
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
    use serde_json::{Value, json};

    use super::*;

    fn configuration() -> ClusterConfiguration {
        let secret = |namespace: &str| {
            json!({"group": "", "version": "v1", "kind": "Secret", "namespace": namespace,
            "name": "login-credentials", "lastAppliedTime": "2025-02-28T13:23:08Z"})
        };
        let by = |name: &str, resources: Value| json!({"clusterProfileName": name, "Features": [{"featureID": "Resources", "resources": resources}]});
        let chart = json!({"repoURL": "https://charts.example", "releaseName": "kyverno", "namespace": "kyverno",
            "chartVersion": "v3.1.4", "lastAppliedTime": "2025-02-28T13:24:00Z"});
        serde_json::from_value(json!({
            "apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterConfiguration",
            "metadata": {"namespace": "default", "name": "sveltos--workload"},
            "status": {"clusterProfileResources": [by("b", json!([secret("hr"), secret("eng")])), by("a", json!([secret("eng")]))],
                "profileResources": [{"profileName": "p", "Features": [{"featureID": "Helm", "charts": [chart]}]}]}
        }))
        .unwrap()
    }

    /// The cells of a line.
    fn cells(text: &str, line: usize) -> Vec<&str> {
        text.lines().nth(line).unwrap().trim_matches('|').split('|').map(str::trim).collect()
    }

    #[test]
    fn the_table_is_that_of_sveltosctl() {
        let zone = offset(1).to_time_zone();
        let found = addons(&[configuration()], |addon| addon.resource_type != CHART);
        let text = table(found, Output { output: Format::Table, no_headers: false }, &zone).to_string();
        let header = ["CLUSTER", "RESOURCE TYPE", "NAMESPACE", "NAME", "VERSION", "TIME", "PROFILES"];
        assert_eq!(cells(&text, 1), header);
        let (time, profiles) = ("2025-02-28 14:23:08 +0100 +01", "ClusterProfile/a, ClusterProfile/b");
        let row = ["default/workload", ":Secret", "eng", "login-credentials", "N/A", time, profiles];
        assert_eq!(cells(&text, 3), row);
        assert_eq!(text.lines().count(), 6, "{text}");
    }

    #[test]
    fn charts_have_their_version_and_wide_tables_the_deployment() {
        let found = addons(&[configuration()], |addon| addon.resource_type == CHART);
        let text =
            table(found, Output { output: Format::Wide, no_headers: true }, &TimeZone::UTC).to_string();
        let row = [
            "default/workload",
            "helm chart",
            "kyverno",
            "kyverno",
            "v3.1.4",
            "2025-02-28 13:24:00 +0000 UTC",
            "Remote",
            "Profile/p",
        ];
        assert_eq!((cells(&text, 1), text.lines().count()), (row.to_vec(), 3), "{text}");
    }

    #[test]
    fn filters_choose() {
        let args = |arguments: &[&str]| {
            #[derive(clap::Parser)]
            struct Whole {
                #[command(flatten)]
                addons: Addons,
            }
            <Whole as clap::Parser>::parse_from(["show"].iter().chain(arguments)).addons
        };
        let count = |arguments: &[&str]| {
            let args = args(arguments);
            addons(&[configuration()], |addon| args.wants(addon)).len()
        };
        assert_eq!(count(&[]), 3);
        assert_eq!((count(&["--helm-charts"]), count(&["--resources"])), (1, 2));
        assert_eq!((count(&["--cluster", "workload"]), count(&["--cluster", "other"])), (3, 0));
        assert_eq!((count(&["--namespace", "default"]), count(&["--namespace", "other"])), (3, 0));
        assert_eq!((count(&["--profile", "ClusterProfile/a"]), count(&["--profile", "Profile/p"])), (1, 1));
    }
}
