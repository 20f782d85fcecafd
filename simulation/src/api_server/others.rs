//! What somebody else does to what is deployed.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::{ObjectKey, object};
use sluice_deployer_core::Live;

use super::ApiServer;
use crate::coverage::Fault;

/// How often that is done on each server, so that it is no fight.
const MOST_CHANGES: u32 = 4;

/// Who changes again and again what is put right.
pub(crate) const CONTENDER: &str = "contender";

/// What is done once.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Meddling {
    /// The object is deleted.
    Delete,
    /// A field is added, and nobody is said to have any field.
    Change,
    /// `managedFields` are taken off it, as one patch can do, and nothing else is changed.
    Strip,
}

// === impl Meddling ===

impl Meddling {
    /// How it is counted.
    pub(crate) fn fault(self) -> Fault {
        match self {
            Self::Delete => Fault::Missing,
            Self::Change => Fault::Changed,
            Self::Strip => Fault::Stripped,
        }
    }
}

impl ApiServer {
    /// Whether an inventory says which fields of an object the last apply has left.
    pub(crate) fn has_noted_fields(&self, key: &ObjectKey) -> bool {
        self.inventories.values().any(|stored| {
            let mut fields = stored.inventory.objects.iter().zip(&stored.inventory.fields);
            fields.any(|(other, noted)| **other == *key && noted.is_some())
        })
    }

    /// Somebody else does this to what the user's profile has deployed; to which object.
    pub(crate) fn interfere(&mut self, meddling: Meddling) -> Option<ObjectKey> {
        let key = self.key_of_own()?;
        if self.changes == MOST_CHANGES || self.going(&key).is_some() {
            return None;
        }
        self.changes += 1;
        match meddling {
            Meddling::Delete => {
                let gone = self.applied.remove(&key)?;
                self.missing.push((key.clone(), Live::of(&gone).uid));
                Some(key)
            }
            Meddling::Change => self.change(key, json!([]), true),
            Meddling::Strip => self.change(key, json!([]), false),
        }
    }

    /// Somebody else changes what the user's profile has deployed, unless it is as that one wants it.
    pub(crate) fn contend(&mut self) -> Option<ObjectKey> {
        let key = self.key_of_own().filter(|key| !self.is_contended() && self.going(key).is_none())?;
        let fields = json!({"f:data": {"f:theirs": {}}});
        let entry = json!({"manager": CONTENDER, "operation": "Update", "fieldsV1": fields});
        self.change(key, json!([entry]), true)
    }

    /// Whether what the user's profile has deployed is as somebody else wants it.
    pub(crate) fn is_contended(&self) -> bool {
        let object = self.key_of_own().and_then(|key| self.applied.get(&key));
        object.is_some_and(|object| object::at(object, &["data", "theirs"]).is_some())
    }

    /// What the user's profile has deployed.
    fn key_of_own(&self) -> Option<ObjectKey> {
        let is_own = |(key, object): &(&ObjectKey, &Arc<Value>)| {
            key.name == "own" && Live::of(object).owner.is_some_and(|owner| owner.name == "own")
        };
        self.applied.iter().find(is_own).map(|(key, _)| key.clone())
    }

    /// Other managers have the fields of an object now, and with `adds` it has one more.
    fn change(&mut self, key: ObjectKey, managers: Value, adds: bool) -> Option<ObjectKey> {
        self.version += 1;
        let mut object = (**self.applied.get(&key)?).clone();
        if adds {
            object["data"]["theirs"] = "x".into();
        }
        object["metadata"]["resourceVersion"] = self.version.to_string().into();
        object["metadata"]["managedFields"] = managers;
        self.applied.insert(key.clone(), Arc::new(object));
        Some(key)
    }
}

/// Whether nobody is said to have any field of an object.
pub(crate) fn is_stripped(object: &Value) -> bool {
    object["metadata"]["managedFields"].as_array().is_none_or(Vec::is_empty)
}
