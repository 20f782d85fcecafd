//! `ClusterSet` and `Set`: named choices of clusters.

use super::{Extra, Object, ObjectReference, SelectorUnion};
use serde::{Deserialize, Serialize};

/// A choice of clusters. Cluster-scoped.
pub type ClusterSet = Object<ClusterSetSpec, ClusterSetStatus>;

/// The same inside one namespace. Namespaced.
pub type Set = Object<ClusterSetSpec, ClusterSetStatus>;

/// Which clusters, and how many of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSetSpec {
    /// Clusters by label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<SelectorUnion>,
    /// Clusters by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_refs: Vec<ObjectReference>,
    /// How many of the matching clusters are selected; absent or 0 means all.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_replicas: Option<i32>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The clusters found.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSetStatus {
    /// Clusters that match.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matching_cluster_refs: Vec<ObjectReference>,
    /// Clusters that were selected among them.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub selected_cluster_refs: Vec<ObjectReference>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
