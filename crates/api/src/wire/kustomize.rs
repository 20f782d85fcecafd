//! Kustomizations.

use super::{Extra, RemoteUrl, StringMap, ValueFrom};
use serde::{Deserialize, Serialize};

/// One kustomization to build and deploy.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct KustomizationRef {
    /// `ConfigMap`, `Secret`, `GitRepository`, `OCIRepository` or `Bucket`; absent with `remoteURL`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace; empty means the cluster's; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Folder with the kustomization; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// An archive to fetch.
    #[serde(rename = "remoteURL", skip_serializing_if = "Option::is_none")]
    pub remote_url: Option<RemoteUrl>,
    /// Namespace for everything that has none; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub target_namespace: String,
    /// Components to add; may be templates.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub components: Vec<String>,
    /// Values for templates inside the kustomization.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub values: StringMap,
    /// ConfigMaps and Secrets with further values.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values_from: Vec<ValueFrom>,
    /// `Remote` (the managed cluster) or `Local` (the management cluster).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deployment_type: String,
    /// Whether a missing source is no error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// Who wins when two references want one object; the lower number does.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tier: Option<i32>,
    /// Whether missing namespaces are left missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_namespace_creation: Option<bool>,
    /// Whether fields owned by others are taken over.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub force: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
