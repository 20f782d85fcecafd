//! What is left of an evaluation: steps, and time.
//!
//! ```text
//! one step of the language ──► what it may have cost, by the memory that is in use ──┐
//! a library function ──► paid before it runs ──► it runs ──► what it gives back ─────┤
//!                                                                                    └──► enough unseen: a look at the clock
//! ```
//!
//! A thread evaluates one script at a time, so that what is left belongs to the thread: the engine's own hook finds it there.

// D-1212: scripts and templates pay for what they take.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::time::{Duration, Instant};

use crate::lua::Limits;

/// Message of the error that ends a script over its budget.
pub(crate) const OVER_BUDGET: &str = "the script ran for too long";

/// Message of a call that no budget would be enough for.
pub(crate) const TOO_MUCH: &str = "limit: the call would take too long; give it less at once";

/// Bytes that a function of a module goes through in the time of one step of the language.
const BYTES_PER_STEP: u64 = 4;

/// What a step takes at the very most, beside what it does with memory.
const NANOS_PER_STEP: u64 = 10;

/// What a step takes for each kibibyte in use, where it goes through all of it: joins two long texts, makes room in a large table.
const NANOS_PER_KIB: u64 = 512;

/// Work that may be done without a look at the clock, by what it costs at most.
const UNSEEN_NANOS: u64 = 16_000_000;

/// Steps of one call from which on it is worth a look at the clock, before and after.
const STEPS_WORTH_A_LOOK: u64 = 2_000;

/// How far beyond the end a call may reach that is begun before it, by what it costs at most.
const BEYOND: Duration = Duration::from_millis(50);

/// Why an evaluation, or a call of it, goes no further.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// The budget of the evaluation is used up.
    Spent,
    /// The whole budget would not be enough for this call.
    TooMuch,
}

/// What a call costs, in steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Price {
    /// What it may take at most: paid before it runs.
    pub(crate) worst: u64,
    /// What it costs when it has run to its end; the rest is given back.
    pub(crate) kept: u64,
}

struct Left {
    steps: Cell<u64>,
    /// The steps that it began with.
    whole: Cell<u64>,
    until: Cell<Option<Instant>>,
    memory: Cell<usize>,
    /// What has been done since the last look at the clock, by what it costs at most.
    unseen: Cell<u64>,
    /// What the last limit that was reached says. Scripts can catch the error and go on, and can say the same words themselves.
    reached: RefCell<Option<Cow<'static, str>>>,
}

thread_local! {
    static LEFT: Left = const {
        Left {
            steps: Cell::new(0),
            whole: Cell::new(0),
            until: Cell::new(None),
            memory: Cell::new(0),
            unseen: Cell::new(0),
            reached: RefCell::new(None),
        }
    };
}

#[cfg(test)]
thread_local! {
    /// The clock of this thread, which tests may replace.
    pub(crate) static CLOCK: Cell<fn() -> Instant> = const { Cell::new(Instant::now) };
}

#[cfg(test)]
fn now() -> Instant {
    CLOCK.get()()
}

#[cfg(not(test))]
fn now() -> Instant {
    Instant::now()
}

/// Remaining budget of the evaluation that runs in this thread.
#[derive(Default)]
pub(crate) struct Budget;

// === impl Price ===

impl Price {
    /// One that is known before.
    pub(crate) fn flat(steps: u64) -> Self {
        Self { worst: steps, kept: steps }
    }

    /// One of a function of a module that goes through so many bytes.
    pub(crate) fn of_bytes(bytes: usize) -> Self {
        Self::flat(1 + bytes as u64 / BYTES_PER_STEP)
    }
}

// === impl Refusal ===

impl Refusal {
    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::Spent => OVER_BUDGET,
            Self::TooMuch => TOO_MUCH,
        }
    }
}

impl From<Refusal> for mlua::Error {
    fn from(refusal: Refusal) -> Self {
        Budget.limit(refusal.text())
    }
}

// === impl Left ===

impl Left {
    fn begin(&self, limits: &Limits) {
        self.steps.set(limits.steps);
        self.whole.set(limits.steps);
        self.until.set(now().checked_add(limits.time));
        self.memory.set(limits.memory);
        self.unseen.set(0);
    }

    fn step(&self, kib_in_use: u64) -> Result<(), Refusal> {
        let left = self.steps.get().saturating_sub(1);
        if left == 0 {
            return Err(self.spent());
        }
        self.steps.set(left);
        self.unsee(NANOS_PER_STEP + kib_in_use * NANOS_PER_KIB)
    }

    fn pay(&self, price: Price) -> Result<(), Refusal> {
        let left = self.steps.get();
        if price.worst >= left {
            return Err(if price.worst >= self.whole.get() { Refusal::TooMuch } else { self.spent() });
        }
        self.steps.set(left - price.worst);
        if price.worst < STEPS_WORTH_A_LOOK {
            return self.unsee(price.worst * NANOS_PER_STEP);
        }
        self.look(Duration::from_nanos(price.worst.saturating_mul(NANOS_PER_STEP)))
    }

    /// The call has run to its end.
    fn settle(&self, price: Price) -> Result<(), Refusal> {
        self.steps.set(self.steps.get() + price.worst.saturating_sub(price.kept));
        if price.worst < STEPS_WORTH_A_LOOK { Ok(()) } else { self.look(Duration::ZERO) }
    }

    fn unsee(&self, nanos: u64) -> Result<(), Refusal> {
        let unseen = self.unseen.get().saturating_add(nanos);
        self.unseen.set(unseen);
        if unseen < UNSEEN_NANOS { Ok(()) } else { self.look(Duration::ZERO) }
    }

    /// Whether there is time, and time enough for what takes so long.
    fn look(&self, needed: Duration) -> Result<(), Refusal> {
        self.unseen.set(0);
        let Some(until) = self.until.get() else { return Ok(()) };
        let now = now();
        let ends = now.checked_add(needed.saturating_sub(BEYOND));
        if now >= until || ends.is_none_or(|ends| ends > until) { Err(self.spent()) } else { Ok(()) }
    }

    /// Stays spent, so that a script cannot catch the error and go on.
    fn spent(&self) -> Refusal {
        self.steps.set(1);
        Refusal::Spent
    }
}

// === impl Budget ===

impl Budget {
    /// The whole budget again.
    pub(crate) fn begin(&self, limits: &Limits) {
        LEFT.with(|left| left.begin(limits));
    }

    /// One loop iteration or call, in a state that has so much memory in use.
    pub(crate) fn step(&self, kib_in_use: u64) -> Result<(), Refusal> {
        LEFT.with(|left| left.step(kib_in_use))
    }

    /// Pays for a call before it runs.
    pub(crate) fn pay(&self, price: Price) -> Result<(), Refusal> {
        LEFT.with(|left| left.pay(price))
    }

    /// Gives back what a call has not needed, and looks at the clock.
    pub(crate) fn settle(&self, price: Price) -> Result<(), Refusal> {
        LEFT.with(|left| left.settle(price))
    }

    /// The work of a library function that goes through so many bytes.
    pub(crate) fn charge(&self, bytes: usize) -> mlua::Result<()> {
        Ok(self.pay(Price::of_bytes(bytes))?)
    }

    /// Whether so many bytes may be made by one call.
    pub(crate) fn make(&self, bytes: Option<usize>) -> mlua::Result<()> {
        match bytes.filter(|bytes| *bytes <= self.memory()) {
            Some(bytes) => self.charge(bytes),
            None => Err(self.limit("limit: the text would be too long; make less of it at once")),
        }
    }

    /// The error that says that a limit is reached.
    pub(crate) fn limit(&self, words: impl Into<Cow<'static, str>>) -> mlua::Error {
        let words = words.into();
        let error = mlua::Error::runtime(&*words);
        self.reach(words);
        error
    }

    /// A limit is reached, and what is raised says so in these words.
    pub(crate) fn reach(&self, words: impl Into<Cow<'static, str>>) {
        LEFT.with(|left| left.reached.replace(Some(words.into())));
    }

    /// Forgets which limit was reached.
    pub(crate) fn forget(&self) {
        LEFT.with(|left| left.reached.replace(None));
    }

    /// Whether what a script ended with is the limit that was reached, and not what it has raised after that itself.
    pub(crate) fn is_reached(&self, ended_with: &str) -> bool {
        LEFT.with(|left| left.reached.borrow().as_ref().is_some_and(|words| ended_with.contains(&**words)))
    }

    /// Whether so many steps are left.
    pub(crate) fn affords(&self, steps: u64) -> bool {
        LEFT.with(|left| steps < left.steps.get())
    }

    /// Bytes that the state may have in use.
    pub(crate) fn memory(&self) -> usize {
        LEFT.with(|left| left.memory.get())
    }

    /// A question for what runs inside a call: whether the time is over.
    pub(crate) fn deadline(&self) -> Option<impl Fn() -> bool + Send + Sync + 'static> {
        let until = LEFT.with(|left| left.until.get())?;
        Some(move || now() >= until)
    }

    /// Runs what has a budget of its own: the time that it takes is not the script's.
    pub(crate) fn apart<T>(&self, run: impl FnOnce() -> T) -> T {
        let begun = Instant::now();
        let result = run();
        LEFT.with(|left| {
            left.until.set(left.until.get().and_then(|until| until.checked_add(begun.elapsed())))
        });
        result
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    thread_local! {
        static LOOKS: Cell<u32> = const { Cell::new(0) };
        static TIME: Cell<Option<Instant>> = const { Cell::new(None) };
    }

    /// A clock that stands where it was put, and counts who looks at it.
    fn still() -> Instant {
        LOOKS.set(LOOKS.get() + 1);
        let time = TIME.get().unwrap_or_else(Instant::now);
        TIME.set(Some(time));
        time
    }

    fn pass(time: Duration) {
        TIME.set(Some(still() + time));
    }

    fn mk_budget(steps: u64) -> Budget {
        CLOCK.set(still);
        Budget.begin(&Limits { steps, time: Duration::from_millis(100), memory: 1 << 20 });
        LOOKS.set(0);
        Budget
    }

    #[test]
    fn the_more_memory_there_is_the_more_often_the_clock_is_looked_at() {
        for (kib, expected) in [(0, 0), (150, 4), (1 << 10, 32), (64 << 10, 1_000)] {
            let budget = mk_budget(1_000_000);
            (0..1_000).for_each(|_| assert_eq!(budget.step(kib), Ok(())));
            assert!(LOOKS.get().abs_diff(expected) <= expected / 2, "{kib} KiB: {} looks", LOOKS.get());
        }
    }

    #[test]
    fn a_call_is_paid_before_and_gives_back_after() {
        let budget = mk_budget(10_000);
        let price = Price { worst: 6_000, kept: 1_000 };
        assert_eq!(budget.pay(price), Ok(()));
        assert!(!budget.affords(4_000));
        assert_eq!(budget.settle(price), Ok(()));
        assert!(budget.affords(8_999) && !budget.affords(9_000));
        assert_eq!(LOOKS.get(), 2);
    }

    #[test]
    fn what_no_budget_is_enough_for_ends_the_call_and_what_this_one_is_not_ends_the_script() {
        let budget = mk_budget(10_000);
        assert_eq!(budget.pay(Price::flat(10_000)), Err(Refusal::TooMuch));
        assert_eq!(budget.pay(Price::flat(6_000)), Ok(()));
        assert_eq!(budget.pay(Price::flat(6_000)), Err(Refusal::Spent));
        assert_eq!(budget.step(0), Err(Refusal::Spent));
        assert_eq!(budget.pay(Price::flat(1)), Err(Refusal::Spent));
    }

    #[test]
    fn a_call_that_would_end_long_after_the_time_is_not_begun() {
        let budget = mk_budget(1_000_000_000);
        // A hundred milliseconds, of which half may be beyond the end.
        let price = Price::flat(10_000_000);
        pass(Duration::from_millis(45));
        assert_eq!(budget.pay(price), Ok(()));
        pass(Duration::from_millis(10));
        assert_eq!(budget.pay(price), Err(Refusal::Spent));
    }

    #[test]
    fn the_clock_is_looked_at_when_a_call_has_run() {
        let budget = mk_budget(1_000_000_000);
        let price = Price::flat(1_000_000);
        assert_eq!(budget.pay(price), Ok(()));
        pass(Duration::from_millis(101));
        assert_eq!(budget.settle(price), Err(Refusal::Spent));
        assert_eq!(budget.step(0), Err(Refusal::Spent));
    }

    #[test]
    fn many_small_calls_are_seen_together() {
        let budget = mk_budget(1_000_000_000);
        pass(Duration::from_millis(101));
        let refused = (0..2_000).find(|_| budget.pay(Price::flat(1_000)).is_err());
        assert_eq!(refused, Some(1_599));
    }
}
