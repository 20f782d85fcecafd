//! `sluice show triggers`, `profiles` and `clusters`: what users wrote, and what became of it by its status.

use std::collections::BTreeMap;

use sluice_inspect::{Line, Shown};
use sluice_tasks::Tasks;

use crate::answers::{Here, Served};
use crate::reach::Management;
use crate::table::{Output, Table};

/// What every one of them takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    served: Served,
    #[command(flatten)]
    management: Management,
    #[command(flatten)]
    output: Output,
}

/// What those take that have a namespace.
#[derive(Debug, clap::Args)]
pub(super) struct InNamespace {
    #[command(flatten)]
    args: Args,
    /// Only those of this namespace.
    #[arg(long)]
    namespace: Option<String>,
}

impl Args {
    pub(super) async fn run(self, shown: Shown, namespace: Option<&str>) -> anyhow::Result<()> {
        let here = Here { bus: None, management: Some(&self.management) };
        let tasks = Tasks::default();
        let found = self.served.answers(here, &tasks).await?.lines(shown, namespace).await?;
        Ok(self.output.print(found, |found| table(shown, found, self.output))?)
    }
}

impl InNamespace {
    pub(super) async fn run(self, shown: Shown) -> anyhow::Result<()> {
        self.args.run(shown, self.namespace.as_deref()).await
    }
}

/// Labels as people write them.
fn joined(labels: &BTreeMap<String, String>) -> String {
    let labels: Vec<String> = labels.iter().map(|(key, value)| format!("{key}={value}")).collect();
    labels.join(",")
}

fn table(shown: Shown, lines: Vec<Line>, output: Output) -> Table {
    let wide = output.is_wide();
    let mut header = match shown {
        Shown::Triggers => vec!["KIND", "NAME", "EVENT SOURCE", "CLUSTERS", "READY"],
        Shown::Profiles => vec!["KIND", "NAMESPACE", "NAME", "CLUSTERS", "READY"],
        Shown::Clusters => vec!["CLUSTER", "VERSION", "LABELS", "READY"],
    };
    header.extend(wide.then_some("MESSAGE"));
    let mut table = Table::new(&header, output.no_headers);
    for line in lines {
        let Line { kind, namespace, name, of, clusters, ready, message, labels } = line;
        let mut cells = match shown {
            Shown::Triggers => vec![kind, name, of, clusters.to_string()],
            Shown::Profiles => vec![kind, namespace, name, clusters.to_string()],
            Shown::Clusters => vec![format!("{namespace}/{name}"), of, joined(&labels)],
        };
        cells.push(ready);
        cells.extend(wide.then_some(message));
        table.add(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use sluice_api::model::{PAUSED, SUSPEND};

    use super::*;
    use crate::table::Format;

    fn cells(shown: Shown, objects: &[Value], format: Format) -> Vec<String> {
        let lines = objects.iter().map(|object| Line::of(shown, object)).collect();
        let text = table(shown, lines, Output { output: format, no_headers: true }).to_string();
        let inner: Vec<&str> = text.lines().collect();
        let rows = inner[1..inner.len() - 1].iter();
        rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect::<Vec<_>>().join("|"))
            .collect()
    }

    #[test]
    fn a_trigger_says_its_source_its_clusters_and_whether_all_is_well() {
        let trigger = |annotation: &str, status: &str| {
            json!({"kind": "EventTrigger", "metadata": {"name": "t", "annotations": {SUSPEND: annotation}},
                "spec": {"sourceClusterSelector": {"matchLabels": {"a": "b"}}, "eventSourceName": "s"},
                "status": {"matchingClusters": [{}, {}], "conditions": [{"type": "Ready", "status": status, "message": "said"}]}})
        };
        let objects = [trigger("false", "True"), trigger("false", "False"), trigger("true", "True")];
        let expected = ["yes", "no", "suspended"].map(|ready| format!("EventTrigger|t|s|2|{ready}"));
        assert_eq!(cells(Shown::Triggers, &objects, Format::Table), expected);
        assert_eq!(cells(Shown::Triggers, &objects[..1], Format::Wide), ["EventTrigger|t|s|2|yes|said"]);
        let bare = [json!({"kind": "EventTrigger", "metadata": {"name": "t"}})];
        assert_eq!(cells(Shown::Triggers, &bare, Format::Table), ["EventTrigger|t||0|"]);
    }

    #[test]
    fn profiles_and_clusters_have_columns_of_their_own() {
        let profile = json!({"kind": "Profile", "metadata": {"name": "p", "namespace": "n", "annotations": {PAUSED: "true"}},
            "status": {"matchingClusters": [{}]}});
        assert_eq!(cells(Shown::Profiles, &[profile], Format::Table), ["Profile|n|p|1|suspended"]);
        let cluster = json!({"kind": "SveltosCluster", "metadata": {"name": "c", "namespace": "n", "labels": {"env": "fv", "x": "y"}},
            "status": {"ready": true, "version": "v1.33.0"}});
        assert_eq!(cells(Shown::Clusters, &[cluster], Format::Table), ["n/c|v1.33.0|env=fv,x=y|yes"]);
    }
}
