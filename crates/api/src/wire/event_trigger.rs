//! `EventTrigger` and its predecessor `EventBasedAddOn`: what to deploy when an event happens.

use super::{
    DriftExclusion, Extra, HelmChart, IntOrString, KustomizationRef, Object, ObjectReference, Patch,
    PatchesFrom, PolicyRef, SelectorUnion, StringMap, TemplateResourceRef, ValidateHealth,
};
use serde::{Deserialize, Serialize};

/// What to deploy when an event happens. Cluster-scoped.
pub type EventTrigger = Object<EventTriggerSpec, EventTriggerStatus>;

/// The name of `EventTrigger` in its first year; the fields are the same.
pub type EventBasedAddOn = Object<EventTriggerSpec, EventTriggerStatus>;

/// Spec of all eras.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventTriggerSpec {
    /// Clusters whose events count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub source_cluster_selector: Option<SelectorUnion>,
    /// The first spelling of `sourceClusterSelector`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<SelectorUnion>,
    /// ClusterSets whose selected clusters count as well.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_set_refs: Vec<String>,
    /// Clusters that get the add-ons; absent means the event's own cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_cluster_selector: Option<SelectorUnion>,
    /// One cluster that gets the add-ons; its fields may be templates.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub destination_cluster: Option<ObjectReference>,
    /// The event source; may be a template over the cluster.
    pub event_source_name: String,
    /// One profile for each matching object instead of one for all of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub one_for_event: Option<bool>,
    /// Template of the profile's name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub profile_name_format: String,
    /// ConfigMaps to generate from the event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub config_map_generator: Vec<Generator>,
    /// Secrets to generate from the event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub secret_generator: Vec<Generator>,
    /// `Continuous`, `OneTime`, `ContinuousWithDriftDetection` or `DryRun`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sync_mode: String,
    /// Who wins when two profiles want one object; the lower number does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<i32>,
    /// Whether the rest is deployed after a conflict.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub continue_on_conflict: Option<bool>,
    /// How many clusters are updated at the same time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_update: Option<IntOrString>,
    /// `WithdrawPolicies` or `LeavePolicies`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub stop_matching_behavior: String,
    /// Whether workloads are restarted when what they mount changes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reloader: Option<bool>,
    /// Profiles that must be deployed first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub depends_on: Vec<String>,
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
    /// `Create` or `Delete`; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cloud_event_action: String,
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

/// A ConfigMap or Secret whose values are templates, and the name of what is generated from it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Generator {
    /// Namespace of the source; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the source; may be a template.
    pub name: String,
    /// Template of the generated object's name.
    pub name_format: String,
    /// Whether a missing source is no error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What became of the trigger.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventTriggerStatus {
    /// Clusters that `sourceClusterSelector` selects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matching_clusters: Vec<ObjectReference>,
    /// Clusters that `destinationClusterSelector` selects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub destination_matching_cluster_refs: Vec<ObjectReference>,
    /// State by cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_info: Vec<ClusterInfo>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// State of a trigger in one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterInfo {
    /// The cluster.
    pub cluster: ObjectReference,
    /// Digest (base64) of what the state was made from.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub hash: String,
    /// `Provisioning`, `Provisioned`, `Failed`, `FailedNonRetriable`, `Removing` or `Removed`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub status: String,
    /// Why it failed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_message: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
