//! The two clocks of the process.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use sluice_protocol::Now;

/// How far the machine's clock may be ahead before it is followed, microseconds.
const JUMP: i64 = 2_000_000;

/// Microseconds since 1970, for rows, people, and what cores wait for. It never goes back: a machine whose clock is set back
/// would wait that much longer with every retry. It follows a clock that is set forward, or a machine that has slept.
pub fn now_micros() -> i64 {
    static CLOCK: OnceLock<Steady> = OnceLock::new();
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let (wall, mono) = (i64::try_from(since.as_micros()).unwrap_or(i64::MAX), mono_micros());
    CLOCK.get_or_init(|| Steady::new(wall, mono)).now(wall, mono)
}

/// What both clocks say.
pub(crate) fn now() -> Now {
    Now { wall: now_micros(), steady: mono_micros() }
}

/// Microseconds of a clock that never goes back, for leases. It counts from the first call.
pub fn mono_micros() -> i64 {
    static START: OnceLock<Instant> = OnceLock::new();
    let elapsed = START.get_or_init(Instant::now).elapsed();
    i64::try_from(elapsed.as_micros()).unwrap_or(i64::MAX)
}

/// What is added to the clock that never goes back.
struct Steady(AtomicI64);

impl Steady {
    fn new(wall: i64, mono: i64) -> Self {
        Self(AtomicI64::new(wall - mono))
    }

    fn now(&self, wall: i64, mono: i64) -> i64 {
        let offset = self.0.load(Ordering::Relaxed);
        if wall - (mono + offset) <= JUMP {
            return mono + offset;
        }
        mono + self.0.fetch_max(wall - mono, Ordering::Relaxed).max(wall - mono)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_goes_on_and_one_that_is_set_forward_is_followed() {
        let clock = Steady::new(1_000_000_000, 0);
        assert_eq!(clock.now(1_000_000_500, 500), 1_000_000_500);
        assert_eq!(clock.now(0, 1_000), 1_000_001_000, "set back by far");
        assert_eq!(clock.now(1_001_000_000, 2_000), 1_000_002_000, "a little ahead");
        assert_eq!(clock.now(5_000_000_000, 3_000), 5_000_000_000, "set forward");
        assert_eq!(clock.now(4_000_000_000, 4_000), 5_000_001_000);
    }

    #[test]
    fn a_clock_that_runs_ahead_is_followed_from_two_seconds_on_and_not_before() {
        let clock = Steady::new(0, 0);
        assert_eq!(clock.now(JUMP, 0), 0);
        assert_eq!(clock.now(JUMP + 1, 0), JUMP + 1);
    }

    #[test]
    fn a_machine_that_has_slept_wakes_at_the_time_of_day() {
        let clock = Steady::new(1_000_000, 1_000_000);
        let hour = 3_600_000_000;
        // Asleep, only the clock of the day goes on.
        assert_eq!(clock.now(1_000_000 + hour, 1_000_100), 1_000_000 + hour);
    }

    #[test]
    fn the_time_of_rows_never_goes_back_whatever_the_machine_says() {
        let (clock, mut last) = (Steady::new(50_000_000, 0), 0);
        for (mono, wall) in [50_000_000, 90_000_000, 0, 91_000_000, 70_000_000].into_iter().enumerate() {
            let now = clock.now(wall, i64::try_from(mono).unwrap_or(0));
            assert!(now > last, "{now} after {last}");
            last = now;
        }
    }
}
