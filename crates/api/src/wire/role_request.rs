//! `RoleRequest`: the rights of a tenant in managed clusters.

use serde::{Deserialize, Serialize};

use super::{ClusterInfo, Extra, Object, ObjectReference, PolicyRef, SelectorUnion};

/// The rights of a tenant in managed clusters. Cluster-scoped.
pub type RoleRequest = Object<RoleRequestSpec, RoleRequestStatus>;

/// Who gets which rights, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleRequestSpec {
    /// Clusters by label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cluster_selector: Option<SelectorUnion>,
    /// The same, as former versions call it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<SelectorUnion>,
    /// ConfigMaps and Secrets with Roles and ClusterRoles.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub role_refs: Vec<PolicyRef>,
    /// How long a token of the account is valid. Nobody asks for one here.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expiration_seconds: Option<i64>,
    /// Name of the tenant's ServiceAccount.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_account_name: String,
    /// Namespace of the tenant's ServiceAccount.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub service_account_namespace: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What became of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RoleRequestStatus {
    /// Clusters that are selected.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub matching_clusters: Vec<ObjectReference>,
    /// State by cluster.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cluster_info: Vec<ClusterInfo>,
    /// What is wrong.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub failure_message: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
