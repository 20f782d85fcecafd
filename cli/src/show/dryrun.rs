//! `sluice show dryrun`: what profiles with `syncMode: DryRun` would change, by their ClusterReports.

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;
use sluice_api::model::CONFIG_GROUP;
use sluice_api::{Gvk, object};

use crate::print::say;
use crate::reach::Management;
use crate::table::{Format, Output, Table};

#[derive(Debug, clap::Args)]
#[command(after_help = "A message longer than a line is shown with --raw-diff, and in the answer as data.

Examples:
  sluice show dryrun --cluster workload
  sluice show dryrun --profile ClusterProfile/admission-policies --raw-diff")]
pub(super) struct Args {
    #[command(flatten)]
    management: Management,
    /// Only clusters of this namespace.
    #[arg(long)]
    namespace: Option<String>,
    /// Only clusters of this name.
    #[arg(long)]
    cluster: Option<String>,
    /// Only what this profile would change: Kind/name.
    #[arg(long)]
    profile: Option<String>,
    /// Print differences, one after the other, in place of a table.
    #[arg(long)]
    raw_diff: bool,
    #[command(flatten)]
    output: Output,
}

/// What would become of one object or release.
#[derive(Debug, PartialEq, Eq, Serialize)]
struct Line {
    cluster: String,
    resource_type: String,
    namespace: String,
    name: String,
    action: String,
    message: String,
    profile: String,
}

impl Args {
    pub(super) async fn run(self) -> anyhow::Result<()> {
        let client = self.management.client().await?;
        let gvk = Gvk::new(CONFIG_GROUP, "v1beta1", "ClusterReport");
        let reports = sluice_kube::list(&client, &gvk, self.namespace.as_deref()).await;
        let reports = reports.context("reading ClusterReports")?.unwrap_or_default();
        let mut lines: Vec<_> = reports.iter().flat_map(lines).filter(|line| self.wants(line)).collect();
        lines.sort_by(|a, b| key(a).cmp(&key(b)));
        let is_data = matches!(self.output.output, Format::Json | Format::Yaml);
        if lines.is_empty() && !is_data {
            say!("no profile with syncMode: DryRun has a report");
            return Ok(());
        }
        if self.raw_diff && !is_data {
            lines.iter().filter(|line| !line.message.is_empty()).for_each(|line| {
                let Line { cluster, action, resource_type, namespace, name, message, profile } = line;
                say!(
                    "{cluster}: {action} {resource_type} {namespace}/{name}, because of {profile}\n{message}"
                );
            });
            return Ok(());
        }
        Ok(self.output.print(lines, |lines| table(&lines, self.output))?)
    }

    fn wants(&self, line: &Line) -> bool {
        let name = line.cluster.split_once('/').map(|(_, name)| name);
        self.cluster.as_deref().is_none_or(|cluster| Some(cluster) == name)
            && self.profile.as_deref().is_none_or(|profile| profile == line.profile)
    }
}

fn key(line: &Line) -> (&str, &str, &str, &str, &str) {
    (&line.cluster, &line.profile, &line.resource_type, &line.namespace, &line.name)
}

/// What one ClusterReport says.
fn lines(report: &Value) -> Vec<Line> {
    let text = |value: &Value, path: &[&str]| object::text(value, path).to_owned();
    let cluster =
        format!("{}/{}", text(report, &["spec", "clusterNamespace"]), text(report, &["spec", "clusterName"]));
    let profile = profile(report);
    let list = |field: &str| object::at(report, &["status", field]).and_then(Value::as_array).cloned();
    let releases = list("releaseReports").into_iter().flatten().map(|line| {
        let (namespace, name) = (text(&line, &["releaseNamespace"]), text(&line, &["chartName"]));
        ("helm release".to_owned(), namespace, name, line)
    });
    let fields = ["resourceReports", "helmResourceReports", "kustomizeResourceReports"];
    let objects = fields.into_iter().filter_map(list).flatten().map(|line| {
        let part = |field: &str| text(&line, &["resource", field]);
        (format!("{}:{}", part("group"), part("kind")), part("namespace"), part("name"), line)
    });
    let line = |(resource_type, namespace, name, line): (String, String, String, Value)| Line {
        cluster: cluster.clone(),
        resource_type,
        namespace,
        name,
        action: text(&line, &["action"]),
        message: text(&line, &["message"]),
        profile: profile.clone(),
    };
    releases.chain(objects).map(line).collect()
}

/// The profile of a report: by its labels, and where a name is too long for one by the report's name.
fn profile(report: &Value) -> String {
    let label = |name: &str| object::label(report, &format!("projectsveltos.io/{name}"));
    let by_name = || object::name(report).split("--").find(|part| *part != "p").unwrap_or_default();
    let namespace = object::namespace(report);
    match (label("cluster-profile-name"), label("profile-name")) {
        (Some(name), _) => format!("ClusterProfile/{name}"),
        (None, Some(name)) => format!("Profile/{namespace}/{name}"),
        (None, None) if object::name(report).starts_with("p--") => {
            format!("Profile/{namespace}/{}", by_name())
        }
        (None, None) => format!("ClusterProfile/{}", by_name()),
    }
}

fn table(lines: &[Line], output: Output) -> Table {
    let header = ["CLUSTER", "RESOURCE TYPE", "NAMESPACE", "NAME", "ACTION", "MESSAGE", "PROFILE"];
    let mut table = Table::new(&header, output.no_headers);
    for line in lines {
        let message = match line.message.split_once('\n') {
            None => line.message.clone(),
            Some(_) => "use --raw-diff to see the difference".to_owned(),
        };
        let Line { cluster, resource_type, namespace, name, action, profile, .. } = line;
        let cells = [cluster, resource_type, namespace, name, action, &message, profile];
        table.add(cells.map(String::clone));
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_list_of_a_report_is_read() {
        let resource = |kind: &str, name: &str| json!({"group": "", "version": "v1", "kind": kind, "namespace": "n", "name": name});
        let report = json!({"metadata": {"name": "p--sveltos--c", "namespace": "fleet", "labels": {"projectsveltos.io/cluster-profile-name": "p"}},
            "spec": {"clusterNamespace": "fleet", "clusterName": "c"}, "status": {
            "releaseReports": [{"chartName": "r", "releaseNamespace": "n", "chartVersion": "1", "action": "Install", "message": ""}],
            "resourceReports": [{"resource": resource("ConfigMap", "a"), "action": "Update", "message": "--- x\n+++ y"}],
            "helmResourceReports": [{"resource": resource("Service", "b"), "action": "Create", "message": ""}]}});
        let found = lines(&report);
        let short: Vec<_> =
            found.iter().map(|line| (line.resource_type.as_str(), line.name.as_str())).collect();
        assert_eq!(short, [("helm release", "r"), (":ConfigMap", "a"), (":Service", "b")]);
        assert!(found.iter().all(|line| line.profile == "ClusterProfile/p" && line.cluster == "fleet/c"));
        let text = table(&found, Output { output: Format::Table, no_headers: false }).to_string();
        assert!(
            text.contains("| ACTION ") && text.contains("use --raw-diff to see the difference"),
            "{text}"
        );
    }

    #[test]
    fn a_profile_is_known_by_label_or_by_name() {
        let of = |name: &str, labels: Value| {
            profile(&json!({"metadata": {"name": name, "namespace": "team", "labels": labels}}))
        };
        assert_eq!(of("x", json!({"projectsveltos.io/profile-name": "p"})), "Profile/team/p");
        assert_eq!(of("p--long--sveltos--c", json!({})), "Profile/team/long");
        assert_eq!(of("long--sveltos--c", json!({})), "ClusterProfile/long");
    }
}
