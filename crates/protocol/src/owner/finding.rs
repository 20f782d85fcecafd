//! Looking for the end of the input.

use super::{Command, Core, Now, Owner, Phase};

/// Pause before the end of the input is looked for again, microseconds.
pub(super) const FIND_AGAIN: i64 = 200_000;

impl<C: Core> Owner<C> {
    /// How many rows are known to follow is the server's estimate: the end is asked for when something depends on it.
    pub(super) fn find_end(&mut self, commands: &mut Vec<Command<C::Effect>>) {
        if self.awaits_end() && !self.finding {
            self.finding = true;
            self.find_at = None;
            commands.push(Command::FindEnd(self.newest));
        }
    }

    /// The estimate may never say that nothing follows.
    pub(super) fn find_end_later(&mut self, now: Now, commands: &mut Vec<Command<C::Effect>>) {
        if self.awaits_end() && !self.finding && self.find_at.is_none() {
            self.find_at = Some(now.wall + FIND_AGAIN);
            commands.push(Command::WakeAt(now.wall + FIND_AGAIN));
        }
    }

    fn awaits_end(&self) -> bool {
        self.phase == Phase::Reading
            && self.config.reads
            && self.caught_up
            && (self.lagging_since.is_some() || self.core.awaits_end())
    }
}
