//! `ClusterConfiguration`: everything that is deployed in one cluster.

use super::{Extra, Object};
use serde::{Deserialize, Serialize};

/// Annotation with the digest of what was wanted of the cluster when it was written. Without it something was under way.
pub const OF_ROWS: &str = "sluice.dev/of-rows";

/// Everything deployed in one cluster, by profile. Namespaced; the namespace is the cluster's.
pub type ClusterConfiguration = Object<ClusterConfigurationSpec, ClusterConfigurationStatus>;

/// The kind has no spec; what is found there is kept.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterConfigurationSpec {
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What each profile deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterConfigurationStatus {
    /// By ClusterProfile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_profile_resources: Vec<ClusterProfileResource>,
    /// By Profile.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub profile_resources: Vec<ProfileResource>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What one ClusterProfile deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfileResource {
    /// Name of the ClusterProfile.
    pub cluster_profile_name: String,
    /// What it deployed, by feature.
    #[serde(rename = "Features", skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Feature>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What one Profile deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProfileResource {
    /// Name of the Profile.
    pub profile_name: String,
    /// What it deployed, by feature.
    #[serde(rename = "Features", skip_serializing_if = "Vec::is_empty")]
    pub features: Vec<Feature>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What one feature of a profile deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Feature {
    /// `Resources`, `Helm` or `Kustomize`.
    #[serde(rename = "featureID")]
    pub feature_id: String,
    /// Objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<DeployedResource>,
    /// Helm releases.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub charts: Vec<DeployedChart>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A deployed object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeployedResource {
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
    /// `Remote` or `Local`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deployment_type: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A deployed Helm release.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeployedChart {
    /// Address of the repository.
    #[serde(rename = "repoURL")]
    pub repo_url: String,
    /// Name of the release.
    pub release_name: String,
    /// Namespace of the release.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Version of the chart.
    pub chart_version: String,
    /// Version of the application.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// Address of the chart's icon.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub icon: String,
    /// When it was applied last (RFC 3339).
    pub last_applied_time: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
