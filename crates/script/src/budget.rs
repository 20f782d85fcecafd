//! What is left of an evaluation: steps, and time.

use std::cell::Cell;
use std::time::Instant;

use mlua::VmState;

use crate::lua::Limits;

/// Message of the error that ends a script over its budget.
pub(crate) const OVER_BUDGET: &str = "the script ran for too long";

/// Clock readings are dear: one for this many steps.
const STEPS_PER_READING: u64 = 256;

/// Bytes that a function of a module goes through in the time of one step of the language.
const BYTES_PER_STEP: u64 = 16;

/// Remaining budget of the evaluation that runs, shared with the interrupt and with the functions of modules.
#[derive(Default)]
pub(crate) struct Budget {
    steps: Cell<u64>,
    until: Cell<Option<Instant>>,
    memory: Cell<usize>,
}

// === impl Budget ===

impl Budget {
    /// The whole budget again.
    pub(crate) fn begin(&self, limits: &Limits) {
        self.steps.set(limits.steps);
        self.until.set(Instant::now().checked_add(limits.time));
        self.memory.set(limits.memory);
    }

    /// One loop iteration or call.
    pub(crate) fn spend(&self) -> mlua::Result<VmState> {
        let left = self.steps.get().saturating_sub(1);
        self.steps.set(left);
        if left == 0 || left.is_multiple_of(STEPS_PER_READING) && self.is_late() {
            return Err(self.spent());
        }
        Ok(VmState::Continue)
    }

    /// The work of a library function that goes through so many bytes.
    pub(crate) fn charge(&self, bytes: usize) -> mlua::Result<()> {
        let left = self.steps.get().saturating_sub(1 + bytes as u64 / BYTES_PER_STEP);
        self.steps.set(left);
        if left == 0 || self.is_late() { Err(self.spent()) } else { Ok(()) }
    }

    /// Whether so many bytes may be made by one call.
    pub(crate) fn make(&self, bytes: Option<usize>) -> mlua::Result<()> {
        match bytes.filter(|bytes| *bytes <= self.memory.get()) {
            Some(bytes) => self.charge(bytes),
            None => Err(mlua::Error::runtime("limit: the text would be too long; make less of it at once")),
        }
    }

    /// Runs what has a budget of its own: the time that it takes is not the script's.
    pub(crate) fn apart<T>(&self, run: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = run();
        self.until.set(self.until.get().and_then(|until| until.checked_add(begun.elapsed())));
        result
    }

    fn is_late(&self) -> bool {
        self.until.get().is_some_and(|until| Instant::now() >= until)
    }

    /// Stays spent, so that a script cannot catch the error and go on.
    fn spent(&self) -> mlua::Error {
        self.steps.set(1);
        mlua::Error::runtime(OVER_BUDGET)
    }
}
