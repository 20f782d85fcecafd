//! A profile that nobody wants any more goes, or is held.

use sluice_protocol::rows::State;

use super::{Ended, Job, JobContext, Phase, Target};

impl Job {
    pub(super) fn begin_removal(&mut self, context: &mut JobContext<'_>) -> Ended {
        self.defers = false;
        if !matches!(self.target, Target::Gone(_)) {
            if self.makers.unreadable.contains_key(&self.origin) {
                return self.settle(context);
            }
            // Nothing is held of it after all.
            if self.inventory().is_none() {
                self.unclaim(context);
                return Ended::Removed;
            }
            // D-0407: a deployer never withdraws by absence.
            return Ended::Settled { state: State::Held, changed: false };
        }
        // Another maker, or another profile, may want what it has and not have said so yet.
        if !context.all_said && self.inventory().is_some() {
            self.defers = true;
            self.phase = Phase::Idle;
            return Ended::NotYet;
        }
        let waits = self.inventory().is_some() && self.wait_to_be_removed(context);
        if waits && self.is_held() {
            return Ended::NotYet;
        }
        // Those who take over from it can have what they want of it.
        self.leave_claims(context);
        if waits {
            return Ended::NotYet;
        }
        if self.inventory().is_none() {
            self.unclaim(context);
            return Ended::Removed;
        }
        self.prune(context)
    }
}
