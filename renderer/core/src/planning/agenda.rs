//! What a renderer does later: causes whose changes come fast, EventReports, and the sweep.

use std::collections::{BTreeMap, VecDeque};

use sluice_api::ClusterRef;
use sluice_protocol::rows::Cause;

// D-0901: the first change renders at once.
/// Changes of one set that follow each other within this time are rendered together, microseconds.
const QUIET: i64 = 20_000;
/// The same for each object of a set that is rendered as a whole: some times what its render takes.
const QUIET_EACH: i64 = 500;
/// But a change waits no longer than this.
const PATIENCE: i64 = 250_000;
/// An EventReport is written at most this often: it is the whole set, and people read it.
const REPORT_PERIOD: i64 = 2_000_000;

/// What is touched by others so often within [`CIRCLE`] may lead to itself: after that once in [`CIRCLE_PERIOD`].
pub(crate) const CIRCLE_TIMES: usize = 5;
pub(crate) const CIRCLE: i64 = 10_000_000;
// D-0909: a cause that leads to itself is slowed down.
const CIRCLE_PERIOD: i64 = 1_000_000;

/// Times are microseconds since 1970, those of events (`time`) and those of this process (`now`).
#[derive(Default)]
pub(crate) struct Agenda {
    waiting: BTreeMap<Cause, Waiting>,
    rendered_at: BTreeMap<Cause, i64>,
    /// When each was touched by what another one made, the last few times.
    touched: BTreeMap<Cause, VecDeque<i64>>,
    /// Those that are touched too often, and until when they are taken for that if nothing comes.
    circling: BTreeMap<Cause, i64>,
    /// When the oldest of what a cause is made of no longer counts.
    expiries: BTreeMap<Cause, i64>,
    /// Each has its own time, so that they do not come all at once.
    reports: BTreeMap<(ClusterRef, String), i64>,
    sweep_at: i64,
}

/// A cause that is to be rendered together with what still comes.
struct Waiting {
    first: i64,
    due: i64,
    /// The earliest change that has not been rendered.
    time: i64,
}

impl Agenda {
    /// A cause over a set of this size has changed. When it is rendered, together with what comes until then; `None` when
    /// that is now, because nothing came for a while.
    pub(crate) fn changed(&mut self, cause: &Cause, size: usize, time: i64, now: i64) -> Option<i64> {
        if let Some(waiting) = self.waiting.get_mut(cause) {
            waiting.due = (now + QUIET).min(waiting.first + PATIENCE);
            return Some(waiting.due);
        }
        // Rendering a large set takes longer than the usual pause between changes: each would be rendered alone.
        let quiet = i64::try_from(size).unwrap_or(i64::MAX).saturating_mul(QUIET_EACH).max(QUIET);
        if self.rendered_at.get(cause).is_none_or(|at| now - at >= quiet) {
            self.rendered_at.insert(cause.clone(), now);
            return None;
        }
        self.waiting.insert(cause.clone(), Waiting { first: now, due: now + QUIET, time });
        Some(now + QUIET)
    }

    /// A cause has changed whose trigger waits until nothing has come for this long, and at most ten times as long. When it is
    /// rendered.
    pub(crate) fn debounce(&mut self, cause: &Cause, quiet: i64, time: i64, now: i64) -> i64 {
        let due = now.saturating_add(quiet);
        let waiting = self.waiting.entry(cause.clone()).or_insert(Waiting { first: now, due, time });
        waiting.due = due.min(waiting.first.saturating_add(quiet.saturating_mul(10)));
        waiting.due
    }

    /// A cause is not to be rendered before `due`.
    pub(crate) fn defer(&mut self, cause: &Cause, due: i64, time: i64, now: i64) {
        self.waiting.entry(cause.clone()).or_insert(Waiting { first: now, due, time });
    }

    /// When a part of what the cause is made of no longer counts, if it ever does.
    pub(crate) fn expire(&mut self, cause: &Cause, at: Option<i64>) {
        match at {
            Some(at) => drop(self.expiries.insert(cause.clone(), at)),
            None => drop(self.expiries.remove(cause)),
        }
    }

    /// Causes of which a part no longer counts.
    pub(crate) fn take_expired(&mut self, now: i64) -> Vec<Cause> {
        self.expiries.extract_if(.., |_, at| *at <= now).map(|(cause, _)| cause).collect()
    }

    /// Whether the cause was touched so often lately that the next time it would be slowed down.
    pub(crate) fn is_hot(&self, cause: &Cause, now: i64) -> bool {
        let lately = |times: &VecDeque<i64>| times.iter().filter(|time| now - **time <= CIRCLE).count();
        self.touched.get(cause).is_some_and(|times| lately(times) >= CIRCLE_TIMES)
    }

    /// What led to the cause was of its own trigger so often lately that it is slowed down the first time already.
    pub(crate) fn heat(&mut self, cause: &Cause, now: i64) {
        let times = self.touched.entry(cause.clone()).or_default();
        let last = times.back().copied().unwrap_or(now);
        *times = VecDeque::from([last; CIRCLE_TIMES]);
    }

    /// It does not lead to itself after all.
    pub(crate) fn cool(&mut self, cause: &Cause) {
        self.touched.remove(cause);
    }

    /// Something that the cause reads has changed. When it is rendered; `None` when that is now. What leads to itself, directly or
    /// over others, would go on for ever: it does so slowly.
    pub(crate) fn touched(&mut self, cause: &Cause, now: i64) -> Option<i64> {
        let times = self.touched.entry(cause.clone()).or_default();
        while times.front().is_some_and(|time| now - time > CIRCLE) {
            times.pop_front();
        }
        if times.len() < CIRCLE_TIMES {
            times.push_back(now);
            return None;
        }
        let due = times.back().copied().unwrap_or(now).max(now - CIRCLE_PERIOD) + CIRCLE_PERIOD;
        self.circling.insert(cause.clone(), due + CIRCLE);
        let waiting = self.waiting.entry(cause.clone()).or_insert(Waiting { first: now, due, time: now });
        Some(waiting.due)
    }

    /// Whether the cause was touched so often lately that it may lead to itself.
    pub(crate) fn is_circling(&self, cause: &Cause) -> bool {
        self.circling.contains_key(cause)
    }

    /// Causes that have not been touched for a while after all.
    pub(crate) fn take_calm(&mut self, now: i64) -> Vec<Cause> {
        let calm: Vec<_> =
            self.circling.extract_if(.., |_, until| *until <= now).map(|(cause, _)| cause).collect();
        calm.iter().for_each(|cause| drop(self.touched.remove(cause)));
        calm
    }

    /// Causes that are to be rendered now, each with its earliest change.
    pub(crate) fn take_due(&mut self, now: i64) -> Vec<(Cause, i64)> {
        let due = self.waiting.extract_if(.., |_, waiting| waiting.due <= now);
        let due: Vec<_> = due.map(|(cause, waiting)| (cause, waiting.time)).collect();
        for (cause, _) in &due {
            self.rendered_at.insert(cause.clone(), now);
            if let Some(times) = self.touched.get_mut(cause) {
                times.pop_front();
                times.push_back(now);
            }
        }
        due
    }

    /// Whether no cause waits.
    pub(crate) fn is_clear(&self) -> bool {
        self.waiting.is_empty()
    }

    /// The cause is withdrawn. How often it was touched is not forgotten: it may come and go by what it does itself.
    pub(crate) fn forget(&mut self, cause: &Cause) {
        self.rendered_at.remove(cause);
        self.expiries.remove(cause);
    }

    /// The EventReport of this source on this cluster is to be written; when it is.
    pub(crate) fn report(&mut self, cluster: &ClusterRef, source: &str, now: i64) -> i64 {
        *self.reports.entry((cluster.clone(), source.to_owned())).or_insert(now + REPORT_PERIOD)
    }

    /// EventReports that are to be written now.
    pub(crate) fn take_reports(&mut self, now: i64) -> Vec<(ClusterRef, String)> {
        self.reports.extract_if(.., |_, at| *at <= now).map(|(report, _)| report).collect()
    }

    /// Whether it is time to sweep; the next time is a `period` later.
    pub(crate) fn take_sweep(&mut self, now: i64, period: i64) -> bool {
        let due = now >= self.sweep_at;
        if due {
            self.sweep_at = now + period;
            self.touched.retain(|_, times| times.back().is_some_and(|time| now - time <= CIRCLE));
        }
        due
    }

    /// The first sweep is a `period` later.
    pub(crate) fn sweep_after(&mut self, now: i64, period: i64) {
        self.sweep_at = now + period;
    }

    /// When there is something to do next.
    pub(crate) fn next(&self) -> i64 {
        let waiting = self.waiting.values().map(|waiting| waiting.due);
        let others =
            self.reports.values().chain(self.circling.values()).chain(self.expiries.values()).copied();
        waiting.chain(others).fold(self.sweep_at, i64::min)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use proptest::prelude::*;
    use sluice_api::ProfileId;

    use super::*;

    fn cause(name: &str) -> Cause {
        Cause::Profile(ProfileId::cluster(name))
    }

    #[test]
    fn what_is_touched_again_and_again_slows_down_and_is_told_when_it_calms() {
        let (mut agenda, cause) = (Agenda::default(), cause("a"));
        assert!((0..5).all(|at| agenda.touched(&cause, at).is_none()));
        assert!(!agenda.is_circling(&cause));
        assert_eq!(agenda.touched(&cause, 5), Some(4 + CIRCLE_PERIOD));
        assert_eq!(agenda.touched(&cause, 6), Some(4 + CIRCLE_PERIOD), "it waits already");
        assert!(agenda.is_circling(&cause) && !agenda.is_clear());
        let due = 4 + CIRCLE_PERIOD;
        assert_eq!(agenda.take_due(due), [(cause.clone(), 5)]);
        assert_eq!(agenda.touched(&cause, due + 1), Some(due + CIRCLE_PERIOD));
        assert_eq!(agenda.take_due(due + CIRCLE_PERIOD).len(), 1);
        assert!(agenda.take_calm(due + CIRCLE).is_empty());
        assert_eq!(agenda.take_calm(due + CIRCLE_PERIOD + CIRCLE), std::slice::from_ref(&cause));
        assert!(!agenda.is_circling(&cause) && agenda.touched(&cause, due + 2 * CIRCLE).is_none());
    }

    #[test]
    fn the_first_change_is_rendered_at_once_and_those_that_follow_it_together() {
        let mut agenda = Agenda::default();
        assert_eq!(agenda.changed(&cause("a"), 1, 1, 1), None);
        assert_eq!(agenda.changed(&cause("a"), 1, 2, 10_000), Some(30_000));
        assert_eq!(agenda.changed(&cause("a"), 1, 3, 20_000), Some(40_000));
        assert_eq!(agenda.changed(&cause("b"), 1, 3, 20_000), None, "each by itself");
        assert!(agenda.take_due(39_999).is_empty() && !agenda.is_clear());
        assert_eq!(agenda.take_due(40_000), [(cause("a"), 2)], "with the time of the earliest");
        assert!(agenda.is_clear());
        assert_eq!(agenda.changed(&cause("a"), 1, 4, 50_000), Some(70_000), "it was rendered just now");
    }

    #[test]
    fn a_change_waits_for_a_large_set_but_not_for_ever() {
        let mut agenda = Agenda::default();
        assert_eq!(agenda.changed(&cause("a"), 1_000, 0, 0), None);
        assert!(agenda.changed(&cause("a"), 1_000, 0, 400_000).is_some());
        for now in (400_000..640_000).step_by(10_000) {
            assert!(agenda.changed(&cause("a"), 1_000, 0, now).unwrap() <= 650_000);
        }
        assert_eq!(agenda.take_due(650_000).len(), 1);
        agenda.forget(&cause("a"));
        assert_eq!(agenda.changed(&cause("a"), 1_000, 0, 650_001), None);
    }

    proptest! {
        /// However changes come, each is rendered at once or within the patience of the agenda, with the time of the
        /// earliest that waited, and the wake-up that is asked for is never too late for it.
        #[test]
        fn every_change_is_rendered_in_time(
            changes in proptest::collection::vec((0..3_usize, 1..60_000_i64, 0..2_000_usize), 1..60),
        ) {
            let causes = ["a", "b", "c"].map(cause);
            let mut agenda = Agenda::default();
            agenda.sweep_after(0, i64::MAX);
            let (mut now, mut open) = (0, [None::<i64>; 3]);
            for (which, pause, size) in changes {
                while agenda.next() <= now + pause {
                    now = now.max(agenda.next());
                    for (done, time) in agenda.take_due(now) {
                        let first = open[causes.iter().position(|cause| *cause == done).unwrap()].take();
                        prop_assert_eq!(first, Some(time), "the earliest change");
                        prop_assert!(now - time <= PATIENCE, "{} waited {}", done, now - time);
                    }
                }
                now += pause;
                match agenda.changed(&causes[which], size, now, now) {
                    None => prop_assert_eq!(open[which], None, "what waits is not overtaken"),
                    Some(due) => {
                        prop_assert!(agenda.next() <= due);
                        open[which].get_or_insert(now);
                    }
                }
            }
            let left = agenda.take_due(now + PATIENCE).len();
            prop_assert_eq!(left, open.iter().flatten().count());
            prop_assert!(agenda.is_clear());
        }
    }

    #[test]
    fn reports_and_sweeps_have_their_times() {
        let mut agenda = Agenda::default();
        let cluster = ClusterRef::sveltos("a", "b");
        agenda.sweep_after(0, 9_000_000);
        assert_eq!(agenda.next(), 9_000_000);
        assert_eq!(agenda.report(&cluster, "s", 0), 2_000_000);
        assert_eq!(agenda.report(&cluster, "s", 1_000_000), 2_000_000, "it is the one that waits");
        assert_eq!(agenda.next(), 2_000_000);
        assert_eq!(agenda.take_reports(2_000_000), [(cluster, "s".to_owned())]);
        assert!(!agenda.take_sweep(8_999_999, 10) && agenda.take_sweep(9_000_000, 10));
        assert_eq!(agenda.next(), 9_000_010);
    }
}
