//! Words that several kinds share: selectors, references and unions of the two API versions.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use std::collections::BTreeMap;

/// Labels, annotations and other maps of text.
pub type StringMap = BTreeMap<String, String>;

/// Fields that are not known, kept as they were written.
pub type Extra = Map<String, Value>;

/// A cluster selector in the spelling of either era.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum SelectorUnion {
    /// `v1alpha1`: text such as `env=fv,zone in (a, b)`.
    Text(String),
    /// `v1beta1`: a label selector.
    Structured(LabelSelector),
    /// Anything else, kept so that the error can name the object and the field.
    Invalid(Value),
}

/// Kubernetes' label selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels that must be there with exactly these values.
    #[serde(skip_serializing_if = "StringMap::is_empty")]
    pub match_labels: StringMap,
    /// Further conditions; all of them must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub match_expressions: Vec<LabelSelectorRequirement>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One condition of a label selector.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelectorRequirement {
    /// Label the condition looks at.
    pub key: String,
    /// `In`, `NotIn`, `Exists` or `DoesNotExist`.
    pub operator: String,
    /// Values for `In` and `NotIn`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<String>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One label condition in Sveltos' own form.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelFilter {
    /// Label the condition looks at.
    pub key: String,
    /// `Equal`, `Different`, `Has` or `DoesNotHave`.
    pub operation: String,
    /// Value for `Equal` and `Different`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub value: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A named CEL rule.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NamedCel {
    /// Name shown in errors.
    pub name: String,
    /// Expression over the variable `resource`; must give a boolean.
    pub rule: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Kubernetes' reference to an object; empty fields are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ObjectReference {
    /// Group and version of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub api_version: String,
    /// Kind of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// Namespace of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Identity of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// Version of the object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub resource_version: String,
    /// Part of the object that is meant.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub field_path: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A Secret by name and namespace.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretReference {
    /// Name of the Secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Namespace of the Secret.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// A number or a text, such as `5` or `30%`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged, expecting = "expected a number or a text such as `30%`")]
pub enum IntOrString {
    /// A number.
    Int(i64),
    /// A text, for example a percentage.
    Text(String),
}
