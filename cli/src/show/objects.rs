//! `sluice show triggers`, `profiles` and `clusters`: what users wrote, and what became of it by its status.

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;
use sluice_api::model::{CONFIG_GROUP, Cluster, LIB_GROUP, PAUSED, SUSPEND, Trigger};
use sluice_api::{Gvk, object};
use sluice_kube::list;

use crate::reach::Management;
use crate::table::{Format, Output, Table};

/// What every one of them takes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    management: Management,
    /// Only those of this namespace.
    #[arg(long)]
    namespace: Option<String>,
    #[command(flatten)]
    output: Output,
}

/// Which objects are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Triggers,
    Profiles,
    Clusters,
}

/// One of them.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
struct Line {
    kind: String,
    namespace: String,
    name: String,
    /// What it names or runs: the EventSource of a trigger, the Kubernetes version of a cluster.
    of: String,
    /// Clusters that it is about.
    clusters: usize,
    /// `yes`, `no`, `suspended`, or nothing where nobody has said anything.
    ready: String,
    /// What is said of that.
    message: String,
    /// Its labels, of a cluster.
    labels: Vec<String>,
}

impl Args {
    pub(super) async fn run(self, shown: Shown) -> anyhow::Result<()> {
        let mut lines: Vec<Line> =
            self.objects(shown).await?.iter().map(|object| Line::of(shown, object)).collect();
        lines.sort();
        if self.output.output == Format::Json {
            for line in lines {
                println!("{}", serde_json::to_string(&line)?);
            }
        } else {
            print!("{}", table(shown, lines, self.output));
        }
        Ok(())
    }

    async fn objects(&self, shown: Shown) -> anyhow::Result<Vec<Value>> {
        let client = self.management.client().await?;
        let mut found = Vec::new();
        for gvk in shown.kinds() {
            let objects = list(&client, &gvk, self.namespace.as_deref()).await;
            found.extend(objects.with_context(|| format!("listing {}", gvk.kind))?.into_iter().flatten());
        }
        Ok(found)
    }
}

// === impl Shown ===

impl Shown {
    fn kinds(self) -> Vec<Gvk> {
        let of = |group: &str, kind: &str| Gvk::new(group, "v1beta1", kind);
        match self {
            Self::Triggers => vec![of(LIB_GROUP, "EventTrigger"), of(LIB_GROUP, "EventBasedAddOn")],
            Self::Profiles => vec![of(CONFIG_GROUP, "ClusterProfile"), of(CONFIG_GROUP, "Profile")],
            Self::Clusters => {
                vec![of(LIB_GROUP, "SveltosCluster"), Gvk::new("cluster.x-k8s.io", "v1beta2", "Cluster")]
            }
        }
    }
}

// === impl Line ===

impl Line {
    fn of(shown: Shown, object: &Value) -> Self {
        let text = |path: &[&str]| object::text(object, path).to_owned();
        let count = |field: &str| object["status"][field].as_array().map_or(0, Vec::len);
        let (of, clusters) = match shown {
            Shown::Triggers => {
                let of = Trigger::read(object).map(|trigger| trigger.event_source).unwrap_or_default();
                (of, count("matchingClusters").max(count("matchingClusterRefs")))
            }
            Shown::Profiles => {
                (text(&["spec", "syncMode"]), count("matchingClusters").max(count("matchingClusterRefs")))
            }
            Shown::Clusters => (text(&["status", "version"]), 0),
        };
        let labels = object::at(object, &["metadata", "labels"]).and_then(Value::as_object);
        let label = |(key, value): (&String, &Value)| format!("{key}={}", value.as_str().unwrap_or_default());
        let (ready, message) = ready(shown, object);
        Self {
            kind: text(&["kind"]),
            namespace: object::namespace(object).to_owned(),
            name: object::name(object).to_owned(),
            of,
            clusters,
            ready,
            message,
            labels: labels.into_iter().flatten().filter(|_| shown == Shown::Clusters).map(label).collect(),
        }
    }
}

/// Whether an object does what it says, by its condition, and what is said of that.
fn ready(shown: Shown, object: &Value) -> (String, String) {
    let paused = match shown {
        Shown::Triggers => object::annotation(object, SUSPEND) == Some("true"),
        Shown::Profiles => object::annotation(object, PAUSED).is_some(),
        Shown::Clusters => {
            Cluster::read(&std::sync::Arc::new(object.clone())).is_some_and(|cluster| cluster.paused)
        }
    };
    let conditions = object["status"]["conditions"].as_array();
    let condition = conditions.into_iter().flatten().find(|condition| condition["type"] == "Ready");
    let message =
        condition.map(|condition| object::text(condition, &["message"]).to_owned()).unwrap_or_default();
    let ready = match condition.map(|condition| object::text(condition, &["status"])) {
        _ if paused => "suspended",
        Some("True") => "yes",
        Some("False") => "no",
        Some(_) => "",
        None if object["status"]["ready"] == true => "yes",
        None => "",
    };
    (ready.to_owned(), message)
}

fn table(shown: Shown, lines: Vec<Line>, output: Output) -> Table {
    let wide = output.output == Format::Wide;
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
            Shown::Clusters => vec![format!("{namespace}/{name}"), of, labels.join(",")],
        };
        cells.push(ready);
        cells.extend(wide.then_some(message));
        table.add(cells);
    }
    table
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

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
