//! How long something rests that ends and restarts.

use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::time::Duration;

// D-0209: a shard that ends begins again by itself.
/// Rests are doubled from the first to the last.
const FIRST: Duration = Duration::from_millis(50);
const LAST: Duration = Duration::from_secs(5);
/// What has worked for so long is well: its next end is its first one.
const WELL: Duration = Duration::from_secs(30);

/// The rests of one thing that ends and restarts: each end in a row doubles the rest, from 50 ms to 5 s.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rests {
    /// Ends in a row.
    ends: u32,
}

impl Rests {
    /// How long to rest after an end, when it had worked for so long before. A part of it is random, so that things that
    /// end together do not begin together.
    pub fn after(&mut self, worked: Duration) -> Duration {
        if worked > WELL {
            self.ends = 0;
        }
        self.ends = self.ends.saturating_add(1);
        rest(self.ends - 1, RandomState::new().build_hasher().finish())
    }
}

/// The rest after so many ends in a row before this one.
fn rest(ends: u32, random: u64) -> Duration {
    let whole = (FIRST * 2_u32.saturating_pow(ends.min(16))).min(LAST);
    let half = whole / 2;
    half + Duration::from_micros(random % u64::try_from(half.as_micros()).unwrap_or(1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rests_grow_to_a_limit_and_differ() {
        let longest = |ends| rest(ends, u64::MAX / 2);
        for ends in 0..20 {
            assert!(rest(ends, 0) >= FIRST / 2 && longest(ends) <= LAST);
        }
        assert!(rest(3, 0) >= FIRST * 4 && rest(16, 0) >= LAST / 2);
        assert_ne!(rest(4, 1), rest(4, 2));
    }

    #[test]
    fn what_was_well_for_long_begins_with_the_first_rest() {
        let mut rests = Rests::default();
        let long = (0..10).map(|_| rests.after(Duration::ZERO)).max();
        assert!(long > Some(LAST / 2));
        assert!(rests.after(WELL * 2) <= FIRST);
        assert!(rests.after(Duration::ZERO) >= FIRST, "the second end in a row rests for longer");
    }
}
