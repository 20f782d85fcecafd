//! Hundreds of thousands of objects until they are told of, in little room: what many have in common is there once.

use std::collections::BTreeSet;
use std::iter::Peekable;
use std::sync::Arc;
use std::vec::IntoIter;

use serde_json::Value;
use sluice_api::{Gvk, ObjectKey};

use super::Resource;

/// An object.
#[derive(Debug)]
struct FoundObject {
    cluster: Arc<str>,
    namespace: Arc<str>,
    name: Box<str>,
    gvk: Arc<Gvk>,
    /// What it says and all of it; most say nothing.
    said: Option<Box<(String, Option<Value>)>>,
}

/// The objects of one shard, as they come.
#[derive(Debug, Default)]
pub(super) struct ShardObjects {
    found: Vec<FoundObject>,
    texts: BTreeSet<Arc<str>>,
    kinds: BTreeSet<Arc<Gvk>>,
}

/// The objects that were asked for, in order of cluster, namespace, name and kind.
#[derive(Debug)]
pub struct Resources {
    shards: Vec<Peekable<IntoIter<FoundObject>>>,
}

// === impl FoundObject ===

impl FoundObject {
    fn place(&self) -> (&str, &str, &str, &Gvk) {
        (&self.cluster, &self.namespace, &self.name, &self.gvk)
    }
}

impl From<FoundObject> for Resource {
    fn from(held: FoundObject) -> Self {
        let FoundObject { cluster, namespace, name, gvk, said } = held;
        let parts = [&gvk.group, &gvk.version, &gvk.kind].map(String::as_str);
        let gvk = parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("/");
        let (message, object) = said.map(|said| *said).unwrap_or_default();
        let [cluster, namespace] = [cluster, namespace].map(|text| text.to_string());
        Self { cluster, gvk, namespace, name: name.into(), message, object }
    }
}

// === impl ShardObjects ===

impl ShardObjects {
    pub(super) fn add(&mut self, cluster: &str, key: ObjectKey, message: String, object: Option<Value>) {
        let ObjectKey { gvk, namespace, name } = key;
        let said = (!message.is_empty() || object.is_some()).then(|| Box::new((message, object)));
        let (cluster, namespace) = (self.text(cluster), self.text(&namespace));
        let gvk = self.kind(gvk);
        self.found.push(FoundObject { cluster, namespace, name: name.into(), gvk, said });
    }

    fn text(&mut self, text: &str) -> Arc<str> {
        if let Some(known) = self.texts.get(text) {
            return known.clone();
        }
        let new: Arc<str> = text.into();
        self.texts.insert(new.clone());
        new
    }

    fn kind(&mut self, gvk: Gvk) -> Arc<Gvk> {
        if let Some(known) = self.kinds.get(&gvk) {
            return known.clone();
        }
        let new = Arc::new(gvk);
        self.kinds.insert(new.clone());
        new
    }

    /// In order. Whom a tenant's EventSource shows it, it is the same object: what was added last counts.
    fn sorted(mut self) -> IntoIter<FoundObject> {
        self.found.sort_by(|a, b| a.place().cmp(&b.place()));
        self.found.dedup_by(|later, earlier| {
            let same = later.place() == earlier.place();
            if same {
                std::mem::swap(later, earlier);
            }
            same
        });
        self.found.shrink_to_fit();
        self.found.into_iter()
    }
}

// === impl Resources ===

impl Resources {
    /// Of all shards: none of them has an object of another.
    pub(super) fn of(shards: Vec<ShardObjects>) -> Self {
        Self { shards: shards.into_iter().map(|shard| shard.sorted().peekable()).collect() }
    }

    /// Whether there are no more.
    pub fn is_empty(&mut self) -> bool {
        self.shards.iter_mut().all(|shard| shard.peek().is_none())
    }
}

impl Iterator for Resources {
    type Item = Resource;

    fn next(&mut self) -> Option<Resource> {
        let heads = self.shards.iter_mut().enumerate().filter_map(|(at, shard)| Some((at, shard.peek()?)));
        let at = heads.min_by(|(_, a), (_, b)| a.place().cmp(&b.place())).map(|(at, _)| at)?;
        self.shards[at].next().map(Resource::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(kind: &str, name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", kind), namespace: "shop".into(), name: name.into() }
    }

    #[test]
    fn objects_of_all_shards_come_in_order_and_once() {
        let (mut one, mut other) = (ShardObjects::default(), ShardObjects::default());
        one.add("n/b", key("Service", "web"), String::new(), None);
        one.add("n/a", key("Service", "web"), "old".into(), None);
        one.add("n/a", key("Service", "web"), "new".into(), Some(Value::Null));
        other.add("n/a", key("Pod", "web"), String::new(), None);
        other.add("n/a", key("Service", "api"), String::new(), None);
        let mut all = Resources::of(vec![one, other]);
        assert!(!all.is_empty());
        let found: Vec<Resource> = all.by_ref().collect();
        let said = |found: &Resource| {
            [&found.cluster, &found.gvk, &found.namespace, &found.name, &found.message]
                .map(String::clone)
                .join(" ")
        };
        let expected = [
            "n/a v1/Service shop api ",
            "n/a v1/Pod shop web ",
            "n/a v1/Service shop web new",
            "n/b v1/Service shop web ",
        ];
        assert_eq!(found.iter().map(said).collect::<Vec<_>>(), expected);
        assert_eq!((found[2].object.clone(), found[0].object.clone()), (Some(Value::Null), None));
        assert!(all.is_empty());
    }

    #[test]
    fn what_objects_have_in_common_is_held_once() {
        let mut shard = ShardObjects::default();
        for name in ["web", "api", "db"] {
            shard.add("n/a", key("Service", name), String::new(), None);
        }
        assert_eq!((shard.texts.len(), shard.kinds.len()), (2, 1));
        assert!(shard.found.iter().all(|held| Arc::ptr_eq(&held.gvk, &shard.found[0].gvk)));
        assert!(shard.found.iter().all(|held| Arc::ptr_eq(&held.cluster, &shard.found[0].cluster)));
    }
}
