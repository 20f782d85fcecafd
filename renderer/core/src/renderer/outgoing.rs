//! How far a renderer is on its way to work, and what it has said.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::ClusterRef;
use sluice_protocol::{Fault, ProblemKey, ProblemSet, Step};

use crate::messages::Effect;

/// Who it is in journals and problems.
pub(crate) const STAGE: &str = "renderer";

/// How far a renderer is, and what it has said.
pub(super) struct Outgoing {
    progress: Progress,
    problems: ProblemSet,
    /// Clusters whose interest row is to be written once it knows the revision that must follow.
    pub(super) unwritten: BTreeSet<ClusterRef>,
    pub(super) departures: Departures,
    pub(super) all_published: AllPublished,
    /// Clusters whose own deployers have been told that all rows for them are there.
    pub(super) told: BTreeMap<ClusterRef, Told>,
}

/// Who has told a deployer that is in its cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Told {
    /// A former owner.
    Before,
    /// This one.
    Now,
}

/// How far it is on its way to work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Progress {
    /// Not everything that was there at the beginning has been told.
    Listening,
    /// It has.
    Told,
    /// It owns its shard, and what is its may be published.
    Started,
    /// It knows every revision of interest that a matcher said it has worked with.
    Asking,
    /// Its input has been read to its end: absence means something.
    CaughtUp,
}

/// How far it is with saying that all its rows are there. Times are of the clock that nobody sets.
#[derive(Clone, Copy, Debug, Default)]
pub(super) enum AllPublished {
    /// It has not read its input to the end.
    #[default]
    NotYet,
    /// It looks since `since`, and next at `next`.
    Looking { since: i64, next: i64 },
    /// It has said so.
    Said,
}

/// When each cluster that is no longer registered is gone, by the clock that nobody sets.
pub(super) type Departures = BTreeMap<ClusterRef, i64>;

// === impl Outgoing ===

impl Outgoing {
    pub(super) fn new() -> Self {
        Self {
            progress: Progress::Listening,
            problems: ProblemSet::new(STAGE),
            unwritten: BTreeSet::new(),
            departures: Departures::new(),
            all_published: AllPublished::default(),
            told: BTreeMap::new(),
        }
    }

    /// It is so far now, if it was not further.
    pub(super) fn reach(&mut self, progress: Progress) {
        self.progress = self.progress.max(progress);
    }

    pub(super) fn is_told(&self) -> bool {
        self.progress >= Progress::Told
    }

    pub(super) fn is_started(&self) -> bool {
        self.progress >= Progress::Started
    }

    pub(super) fn is_asking(&self) -> bool {
        self.progress >= Progress::Asking
    }

    pub(super) fn is_caught_up(&self) -> bool {
        self.progress == Progress::CaughtUp
    }

    /// Says what is wrong, or that nothing is any more, where that is news.
    pub(super) fn note(&mut self, key: ProblemKey, fault: Option<Fault>, step: &mut Step<Effect>) {
        self.problems.note(key, fault).into_iter().for_each(|problem| step.effect(Effect::Problem(problem)));
    }
}
