//! The objects of one resource in one cluster, and the recent changes to them.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use tokio::sync::watch;

use crate::object::Object;

/// How many changes of one resource can be replayed to a watch that reconnects. Older ones are
/// answered with 410, so the number bounds the memory held by replaced objects.
pub const LOG_CAPACITY: usize = 1_000;

/// Where an object lives in its collection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectKey {
    /// Namespace; empty for cluster-scoped objects.
    pub namespace: Box<str>,
    /// Name.
    pub name: Box<str>,
}

/// What happened to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChangeKind {
    /// Created.
    Added,
    /// Replaced by a newer state.
    Modified,
    /// Removed.
    Deleted,
}

/// One change of one object.
#[derive(Debug, Clone)]
pub struct Change {
    /// What happened.
    pub kind: ChangeKind,
    /// The new state, or the last one as of its deletion.
    pub object: Arc<Object>,
    /// The state before, when there was one.
    pub previous: Option<Arc<Object>>,
}

/// The objects of one resource and the log of their changes.
#[derive(Debug)]
pub struct Collection {
    objects: BTreeMap<ObjectKey, Arc<Object>>,
    log: VecDeque<Change>,
    compacted: u64,
    signal: watch::Sender<u64>,
    ended: bool,
}

// === impl ObjectKey ===

impl ObjectKey {
    /// The key of a name in a namespace.
    pub fn new(namespace: &str, name: &str) -> Self {
        Self { namespace: namespace.into(), name: name.into() }
    }
}

// === impl Collection ===

impl Collection {
    /// An empty collection, whose log starts at `resource_version`.
    pub fn new(resource_version: u64) -> Self {
        Self {
            objects: BTreeMap::new(),
            log: VecDeque::new(),
            compacted: resource_version,
            signal: watch::Sender::new(resource_version),
            ended: false,
        }
    }

    /// One object.
    pub fn get(&self, key: &ObjectKey) -> Option<&Arc<Object>> {
        self.objects.get(key)
    }

    /// Number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// The objects of a namespace, or all of them, in key order.
    pub fn iter<'a>(&'a self, namespace: &'a str) -> impl Iterator<Item = &'a Arc<Object>> + 'a {
        let from = ObjectKey::new(namespace, "");
        self.objects
            .range(from..)
            .take_while(move |(key, _)| namespace.is_empty() || *key.namespace == *namespace)
            .map(|(_, object)| object)
    }

    /// Stores a new state and tells the watches.
    pub fn put(&mut self, key: ObjectKey, object: Arc<Object>) {
        let previous = self.objects.insert(key, object.clone());
        let kind = if previous.is_some() { ChangeKind::Modified } else { ChangeKind::Added };
        self.record(Change { kind, object, previous });
    }

    /// Stores many objects without telling anybody: whoever watches lists again.
    pub fn fill(&mut self, objects: impl Iterator<Item = (ObjectKey, Arc<Object>)>, resource_version: u64) {
        self.objects.extend(objects);
        self.compact(resource_version);
    }

    /// Removes an object, whose last state is `object`, and tells the watches.
    pub fn remove(&mut self, key: &ObjectKey, object: Arc<Object>) {
        let previous = self.objects.remove(key);
        self.record(Change { kind: ChangeKind::Deleted, object, previous });
    }

    fn record(&mut self, change: Change) {
        let resource_version = change.object.resource_version();
        if self.log.len() >= LOG_CAPACITY
            && let Some(oldest) = self.log.pop_front()
        {
            self.compacted = oldest.object.resource_version();
        }
        self.log.push_back(change);
        self.signal.send_replace(resource_version);
    }

    /// Forgets all changes up to `resource_version`, so that older watches get 410.
    pub fn compact(&mut self, resource_version: u64) {
        self.log.clear();
        self.compacted = resource_version;
        self.signal.send_modify(|_| {});
    }

    /// At most `limit` changes after `resource_version`; `None` when some of them are forgotten.
    pub fn changes_after(&self, resource_version: u64, limit: usize) -> Option<Vec<Change>> {
        if resource_version < self.compacted {
            return None;
        }
        let start = self.log.partition_point(|change| change.object.resource_version() <= resource_version);
        Some(self.log.iter().skip(start).take(limit).cloned().collect())
    }

    /// The resource is no longer served: watches end when they have seen everything.
    pub fn end(&mut self) {
        self.ended = true;
        self.signal.send_modify(|_| {});
    }

    /// Whether the resource is no longer served.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// Wakes when something changes.
    pub fn subscribe(&self) -> watch::Receiver<u64> {
        self.signal.subscribe()
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn object(name: &str, resource_version: u64) -> Arc<Object> {
        let body = json!({"metadata": {"name": name}});
        Arc::new(Object::new(body.as_object().unwrap().clone(), Arc::from([]), resource_version))
    }

    #[test]
    fn changes_are_replayed_in_order() {
        let mut collection = Collection::new(1);
        let key = ObjectKey::new("n", "a");
        collection.put(key.clone(), object("a", 2));
        collection.put(key.clone(), object("a", 3));
        collection.remove(&key, object("a", 4));
        let kinds: Vec<_> =
            collection.changes_after(1, 10).unwrap().iter().map(|change| change.kind).collect();
        assert_eq!(kinds, [ChangeKind::Added, ChangeKind::Modified, ChangeKind::Deleted]);
        assert_eq!(collection.changes_after(3, 10).unwrap().len(), 1);
        assert_eq!(collection.changes_after(1, 2).unwrap().len(), 2);
        assert_eq!(collection.len(), 0);
    }

    #[test]
    fn forgotten_changes_are_reported() {
        let mut collection = Collection::new(0);
        for version in 1..=(LOG_CAPACITY as u64 + 5) {
            collection.put(ObjectKey::new("", "a"), object("a", version));
        }
        assert!(collection.changes_after(4, 1).is_none());
        assert_eq!(collection.changes_after(5, 1).unwrap()[0].object.resource_version(), 6);
        collection.compact(2_000);
        assert!(collection.changes_after(1_999, 1).is_none());
    }

    #[test]
    fn a_namespace_is_a_range() {
        let mut collection = Collection::new(0);
        for (index, namespace) in ["a", "b", "b", "c"].iter().enumerate() {
            collection.put(
                ObjectKey::new(namespace, &index.to_string()),
                object(&index.to_string(), index as u64 + 1),
            );
        }
        assert_eq!(collection.iter("b").count(), 2);
        assert_eq!(collection.iter("").count(), 4);
    }
}
