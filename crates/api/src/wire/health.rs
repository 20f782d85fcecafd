//! Checks before and after a deployment or a withdrawal.

use super::{Extra, LabelFilter, NamedCel, SecretReference};
use serde::{Deserialize, Serialize};

/// One check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ValidateHealth {
    /// Name shown in status.
    pub name: String,
    /// `Resources`, `Helm` or `Kustomize`: what the check belongs to.
    #[serde(rename = "featureID")]
    pub feature_id: String,
    /// API group of the objects to look at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// API version of the objects to look at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub version: String,
    /// Kind of the objects to look at.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace of the objects; empty means all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Label conditions on the objects.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub label_filters: Vec<LabelFilter>,
    /// Lua that says whether an object is healthy.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub script: String,
    /// CEL rules that say so.
    #[serde(rename = "evaluateCEL", skip_serializing_if = "Vec::is_empty")]
    pub evaluate_cel: Vec<NamedCel>,
    /// Server that answers the metric queries.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric_source: Option<MetricSource>,
    /// Queries whose answers the script sees.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub metric_queries: Vec<MetricQuery>,
    /// A Job to run; excludes script and CEL.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub job_check: Option<JobCheck>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A metrics server.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricSource {
    /// Address of the server.
    pub url: String,
    /// Path of the query endpoint.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub path: String,
    /// Credentials.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub secret_ref: Option<SecretReference>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A named query.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MetricQuery {
    /// Name under which the script sees the answer.
    pub name: String,
    /// The query.
    pub query: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A Job that decides the check.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobCheck {
    /// Where the Job's manifest is.
    pub job_ref: JobRef,
    /// How long the Job may take.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub timeout: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A ConfigMap or Secret with a Job's manifest.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct JobRef {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Namespace.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name.
    pub name: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
