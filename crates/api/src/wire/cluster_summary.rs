//! `ClusterSummary`: the state of one profile in one cluster.

use super::{ClusterProfileSpec, Extra, Object, SecretReference};
use serde::{Deserialize, Serialize};

/// State of one profile in one cluster. Namespaced; the namespace is the cluster's.
pub type ClusterSummary = Object<ClusterSummarySpec, ClusterSummaryStatus>;

/// The cluster and a copy of the profile's spec.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSummarySpec {
    /// Namespace of the cluster.
    pub cluster_namespace: String,
    /// Name of the cluster.
    pub cluster_name: String,
    /// `Capi` or `Sveltos`.
    pub cluster_type: String,
    /// What is to be deployed.
    pub cluster_profile_spec: ClusterProfileSpec,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// State by feature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterSummaryStatus {
    /// What the deployment waits for.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dependencies: String,
    /// State of each feature.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub feature_summaries: Vec<FeatureSummary>,
    /// Kinds that each feature deployed.
    #[serde(rename = "deployedGVKs", skip_serializing_if = "Vec::is_empty")]
    pub deployed_gvks: Vec<DeployedGvks>,
    /// State of each Helm release.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub helm_release_summaries: Vec<HelmReleaseSummary>,
    /// When the next attempt is due (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next_reconcile_time: String,
    /// Whether the profile is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconciliation_suspended: Option<bool>,
    /// Why it is paused.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub suspension_reason: String,
    /// Why nothing could be deployed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_message: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// State of one feature.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct FeatureSummary {
    /// `Resources`, `Helm` or `Kustomize`.
    #[serde(rename = "featureID")]
    pub feature_id: String,
    /// Digest (base64) of what is deployed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// `Provisioning`, `Provisioned`, `Failed`, `FailedNonRetriable`, `Removing` or `Removed`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Class of the failure.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_reason: String,
    /// Why it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_message: String,
    /// How often it failed in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consecutive_failures: Option<i32>,
    /// When it was applied last (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_applied_time: String,
    /// Kinds that were deployed (older form).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deployed_group_version_kind: Vec<String>,
    /// Whether drift is watched in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub resource_summary_deployed: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Kinds that one feature deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeployedGvks {
    /// `Resources`, `Helm` or `Kustomize`.
    #[serde(rename = "featureID")]
    pub feature_id: String,
    /// The kinds as `Kind.version.group`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub deployed_group_version_kind: Vec<String>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// State of one Helm release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct HelmReleaseSummary {
    /// Name of the release.
    pub release_name: String,
    /// Namespace of the release.
    pub release_namespace: String,
    /// Name of the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chart_name: String,
    /// Version of the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub chart_version: String,
    /// Name of the repository.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub repository_name: String,
    /// Address of the repository.
    #[serde(rename = "repoURL", skip_serializing_if = "String::is_empty")]
    pub repo_url: String,
    /// Credentials of the repository.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub credentials_secret_ref: Option<SecretReference>,
    /// `Managing` or `Conflict`.
    pub status: String,
    /// Digest (base64) of the values.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub values_hash: String,
    /// Digest (base64) of the patches.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub patches_hash: String,
    /// Who manages the release instead.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub conflict_message: String,
    /// Why it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_message: String,
    /// Whether it must be deployed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub needs_redeploy: Option<bool>,
    /// Newest version of the chart.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub latest_version: String,
    /// Newest patch of the present version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub latest_patch_version: String,
    /// When newer versions were looked for (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_checked_time: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
