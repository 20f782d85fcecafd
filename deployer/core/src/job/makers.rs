//! Who makes a profile of this name on this cluster. Two renderers may: triggers of two source clusters with one
//! `profileNameFormat`, a user's profile and a generated one. One of them has the name, the others wait and are told.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::Digest;
use sluice_protocol::Shard;

use super::{Job, Target};
use crate::error::Error;

/// What a maker's newest row says.
#[derive(Debug)]
pub(crate) struct MakerRow {
    pub(crate) target: Target,
    /// When the cause of the row happened, microseconds since 1970.
    pub(crate) time: i64,
}

// D-1027: of two makers of one profile, the inventory decides.
/// The makers that do not have the name, by the shards of their renderers.
#[derive(Debug, Default)]
pub(crate) struct Makers {
    /// They want it. The one whose inventory is there may be among them, although it has let it go.
    pub(crate) waiting: BTreeMap<Shard, MakerRow>,
    /// They do not want it any more; their status rows are still to be withdrawn.
    pub(crate) left: BTreeSet<Shard>,
    /// Makers whose newest row cannot be read, as that of a newer version, and why not. They want the name; what they
    /// wanted before stays, and nothing goes for their sake.
    pub(crate) unreadable: BTreeMap<Shard, Error>,
}

/// Who comes before whom.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    /// What the cluster has is its, and it has not said that this should go.
    Incumbent,
    Candidate,
    /// It wants the name; nobody knows what for.
    Unreadable,
    Gone,
    /// Nothing is known of it.
    Unknown,
}

impl Job {
    /// The shards of the renderers that a status may have been written for.
    pub(crate) fn origins(&self) -> impl Iterator<Item = Shard> {
        let others = self.makers.waiting.keys().chain(&self.makers.left).copied();
        others.chain([self.origin])
    }

    /// Whether the newest row of this maker is there.
    pub(crate) fn is_wanted_by(&self, origin: Shard) -> bool {
        let target = match origin == self.origin {
            true => Some(&self.target),
            false => self.makers.waiting.get(&origin).map(|row| &row.target),
        };
        matches!(target, Some(Target::Value(_)))
    }

    /// The newest rows of all makers, when what it has done is about the one that it follows.
    pub(crate) fn rows(&self) -> Option<impl Iterator<Item = (Shard, Digest)>> {
        let own = self.target.digest().filter(|row| self.settled == Some(*row))?;
        let waiting = self.makers.waiting.iter();
        Some(
            waiting
                .filter_map(|(origin, row)| Some((*origin, row.target.digest()?)))
                .chain([(self.origin, own)]),
        )
    }

    /// Whether a maker wants it, for all that is known.
    pub(crate) fn is_wanted(&self) -> bool {
        let wants = |target: &Target| matches!(target, Target::Value(_));
        wants(&self.target)
            || self.makers.waiting.values().any(|row| wants(&row.target))
            || !self.makers.unreadable.is_empty()
    }

    /// A maker's row came, or one that cannot be read for this reason; whether the work must begin (again).
    pub(crate) fn retarget(&mut self, origin: Shard, row: Result<MakerRow, Error>) -> bool {
        (self.attempts, self.waits_since) = Default::default();
        self.unable.clear();
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                self.doubt(origin, error);
                return true;
            }
        };
        self.makers.unreadable.remove(&origin);
        if origin != self.origin {
            self.makers.waiting.insert(origin, row);
            self.again |= self.in_flight > 0;
            return true;
        }
        // The same tombstone once more is no reason to begin anew; what is under way for another target must end.
        let same = matches!((&self.target, &row.target), (Target::Gone(one), Target::Gone(other)) if one == other)
            && self.is_at_work();
        self.note_former(&row.target);
        (self.target, self.time) = (row.target, row.time);
        self.again |= !same && self.in_flight > 0;
        !same
    }

    /// A maker wants something that cannot be read.
    fn doubt(&mut self, origin: Shard, error: Error) {
        self.makers.unreadable.insert(origin, error);
        let unknown = || MakerRow { target: Target::Unknown, time: 0 };
        let target = match origin == self.origin {
            true => &mut self.target,
            false => &mut self.makers.waiting.entry(origin).or_insert_with(unknown).target,
        };
        if matches!(target, Target::Gone(_)) {
            *target = Target::Unknown;
        }
        self.again |= self.in_flight > 0;
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
        let rank = |origin: Shard, row: &MakerRow| match row.target {
            Target::Value(_) | Target::Unknown if incumbent == Some(origin) => Rank::Incumbent,
            Target::Value(_) => Rank::Candidate,
            Target::Unknown if self.makers.unreadable.contains_key(&origin) => Rank::Unreadable,
            Target::Gone(_) => Rank::Gone,
            Target::Unknown => Rank::Unknown,
        };
        let first = rows.iter().min_by_key(|(origin, row)| (rank(**origin, row), row.time, **origin));
        if let Some(origin) = first.map(|(origin, _)| *origin)
            && let Some(row) = rows.remove(&origin)
        {
            (self.origin, self.target, self.time) = (origin, row.target, row.time);
        }
        let wants = |origin: &Shard, row: &MakerRow| {
            matches!(row.target, Target::Value(_)) || self.makers.unreadable.contains_key(origin)
        };
        self.makers
            .left
            .extend(rows.iter().filter(|(origin, row)| !wants(origin, row)).map(|(origin, _)| *origin));
        // That the incumbent let it go is known until there is another one.
        rows.retain(|origin, row| {
            wants(origin, row) || (matches!(row.target, Target::Gone(_)) && incumbent == Some(*origin))
        });
        self.makers.waiting = rows;
    }
}
