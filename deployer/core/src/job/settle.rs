//! How a run ends.

use sluice_protocol::rows::State;

use super::attempts::Attempts;
use super::{Ended, Job, JobContext, Phase};

impl Job {
    pub(super) fn settle(&mut self, context: &mut JobContext<'_>) -> Ended {
        self.phase = Phase::Idle;
        self.defers = false;
        let changed = self.run.end();
        if self.run.errors.is_empty() {
            self.attempts = Attempts::default();
            // Trying it again would not make a row readable.
            let unreadable = self.makers.unreadable.contains_key(&self.origin);
            let state = if unreadable { State::Failed } else { self.settled_state() };
            let state = match state {
                State::Provisioned => self.health(changed, context),
                state => Some(state),
            };
            let changed = self.note_change(changed, state.is_some());
            let Some(state) = state else {
                // What it was before says nothing of what is there now.
                self.note_outcome(State::Provisioning);
                self.target.rest();
                return Ended::NotYet;
            };
            self.note_outcome(state);
            return Ended::Settled { state, changed };
        }
        self.note_outcome(State::Failed);
        // What a check says it says anew by itself.
        if self.run.errors.values().any(|fault| !fault.by_check && !fault.follows && !fault.is_fight) {
            self.retry_at = self.next_attempt(context.now);
        }
        Ended::Settled { state: State::Failed, changed: self.note_change(changed, true) }
    }

    /// What it is called that everything is as it should be. What cannot be done yet is not tried again.
    fn settled_state(&self) -> State {
        match self.target.decoded() {
            Some(desired) if desired.dry_run => State::DryRun,
            Some(desired) if !desired.lacks.is_empty() => State::Failed,
            _ => State::Provisioned,
        }
    }
}
