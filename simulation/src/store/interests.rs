//! The interest bucket.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::ClusterRef;
use sluice_protocol::Revision;
use sluice_protocol::interest::Interest;

use super::Store;

/// Every interest row that was ever written, in order: readers have positions in it. A bucket keeps the newest row
/// of each key: older ones cannot be read any more.
#[derive(Default)]
pub(super) struct Interests {
    rows: Vec<(ClusterRef, Interest)>,
    /// Rows of the newer form, by their index.
    newer: BTreeSet<usize>,
    newest: BTreeMap<ClusterRef, usize>,
    /// Rows that were taken away, by their revision: their tombstones.
    removed: BTreeMap<ClusterRef, Revision>,
    /// How many rows there were when the bucket was last made anew.
    made: usize,
}

impl Store {
    /// Writes an interest row, in the older or the newer form, unless a later one is there; over one that its writer cannot
    /// read, under a later revision.
    pub(crate) fn write_interest(&mut self, cluster: &ClusterRef, row: &Interest, writer: bool) {
        let Interests { rows, newer, newest, removed, .. } = &mut self.interests;
        let mut row = row.clone();
        if let Some(there) = removed.remove(cluster) {
            row = row.later_than(there);
        }
        if let Some(index) = newest.get(cluster) {
            let there = rows[*index].1.revision;
            if !writer && newer.contains(index) {
                row = row.later_than(there);
            } else if there >= row.revision {
                return;
            }
        }
        if writer {
            newer.insert(rows.len());
        }
        newest.insert(cluster.clone(), rows.len());
        rows.push((cluster.clone(), row));
    }

    /// Takes the row of a cluster away that is gone, when it is the one of this revision.
    pub(crate) fn remove_interest(&mut self, cluster: &ClusterRef, revision: Revision) {
        let Interests { rows, newest, removed, .. } = &mut self.interests;
        let Some(index) = newest.get_mut(cluster) else { return };
        if rows[*index].1.gone && rows[*index].1.revision == revision {
            removed.insert(cluster.clone(), revision);
            *index = rows.len();
            rows.push((cluster.clone(), Interest::default()));
        }
    }

    /// Deletes the bucket and makes it anew: who follows it is told of each row that is lost.
    pub(crate) fn wipe_interests(&mut self) {
        let Interests { rows, newest, made, removed, .. } = &mut self.interests;
        removed.clear();
        for (cluster, index) in newest {
            *index = rows.len();
            rows.push((cluster.clone(), Interest::default()));
        }
        *made = rows.len();
    }

    /// The first interest row from `position` on that can be read and is the newest of its cluster among the first `end`
    /// ones, and the position after it.
    pub(crate) fn next_interest(
        &self,
        position: usize,
        end: usize,
        reader: bool,
    ) -> (Option<&(ClusterRef, Interest)>, usize) {
        let Interests { rows, newer, .. } = &self.interests;
        let there = &rows[..end.min(rows.len())];
        let present = |(index, row): &(usize, &(ClusterRef, Interest))| {
            let replaced = there[index + 1..].iter().any(|(cluster, _)| *cluster == row.0);
            !replaced && (reader || !newer.contains(index))
        };
        match there.iter().enumerate().skip(position).find(present) {
            Some((index, row)) => (Some(row), index + 1),
            None => (None, there.len().max(position)),
        }
    }

    /// The interest rows as they are, as far as they can be read.
    pub(crate) fn present_interests(&self, reader: bool) -> impl Iterator<Item = &(ClusterRef, Interest)> {
        let Interests { rows, newer, newest, .. } = &self.interests;
        let readable = newest.values().filter(move |index| reader || !newer.contains(index));
        readable.map(|index| &rows[*index])
    }

    /// The interest row of a cluster, unless it was lost or taken away.
    pub(crate) fn present_interest(&self, cluster: &ClusterRef) -> Option<&Interest> {
        let index = self.interests.newest.get(cluster)?;
        Some(&self.interests.rows[*index].1).filter(|row| !row.is_lost())
    }

    /// The position after the rows with which the bucket began when it was last made anew.
    pub(crate) fn interests_made(&self) -> usize {
        self.interests.made
    }

    /// The position after every interest row.
    pub(crate) fn interests_end(&self) -> usize {
        self.interests.rows.len()
    }
}
