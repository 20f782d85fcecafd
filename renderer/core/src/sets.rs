//! Which objects match which EventSource, per cluster.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::{ClusterRef, ObjectKey};

/// One matching object.
#[derive(Clone, Debug)]
pub(crate) struct Match {
    /// Indexes of the selectors that select it.
    pub(crate) selectors: Vec<u16>,
    /// The whole object, when the EventSource collects it.
    pub(crate) object: Option<Arc<Value>>,
    /// The row of the object is there, but cannot be read: nothing is concluded from it.
    pub(crate) unreadable: bool,
    /// When it came, by the clock of [`Sets`]; set by [`Sets::insert`].
    pub(crate) version: u64,
}

/// The matches of one EventSource on one cluster.
pub(crate) type Set = BTreeMap<ObjectKey, Match>;

/// All sets of this shard's clusters.
#[derive(Default)]
pub(crate) struct Sets {
    clusters: HashMap<ClusterRef, BTreeMap<String, Held>>,
    /// Grows with every change.
    clock: u64,
}

#[derive(Default)]
struct Held {
    set: Set,
    changed: u64,
}

impl Sets {
    /// Takes a match; what was known of the object before.
    pub(crate) fn insert(
        &mut self,
        cluster: &ClusterRef,
        source: &str,
        key: ObjectKey,
        found: Match,
    ) -> Option<Match> {
        self.clock += 1;
        let sources = self.clusters.entry(cluster.clone()).or_default();
        let held = sources.entry(source.to_owned()).or_default();
        held.changed = self.clock;
        held.set.insert(key, Match { version: self.clock, ..found })
    }

    pub(crate) fn remove(&mut self, cluster: &ClusterRef, source: &str, key: &ObjectKey) {
        let Some(sources) = self.clusters.get_mut(cluster) else { return };
        if let Some(held) = sources.get_mut(source)
            && held.set.remove(key).is_some()
        {
            self.clock += 1;
            held.changed = self.clock;
        }
    }

    pub(crate) fn get(&self, cluster: &ClusterRef, source: &str) -> Option<&Set> {
        Some(&self.clusters.get(cluster)?.get(source)?.set)
    }

    /// When the item, or without one anything in the set, changed last; 0 for what is not there.
    pub(crate) fn version(&self, cluster: &ClusterRef, source: &str, item: Option<&ObjectKey>) -> u64 {
        let held = self.clusters.get(cluster).and_then(|sources| sources.get(source));
        let version = |held: &Held| match item {
            Some(item) => held.set.get(item).map_or(0, |found| found.version),
            None => held.changed,
        };
        held.map_or(0, version)
    }
}

/// The order of Sveltos: by selector, then as an API server lists; what two selectors select comes twice.
pub(crate) fn in_order(set: &Set) -> Vec<(&ObjectKey, &Match)> {
    let selectors =
        set.values().flat_map(|found| found.selectors.iter().copied()).max().map_or(0, |last| last + 1);
    (0..selectors)
        .flat_map(|index| set.iter().filter(move |(_, found)| found.selectors.contains(&index)))
        .collect()
}

#[cfg(test)]
mod tests {
    use sluice_api::Gvk;

    use super::*;

    #[test]
    fn order_is_selector_then_name_without_removing_doubles() {
        let entry = |name: &str, selectors: &[u16]| {
            let key =
                ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "n".into(), name: name.into() };
            (key, Match { selectors: selectors.to_vec(), object: None, unreadable: false, version: 0 })
        };
        let set: Set = [entry("both", &[0, 1]), entry("z", &[0]), entry("a", &[1])].into();
        let names: Vec<_> = in_order(&set).into_iter().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["both", "z", "a", "both"]);
    }
}
