//! Which lines belong together, and when they are sent.

// D-1109: traces are a reading of the journal.

use std::collections::{BTreeMap, HashSet, VecDeque};

use sluice_protocol::JournalEntry;

/// A trace is sent so long after its first line, microseconds: lines come with up to 200 ms delay, each from its own stage.
pub(crate) const WAIT: i64 = 2_000_000;
/// So many traces wait at most; the eldest is sent when one more comes.
const OPEN: usize = 4096;
/// Lines of one trace that are kept: a change that leads to more is cut.
pub(crate) const LINES: usize = 256;
/// Traces that were sent are known for so long: what comes later goes below the same root.
const SENT: usize = 8192;

/// What one change led to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Trace {
    /// Its name, 16 bytes.
    pub(crate) id: [u8; 16],
    /// Whether its root was sent before.
    pub(crate) is_late: bool,
    /// In the order in which things happened.
    pub(crate) lines: Vec<JournalEntry>,
}

/// Lines by trace, until they are sent.
#[derive(Debug)]
pub(crate) struct Traces {
    /// Of 2^64 traces so many are kept.
    kept: u64,
    open: BTreeMap<[u8; 16], (i64, Vec<JournalEntry>)>,
    /// By when they are to be sent.
    order: VecDeque<[u8; 16]>,
    sent: VecDeque<[u8; 16]>,
    /// The same, to look them up.
    known: HashSet<[u8; 16]>,
}

// === impl Traces ===

impl Traces {
    /// Keeps this share of all traces, between 0 and 1. Which, follows from their names: everybody keeps the same.
    pub(crate) fn new(share: f64) -> Self {
        // A float becomes the nearest integer that there is.
        let kept = (share.clamp(0.0, 1.0) * u64::MAX as f64) as u64;
        Self {
            kept,
            open: BTreeMap::new(),
            order: VecDeque::new(),
            sent: VecDeque::new(),
            known: HashSet::new(),
        }
    }

    /// A line was told. What must make room for it is returned.
    pub(crate) fn take(&mut self, line: JournalEntry, now: i64) -> Option<Trace> {
        let id = id_of(&line.trace).filter(|id| self.is_kept(id))?;
        if let Some((_, lines)) = self.open.get_mut(&id) {
            if lines.len() < LINES {
                lines.push(line);
            }
            return None;
        }
        self.open.insert(id, (now + WAIT, vec![line]));
        self.order.push_back(id);
        if self.open.len() > OPEN { self.first() } else { None }
    }

    /// What is to be sent by now.
    pub(crate) fn due(&mut self, now: i64) -> Vec<Trace> {
        let mut due = Vec::new();
        while self.next().is_some_and(|at| at <= now) {
            due.extend(self.first());
        }
        due
    }

    /// When something is due.
    pub(crate) fn next(&self) -> Option<i64> {
        self.order.front().and_then(|id| self.open.get(id)).map(|(at, _)| *at)
    }

    fn first(&mut self) -> Option<Trace> {
        let id = self.order.pop_front()?;
        let (_, mut lines) = self.open.remove(&id)?;
        // Each stage tells by itself, and the bus keeps no order among them.
        lines.sort_by_key(|line| line.at);
        let is_late = !self.known.insert(id);
        if !is_late {
            self.sent.push_back(id);
        }
        if self.sent.len() > SENT
            && let Some(eldest) = self.sent.pop_front()
        {
            self.known.remove(&eldest);
        }
        Some(Trace { id, is_late, lines })
    }

    fn is_kept(&self, id: &[u8; 16]) -> bool {
        let mut first = [0; 8];
        first.copy_from_slice(&id[..8]);
        u64::from_be_bytes(first) <= self.kept && self.kept > 0
    }
}

/// The name of a trace: 32 hexadecimal digits, not all of them 0.
fn id_of(text: &str) -> Option<[u8; 16]> {
    let number = (text.len() == 32).then(|| u128::from_str_radix(text, 16).ok())??;
    (number != 0).then(|| number.to_be_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn mk_line(what: &str, trace: u128) -> JournalEntry {
        JournalEntry { trace: format!("{trace:032x}"), ..JournalEntry::new("s", what, "c", "x", 10, 4) }
    }

    fn whats(traces: &[Trace]) -> Vec<Vec<&str>> {
        traces.iter().map(|trace| trace.lines.iter().map(|line| line.what.as_str()).collect()).collect()
    }

    #[test]
    fn lines_of_one_change_are_sent_together_when_all_can_have_come() {
        let mut traces = Traces::new(1.0);
        for (what, trace, now) in [("matched", 7, 0), ("matched", 8, 1), ("rendered", 7, 2)] {
            assert_eq!(traces.take(mk_line(what, trace), now), None);
        }
        assert!(traces.due(WAIT - 1).is_empty());
        assert_eq!(whats(&traces.due(WAIT)), [["matched", "rendered"]]);
        assert_eq!(traces.next(), Some(WAIT + 1));
        assert_eq!(whats(&traces.due(i64::MAX)), [["matched"]]);
        assert_eq!(traces.next(), None);
    }

    #[test]
    fn what_comes_later_is_known_to_be_late() {
        let mut traces = Traces::new(1.0);
        traces.take(mk_line("matched", 7), 0);
        assert!(!traces.due(WAIT)[0].is_late);
        traces.take(mk_line("applied", 7), WAIT);
        assert!(traces.due(2 * WAIT)[0].is_late);
    }

    #[test]
    fn a_share_of_traces_is_kept_and_follows_from_their_names() {
        let of = |share: f64| {
            let mut traces = Traces::new(share);
            (1..=1000_u128).for_each(|n| drop(traces.take(mk_line("matched", n * (u128::MAX / 1000)), 0)));
            traces.due(WAIT).len()
        };
        assert_eq!((of(0.0), of(0.25), of(1.0), of(f64::NAN)), (0, 250, 1000, 0));
    }

    #[test]
    fn lines_without_a_trace_and_with_a_wrong_one_are_left_out() {
        let mut traces = Traces::new(1.0);
        for trace in ["", "0", "00000000000000000000000000000000", "+0000000000000000000000000000000f", "ä"]
        {
            let _ = traces.take(JournalEntry { trace: trace.into(), ..mk_line("matched", 1) }, 0);
        }
        let sent = traces.due(WAIT);
        assert!(sent.iter().all(|trace| trace.id != [0; 16]), "{sent:?}");
    }

    #[test]
    fn neither_many_traces_nor_long_ones_fill_the_memory() {
        let mut traces = Traces::new(1.0);
        for n in 1..=OPEN as u128 {
            assert_eq!(traces.take(mk_line("matched", n), 0), None);
        }
        assert_eq!(traces.take(mk_line("matched", u128::MAX), 0).map(|trace| trace.id[15]), Some(1));
        (0..2 * LINES).for_each(|_| drop(traces.take(mk_line("rendered", 2), 0)));
        assert_eq!(traces.due(WAIT)[0].lines.len(), LINES);
    }
}
