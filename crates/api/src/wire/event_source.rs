//! `EventSource`: what an event is.

use super::{Extra, LabelFilter, LabelSelector, NamedCel, Object};
use serde::{Deserialize, Serialize};

/// Says which objects of a managed cluster are an event. Cluster-scoped.
pub type EventSource = Object<EventSourceSpec, EventSourceStatus>;

/// Spec of both versions: the list of selectors of today beside the flat form of `v1alpha1`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventSourceSpec {
    /// Selectors; an object that any of them selects is an event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resource_selectors: Vec<ResourceSelector>,
    /// Lua over all selected objects.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub aggregated_selection: String,
    /// Whether reports carry the whole objects and not only their names.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub collect_resources: Option<bool>,
    /// Messages that are an event.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub messaging_match_criteria: Vec<MessagingMatchCriteria>,
    /// Flat form: API group; present, if only as `""`, says that the flat form is meant.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub group: Option<String>,
    /// Flat form: API version.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<String>,
    /// Flat form: kind.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Flat form: namespace; empty means all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Flat form: label conditions, all of which must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub label_filters: Vec<LabelFilter>,
    /// The spelling of the published examples of `labelFilters`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels_filters: Vec<LabelFilter>,
    /// Flat form: Lua per object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub script: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// One selector of objects.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceSelector {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Kind.
    pub kind: String,
    /// Label conditions, all of which must hold.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub label_filters: Vec<LabelFilter>,
    /// The spelling of the published examples of `labelFilters`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub labels_filters: Vec<LabelFilter>,
    /// A label selector that must hold beside the filters.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub selector: Option<LabelSelector>,
    /// Namespace; empty means all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// Name; empty means all.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// Lua per object.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub evaluate: String,
    /// CEL rules; the first true one selects the object.
    #[serde(rename = "evaluateCEL", skip_serializing_if = "Vec::is_empty")]
    pub evaluate_cel: Vec<NamedCel>,
    /// Whether objects that are being deleted are still events.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub include_deleting_resources: Option<bool>,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// Conditions on a message; each is an unanchored regular expression, an absent one always holds.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct MessagingMatchCriteria {
    /// Subject the message came on.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub subject: String,
    /// CloudEvent attribute `source`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cloud_event_source: String,
    /// CloudEvent attribute `type`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cloud_event_type: String,
    /// CloudEvent attribute `subject`.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub cloud_event_subject: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}

/// What the agents report about the source.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EventSourceStatus {
    /// Why objects could not be evaluated.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub agent_failure_message: String,
    /// Fields this version does not know, kept as they were written.
    #[serde(flatten)]
    pub extra: Extra,
}
