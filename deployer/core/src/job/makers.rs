//! Who makes a profile of this name on this cluster. Two renderers may: triggers of two source clusters with one
//! `profileNameFormat`, a user's profile and a generated one. One of them has the name, the others wait and are told.

use std::collections::{BTreeMap, BTreeSet};

use super::{Job, Target};

/// What a maker's newest row says.
#[derive(Debug)]
pub(crate) struct MakerRow {
    pub(crate) target: Target,
    /// When the cause of the row happened, microseconds since 1970.
    pub(crate) time: i64,
}

/// The makers that do not have the name, by the shards of their renderers.
#[derive(Debug, Default)]
pub(crate) struct Makers {
    /// They want it.
    pub(crate) waiting: BTreeMap<u16, MakerRow>,
    /// They do not want it any more; their status rows are still to be withdrawn.
    pub(crate) left: BTreeSet<u16>,
}

/// Who comes before whom.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// What the cluster has is its, and it has not said that this should go.
    Incumbent,
    Candidate,
    Gone,
    /// Nothing is known of it.
    Unknown,
}

impl Job {
    /// A maker's row came; whether the work must begin (again).
    pub(crate) fn retarget(&mut self, origin: u16, row: MakerRow) -> bool {
        self.attempts = 0;
        if origin != self.origin {
            self.makers.waiting.insert(origin, row);
            self.again |= self.in_flight > 0;
            return true;
        }
        // The same tombstone once more is no reason to begin anew; what is under way for another target must end.
        let same = matches!((&self.target, &row.target), (Target::Gone, Target::Gone)) && self.is_at_work();
        (self.target, self.time) = (row.target, row.time);
        self.again |= !same && self.in_flight > 0;
        !same
    }

    /// Decides who has the name: whose the inventory is, as long as it does not let it go; else who came first.
    /// Where rows of the inventory's maker are not known, they come: it is told what is held here.
    pub(super) fn elect(&mut self, shards: u16) {
        let incumbent = self.inventory().map(|inventory| inventory.cause.origin(shards));
        let undisputed = incumbent.is_none_or(|origin| origin == self.origin);
        if undisputed && self.makers.waiting.is_empty() {
            return;
        }
        let target = std::mem::replace(&mut self.target, Target::Unknown);
        let mut rows = std::mem::take(&mut self.makers.waiting);
        rows.insert(self.origin, MakerRow { target, time: self.time });
        if let Some(origin) = incumbent {
            rows.entry(origin).or_insert(MakerRow { target: Target::Unknown, time: 0 });
        }
        let rank = |origin: u16, row: &MakerRow| match row.target {
            Target::Value(_) | Target::Unknown if incumbent == Some(origin) => Rank::Incumbent,
            Target::Value(_) => Rank::Candidate,
            Target::Gone => Rank::Gone,
            Target::Unknown => Rank::Unknown,
        };
        let first = rows.iter().min_by_key(|(origin, row)| (rank(**origin, row), row.time, **origin));
        if let Some(origin) = first.map(|(origin, _)| *origin)
            && let Some(row) = rows.remove(&origin)
        {
            (self.origin, self.target, self.time) = (origin, row.target, row.time);
        }
        let wants = |row: &MakerRow| matches!(row.target, Target::Value(_));
        self.makers.left.extend(rows.iter().filter(|(_, row)| !wants(row)).map(|(origin, _)| *origin));
        rows.retain(|_, row| wants(row));
        self.makers.waiting = rows;
    }
}
