//! Which rows wait for their bodies, and whose turn it is: of each subject the last row, of each cluster so many at a time.

use std::collections::{HashMap, HashSet, VecDeque};

use bytes::Bytes;
use sluice_protocol::{Row, Subject};

use crate::buckets::contents::BodyLocation;

/// Bodies of one cluster that are looked for at a time.
const OF_ONE: usize = 4;

/// A row without its body.
#[derive(Clone, Debug)]
pub(super) struct Waiter {
    pub(super) row: Row,
    /// When the server stored it, microseconds since 1970.
    pub(super) stored: i64,
    /// Where its body will be.
    pub(super) place: BodyLocation,
    /// What is sealed in its message.
    pub(super) sealed: Option<Bytes>,
}

/// However often a row is replaced by another one that lacks its body, it is here once.
#[derive(Debug, Default)]
pub(super) struct Waiting {
    /// The last row of each subject.
    rows: HashMap<Subject, Waiter>,
    clusters: HashMap<String, Cluster>,
}

#[derive(Debug, Default)]
struct Cluster {
    /// How many bodies are looked for.
    looked_for: usize,
    /// Whose turn is next, each subject once; who does not wait any more is passed over.
    next: VecDeque<Subject>,
    queued: HashSet<Subject>,
}

impl Waiting {
    /// Whether anything of this row's cluster waits.
    pub(super) fn has_cluster_of(&self, subject: &Subject) -> bool {
        !self.clusters.is_empty() && self.clusters.contains_key(&cluster_of(subject))
    }

    /// This row waits from now on, and none that its subject had before.
    pub(super) fn wait(&mut self, waiter: Waiter) {
        let subject = waiter.row.subject.clone();
        let cluster = self.clusters.entry(cluster_of(&subject)).or_default();
        if cluster.queued.insert(subject.clone()) {
            cluster.next.push_back(subject.clone());
        }
        self.rows.insert(subject, waiter);
    }

    /// A later row of the subject has come with all that it has.
    pub(super) fn replace(&mut self, subject: &Subject) {
        if !self.rows.is_empty() {
            self.rows.remove(subject);
        }
    }

    /// The next row of this one's cluster whose body may be looked for.
    pub(super) fn begin(&mut self, subject: &Subject) -> Option<Waiter> {
        let name = cluster_of(subject);
        let cluster = self.clusters.get_mut(&name)?;
        while cluster.looked_for < OF_ONE
            && let Some(next) = cluster.next.pop_front()
        {
            cluster.queued.remove(&next);
            if let Some(waiter) = self.rows.get(&next) {
                cluster.looked_for += 1;
                return Some(waiter.clone());
            }
        }
        if cluster.looked_for == 0 {
            self.clusters.remove(&name);
        }
        None
    }

    /// A body has been looked for; whether its row still waits for it.
    pub(super) fn end(&mut self, waiter: &Waiter) -> bool {
        let Row { subject, sequence, .. } = &waiter.row;
        if let Some(cluster) = self.clusters.get_mut(&cluster_of(subject)) {
            cluster.looked_for -= 1;
        }
        let waits = self.rows.get(subject).is_some_and(|last| last.row.sequence == *sequence);
        if waits {
            self.rows.remove(subject);
        }
        waits
    }
}

fn cluster_of(subject: &Subject) -> String {
    subject.cluster().map(ToString::to_string).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_api::{ClusterRef, Digest, ProfileId};
    use sluice_protocol::{Head, Sequence, Shard};

    use super::*;

    fn waiter(cluster: &str, name: &str, sequence: u64) -> Waiter {
        let cluster = ClusterRef::sveltos("default", cluster);
        let subject = Subject::Desired {
            shard: Shard::FIRST,
            cluster,
            origin: Shard::FIRST,
            profile: ProfileId::cluster(name),
        };
        let place = BodyLocation::of(&subject, Digest::of(&[b"x"]));
        let row = Row { subject, head: Head::default(), body: [].into(), sequence: Sequence::new(sequence) };
        Waiter { row, stored: 0, place, sealed: None }
    }

    #[test]
    fn of_one_cluster_so_many_are_looked_for_and_others_are_not_kept_waiting() {
        let mut waiting = Waiting::default();
        (0..10).for_each(|number| waiting.wait(waiter("a", &number.to_string(), number)));
        waiting.wait(waiter("b", "x", 20));
        let (a, b) = (waiter("a", "0", 0).row.subject, waiter("b", "x", 20).row.subject);
        let begun: Vec<Waiter> = std::iter::from_fn(|| waiting.begin(&a)).collect();
        assert_eq!(begun.iter().map(|waiter| waiter.row.sequence.get()).collect::<Vec<_>>(), [0, 1, 2, 3]);
        assert_eq!(waiting.begin(&b).unwrap().row.sequence.get(), 20);
        assert!(waiting.end(&begun[2]));
        assert_eq!(waiting.begin(&a).unwrap().row.sequence.get(), 4);
        assert!(waiting.begin(&a).is_none());
    }

    #[test]
    fn a_row_that_is_replaced_all_the_time_is_here_once() {
        let mut waiting = Waiting::default();
        let subject = waiter("a", "x", 0).row.subject;
        waiting.wait(waiter("a", "x", 0));
        let first = waiting.begin(&subject).unwrap();
        for sequence in 1..1000 {
            // Now and then one comes that lacks nothing.
            waiting.replace(&subject);
            waiting.wait(waiter("a", "x", sequence));
        }
        let cluster = waiting.clusters.values().next().unwrap();
        assert_eq!((cluster.next.len(), cluster.queued.len(), waiting.rows.len()), (1, 1, 1));
        assert!(!waiting.end(&first), "a later one has come");
        let last = waiting.begin(&subject).unwrap();
        assert_eq!(last.row.sequence.get(), 999);
        assert!(waiting.end(&last) && waiting.begin(&subject).is_none());
        assert!(waiting.rows.is_empty() && !waiting.has_cluster_of(&subject), "nothing is left");
    }

    #[test]
    fn a_row_that_was_replaced_before_its_turn_is_passed_over() {
        let mut waiting = Waiting::default();
        (0..3).for_each(|number| waiting.wait(waiter("a", &number.to_string(), number)));
        waiting.replace(&waiter("a", "0", 0).row.subject);
        assert_eq!(waiting.begin(&waiter("a", "0", 0).row.subject).unwrap().row.sequence.get(), 1);
    }

    #[test]
    fn a_body_that_is_found_for_a_row_that_was_replaced_makes_room_for_the_next() {
        let mut waiting = Waiting::default();
        (0..5).for_each(|number| waiting.wait(waiter("a", &number.to_string(), number)));
        let subject = waiter("a", "0", 0).row.subject;
        let begun: Vec<Waiter> = std::iter::from_fn(|| waiting.begin(&subject)).collect();
        waiting.replace(&subject);
        assert!(!waiting.end(&begun[0]), "the row has come with all that it has");
        assert_eq!(waiting.begin(&subject).unwrap().row.sequence.get(), 4);
    }

    #[test]
    fn a_cluster_is_late_until_its_last_body_has_been_looked_for() {
        let mut waiting = Waiting::default();
        let (here, there) = (waiter("a", "x", 1), waiter("b", "x", 2).row.subject);
        let subject = here.row.subject.clone();
        assert!(!waiting.has_cluster_of(&subject));
        waiting.wait(here);
        assert!(waiting.has_cluster_of(&subject) && !waiting.has_cluster_of(&there));
        let begun = waiting.begin(&subject).unwrap();
        assert!(waiting.end(&begun) && waiting.begin(&subject).is_none());
        assert!(!waiting.has_cluster_of(&subject));
    }

    #[test]
    fn rows_that_are_of_no_cluster_take_turns_as_those_of_one() {
        let mut waiting = Waiting::default();
        let of_none = |name: &str| {
            let subject = Subject::fence(sluice_protocol::Table::Desired, 0, name);
            let row = Row { subject, ..waiter("a", "x", 1).row };
            Waiter { row, ..waiter("a", "x", 1) }
        };
        ["00", "01"].iter().for_each(|name| waiting.wait(of_none(name)));
        let first = waiting.begin(&of_none("01").row.subject).unwrap();
        assert_eq!(first.row.subject, of_none("00").row.subject, "who came first");
    }
}
