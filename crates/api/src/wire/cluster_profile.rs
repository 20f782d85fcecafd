//! `ClusterProfile` and `Profile`: which add-ons go to which clusters.

use super::{
    DriftExclusion, Extra, HelmChart, IntOrString, KustomizationRef, Object, ObjectReference, Patch,
    PatchesFrom, PolicyRef, SelectorUnion, StringMap, TemplateResourceRef, ValidateHealth,
};
use serde::{Deserialize, Serialize};

/// Add-ons for a choice of clusters. Cluster-scoped.
pub type ClusterProfile = Object<ClusterProfileSpec, ProfileStatus>;

/// The same for the clusters of one namespace. Namespaced.
pub type Profile = Object<ClusterProfileSpec, ProfileStatus>;

/// Spec of both kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterProfileSpec {
    /// Clusters by label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<SelectorUnion>,
    /// Clusters by name.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_refs: Vec<ObjectReference>,
    /// ClusterSets or Sets whose selected clusters count as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_refs: Vec<String>,
    /// `Continuous`, `OneTime`, `ContinuousWithDriftDetection` or `DryRun`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sync_mode: String,
    /// Who wins when two profiles want one object; the lower number does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<i32>,
    /// Whether the rest is deployed after a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_on_conflict: Option<bool>,
    /// Whether the rest is deployed after an error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_on_error: Option<bool>,
    /// How many clusters are updated at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_update: Option<IntOrString>,
    /// After how many failures a cluster is given up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_consecutive_failures: Option<i32>,
    /// `WithdrawPolicies` or `LeavePolicies`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stop_matching_behavior: String,
    /// Whether workloads are restarted when what they mount changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reloader: Option<bool>,
    /// Profiles that must be deployed first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
    /// Profiles that it takes over from, whatever the tiers: they go from a cluster when it is there.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub transition_from: Vec<String>,
    /// Management objects that templates read.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub template_resource_refs: Vec<TemplateResourceRef>,
    /// ConfigMaps, Secrets and other sources of manifests.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policy_refs: Vec<PolicyRef>,
    /// Helm charts.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub helm_charts: Vec<HelmChart>,
    /// Kustomizations.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub kustomization_refs: Vec<KustomizationRef>,
    /// Checks before anything is deployed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pre_deploy_checks: Vec<ValidateHealth>,
    /// Checks after the deployment.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub validate_healths: Vec<ValidateHealth>,
    /// Checks before a withdrawal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub pre_delete_checks: Vec<ValidateHealth>,
    /// Checks after a withdrawal.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub post_delete_checks: Vec<ValidateHealth>,
    /// Patches on what is deployed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches: Vec<Patch>,
    /// ConfigMaps and Secrets that hold patches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub patches_from: Vec<PatchesFrom>,
    /// Fields whose changes are not drift.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub drift_exclusions: Vec<DriftExclusion>,
    /// Labels for everything that is deployed.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub extra_labels: StringMap,
    /// Annotations for everything that is deployed.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub extra_annotations: StringMap,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What became of the profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ProfileStatus {
    /// Clusters the profile is for.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matching_clusters: Vec<ObjectReference>,
    /// Clusters that are being updated.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updating_clusters: Option<ClusterHash>,
    /// Clusters that have the present version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_clusters: Option<ClusterHash>,
    /// Clusters where it failed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failed_clusters: Vec<ClusterFailure>,
    /// Digest (base64) of what the profile depends on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub dependencies_hash: String,
    /// Whether the profile is paused.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reconciliation_suspended: Option<bool>,
    /// Why it is paused.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub suspension_reason: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Clusters of one rollout step and the version they get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterHash {
    /// Digest (base64) of the version.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// The clusters.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub clusters: Vec<ObjectReference>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A cluster where a profile failed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterFailure {
    /// The cluster.
    pub cluster_ref: ObjectReference,
    /// Why it failed.
    pub failure_message: String,
    /// When it failed last (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_failure_time: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
