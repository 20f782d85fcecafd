//! Templates that had to be stopped again and again are refused for a while: each stop costs a whole deadline, which
//! the templates of others would pay.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

use sluice_template::TextError;

/// So many stops in a row, and a template is refused.
const MOST: u32 = 3;
/// For so long.
const REFUSED: Duration = Duration::from_secs(60);
/// Templates remembered.
const KEPT: usize = 1024;

#[derive(Default)]
pub(crate) struct Strikes {
    hasher: RandomState,
    stopped: HashMap<u64, Stopped>,
}

struct Stopped {
    times: u32,
    last: Instant,
    why: TextError,
}

// === impl Strikes ===

impl Strikes {
    /// Why this text is not rendered now.
    pub(crate) fn refusal(&self, text: &str, now: Instant) -> Option<TextError> {
        let stopped = self.stopped.get(&self.hasher.hash_one(text))?;
        let left = REFUSED.checked_sub(now.saturating_duration_since(stopped.last))?;
        (stopped.times >= MOST).then(|| {
            let (times, seconds) = (stopped.times, left.as_secs() + 1);
            stopped.why.clone().reworded(|why| {
                format!("{why}; it was stopped {times} times in a row and is not tried for {seconds} s")
            })
        })
    }

    /// A render of this text was stopped; answers how many times in a row by now.
    pub(crate) fn stopped(&mut self, text: &str, now: Instant, why: &TextError) -> u32 {
        if self.stopped.len() >= KEPT {
            self.stopped.clear();
        }
        let entry = self.stopped.entry(self.hasher.hash_one(text));
        let stopped = entry.or_insert(Stopped { times: 0, last: now, why: why.clone() });
        // After a pause it gets one try.
        (stopped.times, stopped.last, stopped.why) = (stopped.times + 1, now, why.clone());
        stopped.times
    }

    /// A render of this text came to its end.
    pub(crate) fn ended(&mut self, text: &str) {
        if !self.stopped.is_empty() {
            self.stopped.remove(&self.hasher.hash_one(text));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_template_is_refused_after_three_stops_and_tried_again_after_a_minute() {
        let (mut strikes, now) = (Strikes::default(), Instant::now());
        let why = TextError::Limit("limit: too long".to_owned());
        for _ in 0..MOST {
            assert_eq!(strikes.refusal("a", now), None);
            strikes.stopped("a", now, &why);
        }
        let refusal = "limit: too long; it was stopped 3 times in a row and is not tried for 61 s";
        assert_eq!(strikes.refusal("a", now), Some(TextError::Limit(refusal.to_owned())));
        assert_eq!(strikes.refusal("b", now), None);
        let later = now + REFUSED + Duration::from_secs(1);
        assert_eq!(strikes.refusal("a", later), None);
        strikes.stopped("a", later, &why);
        assert!(strikes.refusal("a", later).is_some());
        strikes.ended("a");
        assert_eq!(strikes.refusal("a", later), None);
    }
}
