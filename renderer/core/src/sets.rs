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
}

/// The matches of one EventSource on one cluster.
pub(crate) type Set = BTreeMap<ObjectKey, Match>;

/// All sets of this shard's clusters.
#[derive(Default)]
pub(crate) struct Sets(HashMap<ClusterRef, BTreeMap<String, Set>>);

impl Sets {
    /// Takes a match; what was known of the object before.
    pub(crate) fn insert(
        &mut self,
        cluster: &ClusterRef,
        source: &str,
        key: ObjectKey,
        found: Match,
    ) -> Option<Match> {
        let sources = self.0.entry(cluster.clone()).or_default();
        sources.entry(source.to_owned()).or_default().insert(key, found)
    }

    pub(crate) fn remove(&mut self, cluster: &ClusterRef, source: &str, key: &ObjectKey) {
        let Some(sources) = self.0.get_mut(cluster) else { return };
        if let Some(set) = sources.get_mut(source) {
            set.remove(key);
        }
    }

    pub(crate) fn get(&self, cluster: &ClusterRef, source: &str) -> Option<&Set> {
        self.0.get(cluster)?.get(source)
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
            (key, Match { selectors: selectors.to_vec(), object: None, unreadable: false })
        };
        let set: Set = [entry("both", &[0, 1]), entry("z", &[0]), entry("a", &[1])].into();
        let names: Vec<_> = in_order(&set).into_iter().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["both", "z", "a", "both"]);
    }
}
