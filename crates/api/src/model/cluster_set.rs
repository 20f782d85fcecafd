//! Named choices of clusters.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::cluster::Cluster;
use super::profile::{cluster_ref, cluster_refs};
use super::read::Field;
use crate::cluster::ClusterRef;
use crate::error::FieldError;
use crate::object;
use crate::selector::Selector;

/// Which set: a `ClusterSet`, or with a namespace a `Set`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct ClusterSetId {
    /// Namespace of a `Set`; empty for a `ClusterSet`.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

/// A `ClusterSet` or `Set`.
#[derive(Clone, Debug, PartialEq)]
pub struct ClusterSet {
    /// Which.
    pub id: ClusterSetId,
    /// Clusters by label; empty selects nothing.
    pub selector: Selector,
    /// Clusters by name.
    pub clusters: Vec<ClusterRef>,
    /// How many of those that match are selected; `None` is all.
    pub most: Option<usize>,
    /// Those that its status says were selected before.
    pub before: BTreeSet<ClusterRef>,
}

// === impl ClusterSetId ===

impl ClusterSetId {
    /// Its kind.
    pub fn kind(&self) -> &'static str {
        if self.namespace.is_empty() { "ClusterSet" } else { "Set" }
    }
}

impl fmt::Display for ClusterSetId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.namespace.is_empty() {
            write!(f, "ClusterSet {}", self.name)
        } else {
            write!(f, "Set {}/{}", self.namespace, self.name)
        }
    }
}

// === impl ClusterSet ===

impl ClusterSet {
    /// Reads the manifest.
    ///
    /// # Errors
    /// The first field that cannot be used.
    pub fn read(object: &Value) -> Result<Self, FieldError> {
        let spec = Field::spec(object);
        let namespace = object::namespace(object).to_owned();
        let replicas = spec.get("maxReplicas");
        let most = match replicas.value().map(|value| (value, value.as_u64())) {
            None | Some((_, Some(0))) => None,
            Some((_, Some(most))) => Some(usize::try_from(most).unwrap_or(usize::MAX)),
            Some((value, None)) => {
                return Err(replicas.error(format!("{value} is not a whole number of at least 0")));
            }
        };
        let said = Field::status(object).get("selectedClusterRefs");
        // What the status says is ours, or a user's mistake that the next selection corrects.
        let said = said.items().unwrap_or_default();
        Ok(Self {
            selector: spec.get("clusterSelector").selector()?.unwrap_or_default(),
            clusters: cluster_refs(&spec.get("clusterRefs"), &namespace)?,
            most,
            before: said.iter().filter_map(|item| cluster_ref(item, "").ok()).collect(),
            id: ClusterSetId { namespace, name: object::name(object).to_owned() },
        })
    }

    /// The registered clusters that it matches and that are not away, in their order.
    pub fn matching<'c>(&self, clusters: impl IntoIterator<Item = &'c Cluster>) -> Vec<ClusterRef> {
        let own =
            |cluster: &Cluster| self.id.namespace.is_empty() || self.id.namespace == cluster.id.namespace;
        let matches = |cluster: &Cluster| {
            let by_label = self.selector.selects(cluster.labels());
            own(cluster) && !cluster.is_down() && (by_label || self.clusters.contains(&cluster.id))
        };
        clusters.into_iter().filter(|cluster| matches(cluster)).map(|cluster| cluster.id.clone()).collect()
    }

    /// The selected ones of those that match: who was selected before stays, the rest are taken in their order.
    pub fn select(&self, matching: &[ClusterRef]) -> BTreeSet<ClusterRef> {
        let most = self.most.unwrap_or(usize::MAX);
        let (before, others): (Vec<_>, Vec<_>) =
            matching.iter().cloned().partition(|cluster| self.before.contains(cluster));
        before.into_iter().chain(others).take(most).collect()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn cluster(namespace: &str, name: &str, connection: &str) -> Cluster {
        let object = json!({"kind": "SveltosCluster",
            "metadata": {"namespace": namespace, "name": name, "labels": {"env": "fv"}},
            "status": {"connectionStatus": connection}});
        Cluster::read(&Arc::new(object)).unwrap()
    }

    fn set(kind: &str, replicas: Value, before: &[&str]) -> Result<ClusterSet, FieldError> {
        let namespace = if kind == "Set" { "n" } else { "" };
        let said: Vec<_> = before
            .iter()
            .map(|name| json!({"kind": "SveltosCluster", "namespace": "n", "name": name}))
            .collect();
        ClusterSet::read(&json!({"kind": kind, "metadata": {"namespace": namespace, "name": "s"},
            "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}}, "maxReplicas": replicas},
            "status": {"selectedClusterRefs": said}}))
    }

    fn selected(set: &ClusterSet, clusters: &[Cluster]) -> Vec<String> {
        set.select(&set.matching(clusters)).into_iter().map(|cluster| cluster.path()).collect()
    }

    #[test]
    fn all_are_selected_unless_there_is_a_limit() {
        let clusters = [cluster("n", "a", "Healthy"), cluster("n", "b", ""), cluster("m", "c", "")];
        assert_eq!(selected(&set("ClusterSet", json!(0), &[]).unwrap(), &clusters), ["m/c", "n/a", "n/b"]);
        assert_eq!(selected(&set("Set", json!(null), &[]).unwrap(), &clusters), ["n/a", "n/b"]);
        assert_eq!(selected(&set("Set", json!(1), &[]).unwrap(), &clusters), ["n/a"]);
    }

    #[test]
    fn who_was_selected_stays_and_who_is_away_is_replaced() {
        let up = [cluster("n", "a", ""), cluster("n", "b", ""), cluster("n", "c", "")];
        let set = set("ClusterSet", json!(1), &["b"]).unwrap();
        assert_eq!(selected(&set, &up), ["n/b"]);
        let away = [cluster("n", "a", ""), cluster("n", "b", "Down"), cluster("n", "c", "")];
        assert_eq!(selected(&set, &away), ["n/a"]);
        assert_eq!(selected(&set, &[]), [""; 0]);
    }

    #[test]
    fn a_wrong_limit_is_named() {
        let error = set("Set", json!("two"), &[]).unwrap_err().to_string();
        assert!(error.contains("spec.maxReplicas: \"two\" is not a whole number"), "{error}");
    }
}
