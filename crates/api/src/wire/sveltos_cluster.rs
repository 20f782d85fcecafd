//! `SveltosCluster`: a managed cluster that was registered by its kubeconfig.

use super::{Extra, Object, ResourceSelector, StringMap};
use serde::{Deserialize, Serialize};

/// A registered cluster. Namespaced.
pub type SveltosCluster = Object<SveltosClusterSpec, SveltosClusterStatus>;

/// How to reach the cluster and when to work on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SveltosClusterSpec {
    /// Secret with the kubeconfig; empty means `<name>-sveltos-kubeconfig`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kubeconfig_name: String,
    /// Key inside that Secret; empty means the first one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kubeconfig_key_name: String,
    /// Whether nothing is done in the cluster.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub paused: Option<bool>,
    /// How its token is renewed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub token_request_renewal_option: Option<TokenRequestRenewalOption>,
    /// Free texts that templates can use.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub data: StringMap,
    /// When work is allowed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_window: Option<ActiveWindow>,
    /// After how many failures the cluster counts as down.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub consecutive_failure_threshold: Option<i32>,
    /// Checks before the cluster counts as ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub readiness_checks: Vec<ClusterCheck>,
    /// Checks while it is.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub liveness_checks: Vec<ClusterCheck>,
    /// Whether the cluster fetches its work by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pull_mode: Option<bool>,
    /// How long a deleted registration is kept while its add-ons are withdrawn, where it asks for that (`sluice.dev/withdraw-on-delete`).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cleanup_grace_period: String,
    /// Access by a cloud provider's identity instead of a kubeconfig.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub workload_identity: Option<WorkloadIdentity>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// How a cluster's token is renewed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TokenRequestRenewalOption {
    /// How often.
    pub renew_token_request_interval: String,
    /// How long a token lives.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub token_duration: String,
    /// Namespace of the ServiceAccount.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sa_namespace: String,
    /// Name of the ServiceAccount.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub sa_name: String,
    /// Key inside the Secret that is renewed.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kubeconfig_key_name: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// When work is allowed, as two cron expressions.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ActiveWindow {
    /// Start.
    pub from: String,
    /// End.
    pub to: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A check on the cluster as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClusterCheck {
    /// Name shown in status.
    pub name: String,
    /// Objects the check sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_selectors: Vec<ResourceSelector>,
    /// Lua that decides over them.
    pub condition: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Access by a cloud provider's identity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct WorkloadIdentity {
    /// `AWS`, `GCP` or `Azure`.
    pub provider: String,
    /// Address of the API server.
    pub endpoint: String,
    /// Certificate authority of the API server.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ca_secret_ref: Option<LocalObjectReference>,
    /// Details for AWS.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub aws: Option<AwsIdentity>,
    /// Details for GCP.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gcp: Option<GcpIdentity>,
    /// Details for Azure.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub azure: Option<AzureIdentity>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// An object of the same namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LocalObjectReference {
    /// Name.
    pub name: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Details for AWS.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AwsIdentity {
    /// Name of the cluster there.
    pub cluster_name: String,
    /// Region.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub region: String,
    /// Role to assume.
    #[serde(rename = "roleARN", skip_serializing_if = "String::is_empty")]
    pub role_arn: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Details for GCP.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GcpIdentity {
    /// Project.
    #[serde(rename = "projectID")]
    pub project_id: String,
    /// Name of the cluster there.
    pub cluster_name: String,
    /// Location.
    pub location: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Details for Azure.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct AzureIdentity {
    /// Tenant.
    #[serde(rename = "tenantID")]
    pub tenant_id: String,
    /// Client.
    #[serde(rename = "clientID")]
    pub client_id: String,
    /// Subscription.
    #[serde(rename = "subscriptionID", skip_serializing_if = "String::is_empty")]
    pub subscription_id: String,
    /// Resource group.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_group: String,
    /// Name of the cluster there.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cluster_name: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What is known of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SveltosClusterStatus {
    /// Whether work may begin.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ready: Option<bool>,
    /// Version of its API server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// `Healthy` or `Down`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub connection_status: String,
    /// Failures in a row.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connection_failures: Option<i32>,
    /// Why it cannot be reached.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_message: String,
    /// When its agent reported last (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent_last_report_time: String,
    /// When its token was renewed last.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub last_reconciled_token_request_at: String,
    /// When its active window ends (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next_pause: String,
    /// When its active window begins (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub next_unpause: String,
    /// Digest (base64) of its active window.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub active_window_hash: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
