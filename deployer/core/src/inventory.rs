//! What a profile owns in a cluster, kept in the cluster: the truth that survives everything else.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use sluice_api::model::{INVENTORY, NAMESPACE};
use sluice_api::{Digest, ObjectKey, ProfileId, ServiceAccount, identity, object};
use sluice_protocol::rows::{Cause, Release};

use crate::error::Error;
use crate::reload::Reload;
use crate::request::{Live, Version};

/// Whose inventories: those of the management cluster itself are told from those that it has as a registered cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// Of what is deployed to the cluster because it is registered.
    Registered,
    /// Of what is deployed to it because it is the management cluster.
    Management,
}

// D-1001: the inventory is written before the first apply.
// D-0103: the clusters are the truth, the bus is a cache.
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
    /// Why it was made.
    pub cause: Cause,
    /// Whether the objects stay when the profile goes.
    #[serde(default)]
    pub leave: bool,
    /// The profiles that must go after it. Former versions do not know it.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub depends_on: BTreeSet<ProfileId>,
    /// What is checked when the profile goes. Former versions do not know it.
    #[serde(default, skip_serializing_if = "RemovalChecks::is_nothing")]
    pub checks: RemovalChecks,
    /// Whether everything was applied once, for a profile that is deployed once: then nothing is updated any more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub complete: bool,
    /// What it was last asked with to be applied once more, and was: a digest for each who asked.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub redeployed: BTreeSet<String>,
    /// Whether contents of the profile may be kept beside it: they go with it. Former versions do not know it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub keeps: bool,
    /// How often an owner wrote it only to give it another version: an API server keeps the version of what is the same.
    #[serde(default)]
    pub renewed: u64,
    /// The releases of charts that are its, by `namespace/name`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub releases: BTreeMap<String, Release>,
    /// What another controller had called the profile when this was taken over from it: objects may say so until they are changed. Former
    /// versions do not know it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub formerly: String,
    /// Those releases that Helm had installed when they were taken over from another controller, as they were then. Former versions do
    /// not know it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub adopted: BTreeMap<String, Release>,
    /// Of each of the objects, in their order, what tells the fields that are ours; where drift is put right. Former versions do not
    /// know it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub fields: Vec<Option<NonZeroU64>>,
    /// What the pods of its workloads read, and were started with, by the workload; where they are restarted when that changes. Former
    /// versions do not know it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub reloads: BTreeMap<String, Reload>,
    /// Everything it may have created. Written before the first of them is.
    pub objects: BTreeSet<Arc<ObjectKey>>,
    /// Those of them that are never deleted: they said so when they were rendered, or a chart brought them along. Former versions
    /// do not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stay: Option<BTreeSet<ObjectKey>>,
}

/// Checks around the removal of a profile, whose row has gone by then.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct RemovalChecks {
    /// `preDeleteChecks` and `postDeleteChecks`, as the spec had them.
    pub lists: Map<String, Value>,
    /// For whom they are asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<ServiceAccount>,
    /// The Jobs that they run, in their order. Former versions do not know it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Arc<Value>>,
}

// === impl RemovalChecks ===

impl RemovalChecks {
    fn is_nothing(&self) -> bool {
        self.lists.is_empty()
    }
}

/// An inventory as it is in a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Stored {
    /// Shared with the call that writes it, and with who asks what the profile owns.
    pub inventory: Arc<Inventory>,
    /// Its ConfigMap's version: the next write and the deletion are made against it.
    pub version: Version,
}

impl Stored {
    /// Reads it from its ConfigMap.
    ///
    /// # Errors
    /// That the content cannot be read.
    pub fn from_object(config_map: &Value, kept: Kept) -> Result<Self, Error> {
        let inventory = Arc::new(Inventory::from_object(config_map)?);
        if object::name(config_map) != kept.object_name(&inventory.id()) {
            let (object, profile) = (object::describe(config_map), inventory.id());
            return Err(Error::Misplaced { object, profile });
        }
        Ok(Self { inventory, version: Live::of(config_map).version() })
    }
}

impl Kept {
    /// Value of the label of the ConfigMaps that hold them.
    pub fn label(self) -> &'static str {
        match self {
            Self::Registered => "true",
            Self::Management => "local",
        }
    }

    /// Name of the ConfigMap that holds the inventory of `profile`.
    pub fn object_name(self, profile: &ProfileId) -> String {
        let digest = Digest::of(&[profile.path().as_bytes()]);
        match self {
            Self::Registered => format!("sluice-{digest}"),
            Self::Management => format!("sluice-local-{digest}"),
        }
    }
}

impl Inventory {
    /// Whose it is.
    pub fn id(&self) -> ProfileId {
        ProfileId::new(&*self.owner_namespace, &*self.profile)
    }

    /// As a ConfigMap.
    ///
    /// # Errors
    /// Never for inventories that were read or built here; the codec's message otherwise.
    pub fn to_object(&self, kept: Kept) -> Result<Value, serde_json::Error> {
        Ok(json!({
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": {
                "name": kept.object_name(&self.id()),
                "namespace": NAMESPACE,
                "labels": {INVENTORY: kept.label()},
                "annotations": {"sluice.projectsveltos.io/profile": self.id().path()},
            },
            "data": {"inventory": serde_json::to_string(self)?},
        }))
    }

    /// Reads it back. Others may write where it is kept: what no object can be called is left out, nothing is asked about it.
    ///
    /// # Errors
    /// That the content cannot be read.
    pub fn from_object(config_map: &Value) -> Result<Self, Error> {
        let text = object::text(config_map, &["data", "inventory"]);
        let mut inventory: Self = serde_json::from_str(text).map_err(|error| Error::Inventory {
            object: object::describe(config_map),
            why: error.to_string(),
        })?;
        let can_be = |key: &ObjectKey| identity::validate_reference(key).is_ok();
        let named = inventory.objects.len();
        inventory.objects.retain(|key| can_be(key));
        // They are told by their order.
        if inventory.objects.len() != named || inventory.fields.len() != named {
            inventory.fields.clear();
        }
        inventory.stay.iter_mut().for_each(|stay| stay.retain(can_be));
        Ok(inventory)
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
        let release = Release {
            repository: "oci://r".into(),
            version: "1.0.0".into(),
            app_version: String::new(),
            values: "0".into(),
        };
        let seen = BTreeMap::from([("ConfigMap a/c".to_owned(), "0".to_owned())]);
        let reload = Reload { mark: "1".into(), seen };
        let inventory = Inventory {
            profile: "p".into(),
            owner_kind: "ClusterProfile".into(),
            owner_namespace: String::new(),
            cause: Cause::Profile(ProfileId::cluster("p")),
            leave: false,
            depends_on: BTreeSet::new(),
            checks: RemovalChecks::default(),
            complete: true,
            redeployed: ["0".to_owned()].into(),
            keeps: true,
            renewed: 7,
            formerly: "sveltos-x".into(),
            adopted: BTreeMap::from([("n/r".to_owned(), release.clone())]),
            releases: BTreeMap::from([("n/r".to_owned(), release)]),
            stay: Some([key.clone()].into()),
            fields: Vec::new(),
            reloads: BTreeMap::from([("Deployment a/b".to_owned(), reload)]),
            objects: [Arc::new(key)].into(),
        };
        for kept in [Kept::Registered, Kept::Management] {
            assert_eq!(Inventory::from_object(&inventory.to_object(kept).unwrap()), Ok(inventory.clone()));
        }
        assert!(Inventory::from_object(&json!({"kind": "ConfigMap"})).is_err());
    }

    #[test]
    fn what_no_object_can_be_called_is_left_out() {
        let key = |namespace: &str, name: &str| json!({"gvk": {"group": "", "version": "v1", "kind": "ConfigMap"}, "namespace": namespace, "name": name});
        let keys =
            json!([key("a", "b"), key("kube-system/secrets?x=", "b"), key("a", "../b"), key("a", "..")]);
        let cause = serde_json::to_value(Cause::Profile(ProfileId::cluster("p"))).unwrap();
        let text = json!({"profile": "p", "owner_kind": "ClusterProfile", "cause": cause, "objects": keys, "stay": keys});
        let config_map = json!({"kind": "ConfigMap", "data": {"inventory": text.to_string()}});
        let inventory = Inventory::from_object(&config_map).unwrap();
        assert_eq!((inventory.objects.len(), inventory.stay.unwrap().len()), (1, 1));
    }

    #[test]
    fn a_copy_under_another_name_is_no_inventory() {
        let inventory = Inventory {
            profile: "p".into(),
            owner_kind: "Profile".into(),
            owner_namespace: "team".into(),
            cause: Cause::Profile(ProfileId::new("team", "p")),
            leave: false,
            depends_on: BTreeSet::new(),
            checks: RemovalChecks::default(),
            complete: false,
            redeployed: BTreeSet::new(),
            keeps: false,
            renewed: 0,
            releases: BTreeMap::new(),
            formerly: String::new(),
            adopted: BTreeMap::new(),
            fields: Vec::new(),
            reloads: BTreeMap::new(),
            objects: BTreeSet::new(),
            stay: None,
        };
        let kept = Kept::Registered;
        let mut object = inventory.to_object(kept).unwrap();
        assert!(Stored::from_object(&object, kept).is_ok());
        assert!(Stored::from_object(&object, Kept::Management).is_err(), "it is a registered cluster's");
        object["metadata"]["name"] = kept.object_name(&ProfileId::cluster("p")).into();
        assert!(Stored::from_object(&object, kept).unwrap_err().to_string().contains("delete this copy"));
    }
}
