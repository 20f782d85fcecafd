//! Runs in a row that failed: when the next one begins, and when there is none any more.

use std::time::Duration;

use serde_json::Value;
use sluice_protocol::rows::Desired;

use super::replies::Fault;
use super::{Job, Target};
use crate::budget::{backoff, micros};

/// Pause before a failed profile is tried again.
const FIRST: Duration = Duration::from_millis(250);
const LONGEST: Duration = Duration::from_secs(10);
/// Under this name it is kept among the errors that there is no further attempt.
const GIVEN_UP: &str = "gives up";

/// What came of the runs since the row came, or since the last one that went well.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    /// Runs in a row that failed.
    pub(super) failed: u32,
    /// Those of them that failed for reasons that do not lie in the server's state.
    own: u32,
    given_up: bool,
}

impl Job {
    /// Whether the row that it follows has failed as often as its profile allows.
    pub(crate) fn has_given_up(&self) -> bool {
        self.attempts.given_up && matches!(self.target, Target::Value(_))
    }

    // D-1051: a profile with maxConsecutiveFailures rests after so many failures of its own.
    /// One more run has failed: when the next one begins.
    pub(super) fn next_attempt(&mut self, now: i64) -> Option<i64> {
        self.attempts.failed += 1;
        // An outage, or what another profile has, ends without anybody changing this one.
        let is_own = |fault: &Fault| {
            !fault.transient && !fault.lost && !fault.follows && !fault.by_check && !fault.is_fight
        };
        self.attempts.own += u32::from(self.run.errors.values().any(is_own));
        match self.target.decoded().and_then(most_failures) {
            Some(most) if self.attempts.own >= most => {
                self.attempts.given_up = true;
                let text = format!(
                    "the maximum number of consecutive errors has been reached ({most}): it is tried again when the profile, or what \
                     it deploys, changes"
                );
                self.run.errors.insert(GIVEN_UP.into(), Fault::new(text, false));
                None
            }
            _ => Some(now + micros(backoff(self.attempts.failed, FIRST, LONGEST))),
        }
    }
}

/// `spec.maxConsecutiveFailures`; nothing is no limit.
fn most_failures(desired: &Desired) -> Option<u32> {
    let most = desired.spec.get("maxConsecutiveFailures").and_then(Value::as_u64)?;
    u32::try_from(most).ok().filter(|most| *most > 0)
}
