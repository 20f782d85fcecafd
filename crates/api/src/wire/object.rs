//! The envelope that every kind shares: type, metadata, spec and status.

use super::{Extra, StringMap};
use serde::{Deserialize, Serialize};

/// One object of the API with its spec and its status.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Object<Spec, Status> {
    /// Group and version the object was written in or is served as.
    pub api_version: String,
    /// Kind of the object.
    pub kind: String,
    /// Name, labels, annotations and what the API server adds.
    pub metadata: Metadata,
    /// What the user wants.
    pub spec: Spec,
    /// What the controllers report.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<Status>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// The part of an object's metadata that Sluice reads; the rest is in `extra`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace; empty for cluster-scoped objects.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Labels.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub labels: StringMap,
    /// Annotations.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub annotations: StringMap,
    /// Identity given by the API server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Version given by the API server.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Counts the changes of the spec.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub generation: Option<i64>,
    /// When the object was created (RFC 3339).
    #[serde(skip_serializing_if = "String::is_empty")]
    pub creation_timestamp: String,
    /// When its deletion was asked for; empty while it lives.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub deletion_timestamp: String,
    /// Finalizers that hold a deletion back.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub finalizers: Vec<String>,
    /// Owners of the object.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub owner_references: Vec<OwnerReference>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One owner of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// Group and version of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner.
    pub name: String,
    /// Identity of the owner.
    pub uid: String,
    /// Whether the owner manages the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub controller: Option<bool>,
    /// Whether the owner waits for this object.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub block_owner_deletion: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
