//! `ClusterReport`: what a dry run would change in one cluster.

use super::{Extra, Object};
use serde::{Deserialize, Serialize};

/// What a profile in mode `DryRun` would change. Namespaced; the namespace is the cluster's.
pub type ClusterReport = Object<ClusterReportSpec, ClusterReportStatus>;

/// The cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterReportSpec {
    /// Namespace of the cluster.
    pub cluster_namespace: String,
    /// Name of the cluster.
    pub cluster_name: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What would change.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterReportStatus {
    /// Helm releases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub release_reports: Vec<ReleaseReport>,
    /// Objects of `policyRefs`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_reports: Vec<ResourceReport>,
    /// Objects of Helm charts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub helm_resource_reports: Vec<ResourceReport>,
    /// Objects of kustomizations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kustomize_resource_reports: Vec<ResourceReport>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What would happen to one release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReleaseReport {
    /// Name of the chart.
    pub chart_name: String,
    /// Version of the chart.
    pub chart_version: String,
    /// Namespace of the release.
    pub release_namespace: String,
    /// `No Action`, `Install`, `Upgrade`, `Delete`, `Conflict` or `Update Values`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// Why.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What would happen to one object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceReport {
    /// The object.
    pub resource: ReportedResource,
    /// `No Action`, `Create`, `Update`, `Delete`, `Conflict` or `Error`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub action: String,
    /// Why, or the difference.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An object of a report.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ReportedResource {
    /// API group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name.
    pub name: String,
    /// When it was applied last (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_applied_time: String,
    /// Whether its changes are not drift.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_for_configuration_drift: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
