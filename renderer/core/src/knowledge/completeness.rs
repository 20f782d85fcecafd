//! How much of each cluster's sets is known: absence is a reason to remove only in a complete set.

use std::collections::{BTreeSet, HashMap};

use sluice_api::ClusterRef;
use sluice_protocol::interest::{Complete, Interest};
use sluice_protocol::{Incarnation, Revision, Sequence, Shard};

/// Interest rows and completeness rows of this shard's clusters.
pub(crate) struct Completeness {
    shards: u16,
    incarnation: Incarnation,
    interests: HashMap<ClusterRef, Interest>,
    /// The newest revision of each cluster's interest that anybody has worked with: its row may be lost with the bucket, and
    /// whoever writes it again may have a clock that is behind.
    newest: HashMap<ClusterRef, Revision>,
    /// The last revision of any forgotten cluster: its row may be lost with the bucket, and others may have worked with it. One that
    /// comes again under the name has a later one.
    floor: Revision,
    /// The row that was written last.
    written: HashMap<ClusterRef, Interest>,
    rows: HashMap<ClusterRef, HashMap<Shard, Complete>>,
    /// Matchers that have a completeness row of the cluster, whatever it says.
    speakers: HashMap<ClusterRef, BTreeSet<Shard>>,
    /// Clusters whose agent, or a matcher of which, does not tell the rows of tenants from others, as it was looked at last.
    without_tenants: BTreeSet<ClusterRef>,
    /// Read, but rows that were replaced since they were written may still follow.
    announced: Vec<Announced>,
}

/// A completeness row, and its sequence.
struct Announced {
    cluster: ClusterRef,
    origin: Shard,
    complete: Complete,
    after: Sequence,
}

impl Completeness {
    /// Nothing is known. `incarnation` is that of the `reports` stream.
    pub(crate) fn new(shards: u16, incarnation: Incarnation) -> Self {
        Self {
            shards,
            incarnation,
            interests: HashMap::new(),
            newest: HashMap::new(),
            floor: Revision::NONE,
            written: HashMap::new(),
            rows: HashMap::new(),
            speakers: HashMap::new(),
            without_tenants: BTreeSet::new(),
            announced: Vec::new(),
        }
    }

    /// Takes an interest row as it is in the bucket; one that is lost with the bucket is no longer known.
    pub(crate) fn set_interest(&mut self, cluster: &ClusterRef, row: Interest) {
        if row.is_lost() {
            self.interests.remove(cluster);
            return;
        }
        let older = self.interests.get(cluster).is_some_and(|known| known.revision > row.revision);
        if !older {
            self.hear(cluster, row.revision);
            self.interests.insert(cluster.clone(), row);
        }
    }

    /// The interest row of a cluster.
    pub(crate) fn interest(&self, cluster: &ClusterRef) -> Option<&Interest> {
        self.interests.get(cluster)
    }

    /// Somebody works with this revision; whether it is newer than any that was known or written here.
    pub(crate) fn hear(&mut self, cluster: &ClusterRef, revision: Revision) -> bool {
        let before = self.newest(cluster);
        if before < revision {
            self.newest.insert(cluster.clone(), revision);
        }
        before < revision && self.written.get(cluster).is_none_or(|written| written.revision < revision)
    }

    /// This row is being written.
    pub(crate) fn write(&mut self, cluster: &ClusterRef, row: &Interest) {
        self.written.insert(cluster.clone(), row.clone());
    }

    /// The interest row of a cluster, unless others work with a newer one.
    fn present(&self, cluster: &ClusterRef) -> Option<&Interest> {
        self.interests.get(cluster).filter(|row| row.revision >= self.newest(cluster))
    }

    /// Whether others work with a newer interest row of a cluster than the one that is known.
    pub(crate) fn is_behind(&self, cluster: &ClusterRef) -> bool {
        self.interests.contains_key(cluster) && self.present(cluster).is_none()
    }

    /// The interest row that the next one follows: others may work already with what was written here.
    pub(crate) fn former(&self, cluster: &ClusterRef) -> Option<&Interest> {
        let written = || self.written.get(cluster).filter(|row| row.revision >= self.newest(cluster));
        self.interests.get(cluster).and_then(|_| self.present(cluster).or_else(written))
    }

    /// The revision that the next one must follow.
    pub(crate) fn last_revision(&self, cluster: &ClusterRef) -> Revision {
        self.newest(cluster)
            .max(self.written.get(cluster).map_or(Revision::NONE, |row| row.revision))
            .max(self.floor)
    }

    fn newest(&self, cluster: &ClusterRef) -> Revision {
        self.newest.get(cluster).copied().unwrap_or(Revision::NONE)
    }

    /// Every cluster with an interest row.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &ClusterRef> {
        self.interests.keys()
    }

    /// A matcher has taken back what it said of its shard of a cluster.
    pub(crate) fn withdraw(&mut self, cluster: &ClusterRef, origin: Shard) {
        self.announced.retain(|announced| announced.cluster != *cluster || announced.origin != origin);
        if let Some(rows) = self.rows.get_mut(cluster) {
            rows.remove(&origin);
        }
        if let Some(speakers) = self.speakers.get_mut(cluster) {
            speakers.remove(&origin);
        }
    }

    /// Whether a matcher says something of a cluster.
    pub(crate) fn is_spoken_of(&self, cluster: &ClusterRef) -> bool {
        self.speakers.get(cluster).is_some_and(|speakers| !speakers.is_empty())
    }

    /// A cluster that is no longer registered, and has no interest row any more, is as one that never was.
    pub(crate) fn forget(&mut self, cluster: &ClusterRef) {
        self.floor = self.last_revision(cluster);
        self.interests.remove(cluster);
        self.newest.remove(cluster);
        self.written.remove(cluster);
        self.rows.remove(cluster);
        self.speakers.remove(cluster);
        self.without_tenants.remove(cluster);
        self.announced.retain(|announced| announced.cluster != *cluster);
    }

    /// A matcher says in the row `after` that its shard of a cluster is complete. It counts from the end of the
    /// table on.
    pub(crate) fn announce(
        &mut self,
        cluster: &ClusterRef,
        origin: Shard,
        complete: &Complete,
        after: Sequence,
    ) {
        self.speakers.entry(cluster.clone()).or_default().insert(origin);
        if complete.incarnation == self.incarnation {
            let (cluster, complete) = (cluster.clone(), complete.clone());
            self.announced.push(Announced { cluster, origin, complete, after });
        }
    }

    /// Whether something counts only from the end of the table on.
    pub(crate) fn awaits_end(&self) -> bool {
        !self.announced.is_empty()
    }

    /// Everything that was in the table has been read, up to `sequence`; the clusters of which more is known now.
    pub(crate) fn caught_up(&mut self, sequence: Sequence) -> BTreeSet<ClusterRef> {
        let mut news = BTreeSet::new();
        let due = self.announced.extract_if(.., |announced| announced.after <= sequence);
        for Announced { cluster, origin, complete, .. } in due {
            let before = self.rows.entry(cluster.clone()).or_default().insert(origin, complete.clone());
            if before != Some(complete) {
                news.insert(cluster);
            }
        }
        news
    }

    // D-0817: versions that know of no tenants take no absence for proved.
    /// Whether the agent and the matchers of a cluster may be told whose an EventSource is: nobody says that he does not know what that
    /// means.
    pub(crate) fn knows_tenants(&self, cluster: &ClusterRef) -> bool {
        self.rows.get(cluster).is_none_or(|rows| rows.values().all(|complete| complete.tenants))
    }

    /// Whether that is otherwise than when it was asked last.
    pub(crate) fn note_tenants(&mut self, cluster: &ClusterRef) -> bool {
        match self.knows_tenants(cluster) {
            true => self.without_tenants.remove(cluster),
            false => self.without_tenants.insert(cluster.clone()),
        }
    }

    // D-0404: a tombstone proves only what its writer knew.
    /// Whether who works with this revision of a cluster's interest knows `source` as it is now.
    pub(crate) fn knows(&self, cluster: &ClusterRef, source: &str, revision: Revision) -> bool {
        let source = self.present(cluster).and_then(|row| row.source(source));
        source.is_some_and(|source| revision >= source.changed)
    }

    /// Whether every matcher has reported all matches of `source` as it is now.
    pub(crate) fn is_complete(&self, cluster: &ClusterRef, source: &str) -> bool {
        self.all_say(cluster, source, Complete::covers)
    }

    /// Whether every matcher has reported all CloudEvents that are matches of `source` as it is now.
    pub(crate) fn has_all_events(&self, cluster: &ClusterRef, source: &str) -> bool {
        self.all_say(cluster, source, Complete::covers_events)
    }

    fn all_say(&self, cluster: &ClusterRef, source: &str, covers: impl Fn(&Complete, &str) -> bool) -> bool {
        let Some(source) = self.present(cluster).and_then(|row| row.source(source)) else {
            return false;
        };
        let Some(rows) = self.rows.get(cluster) else { return false };
        let says =
            |complete: &Complete| complete.revision >= source.changed && covers(complete, &source.name);
        Shard::all(self.shards).all(|shard| rows.get(&shard).is_some_and(says))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use serde_json::json;
    use sluice_protocol::interest::Source;

    use super::*;

    #[test]
    fn a_set_is_complete_when_all_matchers_say_so_for_its_present_form() {
        let cluster = ClusterRef::sveltos("a", "b");
        let row = |revision, changed| Interest {
            revision: Revision::new(revision),
            sources: vec![Source {
                name: "s".into(),
                changed: Revision::new(changed),
                manifest: json!({}).into(),
            }],
            ..Interest::default()
        };
        let complete = Complete::of_all;
        let mut known = Completeness::new(2, Incarnation::new(7));
        known.announce(
            &cluster,
            Shard::FIRST,
            &complete(Incarnation::new(7), Revision::new(5)),
            Sequence::new(1),
        );
        known.announce(
            &cluster,
            Shard::new(1),
            &complete(Incarnation::new(8), Revision::new(5)),
            Sequence::new(2),
        );
        known.set_interest(&cluster, row(5, 5));
        assert_eq!(known.caught_up(Sequence::new(2)).len(), 1);
        assert!(!known.is_complete(&cluster, "s"), "one of them is of another life");
        known.announce(
            &cluster,
            Shard::new(1),
            &complete(Incarnation::new(7), Revision::new(5)),
            Sequence::new(3),
        );
        assert!(known.awaits_end());
        known.caught_up(Sequence::new(2));
        assert!(!known.is_complete(&cluster, "s"), "the end of the table was not seen");
        known.caught_up(Sequence::new(3));
        assert!(!known.awaits_end());
        assert!(known.is_complete(&cluster, "s"));
        known.set_interest(&cluster, row(6, 5));
        assert!(known.is_complete(&cluster, "s"), "another source changed");
        known.set_interest(&cluster, row(7, 7));
        assert!(!known.is_complete(&cluster, "s"));
        known.set_interest(&cluster, row(6, 5));
        assert!(!known.is_complete(&cluster, "s"), "an older row changes nothing");
    }

    #[test]
    fn a_cluster_knows_of_tenants_unless_somebody_there_does_not() {
        let cluster = ClusterRef::sveltos("a", "b");
        let mut known = Completeness::new(2, Incarnation::new(7));
        assert!(known.knows_tenants(&cluster) && !known.note_tenants(&cluster), "nobody is there yet");
        let say = |origin, tenants, known: &mut Completeness| {
            let complete = Complete { tenants, ..Complete::of_all(Incarnation::new(7), Revision::new(5)) };
            known.announce(&cluster, Shard::new(origin), &complete, Sequence::new(1));
            known.caught_up(Sequence::END);
            (known.knows_tenants(&cluster), known.note_tenants(&cluster))
        };
        assert_eq!(say(0, true, &mut known), (true, false));
        assert_eq!(say(1, false, &mut known), (false, true));
        assert_eq!(say(0, true, &mut known), (false, false), "the other one still does not");
        assert_eq!(say(1, true, &mut known), (true, true));
    }

    proptest! {
        /// A set is complete only when each matcher has said so of this form of the source, in this life of the stream,
        /// before what is known to be the end.
        #[test]
        fn nothing_is_complete_that_nobody_said(
            said in proptest::collection::vec(((0..3u16).prop_map(Shard::new), 0..4u64, 7..9u64, 0..2usize), 0..20),
            end in 0..25u64, changed in 0..4u64,
        ) {
            let cluster = ClusterRef::sveltos("a", "b");
            let mut known = Completeness::new(3, Incarnation::new(7));
            let source = Source { name: "s".into(), changed: Revision::new(changed), manifest: json!({}).into() };
            known.set_interest(&cluster, Interest { revision: Revision::new(4), sources: vec![source], ..Interest::default() });
            for (after, (origin, revision, incarnation, lacking)) in (1..).zip(&said) {
                let lacking = ["other", "s"][..=*lacking].iter().map(|name| (*name).to_owned().into()).collect();
                let complete = Complete { lacking, ..Complete::of_all(Incarnation::new(*incarnation), Revision::new(*revision)) };
                known.announce(&cluster, *origin, &complete, Sequence::new(after));
            }
            known.caught_up(Sequence::new(end));
            let counts = |origin: Shard| {
                let of_this_life = (1..).zip(&said).filter(|(after, row)| *after <= end && row.0 == origin && row.2 == 7);
                of_this_life.last().is_some_and(|(_, row)| row.1 >= changed && row.3 == 0)
            };
            prop_assert_eq!(known.is_complete(&cluster, "s"), Shard::all(3).all(counts));
            prop_assert_eq!(known.awaits_end(), (1..).zip(&said).any(|(after, row)| after > end && row.2 == 7));
        }
    }
}
