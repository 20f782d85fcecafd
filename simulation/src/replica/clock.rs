//! The clock of a replica's machine, which is off and jumps, and what its process makes of it, as `now_micros` of
//! `crates/bus/src/clock.rs` does: it never goes back, and follows a clock that is set forward.

use crate::world::BEGIN;

/// How far the machine's clock may be ahead before it is followed.
const JUMP: i64 = 2_000_000;

/// How far both are off.
#[derive(Default)]
pub(super) struct Clock {
    machine: i64,
    process: i64,
}

impl Clock {
    /// What the process takes for the time.
    pub(super) fn now(&self, right: i64) -> i64 {
        BEGIN + right + self.process
    }

    /// The machine's clock is set.
    pub(super) fn jump(&mut self, by: i64) {
        self.machine += by;
        if self.machine - self.process > JUMP {
            self.process = self.machine;
        }
    }

    /// The process begins anew, with what its machine says.
    pub(super) fn restart(&mut self) {
        self.process = self.machine;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_goes_back_only_when_it_begins_anew() {
        let mut clock = Clock::default();
        clock.jump(-60_000_000);
        assert_eq!(clock.now(5), BEGIN + 5);
        clock.restart();
        assert_eq!(clock.now(5), BEGIN + 5 - 60_000_000);
        clock.jump(1_000_000);
        assert_eq!(clock.now(5), BEGIN + 5 - 60_000_000, "a little ahead");
        clock.jump(60_000_000);
        assert_eq!(clock.now(5), BEGIN + 5 + 1_000_000);
    }
}
