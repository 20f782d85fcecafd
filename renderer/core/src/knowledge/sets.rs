//! Which objects match which EventSource, per cluster.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::cloud_event::{first_of, is_event};
use sluice_api::{ClusterRef, ObjectKey, ProfileId};

/// One matching object.
#[derive(Clone, Debug, Default)]
pub(crate) struct Match {
    /// Indexes of the selectors that select it.
    pub(crate) selectors: Vec<u16>,
    /// The whole object, when the EventSource collects it.
    pub(crate) object: Option<Arc<Value>>,
    /// The row of the object is there, but cannot be read: nothing is concluded from it.
    pub(crate) unreadable: bool,
    /// Of a CloudEvent: greater than that of every older one of its source and subject.
    pub(crate) order: u64,
    /// When what it is about happened, microseconds since 1970; 0 when unknown.
    pub(crate) since: i64,
    /// The profile that deploys the object, when it is known to be deployed.
    pub(crate) owner: Option<ProfileId>,
    /// When it came, by the clock of [`Sets`]; set by [`Sets::insert`].
    pub(crate) version: u64,
}

/// The matches of one EventSource on one cluster.
pub(crate) type Set = BTreeMap<ObjectKey, Match>;

/// All sets of this shard's clusters.
#[derive(Default)]
pub(crate) struct Sets {
    clusters: HashMap<ClusterRef, BTreeMap<String, VersionedSet>>,
    /// Grows with every change.
    clock: u64,
}

#[derive(Default)]
struct VersionedSet {
    set: Set,
    changed: u64,
}

impl Match {
    /// Whether it counts for who looks at nothing older than this.
    pub(crate) fn is_after(&self, oldest: i64) -> bool {
        self.since == 0 || self.since > oldest
    }
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

    /// The object matches no more; what was known of it.
    pub(crate) fn remove(&mut self, cluster: &ClusterRef, source: &str, key: &ObjectKey) -> Option<Match> {
        let held = self.clusters.get_mut(cluster)?.get_mut(source)?;
        let removed = held.set.remove(key)?;
        self.clock += 1;
        held.changed = self.clock;
        Some(removed)
    }

    /// Forgets the empty sets of a cluster. What is reported stays: nobody says it again.
    pub(crate) fn forget_empty(&mut self, cluster: &ClusterRef) {
        if let Some(sets) = self.clusters.get_mut(cluster) {
            sets.retain(|_, held| !held.set.is_empty());
            if sets.is_empty() {
                self.clusters.remove(cluster);
            }
        }
    }

    pub(crate) fn get(&self, cluster: &ClusterRef, source: &str) -> Option<&Set> {
        Some(&self.clusters.get(cluster)?.get(source)?.set)
    }

    /// When the item, or without one anything in the set, changed last; 0 for what is not there.
    pub(crate) fn version(&self, cluster: &ClusterRef, source: &str, item: Option<&ObjectKey>) -> u64 {
        let held = self.clusters.get(cluster).and_then(|sources| sources.get(source));
        let version = |held: &VersionedSet| match item {
            Some(item) => of_item(&held.set, item).map(|(_, found)| found.version).max().unwrap_or(0),
            None => held.changed,
        };
        held.map_or(0, version)
    }
}

/// What an item of a cause stands for: an object, or the events of one source and subject.
pub(crate) fn of_item<'s>(
    set: &'s Set,
    item: &ObjectKey,
) -> impl Iterator<Item = (&'s ObjectKey, &'s Match)> {
    let object = if is_event(item) { None } else { set.get_key_value(item) };
    let first = first_of(item);
    let (source, prefix) = (first.namespace.clone(), first.name.clone());
    let events = is_event(item).then(|| set.range(first..)).into_iter().flatten();
    let same = move |key: &ObjectKey| key.namespace == source && key.name.starts_with(&prefix);
    object.into_iter().chain(events.take_while(move |(key, _)| same(key)).filter(|(key, _)| is_event(key)))
}

/// What counts of it: of CloudEvents the newest.
pub(crate) fn newest_of<'s>(set: &'s Set, item: &ObjectKey) -> Option<(&'s ObjectKey, &'s Match)> {
    of_item(set, item).max_by_key(|(_, found)| found.order)
}

/// The order of Sveltos: by selector, then as an API server lists; what two selectors select comes twice.
pub(crate) fn in_order(set: &Set) -> Vec<(&ObjectKey, &Match)> {
    let by_selector =
        set.iter().flat_map(|(key, found)| found.selectors.iter().map(move |at| (*at, key, found)));
    let mut found: Vec<_> = by_selector.collect();
    found.sort_by_key(|(at, ..)| *at);
    found.into_iter().map(|(_, key, found)| (key, found)).collect()
}

#[cfg(test)]
mod tests {
    use sluice_api::Gvk;

    use super::*;

    fn entry(name: &str, selectors: &[u16]) -> (ObjectKey, Match) {
        let key = ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "n".into(), name: name.into() };
        (key, Match { selectors: selectors.to_vec(), ..Match::default() })
    }

    #[test]
    fn what_is_rendered_from_an_item_is_as_old_as_its_last_change_and_what_is_from_a_set_as_any() {
        let (cluster, mut sets) = (ClusterRef::sveltos("a", "b"), Sets::default());
        let ((x, of_x), (y, of_y)) = (entry("x", &[0]), entry("y", &[0]));
        let versions = |sets: &Sets| [Some(&x), Some(&y), None].map(|item| sets.version(&cluster, "s", item));
        assert_eq!(versions(&sets), [0, 0, 0]);
        assert!(sets.insert(&cluster, "s", x.clone(), of_x.clone()).is_none());
        sets.insert(&cluster, "s", y.clone(), of_y);
        let before = versions(&sets);
        assert!(before[0] < before[1] && before[1] == before[2], "{before:?}");
        sets.insert(&cluster, "other", x.clone(), of_x.clone());
        assert_eq!(versions(&sets), before, "another source");
        assert!(sets.insert(&cluster, "s", x.clone(), of_x).is_some());
        let after = versions(&sets);
        assert!(after[0] > before[2] && after[1] == before[1] && after[2] == after[0], "{after:?}");
        assert!(sets.remove(&cluster, "s", &y).is_some() && sets.remove(&cluster, "s", &y).is_none());
        let last = versions(&sets);
        assert!(last[0] == after[0] && last[1] == 0 && last[2] > after[2], "{last:?}");
        assert_eq!(sets.get(&cluster, "s").map(Set::len), Some(1));
    }

    #[test]
    fn of_the_events_of_a_source_and_subject_the_newest_counts() {
        let event = |source: &str, subject: &str, kind: &str| {
            let [source, subject, kind, channel] = [source, subject, kind, "c"].map(str::to_owned);
            sluice_api::cloud_event::EventKey { source, subject, kind, channel }.object_key()
        };
        let (created, deleted) = (event("/s", "o", "created"), event("/s", "o", "deleted"));
        let others = [event("/s", "o-1", "created"), event("/s", "", "created"), event("/t", "o", "created")];
        let at = |order: u64| Match { order, ..Match::default() };
        let mut set: Set = [(created.clone(), at(4)), (deleted.clone(), at(7))].into();
        set.extend(others.iter().map(|key| (key.clone(), at(9))));
        set.extend([entry("o", &[0])]);
        let item = sluice_api::cloud_event::item_of(&created);
        let keys: Vec<_> = of_item(&set, &item).map(|(key, _)| key).collect();
        assert_eq!(keys, [&created, &deleted]);
        assert_eq!(newest_of(&set, &item).map(|(key, _)| key), Some(&deleted));
        for other in &others {
            let item = sluice_api::cloud_event::item_of(other);
            assert_eq!(of_item(&set, &item).map(|(key, _)| key).collect::<Vec<_>>(), [other]);
        }
        let (service, _) = entry("o", &[0]);
        assert_eq!(of_item(&set, &service).map(|(key, _)| key).collect::<Vec<_>>(), [&service]);
    }

    #[test]
    fn order_is_selector_then_name_without_removing_doubles() {
        let set: Set = [entry("both", &[0, 1]), entry("z", &[0]), entry("a", &[1])].into();
        let names: Vec<_> = in_order(&set).into_iter().map(|(key, _)| key.name.as_str()).collect();
        assert_eq!(names, ["both", "z", "a", "both"]);
    }
}
