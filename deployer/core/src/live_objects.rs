//! What is known of the objects of a cluster that are there.
//!
//! There may be hundreds of thousands: keys are those of inventories, many objects have one owner, and what is told once more is kept where
//! it is. New memory for each of them amid much that soon goes would leave pages that hold little.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use sluice_api::ObjectKey;

use crate::request::{Live, OwningProfile};

/// By their keys.
#[derive(Debug, Default)]
pub(crate) struct LiveObjects {
    objects: HashMap<Arc<ObjectKey>, Live>,
    owners: HashSet<Arc<OwningProfile>>,
    /// With so many owners those of no object are forgotten.
    full: usize,
}

/// So few owners are no matter.
const FEW: usize = 64;

impl LiveObjects {
    /// It is there, and so.
    pub(crate) fn insert(&mut self, key: Arc<ObjectKey>, mut live: Live) {
        live.owner = live.owner.map(|owner| self.shared(owner));
        match self.objects.get_mut(&key) {
            Some(known) => known.become_like(live),
            None => drop(self.objects.insert(key, live)),
        }
    }

    /// The owner as others have it. Profiles of events come and go, and are never the same: who has nothing any more is forgotten now and
    /// then.
    fn shared(&mut self, owner: Arc<OwningProfile>) -> Arc<OwningProfile> {
        if let Some(kept) = self.owners.get(&owner) {
            return kept.clone();
        }
        if self.owners.len() >= self.full {
            self.owners.retain(|owner| Arc::strong_count(owner) > 1);
            self.full = FEW.max(2 * self.owners.len());
        }
        self.owners.insert(owner.clone());
        owner
    }

    /// The same of one that is known, and nothing of others.
    pub(crate) fn update(&mut self, key: &ObjectKey, live: Live) {
        if let Some((key, _)) = self.objects.get_key_value(key) {
            self.insert(key.clone(), live);
        }
    }

    pub(crate) fn get(&self, key: &ObjectKey) -> Option<&Live> {
        self.objects.get(key)
    }

    pub(crate) fn contains_key(&self, key: &ObjectKey) -> bool {
        self.objects.contains_key(key)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&ObjectKey, &Live)> {
        self.objects.iter().map(|(key, live)| (&**key, live))
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// It is not there, or nothing is known of it any more.
    pub(crate) fn remove(&mut self, key: &ObjectKey) -> Option<Live> {
        self.objects.remove(key)
    }

    /// Forgets the others; whether there were any.
    pub(crate) fn retain(&mut self, stays: impl Fn(&ObjectKey) -> bool) -> bool {
        let known = self.objects.len();
        self.objects.retain(|key, _| stays(key));
        self.objects.len() != known
    }

    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_api::Gvk;

    use super::*;

    fn key(number: usize) -> Arc<ObjectKey> {
        let name = format!("o{number}");
        Arc::new(ObjectKey { gvk: Gvk::new("", "v1", "ConfigMap"), namespace: "n".into(), name })
    }

    fn of(profile: usize) -> Live {
        let annotations = json!({"projectsveltos.io/owner-name": format!("p{profile}")});
        Live::of(&json!({"metadata": {"annotations": annotations}}))
    }

    #[test]
    fn objects_share_their_owner_and_owners_of_nothing_are_forgotten() {
        let mut objects = LiveObjects::default();
        for number in 0..3 * FEW {
            objects.insert(key(number), of(0));
        }
        for number in 1..10 * FEW {
            objects.insert(key(3 * FEW), of(number));
            objects.remove(&key(3 * FEW));
        }
        assert!(objects.owners.len() <= FEW, "{}", objects.owners.len());
        let owner = |number| objects.get(&key(number)).unwrap().owner.clone().unwrap();
        assert!(Arc::ptr_eq(&owner(0), &owner(3 * FEW - 1)));
    }
}
