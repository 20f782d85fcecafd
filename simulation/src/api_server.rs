//! The API server of one managed cluster: what users put there, what the deployer applies, and the log that
//! watches read.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_agent_core::{Seen, WatchSpec};
use sluice_api::{Gvk, ObjectKey, Selector, object};
use sluice_deployer_core::{Class, Failure, Inventory, Live, Reply, Request};

/// See the module's text.
#[derive(Default)]
pub(crate) struct ApiServer {
    /// What users put there, by name.
    pub(crate) services: BTreeMap<String, Value>,
    /// Every change of a service: its key, and the object unless it was deleted.
    pub(crate) log: Vec<(ObjectKey, Option<Value>)>,
    /// What was applied.
    pub(crate) applied: BTreeMap<ObjectKey, Arc<Value>>,
    inventories: BTreeMap<String, Inventory>,
    version: u64,
}

/// The one object that a call changed.
pub(crate) struct Written {
    pub(crate) key: ObjectKey,
    pub(crate) old: Option<Arc<Value>>,
    pub(crate) new: Option<Arc<Value>>,
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

    /// Carries out a deployer's call, and tells which object it changed. The caller has checked its lease.
    pub(crate) fn call(&mut self, request: &Request) -> (Reply, Option<Written>) {
        let reply = match request {
            Request::Inventories => Reply::Inventories(self.inventories.values().cloned().collect()),
            Request::Read(key) => Reply::Read(self.applied.get(key).map(|object| Live::of(object))),
            Request::Apply { object, against } => return self.apply(object, against.as_ref()),
            Request::Delete { key, against } => match self.applied.get(key) {
                None => Reply::Done,
                Some(object) if Live::of(object).version() == *against => {
                    let old = self.applied.remove(key);
                    return (Reply::Done, Some(Written { key: key.clone(), old, new: None }));
                }
                Some(_) => conflict(),
            },
            Request::WriteInventory(inventory) => {
                self.inventories.insert(inventory.profile.clone(), inventory.clone());
                Reply::Done
            }
            Request::DeleteInventory(profile) => {
                self.inventories.remove(profile);
                Reply::Done
            }
        };
        (reply, None)
    }

    fn apply(&mut self, object: &Value, against: Option<&(String, String)>) -> (Reply, Option<Written>) {
        let Some(key) = ObjectKey::of(object) else { return (conflict(), None) };
        let known = self.applied.get(&key).map(|object| Live::of(object).version());
        if against.is_some() && against != known.as_ref() {
            return (conflict(), None);
        }
        self.version += 1;
        let mut object = object.clone();
        object["metadata"]["uid"] = known.map_or_else(|| format!("u{}", self.version), |(uid, _)| uid).into();
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        let (live, new) = (Live::of(&object), Arc::new(object));
        let old = self.applied.insert(key.clone(), new.clone());
        (Reply::Applied(live), Some(Written { key, old, new: Some(new) }))
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
