//! Contents that are kept beside the inventory, so that a row can go back to one.
//!
//! ```text
//! row A ─► all of it is there ─► A is kept ─► inventory ─► Provisioned
//! row B, "A was good" ─► … ─► B is kept, and A ─► inventory ─► Provisioned
//! row "back to A" ─► A is read ─► it is deployed as any other row
//! ```
//!
//! The inventory says that there may be kept contents before the first is: they go with it. Each owner looks once whether they are there.
//! Where the server is another one since, what it has gone back to is kept there too.

// D-1071: what a cluster can go back to is kept in the cluster.

use std::time::Duration;

use sluice_api::Digest;

use super::replies::Fault;
use super::{Ended, Job, JobContext, Knowledge, Phase, Target};
use crate::budget::{backoff, micros};
use crate::request::{KeptBody, Reply, Request};

/// Under this name an error of what is kept is found among those of the objects.
pub(super) const KEPT: &str = "the kept content";

/// Pause before the server is asked again to keep what it has refused.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(600);

/// What this owner knows of kept contents.
#[derive(Debug, Default)]
pub(super) struct Keeping {
    /// Of this row it is known what became of it.
    known: Option<(Digest, Result<(), NotKept>)>,
    /// Whether nothing is kept any more.
    dropped: bool,
}

/// A content that the server would not keep.
#[derive(Debug)]
struct NotKept {
    why: String,
    /// How often in a row.
    times: u32,
    /// When it is asked again.
    again_at: i64,
}

// === impl Keeping ===

impl Keeping {
    /// Whether nothing is to be done about a row now.
    fn is_known(&self, row: Digest, now: i64) -> bool {
        let known = self.known.as_ref().filter(|(known, _)| *known == row);
        known.is_some_and(|(_, outcome)| outcome.as_ref().err().is_none_or(|refused| now < refused.again_at))
    }

    /// When the server is asked again to keep what it has refused.
    pub(super) fn again_at(&self) -> Option<i64> {
        Some(self.known.as_ref()?.1.as_ref().err()?.again_at)
    }

    /// It has refused to keep this row.
    fn refused(&mut self, row: Digest, why: String, now: i64) {
        let before = self.known.take().filter(|(known, _)| *known == row);
        let times = before.and_then(|(_, outcome)| outcome.err()).map_or(1, |refused| refused.times + 1);
        let again_at = now + micros(backoff(times, FIRST, LONGEST));
        self.known = Some((row, Err(NotKept { why, times, again_at })));
    }
}

impl Job {
    /// Keeps what has just been deployed, or nothing any more, before the inventory says what there is.
    pub(super) fn keep(&mut self, context: &mut JobContext<'_>) -> Ended {
        if self.run.errors.contains_key(KEPT) {
            return self.settle(context);
        }
        match self.request_to_keep(context.now) {
            Some(request) => {
                self.phase = Phase::Keeping;
                self.call(request, context);
                Ended::NotYet
            }
            None => {
                self.keeping.again_at().into_iter().for_each(|at| self.wake_at(at));
                self.record(context)
            }
        }
    }

    /// The same where nothing may go yet: its maker goes on when it hears that all is there, and may have to go back to it then.
    pub(super) fn keep_early(&mut self, context: &mut JobContext<'_>) -> Ended {
        match self.request_to_keep(context.now) {
            Some(request @ Request::Keep { .. }) => {
                self.phase = Phase::KeepingEarly;
                self.call(request, context);
                Ended::NotYet
            }
            _ => self.defer(context),
        }
    }

    fn request_to_keep(&mut self, now: i64) -> Option<Request> {
        let profile = self.profile.clone();
        let may_be = self.inventory().is_some_and(|known| known.keeps) && !self.keeping.dropped;
        let Target::Value(goal) = &self.target else {
            return may_be.then_some(Request::DropKept(profile));
        };
        let (Some(kept), Some(row)) = (goal.kept(), self.target.kept_row()) else {
            return may_be.then_some(Request::DropKept(profile));
        };
        // What is only tried is not there.
        if self.keeping.is_known(row, now) || self.target.decoded().is_none_or(|desired| desired.dry_run) {
            return None;
        }
        self.keeping.dropped = false;
        let (body, good) = (KeptBody(goal.body().clone()), kept.good);
        Some(Request::Keep { profile, row, body, good })
    }

    /// The content of its row was kept, or not. What the server refuses is told, and keeps nothing else from being done; it is asked again.
    pub(super) fn kept(&mut self, row: Digest, reply: &Reply, now: i64) {
        match reply {
            Reply::Failed(failure) if failure.class.is_transient() => {
                let text = format!("the kept content cannot be written: {}", failure.message);
                self.run.errors.insert(KEPT.into(), Fault::new(text, true));
            }
            Reply::Failed(failure) => {
                let why = format!(
                    "this content is not kept on the cluster, which cannot go back to it: {}",
                    failure.message
                );
                self.keeping.refused(row, why, now);
            }
            _ => self.keeping.known = Some((row, Ok(()))),
        }
    }

    /// Nothing is kept any more, or what is could not be taken away.
    pub(super) fn dropped(&mut self, reply: &Reply) {
        if let Reply::Failed(failure) = reply {
            let text = format!("the kept content cannot be taken away: {}", failure.message);
            self.run.errors.insert(KEPT.into(), Fault::new(text, failure.class.is_transient()));
            return;
        }
        self.keeping = Keeping { known: None, dropped: true };
    }

    /// Reads what has to be known first: its inventory, where that is doubtful, and what its row goes back to.
    pub(super) fn reads_first(&mut self, context: &mut JobContext<'_>) -> bool {
        let profile = self.profile.clone();
        let request = if self.inventory_state.knowledge == Knowledge::Doubtful {
            Request::ReadInventory(profile)
        } else {
            self.elect(context.shards);
            let Some(row) = self.target.lacks() else { return false };
            Request::ReadKept { profile, row }
        };
        self.phase = Phase::Checking;
        self.call(request, context);
        true
    }

    /// What is kept was read, or is not there: then everything stays as it is.
    pub(super) fn kept_read(&mut self, row: Digest, reply: Reply) {
        // Another row may have come since.
        if self.target.lacks() != Some(row) {
            return;
        }
        let (why, transient) = match reply {
            Reply::Kept(Some(KeptBody(body))) => match self.target.restore(&body, &self.profile) {
                Ok(()) => return self.keeping.known = Some((row, Ok(()))),
                Err(why) => (format!("cannot be used: {why}"), false),
            },
            Reply::Failed(failure) => {
                (format!("cannot be read: {}", failure.message), failure.class.is_transient())
            }
            _ => ("is not on the cluster".to_owned(), false),
        };
        let text = format!(
            "it goes back to a former content, and the kept content {why}; what is here stays as it is: write a content that works, which goes to this cluster too"
        );
        self.run.errors.insert(KEPT.into(), Fault::new(text, transient));
    }

    /// Why what was deployed last is not kept, where it should be.
    pub(crate) fn not_kept(&self) -> Option<&str> {
        let (row, outcome) = self.keeping.known.as_ref()?;
        let refused = outcome.as_ref().err().filter(|_| self.target.kept_row() == Some(*row))?;
        Some(&refused.why)
    }

    /// Whether the inventory says that contents may be kept: as long as they are wanted, and until they have gone.
    pub(super) fn keeps(&self) -> bool {
        self.target.keeps()
    }
}
