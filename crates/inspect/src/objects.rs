//! What users wrote, and what became of it by its status: triggers, profiles and registered clusters.

use std::collections::BTreeMap;

use kube::Client;
use serde::{Serialize, Serializer};
use serde_json::Value;
use sluice_api::model::{CONFIG_GROUP, Cluster, LIB_GROUP, PAUSED, SUSPEND, Trigger, capi_cluster};
use sluice_api::{Gvk, object};
use sluice_bus::now_micros;
use sluice_kube::list;

/// Which objects are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shown {
    /// Triggers of every era.
    Triggers,
    /// ClusterProfiles and Profiles.
    Profiles,
    /// Registrations of clusters.
    Clusters,
}

/// One of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Line {
    /// Its kind.
    pub kind: String,
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// What it names or runs: the EventSource of a trigger, the Kubernetes version of a cluster.
    pub of: String,
    /// Clusters that it is about.
    pub clusters: usize,
    /// `yes`, `no`, `suspended`, or nothing where nobody has said anything.
    pub ready: String,
    /// What is said of that.
    pub message: String,
    /// Its labels, of a cluster.
    #[serde(serialize_with = "as_texts")]
    pub labels: BTreeMap<String, String>,
}

/// Labels as people write them.
fn as_texts<S: Serializer>(labels: &BTreeMap<String, String>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_seq(labels.iter().map(|(key, value)| format!("{key}={value}")))
}

/// The objects of a namespace or of all, in order.
///
/// # Errors
/// In words, when the management cluster does not answer.
pub(crate) async fn lines(
    client: &Client,
    shown: Shown,
    namespace: Option<&str>,
) -> Result<Vec<Line>, String> {
    let mut lines = Vec::new();
    for gvk in shown.kinds() {
        let objects = list(client, &gvk, namespace).await;
        let objects = objects.map_err(|error| format!("listing {}: {error}", gvk.kind))?;
        lines.extend(objects.into_iter().flatten().map(|object| Line::of(shown, &object)));
    }
    // What has no namespace is listed in each.
    lines.retain(|line| namespace.is_none_or(|wanted| wanted == line.namespace));
    lines.sort();
    Ok(lines)
}

// === impl Shown ===

impl Shown {
    fn kinds(self) -> Vec<Gvk> {
        let of = |group: &str, kind: &str| Gvk::new(group, "v1beta1", kind);
        match self {
            Self::Triggers => vec![of(LIB_GROUP, "EventTrigger"), of(LIB_GROUP, "EventBasedAddOn")],
            Self::Profiles => vec![of(CONFIG_GROUP, "ClusterProfile"), of(CONFIG_GROUP, "Profile")],
            Self::Clusters => {
                vec![of(LIB_GROUP, "SveltosCluster"), capi_cluster()]
            }
        }
    }
}

// === impl Line ===

impl Line {
    /// What is said of an object.
    pub fn of(shown: Shown, object: &Value) -> Self {
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
        let label =
            |(key, value): (&String, &Value)| (key.clone(), value.as_str().unwrap_or_default().to_owned());
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
            let cluster = Cluster::read(&std::sync::Arc::new(object.clone()));
            cluster.is_some_and(|cluster| cluster.pause.at(now_micros()).is_some())
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_trigger_says_its_source_its_clusters_and_whether_all_is_well() {
        let trigger = |annotation: &str, status: &str| {
            json!({"kind": "EventTrigger", "metadata": {"name": "t", "annotations": {SUSPEND: annotation}},
                "spec": {"sourceClusterSelector": {"matchLabels": {"a": "b"}}, "eventSourceName": "s"},
                "status": {"matchingClusters": [{}, {}], "conditions": [{"type": "Ready", "status": status, "message": "said"}]}})
        };
        for (annotation, status, ready) in
            [("false", "True", "yes"), ("false", "False", "no"), ("true", "True", "suspended")]
        {
            let line = Line::of(Shown::Triggers, &trigger(annotation, status));
            let said = (line.of.as_str(), line.clusters, line.ready.as_str(), line.message.as_str());
            assert_eq!(said, ("s", 2, ready, "said"));
        }
    }

    #[test]
    fn labels_are_those_of_clusters_and_are_written_as_people_do() {
        let object =
            json!({"kind": "SveltosCluster", "metadata": {"name": "c", "labels": {"env": "fv", "x": "y"}}});
        let labels =
            |shown| serde_json::to_value(Line::of(shown, &object)).unwrap_or_default()["labels"].clone();
        assert_eq!(labels(Shown::Clusters), json!(["env=fv", "x=y"]));
        assert_eq!(labels(Shown::Profiles), json!([]));
    }
}
