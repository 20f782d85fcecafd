//! `EventReport`: which objects of one cluster match one event source.

use super::{Extra, Object, ObjectReference};
use serde::{Deserialize, Serialize};

/// The matches of one event source in one cluster. Namespaced; the namespace is the cluster's.
pub type EventReport = Object<EventReportSpec, EventReportStatus>;

/// Cluster, event source and matches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventReportSpec {
    /// Namespace of the cluster.
    pub cluster_namespace: String,
    /// Name of the cluster.
    pub cluster_name: String,
    /// `Capi` or `Sveltos`.
    pub cluster_type: String,
    /// Event source that matched.
    pub event_source_name: String,
    /// The objects that match, by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matching_resources: Vec<ObjectReference>,
    /// The objects themselves: base64 of JSON documents, each followed by `---`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resources: String,
    /// Base64 of each CloudEvent's JSON.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cloud_events: Vec<String>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How far the report has come.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventReportStatus {
    /// `WaitingForDelivery`, `Delivering` or `Processed`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub phase: String,
    /// Why the report could not be processed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_message: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
