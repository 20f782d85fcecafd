//! One entry of `metadata.managedFields`.

use std::sync::Arc;

use serde::Serialize;
use serde_json::Value;

use super::FieldSet;

/// How a manager writes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub enum Operation {
    /// By server-side apply.
    Apply,
    /// By anything else.
    Update,
}

/// The fields that one writer owns.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Manager {
    /// Name of the writer.
    pub manager: Box<str>,
    /// How it writes.
    pub operation: Operation,
    /// Version in which it wrote.
    pub api_version: Box<str>,
    /// When the set last changed.
    pub time: Box<str>,
    fields_type: &'static str,
    /// What it owns.
    #[serde(rename = "fieldsV1")]
    pub fields: Arc<FieldSet>,
    /// Subresource through which it wrote; empty for the object itself.
    #[serde(skip_serializing_if = "str::is_empty")]
    pub subresource: Box<str>,
}

// === impl Manager ===

impl Manager {
    /// One writer's entry.
    pub fn new(
        manager: &str,
        operation: Operation,
        api_version: &str,
        subresource: &str,
        time: &str,
        fields: FieldSet,
    ) -> Self {
        Self {
            manager: manager.into(),
            operation,
            api_version: api_version.into(),
            time: time.into(),
            fields_type: "FieldsV1",
            fields: Arc::new(fields),
            subresource: subresource.into(),
        }
    }

    /// Whether this is the entry of that writer. An applier has one entry whatever the version, an
    /// updater one for each.
    pub fn is(&self, manager: &str, operation: Operation, api_version: &str, subresource: &str) -> bool {
        *self.manager == *manager
            && self.operation == operation
            && *self.subresource == *subresource
            && (operation == Operation::Apply || *self.api_version == *api_version)
    }

    /// How conflict messages name the writer.
    pub fn describe(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        match self.operation {
            Operation::Apply => text,
            Operation::Update => format!("{text} using {}", self.api_version),
        }
    }

    /// Writes `metadata.managedFields`.
    pub fn list_to_json(managers: &[Self]) -> Value {
        serde_json::to_value(managers).unwrap_or_default()
    }

    /// Reads `metadata.managedFields`; `None` when an entry is malformed.
    pub fn list_from_json(value: &Value) -> Option<Vec<Self>> {
        value.as_array()?.iter().map(Self::from_json).collect()
    }

    fn from_json(value: &Value) -> Option<Self> {
        let text = |name: &str| value.get(name).and_then(Value::as_str).unwrap_or_default();
        let operation = match text("operation") {
            "Apply" => Operation::Apply,
            "Update" => Operation::Update,
            _ => return None,
        };
        let fields = FieldSet::from_json(value.get("fieldsV1")?.as_object()?)?;
        Some(Self::new(
            text("manager"),
            operation,
            text("apiVersion"),
            text("subresource"),
            text("time"),
            fields,
        ))
    }
}

/// Puts entries into the order in which the API shows them.
pub fn sort(managers: &mut [Manager]) {
    managers.sort_by(|a, b| {
        let key = |m: &Manager| {
            (m.operation, m.time.clone(), m.manager.clone(), m.api_version.clone(), m.subresource.clone())
        };
        key(a).cmp(&key(b))
    });
}
