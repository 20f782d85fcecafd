//! What an evaluation may still use, and why it ends early.

use std::time::Instant;

use crate::Limits;

/// Clock readings are dear: one for this many steps.
const STEPS_PER_READING: u64 = 256;

/// Why an expression has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// As CEL has it: `||`, `&&` and macros may do without this part.
    Data(String),
    /// The evaluation ends.
    Limit(String),
}

/// Counts down. Memory is counted as it is asked for, and not given back before the end.
pub(super) struct Budget {
    steps: u64,
    bytes: usize,
    next_reading: u64,
    until: Option<Instant>,
}

// === impl Fault ===

impl Fault {
    pub(super) fn data(text: impl Into<String>) -> Self {
        Self::Data(text.into())
    }
}

// === impl Budget ===

impl Budget {
    pub(super) fn new(limits: &Limits) -> Self {
        let until = Instant::now().checked_add(limits.time);
        let next_reading = limits.steps.saturating_sub(STEPS_PER_READING);
        Self { steps: limits.steps, bytes: limits.memory, next_reading, until }
    }

    /// This many steps are done.
    pub(super) fn step(&mut self, count: usize) -> Result<(), Fault> {
        let too_long = || Fault::Limit("limit: the rule ran for too long; let it look at less".to_owned());
        self.steps = self.steps.checked_sub(count as u64).ok_or_else(too_long)?;
        if self.steps <= self.next_reading {
            self.next_reading = self.steps.saturating_sub(STEPS_PER_READING);
            if self.until.is_some_and(|until| Instant::now() > until) {
                return Err(too_long());
            }
        }
        Ok(())
    }

    /// This many bytes are made, which takes its time too.
    pub(super) fn hold(&mut self, bytes: usize) -> Result<(), Fault> {
        let too_much = || Fault::Limit("limit: the rule needs too much memory; let it make less".to_owned());
        self.bytes = self.bytes.checked_sub(bytes).ok_or_else(too_much)?;
        self.step(bytes / 16)
    }
}

#[cfg(test)]
mod tests;
