//! Which objects name which owner, so that a deletion finds its dependents without a scan.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;

use super::collection::ObjectKey;
use crate::object::{Json, Object};

/// Dependents by the uid of their owner.
#[derive(Debug, Default)]
pub struct Owners(HashMap<Box<str>, BTreeSet<(Arc<str>, ObjectKey)>>);

// === impl Owners ===

impl Owners {
    /// Notes the owners of an object.
    pub fn record(&mut self, resource: &Arc<str>, object: &Object) {
        for uid in owner_uids(object.metadata()) {
            let key = ObjectKey::new(object.namespace(), object.name());
            self.0.entry(uid.into()).or_default().insert((resource.clone(), key));
        }
    }

    /// Forgets the owners of an object.
    pub fn forget(&mut self, resource: &Arc<str>, object: &Object) {
        for uid in owner_uids(object.metadata()) {
            let Some(dependents) = self.0.get_mut(uid) else { continue };
            dependents.remove(&(resource.clone(), ObjectKey::new(object.namespace(), object.name())));
            if dependents.is_empty() {
                self.0.remove(uid);
            }
        }
    }

    /// The dependents of an owner.
    pub fn dependents(&self, uid: &str) -> Vec<(Arc<str>, ObjectKey)> {
        self.0.get(uid).into_iter().flatten().cloned().collect()
    }
}

/// The uids in `metadata.ownerReferences`.
pub fn owner_uids(metadata: Option<&Json>) -> impl Iterator<Item = &str> {
    let references = metadata.and_then(|metadata| metadata.get("ownerReferences")).and_then(Value::as_array);
    references.into_iter().flatten().filter_map(|reference| reference.get("uid")?.as_str())
}
