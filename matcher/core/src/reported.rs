//! Which rows this shard has reported, so that "no longer" becomes a tombstone.

use std::collections::{BTreeMap, HashMap};

use sluice_api::{ClusterRef, ObjectKey};

/// Reports by cluster, object and source; the value tells whether their cause has been seen.
#[derive(Default)]
pub(crate) struct Reported(HashMap<ClusterRef, BTreeMap<ObjectKey, BTreeMap<String, bool>>>);

impl Reported {
    /// Notes a report; `seen` is false for one that was only found in the output.
    pub(crate) fn note(&mut self, cluster: &ClusterRef, object: &ObjectKey, source: &str, seen: bool) {
        let objects = self.0.entry(cluster.clone()).or_default();
        objects.entry(object.clone()).or_default().insert(source.to_owned(), seen);
    }

    /// Notes that the cause of a report still stands; false when there is no such report.
    pub(crate) fn confirm(&mut self, cluster: &ClusterRef, object: &ObjectKey, source: &str) -> bool {
        let sources = self.0.get_mut(cluster).and_then(|objects| objects.get_mut(object));
        let Some(seen) = sources.and_then(|sources| sources.get_mut(source)) else { return false };
        *seen = true;
        true
    }

    /// Forgets a report; whether there was one.
    pub(crate) fn remove(&mut self, cluster: &ClusterRef, object: &ObjectKey, source: &str) -> bool {
        let Some(objects) = self.0.get_mut(cluster) else { return false };
        let Some(sources) = objects.get_mut(object) else { return false };
        let was = sources.remove(source).is_some();
        if sources.is_empty() {
            objects.remove(object);
        }
        was
    }

    /// The sources that reported an object.
    pub(crate) fn sources(&self, cluster: &ClusterRef, object: &ObjectKey) -> Vec<String> {
        let sources = self.0.get(cluster).and_then(|objects| objects.get(object));
        sources.into_iter().flat_map(|sources| sources.keys().cloned()).collect()
    }

    /// All reports of a cluster for which `which(source, seen)` holds.
    pub(crate) fn of_cluster(
        &self,
        cluster: &ClusterRef,
        which: impl Fn(&str, bool) -> bool,
    ) -> Vec<(ObjectKey, String)> {
        let objects = self.0.get(cluster).into_iter().flatten();
        let all = objects
            .flat_map(|(object, sources)| sources.iter().map(move |(source, seen)| (object, source, *seen)));
        all.filter(|(_, source, seen)| which(source, *seen)).map(|(o, s, _)| (o.clone(), s.clone())).collect()
    }

    /// The causes of these sources' reports have to be seen again.
    pub(crate) fn unconfirm(&mut self, cluster: &ClusterRef, unconfirmed: &[String]) {
        for sources in self.0.get_mut(cluster).into_iter().flat_map(|objects| objects.values_mut()) {
            sources
                .iter_mut()
                .filter(|(source, _)| unconfirmed.contains(source))
                .for_each(|(_, seen)| *seen = false);
        }
    }
}
