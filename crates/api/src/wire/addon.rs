//! Building blocks of add-ons that triggers and profiles share: references, remote sources, patches.

use super::{Extra, ObjectReference, SecretReference};
use serde::{Deserialize, Serialize};

/// A source of manifests.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PolicyRef {
    /// `ConfigMap`, `Secret`, `GitRepository`, `OCIRepository` or `Bucket`; absent with `remoteURL`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace; empty means the cluster's; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Folder inside a Flux source.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// A document to fetch.
    #[serde(rename = "remoteURL", skip_serializing_if = "Option::is_none")]
    pub remote_url: Option<RemoteUrl>,
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

/// A document to fetch by URL.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct RemoteUrl {
    /// `http`, `https` or `oci` address.
    pub url: String,
    /// How often it is fetched again.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub interval: String,
    /// Credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Whether its content is a template.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub template: Option<bool>,
    /// Whether the server's certificate goes unchecked.
    #[serde(rename = "insecureSkipTLSVerify", skip_serializing_if = "Option::is_none")]
    pub insecure_skip_tls_verify: Option<bool>,
    /// Whether the registry is spoken to without TLS.
    #[serde(rename = "plainHTTP", skip_serializing_if = "Option::is_none")]
    pub plain_http: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A management object that templates read by its identifier.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TemplateResourceRef {
    /// The object; name and namespace may be templates.
    pub resource: ObjectReference,
    /// Name that templates use.
    pub identifier: String,
    /// Whether a missing object is no error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// Whether a change of its status renders nothing again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ignore_status_changes: Option<bool>,
    /// Fields whose changes render again; empty means all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub watch_fields: Vec<String>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A ConfigMap or Secret that holds Helm or Kustomize values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ValueFrom {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Namespace; empty means the cluster's; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name; may be a template.
    pub name: String,
    /// Whether a missing object is no error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A patch on what is deployed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Patch {
    /// Strategic merge or JSON patch; may be a template.
    pub patch: String,
    /// Objects it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<PatchSelector>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A ConfigMap or Secret that holds patches.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PatchesFrom {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Namespace; empty means the cluster's; may be a template.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name; may be a template.
    pub name: String,
    /// Whether a missing object is no error.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub optional: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Which deployed objects a patch or an exclusion is for; empty fields select everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PatchSelector {
    /// API group, as a regular expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// API version, as a regular expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Kind, as a regular expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace, as a regular expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name, as a regular expression.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Label selector in text form.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub label_selector: String,
    /// The same over annotations.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub annotation_selector: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Fields whose changes are not drift.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DriftExclusion {
    /// JSON pointers of the fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub paths: Vec<String>,
    /// Objects it is for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub target: Option<PatchSelector>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
