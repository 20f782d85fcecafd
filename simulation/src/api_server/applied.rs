//! The objects that deployers have applied, and whether they have changed since somebody looked at them.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::ObjectKey;

/// Objects by their keys. Whoever looks at all of them remembers the edition, and looks again only at a later one.
#[derive(Default)]
pub(crate) struct Applied {
    objects: BTreeMap<ObjectKey, Arc<Value>>,
    edition: u64,
}

impl Deref for Applied {
    type Target = BTreeMap<ObjectKey, Arc<Value>>;

    fn deref(&self) -> &Self::Target {
        &self.objects
    }
}

// === impl Applied ===

impl Applied {
    /// Grows with every change.
    pub(crate) fn edition(&self) -> u64 {
        self.edition
    }

    pub(super) fn insert(&mut self, key: ObjectKey, object: Arc<Value>) -> Option<Arc<Value>> {
        self.edition += 1;
        self.objects.insert(key, object)
    }

    pub(super) fn remove(&mut self, key: &ObjectKey) -> Option<Arc<Value>> {
        self.edition += 1;
        self.objects.remove(key)
    }

    pub(super) fn clear(&mut self) {
        self.edition += 1;
        self.objects.clear();
    }
}
