//! Which rows this shard has reported, so that "no longer" becomes a tombstone.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sluice_api::{ClusterRef, ObjectKey};

/// Reports by cluster, object and source; the value tells whether their cause has been seen.
#[derive(Default)]
pub(crate) struct Reported {
    rows: HashMap<ClusterRef, BTreeMap<ObjectKey, BTreeMap<String, bool>>>,
    /// Those that were not found, and wait for the end of the input: they may follow from rows that were replaced long ago.
    early: BTreeSet<(ClusterRef, ObjectKey, String)>,
    /// Those that were found and taken back before the end of the input has been seen. Nothing of that is published yet, and nothing
    /// will be where a newer row cannot be judged: then they are reports as before.
    taken_back: BTreeSet<(ClusterRef, ObjectKey, String)>,
}

impl Reported {
    /// Notes a report; `seen` is false for one that was only found in the output.
    pub(crate) fn note(&mut self, cluster: &ClusterRef, object: &ObjectKey, source: &str, seen: bool) {
        let objects = self.rows.entry(cluster.clone()).or_default();
        objects.entry(object.clone()).or_default().insert(source.to_owned(), seen);
    }

    /// Notes a report before the end of the input has been seen.
    pub(crate) fn note_early(&mut self, cluster: &ClusterRef, object: &ObjectKey, source: &str) {
        if !self.confirm(cluster, object, source) {
            self.note(cluster, object, source, true);
            self.early.insert((cluster.clone(), object.clone(), source.to_owned()));
        }
    }

    /// Takes back a report before the end of the input has been seen; whether there was one.
    pub(crate) fn remove_early(&mut self, cluster: &ClusterRef, object: &ObjectKey, source: &str) -> bool {
        let was = self.remove(cluster, object, source);
        let place = (cluster.clone(), object.clone(), source.to_owned());
        if was && !self.early.remove(&place) {
            self.taken_back.insert(place);
        }
        was
    }

    /// The end of the input has been seen: what is noted or taken back is published.
    pub(crate) fn settle(&mut self) {
        self.early.clear();
        self.taken_back.clear();
    }

    /// Notes that the cause of a report still stands; false when there is no such report, nor one that waits.
    pub(crate) fn confirm(&mut self, cluster: &ClusterRef, object: &ObjectKey, source: &str) -> bool {
        if !self.early.is_empty() || !self.taken_back.is_empty() {
            let place = (cluster.clone(), object.clone(), source.to_owned());
            if self.early.remove(&place) {
                self.remove(cluster, object, source);
            }
            if self.taken_back.remove(&place) {
                self.note(cluster, object, source, true);
            }
        }
        let sources = self.rows.get_mut(cluster).and_then(|objects| objects.get_mut(object));
        let Some(seen) = sources.and_then(|sources| sources.get_mut(source)) else { return false };
        *seen = true;
        true
    }

    /// Forgets a report; whether there was one.
    pub(crate) fn remove(&mut self, cluster: &ClusterRef, object: &ObjectKey, source: &str) -> bool {
        let Some(objects) = self.rows.get_mut(cluster) else { return false };
        let Some(sources) = objects.get_mut(object) else { return false };
        let was = sources.remove(source).is_some();
        if sources.is_empty() {
            objects.remove(object);
        }
        was
    }

    /// Nothing of the cluster is reported, nor remembered.
    pub(crate) fn forget(&mut self, cluster: &ClusterRef) {
        self.rows.remove(cluster);
        self.taken_back.retain(|(of, ..)| of != cluster);
    }

    /// The sources that reported an object.
    pub(crate) fn sources(&self, cluster: &ClusterRef, object: &ObjectKey) -> Vec<String> {
        let sources = self.rows.get(cluster).and_then(|objects| objects.get(object));
        sources.into_iter().flat_map(|sources| sources.keys().cloned()).collect()
    }

    /// All reports of a cluster for which `which(source, seen)` holds.
    pub(crate) fn of_cluster(
        &self,
        cluster: &ClusterRef,
        which: impl Fn(&str, bool) -> bool,
    ) -> Vec<(ObjectKey, String)> {
        let objects = self.rows.get(cluster).into_iter().flatten();
        let all = objects
            .flat_map(|(object, sources)| sources.iter().map(move |(source, seen)| (object, source, *seen)));
        all.filter(|(_, source, seen)| which(source, *seen)).map(|(o, s, _)| (o.clone(), s.clone())).collect()
    }

    /// The causes of these sources' reports have to be seen again.
    pub(crate) fn unconfirm(&mut self, cluster: &ClusterRef, unconfirmed: &[String]) {
        for sources in self.rows.get_mut(cluster).into_iter().flat_map(|objects| objects.values_mut()) {
            sources
                .iter_mut()
                .filter(|(source, _)| unconfirmed.contains(source))
                .for_each(|(_, seen)| *seen = false);
        }
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::Gvk;

    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("", "v1", "Service"), namespace: "n".into(), name: name.into() }
    }

    #[test]
    fn a_report_is_there_from_its_note_to_its_removal() {
        let (here, there) = (ClusterRef::sveltos("a", "b"), ClusterRef::sveltos("a", "c"));
        let mut reported = Reported::default();
        for source in ["s", "r", "s"] {
            reported.note(&here, &key("x"), source, true);
        }
        assert_eq!(reported.sources(&here, &key("x")), ["r", "s"]);
        assert!(
            reported.sources(&there, &key("x")).is_empty() && reported.sources(&here, &key("y")).is_empty()
        );
        assert!(reported.remove(&here, &key("x"), "s") && !reported.remove(&here, &key("x"), "s"));
        assert!(!reported.remove(&there, &key("x"), "r"));
        assert!(reported.remove(&here, &key("x"), "r"));
        assert!(reported.of_cluster(&here, |_, _| true).is_empty());
    }

    #[test]
    fn what_waits_for_the_end_of_the_input_is_no_report_that_can_be_confirmed() {
        let cluster = ClusterRef::sveltos("a", "b");
        let mut reported = Reported::default();
        reported.note(&cluster, &key("found"), "s", false);
        for name in ["found", "new", "new", "other"] {
            reported.note_early(&cluster, &key(name), "s");
        }
        assert!(reported.confirm(&cluster, &key("found"), "s"));
        assert!(!reported.confirm(&cluster, &key("new"), "s"));
        assert_eq!(reported.of_cluster(&cluster, |_, _| true).len(), 2);
        reported.settle();
        assert!(reported.confirm(&cluster, &key("other"), "s"));
    }

    #[test]
    fn what_is_taken_back_before_the_end_of_the_input_is_a_report_until_that_is_published() {
        let cluster = ClusterRef::sveltos("a", "b");
        let mut reported = Reported::default();
        reported.note(&cluster, &key("found"), "s", false);
        reported.note_early(&cluster, &key("new"), "s");
        assert!(reported.remove_early(&cluster, &key("found"), "s"));
        assert!(reported.remove_early(&cluster, &key("new"), "s"));
        assert!(!reported.remove_early(&cluster, &key("other"), "s"));
        assert!(reported.of_cluster(&cluster, |_, _| true).is_empty());
        assert!(reported.confirm(&cluster, &key("found"), "s"));
        assert!(!reported.confirm(&cluster, &key("new"), "s"));
        assert!(reported.remove_early(&cluster, &key("found"), "s"));
        reported.settle();
        assert!(!reported.confirm(&cluster, &key("found"), "s"));
    }

    #[test]
    fn only_what_there_is_can_be_confirmed_and_what_changed_must_be_again() {
        let cluster = ClusterRef::sveltos("a", "b");
        let mut reported = Reported::default();
        reported.note(&cluster, &key("x"), "s", false);
        reported.note(&cluster, &key("y"), "r", true);
        assert!(!reported.confirm(&cluster, &key("x"), "r") && !reported.confirm(&cluster, &key("z"), "s"));
        let unseen = |reported: &Reported| reported.of_cluster(&cluster, |_, seen| !seen);
        assert_eq!(unseen(&reported), [(key("x"), "s".to_owned())]);
        assert!(reported.confirm(&cluster, &key("x"), "s") && unseen(&reported).is_empty());
        reported.unconfirm(&cluster, &["r".to_owned()]);
        assert_eq!(unseen(&reported), [(key("y"), "r".to_owned())]);
    }
}
