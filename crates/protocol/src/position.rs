//! Where a CloudEvent stands among the others of its cluster.

use serde::{Deserialize, Serialize};

/// Which message an event came with, and what it replaces. Meta of its row: whoever takes over knows what is newer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Greater than that of every older event of the same source and subject.
    pub order: u64,
    /// Sequence of the message in the stream that it was sent to.
    pub sequence: u64,
    /// When the bus took it, microseconds since 1970.
    pub time: i64,
}

impl Position {
    /// The position of a message, unless it is older than what is there. `same` is that of the event with the same key, and
    /// `newest` the newest of the same source and subject.
    ///
    /// Sequences decide. Only where the stream lost what it had acknowledged, or was restored, they are given once more; then
    /// the time does, of which the bus has several clocks.
    pub fn next(sequence: u64, time: i64, same: Option<&Self>, newest: Option<&Self>) -> Option<Self> {
        if same.is_some_and(|same| sequence <= same.sequence && time <= same.time) {
            return None;
        }
        let order = match newest {
            Some(newest) if sequence <= newest.order && time > newest.time => newest.order.saturating_add(1),
            _ => sequence,
        };
        Some(Self { order, sequence, time })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(order: u64, sequence: u64, time: i64) -> Position {
        Position { order, sequence, time }
    }

    #[test]
    fn what_is_read_again_is_not_newer() {
        let known = at(12, 12, 120);
        assert_eq!(Position::next(12, 120, Some(&known), Some(&known)), None);
        assert_eq!(Position::next(11, 110, Some(&known), Some(&known)), None);
        assert_eq!(Position::next(13, 130, Some(&known), Some(&known)), Some(at(13, 13, 130)));
        assert_eq!(
            Position::next(13, 90, Some(&known), Some(&known)),
            Some(at(13, 13, 90)),
            "a clock was set back"
        );
    }

    #[test]
    fn an_older_event_of_another_type_stays_the_older_one() {
        assert_eq!(Position::next(11, 110, None, Some(&at(12, 12, 120))), Some(at(11, 11, 110)));
    }

    #[test]
    fn what_comes_after_a_loss_is_newer_under_a_sequence_that_was_given_before() {
        let lost = at(15, 15, 150);
        assert_eq!(Position::next(10, 200, Some(&lost), Some(&lost)), Some(at(16, 10, 200)));
        assert_eq!(Position::next(11, 210, None, Some(&at(16, 10, 200))), Some(at(17, 11, 210)));
    }

    proptest! {
        /// However often a log is read from its first message, each key ends with its last event, and the newest of all is
        /// the one that came last.
        #[test]
        fn a_log_that_is_read_again_leads_to_the_same(
            keys in proptest::collection::vec(0..3usize, 1..20), known in 0..20usize, again in 1..3usize,
        ) {
            let mut rows = [None::<Position>; 3];
            let log: Vec<_> = keys.iter().zip(1..).map(|(key, sequence)| (*key, sequence)).collect();
            let first = &log[..known.min(log.len())];
            for (key, sequence) in first.iter().chain(std::iter::repeat_n(&log, again).flatten()) {
                let newest = rows.iter().flatten().copied().max_by_key(|position| position.order);
                let next = Position::next(*sequence, *sequence as i64, rows[*key].as_ref(), newest.as_ref());
                rows[*key] = next.or(rows[*key]);
            }
            for (key, row) in rows.iter().enumerate() {
                let last = log.iter().rfind(|(of, _)| *of == key).map(|(_, sequence)| *sequence);
                prop_assert_eq!(row.map(|row| (row.order, row.sequence)), last.map(|last| (last, last)));
            }
        }
    }
}
