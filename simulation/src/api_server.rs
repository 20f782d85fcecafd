//! The API server of one managed cluster: what users put there, what the deployer applies, and the log that
//! watches read.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_agent_core::{Seen, WatchSpec};
use sluice_api::{Gvk, ObjectKey, Selector, object};
use sluice_deployer_core::{Class, Failure, Live, Reply, Request, Stored};

/// See the module's text.
#[derive(Default)]
pub(crate) struct ApiServer {
    /// What users put there, by name.
    pub(crate) services: BTreeMap<String, Value>,
    /// Every change of a service: its key, and the object unless it was deleted.
    pub(crate) log: Vec<(ObjectKey, Option<Value>)>,
    /// What was applied.
    pub(crate) applied: BTreeMap<ObjectKey, Value>,
    inventories: BTreeMap<String, Stored>,
    version: u64,
}

/// The key of a service.
pub(crate) fn service_key(name: &str) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "default".into(), name: name.into() }
}

impl ApiServer {
    /// Creates or changes a service; it is an event when `event`.
    pub(crate) fn put_service(&mut self, name: &str, v: u64, event: bool) {
        let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "default",
            "labels": {"event": if event { "yes" } else { "no" }}, "annotations": {"v": v.to_string()}}});
        self.services.insert(name.to_owned(), object.clone());
        self.log.push((service_key(name), Some(object)));
    }

    /// Deletes a service.
    pub(crate) fn delete_service(&mut self, name: &str) {
        if self.services.remove(name).is_some() {
            self.log.push((service_key(name), None));
        }
    }

    /// What a watch lists.
    pub(crate) fn list(&self, spec: &WatchSpec) -> Vec<Seen> {
        self.services.values().filter(|object| selects(spec, object)).filter_map(seen).collect()
    }

    /// Carries out a deployer's call. The caller has checked its lease.
    pub(crate) fn call(&mut self, request: &Request) -> Reply {
        match request {
            Request::Inventories => Reply::Inventories(self.inventories.values().cloned().collect()),
            Request::Read(key) => Reply::Read(self.applied.get(key).map(Live::of)),
            Request::Apply { object, against } => self.apply(object, against.as_ref()),
            Request::Delete { key, against } => match self.applied.get(key) {
                None => Reply::Done,
                Some(object) if Live::of(object).version() == *against => {
                    self.applied.remove(key);
                    Reply::Done
                }
                Some(_) => conflict(),
            },
            Request::ReadInventory(profile) => Reply::Inventory(self.inventories.get(profile).cloned()),
            Request::WriteInventory { inventory, against } => {
                let known = self.inventories.get(&inventory.profile).map(|stored| &stored.version);
                if known != against.as_ref() {
                    return conflict();
                }
                self.version += 1;
                let uid = known.map_or_else(|| format!("u{}", self.version), |(uid, _)| uid.clone());
                let version = (uid, self.version.to_string());
                let stored = Stored { inventory: inventory.clone(), version: version.clone() };
                self.inventories.insert(inventory.profile.clone(), stored);
                Reply::Written(version)
            }
            Request::DeleteInventory { profile, against } => match self.inventories.get(profile) {
                Some(stored) if stored.version != *against => conflict(),
                _ => {
                    self.inventories.remove(profile);
                    Reply::Done
                }
            },
        }
    }

    fn apply(&mut self, object: &Arc<Value>, against: Option<&(String, String)>) -> Reply {
        let Some(key) = ObjectKey::of(object) else { return conflict() };
        let known = self.applied.get(&key).map(|object| Live::of(object).version());
        if against.is_some() && against != known.as_ref() {
            return conflict();
        }
        self.version += 1;
        let mut object = (**object).clone();
        object["metadata"]["uid"] = known.map_or_else(|| format!("u{}", self.version), |(uid, _)| uid).into();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let live = Live::of(&object);
        self.applied.insert(key, object);
        Reply::Applied(live)
    }
}

fn conflict() -> Reply {
    Reply::Failed(Failure::new(Class::Conflict, "the object has been modified"))
}

/// Whether a watch shows an object.
pub(crate) fn selects(spec: &WatchSpec, object: &Value) -> bool {
    let labels = Selector::parse(&spec.labels).unwrap_or_default();
    spec.gvk.kind == "Service" && labels.matches(object::at(object, &["metadata", "labels"]))
}

/// An object as a watch shows it.
pub(crate) fn seen(object: &Value) -> Option<Seen> {
    Some(Seen { key: ObjectKey::of(object)?, body: object.to_string().into_bytes().into() })
}
