//! An object of the management cluster that should be, or should not be.

use serde_json::{Map, Value};
use sluice_api::ObjectKey;

/// An object of the management cluster that should be, or should not be.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// Which object.
    pub key: ObjectKey,
    /// Its content; `None` to delete it.
    pub object: Option<Value>,
}

impl Projection {
    pub(crate) fn of(key: ObjectKey, mut object: Value, labels: Map<String, Value>) -> Self {
        object["apiVersion"] = key.gvk.api_version().into();
        object["kind"] = key.gvk.kind.clone().into();
        object["metadata"]["name"] = key.name.clone().into();
        if !key.namespace.is_empty() {
            object["metadata"]["namespace"] = key.namespace.clone().into();
        }
        if !labels.is_empty() {
            object["metadata"]["labels"] = labels.into();
        }
        Self { key, object: Some(object) }
    }
}
