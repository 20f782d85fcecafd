//! What a core wants before it has read its input to the end.
//!
//! The reading may begin on a copy of the stream that lags behind: it shows rows that have been replaced already, and
//! what replaces them later. What follows from the former would bring back what a former owner has done away with. So
//! nothing is published before; then, of each subject, what was wanted last. Where the input ended when the reading began
//! is not enough: what replaced a row before that may have been replaced since, and comes at the end.

use std::collections::BTreeMap;

use crate::row::{Body, Publish};
use crate::subject::Subject;

// D-0313: nothing is published before the end of the input.
/// Rows that wait, by subject.
#[derive(Debug, Default)]
pub(super) struct Early(BTreeMap<String, Publish>);

impl Early {
    /// Takes what the core wants, in place of what it wanted before. `stored` is whether the table says so already.
    pub(super) fn hold(&mut self, mut row: Publish, stored: bool) {
        let key = row.subject.to_string();
        let former = self.0.remove(&key);
        row.forced |= former.is_some_and(|former| former.forced);
        if row.forced || !stored {
            self.0.insert(key, row);
        }
    }

    /// Forgets what is wanted of these subjects; returns it.
    pub(super) fn take<'s>(&mut self, subjects: impl Iterator<Item = &'s Subject>) -> Vec<Publish> {
        if self.0.is_empty() {
            return Vec::new();
        }
        subjects.filter_map(|subject| self.0.remove(&subject.to_string())).collect()
    }

    /// All of it. What goes comes after what may take its place, and what speaks of other rows after those.
    pub(super) fn release(&mut self) -> Vec<Publish> {
        let mut rows: Vec<_> = std::mem::take(&mut self.0).into_values().collect();
        rows.sort_by_key(|row| (row.barrier, row.body == Body::Tombstone));
        rows
    }
}

#[cfg(test)]
mod tests {
    use sluice_api::ClusterRef;

    use super::*;
    use crate::Shard;
    use crate::subject::Table;

    fn publish(shard: Shard, body: Body) -> Publish {
        let cluster = ClusterRef::sveltos("a", "b");
        Publish::new(Subject::Complete { table: Table::Changes, shard, cluster, origin: None }, body, 1)
    }

    #[test]
    fn of_each_subject_the_last_counts_and_what_goes_comes_after_what_is_there() {
        let mut early = Early::default();
        early.hold(publish(Shard::new(1), Body::Tombstone), false);
        early.hold(publish(Shard::FIRST, Body::value(*b"speaks of all")).after_all(), false);
        early.hold(publish(Shard::new(2), Body::value(*b"old")).forced(), false);
        early.hold(publish(Shard::new(2), Body::value(*b"new")), false);
        let rows = early.release();
        let expected = [
            publish(Shard::new(2), Body::value(*b"new")).forced(),
            publish(Shard::new(1), Body::Tombstone),
            publish(Shard::FIRST, Body::value(*b"speaks of all")).after_all(),
        ];
        assert_eq!(rows, expected);
        assert!(early.release().is_empty());
    }

    #[test]
    fn what_the_table_says_again_is_not_written() {
        let mut early = Early::default();
        early.hold(publish(Shard::FIRST, Body::value(*b"old")), false);
        early.hold(publish(Shard::FIRST, Body::value(*b"stored")), true);
        assert!(early.release().is_empty());
    }
}
