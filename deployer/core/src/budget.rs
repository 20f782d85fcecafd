//! How much of a cluster's API server may be used: a window of calls that grows while it answers well, and a
//! circuit breaker that leaves a dead server alone.

use std::time::Duration;

/// Calls in flight at first, and at most.
const START: f64 = 16.0;
const MAX: f64 = 64.0;
// D-1010: a server in trouble is one problem.
/// Failures in a row after which the server counts as dead.
pub(crate) const BREAK_AFTER: u32 = 6;
/// First and longest pause before a dead server is tried again.
const FIRST_PAUSE: Duration = Duration::from_millis(500);
const LONGEST_PAUSE: Duration = Duration::from_secs(30);
/// A server that asks to be left alone is obeyed for so long at most.
const LONGEST_OBEYED: Duration = Duration::from_secs(300);

/// Times are microseconds, of the clock that nobody sets.
#[derive(Debug)]
pub(crate) struct Budget {
    window: f64,
    in_flight: usize,
    failures: u32,
    closed_until: i64,
}

impl Budget {
    pub(crate) fn new() -> Self {
        Self { window: START, in_flight: 0, failures: 0, closed_until: 0 }
    }

    /// Takes a place for one call, when there is one.
    pub(crate) fn take(&mut self, now: i64) -> bool {
        // After a pause a single call finds out whether the server is back.
        let limit = if self.failures >= BREAK_AFTER { 1 } else { self.window as usize };
        let free = now >= self.closed_until && self.in_flight < limit.max(1);
        self.in_flight += usize::from(free);
        free
    }

    /// A call was answered.
    pub(crate) fn answered(&mut self) {
        self.in_flight = self.in_flight.saturating_sub(1);
        self.failures = 0;
        self.window = (self.window + 1.0 / self.window).min(MAX);
    }

    /// A call failed because of the server's load or absence, and the server asks to be left alone for so long.
    pub(crate) fn failed(&mut self, retry_after: i64, now: i64) {
        self.in_flight = self.in_flight.saturating_sub(1);
        // Sent before the pause began: however many calls one hiccup of the server spoils, it is one failure.
        if now < self.closed_until {
            return;
        }
        self.failures = self.failures.saturating_add(1);
        self.window = (self.window / 2.0).max(1.0);
        let pause = micros(backoff(self.failures, FIRST_PAUSE / 8, LONGEST_PAUSE));
        self.closed_until = now + pause.max(retry_after.min(micros(LONGEST_OBEYED)));
    }

    /// Failures in a row.
    pub(crate) fn failures(&self) -> u32 {
        self.failures
    }

    /// When calls are possible again.
    pub(crate) fn opens_at(&self) -> i64 {
        self.closed_until
    }

    /// Whether the server counts as dead.
    pub(crate) fn is_broken(&self) -> bool {
        self.failures >= BREAK_AFTER
    }
}

/// Doubling pause: `first` after one failure.
pub(crate) fn backoff(failures: u32, first: Duration, longest: Duration) -> Duration {
    first.saturating_mul(1 << failures.saturating_sub(1).min(16)).min(longest)
}

/// As microseconds.
pub(crate) fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_window_shrinks_on_failure_and_grows_on_answers() {
        let mut budget = Budget::new();
        assert_eq!((0..100).filter(|_| budget.take(0)).count(), 16);
        budget.failed(0, 0);
        let reopened = budget.opens_at();
        assert!(!budget.take(reopened - 1) && reopened > 0);
        (0..15).for_each(|_| budget.answered());
        assert_eq!((0..100).filter(|_| budget.take(reopened)).count(), 9);
    }

    #[test]
    fn a_dead_server_is_tried_with_one_call_at_a_time() {
        let mut budget = Budget::new();
        for _ in 0..BREAK_AFTER {
            assert!(budget.take(budget.opens_at()));
            budget.failed(0, budget.opens_at());
        }
        let now = budget.opens_at();
        assert!(budget.is_broken() && budget.take(now) && !budget.take(now));
        budget.answered();
        assert!(!budget.is_broken() && budget.take(now));
    }

    #[test]
    fn one_hiccup_is_one_failure_however_many_calls_it_spoils() {
        let mut budget = Budget::new();
        assert_eq!((0..100).filter(|_| budget.take(0)).count(), 16);
        (0..16).for_each(|_| budget.failed(0, 5));
        assert!(!budget.is_broken() && budget.opens_at() < 100_000, "{budget:?}");
        assert!(budget.take(budget.opens_at()));
    }

    #[test]
    fn a_server_that_asks_to_be_left_alone_is() {
        let opens_after = |retry_after: i64| {
            let mut budget = Budget::new();
            budget.failed(retry_after, 7);
            budget.opens_at() - 7
        };
        assert_eq!(opens_after(5_000_000), 5_000_000);
        assert_eq!(opens_after(1), opens_after(0), "its own pause is longer");
        assert_eq!(opens_after(i64::MAX), 300_000_000);
    }

    #[test]
    fn pauses_double_up_to_the_longest() {
        let pause = |failures| backoff(failures, Duration::from_secs(1), Duration::from_secs(30)).as_secs();
        assert_eq!([1, 2, 3, 6, 60].map(pause), [1, 2, 4, 30, 30]);
    }
}
