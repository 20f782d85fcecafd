//! How long a shard takes for what.

use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant};

/// So many rows are remembered: more are on their way only while nobody waits for any of them.
const REMEMBERED: usize = 1024;

/// The times of one shard, as long as one replica owns it.
#[derive(Debug)]
pub(crate) struct Stopwatch {
    /// Since when its input is being taken over, until that is done.
    begun: Option<Instant>,
    /// When rows arrived, by the time of what caused them: what follows from a row carries the same.
    arrived: HashMap<i64, Instant>,
    order: VecDeque<i64>,
}

impl Stopwatch {
    pub(crate) fn begin() -> Self {
        Self { begun: Some(Instant::now()), arrived: HashMap::new(), order: VecDeque::new() }
    }

    /// A row arrived whose cause happened at this time. What was there before the shard was taken over is old, and counts for
    /// nothing.
    pub(crate) fn arrived(&mut self, time: i64) {
        if self.begun.is_some() || time == 0 || self.arrived.contains_key(&time) {
            return;
        }
        self.arrived.insert(time, Instant::now());
        self.order.push_back(time);
        if self.order.len() > REMEMBERED
            && let Some(oldest) = self.order.pop_front()
        {
            self.arrived.remove(&oldest);
        }
    }

    /// What follows from a row whose cause happened at this time is stored: how long after it arrived.
    pub(crate) fn stored(&self, time: i64) -> Option<Duration> {
        self.arrived.get(&time).map(Instant::elapsed)
    }

    /// The input has been read to its end: how long that took, the first time.
    pub(crate) fn caught_up(&mut self) -> Option<Duration> {
        self.begun.take().map(|begun| begun.elapsed())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_rows_that_arrive_after_the_take_over_count_and_not_too_many_are_remembered() {
        let mut watch = Stopwatch::begin();
        watch.arrived(1);
        assert!(watch.caught_up().is_some() && watch.caught_up().is_none());
        for time in 0..=2000 {
            watch.arrived(time);
        }
        let counted = |time| watch.stored(time).is_some();
        assert!(!counted(0) && !counted(1) && counted(2000) && counted(1001) && !counted(976));
        assert_eq!((watch.arrived.len(), watch.order.len()), (REMEMBERED, REMEMBERED));
    }

    #[test]
    fn what_did_not_arrive_here_has_no_time() {
        let mut watch = Stopwatch::begin();
        watch.caught_up();
        watch.arrived(7);
        assert!(watch.stored(7).is_some() && watch.stored(8).is_none());
    }

    #[test]
    fn rows_of_one_cause_count_from_the_first_of_them() {
        let mut watch = Stopwatch::begin();
        watch.caught_up();
        watch.arrived(7);
        let first = watch.arrived[&7];
        watch.arrived(7);
        assert_eq!((watch.arrived[&7], watch.order.len()), (first, 1));
    }
}
