//! What a profile owns in a cluster, kept in the cluster: the truth that survives everything else.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use sluice_api::model::NAMESPACE;
use sluice_api::{Digest, ObjectKey, object};
use sluice_protocol::rows::Cause;

use crate::request::{Live, Version};

/// Label of the ConfigMaps that hold inventories.
pub const LABEL: &str = "sluice.projectsveltos.io/inventory";

/// The inventory of one profile.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inventory {
    /// The profile's name.
    pub profile: String,
    /// `ClusterProfile` or `Profile`.
    pub owner_kind: String,
    /// Namespace of the profile, empty for a ClusterProfile.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner_namespace: String,
    /// Shard of the renderer that made the profile.
    pub origin: u16,
    /// Why it was made.
    pub cause: Cause,
    /// Whether the objects stay when the profile goes.
    #[serde(default)]
    pub leave: bool,
    /// Whether everything was applied once, for a profile that is deployed once: then nothing is updated any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complete: bool,
    /// How often an owner wrote it only to give it another version: an API server keeps the version of what is the same.
    #[serde(default)]
    pub renewed: u64,
    /// Everything it may have created. Written before the first of them is.
    pub objects: BTreeSet<ObjectKey>,
}

/// An inventory as it is in a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Its content.
    pub inventory: Arc<Inventory>,
    /// Its ConfigMap's version: the next write and the deletion are made against it.
    pub version: Version,
}

impl Stored {
    /// Reads it from its ConfigMap.
    ///
    /// # Errors
    /// That the content cannot be read.
    pub fn from_object(config_map: &Value) -> Result<Self, String> {
        let inventory = Arc::new(Inventory::from_object(config_map)?);
        Ok(Self { inventory, version: Live::of(config_map).version() })
    }
}

impl Inventory {
    /// Name of the ConfigMap that holds the inventory of `profile`.
    pub fn object_name(profile: &str) -> String {
        format!("sluice-{}", Digest::of(&[profile.as_bytes()]))
    }

    /// As a ConfigMap.
    ///
    /// # Errors
    /// Never for inventories that were read or built here; the codec's message otherwise.
    pub fn to_object(&self) -> Result<Value, serde_json::Error> {
        Ok(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": Self::object_name(&self.profile),
                "namespace": NAMESPACE,
                "labels": {LABEL: "true"},
                "annotations": {"sluice.projectsveltos.io/profile": self.profile},
            },
            "data": {"inventory": serde_json::to_string(self)?},
        }))
    }

    /// Reads it back.
    ///
    /// # Errors
    /// That the content cannot be read.
    pub fn from_object(config_map: &Value) -> Result<Self, String> {
        let text = object::text(config_map, &["data", "inventory"]);
        serde_json::from_str(text).map_err(|error| {
            format!("{}: data.inventory cannot be read: {error}", object::describe(config_map))
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::Gvk;

    use super::*;

    #[test]
    fn inventories_are_read_back() {
        let key =
            ObjectKey { gvk: Gvk::new("apps", "v1", "Deployment"), namespace: "a".into(), name: "b".into() };
        let inventory = Inventory {
            profile: "p".into(),
            owner_kind: "ClusterProfile".into(),
            owner_namespace: String::new(),
            origin: 3,
            cause: Cause::Profile("ClusterProfile p".into()),
            leave: false,
            complete: true,
            renewed: 7,
            objects: [key].into(),
        };
        assert_eq!(Inventory::from_object(&inventory.to_object().unwrap()), Ok(inventory));
        assert!(Inventory::from_object(&json!({"kind": "ConfigMap"})).is_err());
    }
}
