//! What is applied once more, although nothing differs, because somebody asked for it.
//!
//! ```text
//! row: asked with {x} ─► inventory: done for {} ─► each object that is the profile's is applied ─► inventory: done for {x}
//! ```
//!
//! An owner that ends in between leaves an inventory that says nothing of it: the next one applies everything once more.

// D-1044: a redeploy is carried out once.

use std::collections::BTreeSet;

use sluice_api::ObjectKey;
use sluice_protocol::rows::Desired;

use super::Job;

/// What was asked for and is not in the inventory, and the objects that this owner has applied since.
#[derive(Debug, Default)]
pub(super) struct Redeploy {
    asked: BTreeSet<String>,
    done: BTreeSet<ObjectKey>,
}

impl Redeploy {
    /// Whether anything is asked for.
    pub(super) fn is_asked(&self) -> bool {
        !self.asked.is_empty()
    }

    /// Whether this object is to be applied once more.
    pub(super) fn is_due(&self, key: &ObjectKey) -> bool {
        self.is_asked() && !self.done.contains(key)
    }

    /// An object was applied.
    pub(super) fn applied(&mut self, key: &ObjectKey) {
        if self.is_asked() {
            self.done.insert(key.clone());
        }
    }

    /// What the inventory says once everything is applied; nothing where it says so already.
    pub(super) fn to_record(&self) -> Option<&BTreeSet<String>> {
        Some(&self.asked).filter(|asked| !asked.is_empty())
    }
}

impl Job {
    /// Compares what its row asks for with what has been done. What has been applied for that already is not applied again.
    pub(super) fn compare_asked(&mut self, desired: &Desired) {
        let done = self.inventory().map(|known| &known.redeployed);
        let is_new = done.map_or(!desired.redeploy.is_empty(), |done| !desired.redeploy.is_subset(done));
        if !is_new {
            self.redeploy = Redeploy::default();
        } else if self.redeploy.asked != desired.redeploy {
            self.redeploy = Redeploy { asked: desired.redeploy.clone(), done: BTreeSet::new() };
        }
    }
}
