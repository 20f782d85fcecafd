//! The inventory of a profile in its cluster, as far as this owner knows it.

// D-1006: a write whose fate is unknown is followed by a read.

use std::sync::Arc;

use crate::inventory::{Inventory, Stored};
use crate::request::{Class, Version};

/// Inventories that somebody else changed meanwhile, in a row, before that is an error.
const MAX_CONFLICTS: u32 = 8;

#[derive(Debug, Default)]
pub(crate) struct InventoryState {
    /// What was read or written last; `None` when there is none.
    pub(super) stored: Option<Stored>,
    pub(super) knowledge: Knowledge,
    /// Whether it must be written although it says all it should.
    pub(super) renew: bool,
    /// What is on its way into the cluster.
    writing: Option<Arc<Inventory>>,
    conflicts: u32,
    /// The one that was deleted last.
    pub(crate) withdrawn: Option<Arc<Inventory>>,
}

/// How far what is known of an inventory can be trusted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Knowledge {
    /// It was read. A call of a former owner may still change or delete it.
    #[default]
    Read,
    /// This owner wrote it: no call of a former one can change or delete it any more.
    Written,
    /// It must be read again: a write was refused, or nobody knows whether it came through.
    Doubtful,
}

impl InventoryState {
    /// All that is left when the cluster's server may be another one: what was there.
    pub(super) fn forget(&mut self) -> Self {
        Self { stored: self.stored.take(), ..Self::default() }
    }

    /// This was read.
    pub(super) fn found(&mut self, stored: Option<Stored>) {
        (self.stored, self.knowledge) = (stored, Knowledge::Read);
    }

    /// This is being written; over which version.
    pub(super) fn write(&mut self, inventory: Arc<Inventory>) -> Option<Version> {
        self.writing = Some(inventory);
        self.stored.as_ref().map(|held| held.version.clone())
    }

    /// What was being written is there.
    pub(super) fn written(&mut self, version: Version) {
        self.conflicts = 0;
        self.stored = self.writing.take().map(|inventory| Stored { inventory, version });
        self.knowledge = Knowledge::Written;
    }

    /// A call on it failed: it is no longer what it was, or nobody knows. Whether that is still to be expected.
    pub(super) fn failed(&mut self, class: Class) -> bool {
        self.writing = None;
        self.knowledge = Knowledge::Doubtful;
        self.conflicts += u32::from(class == Class::Conflict);
        class == Class::Conflict && self.conflicts <= MAX_CONFLICTS
    }

    /// It was deleted.
    pub(super) fn deleted(&mut self) {
        self.withdrawn = self.stored.take().map(|held| held.inventory);
    }
}
