//! An object of any kind as plain JSON: what watches deliver, without losing or reordering anything.

use std::borrow::Cow;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::{ApiResource, Resource};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::path;

/// An object with the metadata that clients look at beside it.
#[derive(Clone, Debug)]
pub struct Raw {
    meta: ObjectMeta,
    /// Everything that the server sent, in its order.
    pub value: Value,
}

impl<'de> Deserialize<'de> for Raw {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Value::deserialize(deserializer).map(Self::from)
    }
}

impl From<Value> for Raw {
    fn from(value: Value) -> Self {
        let text = |field: &str| {
            value.get("metadata").and_then(|meta| meta.get(field)).and_then(Value::as_str).map(str::to_owned)
        };
        // Clients only look at these; the rest stays in the value.
        let meta = ObjectMeta {
            name: text("name"),
            namespace: text("namespace"),
            resource_version: text("resourceVersion"),
            uid: text("uid"),
            annotations: value
                .get("metadata")
                .and_then(|meta| meta.get("annotations"))
                .and_then(|map| Deserialize::deserialize(map).ok()),
            ..ObjectMeta::default()
        };
        Self { meta, value }
    }
}

impl Serialize for Raw {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.value.serialize(serializer)
    }
}

impl Resource for Raw {
    type DynamicType = ApiResource;
    type Scope = kube::core::DynamicResourceScope;

    fn kind(resource: &ApiResource) -> Cow<'_, str> {
        resource.kind.as_str().into()
    }

    fn group(resource: &ApiResource) -> Cow<'_, str> {
        resource.group.as_str().into()
    }

    fn version(resource: &ApiResource) -> Cow<'_, str> {
        resource.version.as_str().into()
    }

    fn api_version(resource: &ApiResource) -> Cow<'_, str> {
        resource.api_version.as_str().into()
    }

    fn plural(resource: &ApiResource) -> Cow<'_, str> {
        resource.plural.as_str().into()
    }

    fn url_path(resource: &ApiResource, namespace: Option<&str>) -> String {
        path::of_kind(&resource.api_version, &resource.plural, namespace)
    }

    fn meta(&self) -> &ObjectMeta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut ObjectMeta {
        &mut self.meta
    }
}

impl Raw {
    /// The object with its type, which lists of a real API server leave out, and without `managedFields`.
    pub fn complete(self, resource: &ApiResource) -> Value {
        let mut value = self.value;
        if let Some(map) = value.as_object_mut() {
            map.entry("apiVersion").or_insert_with(|| resource.api_version.clone().into());
            map.entry("kind").or_insert_with(|| resource.kind.clone().into());
            if let Some(metadata) = map.get_mut("metadata").and_then(Value::as_object_mut) {
                metadata.remove("managedFields");
            }
        }
        value
    }
}
