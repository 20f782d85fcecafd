//! What the server has acknowledged to this process, as the evidence that a stream has not lost it.
//!
//! For each stream a few rows of the last while. A stream that loses acknowledged rows loses its newest ones: after a power
//! failure, from a restored backup, with a leader that lagged. So it is enough to look for these again.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sluice_protocol::Sequence;

// D-0306: each process looks whether the bus still has what it acknowledged.
/// Rows that are remembered of each stream: newer ones may be written to a shortened stream before it is looked at.
const KEPT: usize = 6;
/// Time between them.
const APART: Duration = Duration::from_secs(2);

/// The last acknowledged rows by stream. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ledger(Arc<Mutex<HashMap<String, VecDeque<Entry>>>>);

/// A row that was acknowledged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    /// In the stream, as the server acknowledged it.
    pub(crate) sequence: Sequence,
    /// Where to look for it; a later row of the same subject replaces it.
    pub(crate) subject: String,
    /// Whether it is gone by itself after a while.
    pub(crate) tombstone: bool,
    at: Instant,
}

impl Ledger {
    /// The server has acknowledged a row.
    pub(crate) fn note(&self, stream: &str, sequence: Sequence, subject: &str, tombstone: bool) {
        let mut streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let entries = match streams.get_mut(stream) {
            Some(entries) => entries,
            None => streams.entry(stream.to_owned()).or_default(),
        };
        if entries.back().is_some_and(|last| last.sequence >= sequence) {
            return;
        }
        let now = Instant::now();
        // The newest is replaced until it is old enough to be kept.
        let before = entries.iter().rev().nth(1).map(|entry| entry.at);
        if entries.len() > 1 && before.is_some_and(|before| now - before < APART) {
            entries.pop_back();
        }
        entries.push_back(Entry { sequence, subject: subject.to_owned(), tombstone, at: now });
        while entries.len() > KEPT {
            entries.pop_front();
        }
    }

    /// What is known of a stream.
    pub(crate) fn entries(&self, stream: &str) -> Vec<Entry> {
        let streams = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        streams.get(stream).map(|entries| entries.iter().cloned().collect()).unwrap_or_default()
    }

    /// The stream is another one now.
    pub(crate) fn forget(&self, stream: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(stream);
    }
}

impl Entry {
    /// Whether it is lost, given what is the last row of its subject now: its sequence, or that there is none. Whoever has
    /// the subject replaces the row by later ones only.
    pub(crate) fn is_lost(&self, last: Option<Sequence>) -> bool {
        match last {
            Some(last) => last < self.sequence,
            None => !self.tombstone,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn note(ledger: &Ledger, stream: &str, sequence: u64, subject: &str, tombstone: bool) {
        ledger.note(stream, Sequence::new(sequence), subject, tombstone);
    }

    #[test]
    fn a_row_is_lost_when_its_subject_is_older_than_it_or_gone() {
        let ledger = Ledger::default();
        note(&ledger, "S", 5, "a", false);
        note(&ledger, "S", 7, "b", true);
        let [value, tombstone] = &ledger.entries("S")[..] else { panic!() };
        let at = |sequence| Some(Sequence::new(sequence));
        assert!(value.is_lost(at(4)) && value.is_lost(None));
        assert!(!value.is_lost(at(5)) && !value.is_lost(at(9)), "it may have been replaced");
        assert!(tombstone.is_lost(at(6)) && !tombstone.is_lost(None), "tombstones expire");
    }

    #[test]
    fn the_newest_and_a_few_of_the_last_while_are_kept() {
        let ledger = Ledger::default();
        (1..100).for_each(|sequence| note(&ledger, "S", sequence, "a", false));
        note(&ledger, "S", 50, "late", false);
        let kept: Vec<u64> = ledger.entries("S").iter().map(|entry| entry.sequence.get()).collect();
        assert_eq!(kept, [1, 99]);
        ledger.forget("S");
        assert!(ledger.entries("S").is_empty());
    }

    #[test]
    fn what_comes_late_is_no_newer_evidence() {
        let ledger = Ledger::default();
        [7, 7, 5].iter().for_each(|sequence| note(&ledger, "S", *sequence, "a", false));
        assert_eq!(ledger.entries("S").len(), 1);
    }

    #[test]
    fn a_stream_that_is_another_one_is_forgotten_without_the_others() {
        let ledger = Ledger::default();
        ["S", "T"].iter().for_each(|stream| note(&ledger, stream, 1, "a", false));
        ledger.forget("S");
        assert!(ledger.entries("S").is_empty() && ledger.entries("T").len() == 1);
        note(&ledger, "S", 1, "a", false);
        assert_eq!(ledger.entries("S").len(), 1, "its sequences may be lower than before");
    }

    #[test]
    fn evidence_that_is_old_enough_stays_but_no_more_than_a_few() {
        let ledger = Ledger::default();
        for sequence in 1..20 {
            note(&ledger, "S", sequence, "a", false);
            // As if that had been long ago.
            let mut streams = ledger.0.lock().unwrap_or_else(PoisonError::into_inner);
            streams.values_mut().flatten().for_each(|entry| entry.at -= APART);
        }
        let kept: Vec<u64> = ledger.entries("S").iter().map(|entry| entry.sequence.get()).collect();
        assert_eq!(kept, (20 - KEPT as u64..20).collect::<Vec<_>>(), "the newest");
    }
}
