//! Where a CloudEvent stands among the others of its cluster.

use crate::Sequence;
use serde::{Deserialize, Serialize};
use sluice_api::Digest;

/// So many events of a key are remembered by their ids.
const REMEMBERED: usize = 16;
/// Digits of an id as it is written.
const DIGITS: usize = 16;

// D-0812: a CloudEvent is known by its source and id.
/// Which message an event came with, and what it replaces. Meta of its row: whoever takes over knows what is newer, and what has
/// been sent before.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Position {
    /// Greater than that of every older event of the same source and subject.
    pub order: u64,
    /// Sequence of the message in the stream that it was sent to.
    pub sequence: Sequence,
    /// When the bus took it, microseconds since 1970.
    pub time: i64,
    /// What was accepted last under this key.
    #[serde(default, skip_serializing_if = "EventIds::is_empty")]
    pub ids: EventIds,
}

/// The ids of the last events of one key. An event is told by its source, which is part of the key, and its id: what comes once
/// more, however late, is the same event. Ids are remembered by 64 bits of their digests, the oldest first.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct EventIds(Vec<u64>);

// === impl EventIds ===

impl EventIds {
    /// Whether an event with this id is among them.
    pub fn has(&self, id: &str) -> bool {
        self.0.contains(&digest(id))
    }

    /// Remembers an id, and forgets the oldest where there are too many; whether it is new.
    pub fn remember(&mut self, id: &str) -> bool {
        let is_new = !self.has(id);
        self.put(digest(id));
        is_new
    }

    /// Remembers those of `later` too.
    pub fn extend(&mut self, later: &Self) {
        later.0.iter().for_each(|id| self.put(*id));
    }

    fn put(&mut self, id: u64) {
        self.0.retain(|known| *known != id);
        self.0.push(id);
        let more = self.0.len().saturating_sub(REMEMBERED);
        self.0.drain(..more);
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<EventIds> for String {
    fn from(ids: EventIds) -> Self {
        ids.0.iter().map(|id| format!("{id:0DIGITS$x}")).collect()
    }
}

impl TryFrom<String> for EventIds {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || format!("{text:?} is not a list of {DIGITS} hexadecimal digits each");
        let digits = text.as_bytes().chunks(DIGITS).map(|digits| {
            let digits = std::str::from_utf8(digits).ok().filter(|digits| digits.len() == DIGITS)?;
            u64::from_str_radix(digits, 16).ok()
        });
        let mut ids = Self::default();
        for id in digits {
            ids.put(id.ok_or_else(wrong)?);
        }
        Ok(ids)
    }
}

fn digest(id: &str) -> u64 {
    let digest = Digest::of(&[id.as_bytes()]);
    digest.as_bytes().iter().take(8).fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

// === impl Position ===

impl Position {
    /// The position of a message, without any id, unless it is older than what is there. `same` is that of the event with the same key, and
    /// `newest` the newest of the same source and subject.
    ///
    /// Sequences decide. Only where the stream lost what it had acknowledged, or was restored, they are given once more; then
    /// the time does, of which the bus has several clocks.
    pub fn next(sequence: Sequence, time: i64, same: Option<&Self>, newest: Option<&Self>) -> Option<Self> {
        if same.is_some_and(|same| sequence <= same.sequence && time <= same.time) {
            return None;
        }
        let order = match newest {
            Some(newest) if sequence.get() <= newest.order && time > newest.time => {
                newest.order.saturating_add(1)
            }
            _ => sequence.get(),
        };
        Some(Self { order, sequence, time, ids: EventIds::default() })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn at(order: u64, sequence: u64, time: i64) -> Position {
        Position { order, sequence: Sequence::new(sequence), time, ..Position::default() }
    }

    fn next(
        sequence: u64,
        time: i64,
        same: Option<&Position>,
        newest: Option<&Position>,
    ) -> Option<Position> {
        Position::next(Sequence::new(sequence), time, same, newest)
    }

    #[test]
    fn what_is_read_again_is_not_newer() {
        let known = at(12, 12, 120);
        assert_eq!(next(12, 120, Some(&known), Some(&known)), None);
        assert_eq!(next(11, 110, Some(&known), Some(&known)), None);
        assert_eq!(next(13, 130, Some(&known), Some(&known)), Some(at(13, 13, 130)));
        assert_eq!(next(13, 90, Some(&known), Some(&known)), Some(at(13, 13, 90)), "a clock was set back");
    }

    #[test]
    fn an_older_event_of_another_type_stays_the_older_one() {
        assert_eq!(next(11, 110, None, Some(&at(12, 12, 120))), Some(at(11, 11, 110)));
    }

    #[test]
    fn what_comes_after_a_loss_is_newer_under_a_sequence_that_was_given_before() {
        let lost = at(15, 15, 150);
        assert_eq!(next(10, 200, Some(&lost), Some(&lost)), Some(at(16, 10, 200)));
        assert_eq!(next(11, 210, None, Some(&at(16, 10, 200))), Some(at(17, 11, 210)));
    }

    #[test]
    fn the_last_ids_are_remembered_and_written_as_one_text() {
        let mut ids = EventIds::default();
        for id in 0..=REMEMBERED {
            ids.remember(&id.to_string());
        }
        assert!(!ids.has("0") && ids.has("1") && ids.has("16"));
        let text = String::from(ids.clone());
        assert_eq!((text.len(), EventIds::try_from(text)), (REMEMBERED * DIGITS, Ok(ids.clone())));
        ids.remember("1");
        ids.remember("17");
        assert!(ids.has("1") && !ids.has("2"), "what came again came last");
        let mut both = EventIds::default();
        both.remember("x");
        both.extend(&ids);
        assert!(!both.has("x") && both.has("17"));
        for text in ["0", "g000000000000000", "00000000000000000", "äääääääää"] {
            assert!(EventIds::try_from(text.to_owned()).is_err(), "{text}");
        }
    }

    proptest! {
        /// However often a log is read from its first message, each key ends with its last event, and the newest of all is
        /// the one that came last.
        #[test]
        fn a_log_that_is_read_again_leads_to_the_same(
            keys in proptest::collection::vec(0..3usize, 1..20), known in 0..20usize, again in 1..3usize,
        ) {
            let mut rows = [const { None::<Position> }; 3];
            let log: Vec<_> = keys.iter().zip(1..).map(|(key, sequence)| (*key, sequence)).collect();
            let first = &log[..known.min(log.len())];
            for (key, sequence) in first.iter().chain(std::iter::repeat_n(&log, again).flatten()) {
                let newest = rows.iter().flatten().max_by_key(|position| position.order);
                let next = self::next(*sequence, *sequence as i64, rows[*key].as_ref(), newest);
                rows[*key] = next.or(rows[*key].take());
            }
            for (key, row) in rows.iter().enumerate() {
                let last: Option<u64> = log.iter().rfind(|(of, _)| *of == key).map(|(_, sequence)| *sequence);
                prop_assert_eq!(row.as_ref().map(|row| (row.order, row.sequence.get())), last.map(|last| (last, last)));
            }
        }
    }
}
