//! A stream in memory with the semantics that the protocol relies on: one row for each subject, sequences,
//! the fence check, tombstones that expire, and being wiped. The simulation runs on it, and its suite runs
//! against a real server too.

use crate::{Incarnation, Sequence};
use std::collections::{BTreeMap, HashMap, VecDeque};

// D-1304: one small suite defines the store.
/// A stream that keeps the newest row of each subject.
#[derive(Clone, Debug)]
pub struct MemoryStream<T> {
    incarnation: Incarnation,
    has_lost: bool,
    last: Sequence,
    by_sequence: BTreeMap<Sequence, Stored<T>>,
    by_subject: HashMap<String, Sequence>,
    /// No row expires before this time.
    next_expiry: i64,
    /// The last rows that were stored, and what each replaced: what a stream may lose, and has again then.
    tail: VecDeque<(Sequence, Replaced<T>)>,
}

/// The former row of a subject.
type Replaced<T> = Option<(Sequence, Stored<T>)>;

/// How many rows a stream can lose at most.
const TAIL: usize = 8;

/// A row of a [`MemoryStream`].
#[derive(Clone, Debug)]
pub struct Stored<T> {
    /// The key: a stream keeps the last row of each.
    pub subject: String,
    /// What was stored last under the subject.
    pub value: T,
    expires: Option<i64>,
}

/// The last sequence of the named subject is not the expected one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("wrong last sequence: {0}")]
pub struct WrongLastSequence(pub Sequence);

/// Publish only while `subject`'s newest row has this sequence (0: while it has none).
#[derive(Clone, Copy, Debug)]
pub struct Expect<'a> {
    /// The subject that is looked at.
    pub subject: &'a str,
    /// Its required sequence.
    pub sequence: Sequence,
}

impl<T: Clone> MemoryStream<T> {
    /// An empty stream.
    pub fn new(incarnation: Incarnation) -> Self {
        Self::after(incarnation, Sequence::NONE)
    }

    /// An empty stream whose sequences follow `last`.
    pub fn after(incarnation: Incarnation, last: Sequence) -> Self {
        Self {
            incarnation,
            has_lost: false,
            last,
            by_sequence: BTreeMap::new(),
            by_subject: HashMap::new(),
            next_expiry: i64::MAX,
            tail: VecDeque::new(),
        }
    }

    /// Which life of the stream this is.
    pub fn incarnation(&self) -> Incarnation {
        self.incarnation
    }

    /// Deletes the stream and makes it anew. Its sequences go on: those of the bus begin with the time at which a stream
    /// is made, so that a fence of a former life is never by chance one of this life.
    pub fn wipe(&mut self) {
        *self = Self::after(self.incarnation.next(), self.last);
    }

    /// Sequence of the newest row of `subject`, 0 without one.
    pub fn last_sequence(&self, subject: &str) -> Sequence {
        self.by_subject.get(subject).copied().unwrap_or(Sequence::NONE)
    }

    /// Stores a row in place of the subject's former one; returns its sequence.
    ///
    /// # Errors
    /// When `expect` does not hold. Nothing is stored then.
    pub fn put(
        &mut self,
        subject: &str,
        value: T,
        expect: Option<Expect<'_>>,
        expires: Option<i64>,
    ) -> Result<Sequence, WrongLastSequence> {
        if let Some(expect) = expect {
            let last = self.last_sequence(expect.subject);
            if last != expect.sequence {
                return Err(WrongLastSequence(last));
            }
        }
        self.last = self.last.next();
        self.next_expiry = self.next_expiry.min(expires.unwrap_or(i64::MAX));
        let replaced = match self.by_subject.get_mut(subject) {
            Some(sequence) => {
                let former = std::mem::replace(sequence, self.last);
                self.by_sequence.remove(&former).map(|stored| (former, stored))
            }
            None => {
                self.by_subject.insert(subject.to_owned(), self.last);
                None
            }
        };
        self.tail.push_back((self.last, replaced));
        if self.tail.len() > TAIL {
            self.tail.pop_front();
        }
        self.by_sequence.insert(self.last, Stored { subject: subject.to_owned(), value, expires });
        Ok(self.last)
    }

    /// Forgets the last rows that were stored, as a leader does that had not seen them: what they replaced is there again,
    /// and their sequences are given to others. How many there were.
    pub fn lose_tail(&mut self, rows: usize) -> usize {
        for lost in 0..rows {
            let Some((sequence, replaced)) = self.tail.pop_back() else { return lost };
            if let Some(gone) = self.by_sequence.remove(&sequence) {
                self.by_subject.remove(&gone.subject);
            }
            if let Some((former, stored)) = replaced {
                self.next_expiry = self.next_expiry.min(stored.expires.unwrap_or(i64::MAX));
                self.by_subject.insert(stored.subject.clone(), former);
                self.by_sequence.insert(former, stored);
            }
            self.last = sequence.before();
        }
        rows
    }

    /// Sequences are left out.
    pub fn skip(&mut self, sequences: u64) {
        self.last = self.last.after_more(sequences);
    }

    /// Whether it is taken for another stream because it has lost rows: sequences are given again.
    pub fn has_lost(&self) -> bool {
        self.has_lost
    }

    /// It is taken for another stream from now on, with the rows that it has.
    pub fn raise_epoch(&mut self) {
        self.has_lost = true;
        self.incarnation = self.incarnation.next();
        self.tail.clear();
    }

    /// The highest sequence that was given.
    pub fn last(&self) -> Sequence {
        self.last
    }

    /// The first row after `sequence`.
    pub fn next(&self, sequence: Sequence) -> Option<(Sequence, &Stored<T>)> {
        self.by_sequence.range(sequence.next()..).next().map(|(sequence, row)| (*sequence, row))
    }

    /// All rows, in order.
    pub fn rows(&self) -> impl Iterator<Item = (Sequence, &Stored<T>)> {
        self.by_sequence.iter().map(|(sequence, row)| (*sequence, row))
    }

    /// The newest row of `subject`.
    pub fn get(&self, subject: &str) -> Option<&Stored<T>> {
        self.by_subject.get(subject).and_then(|sequence| self.by_sequence.get(sequence))
    }

    /// Removes rows whose time has come; how many there were.
    pub fn expire(&mut self, now: i64) -> usize {
        if now < self.next_expiry {
            return 0;
        }
        let before = self.by_sequence.len();
        let (by_subject, mut next) = (&mut self.by_subject, i64::MAX);
        self.by_sequence.retain(|_, row| {
            let expires = row.expires.unwrap_or(i64::MAX);
            if expires <= now {
                by_subject.remove(&row.subject);
                return false;
            }
            next = next.min(expires);
            true
        });
        self.next_expiry = next;
        before - self.by_sequence.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_row_of_a_subject_replaces_the_former() {
        let mut stream = MemoryStream::new(Incarnation::new(1));
        assert_eq!(stream.put("a", 1, None, None), Ok(Sequence::new(1)));
        assert_eq!(stream.put("b", 2, None, None), Ok(Sequence::new(2)));
        assert_eq!(stream.put("a", 3, None, None), Ok(Sequence::new(3)));
        let rows: Vec<_> = stream.rows().map(|(sequence, row)| (sequence, row.value)).collect();
        assert_eq!(rows, [(Sequence::new(2), 2), (Sequence::new(3), 3)]);
        assert_eq!(stream.next(Sequence::new(2)).map(|(sequence, _)| sequence), Some(Sequence::new(3)));
    }

    #[test]
    fn the_fence_holds_until_it_is_replaced_expired_or_wiped() {
        let mut stream = MemoryStream::new(Incarnation::new(1));
        let fence = stream
            .put("~owner", 0, Some(Expect { subject: "~owner", sequence: Sequence::NONE }), None)
            .unwrap();
        let under = |sequence| Some(Expect { subject: "~owner", sequence });
        assert!(stream.put("a", 1, under(fence), None).is_ok());
        let newer = stream.put("~owner", 0, under(fence), None).unwrap();
        assert_eq!(stream.put("a", 2, under(fence), None), Err(WrongLastSequence(newer)));
        stream.wipe();
        assert_eq!(stream.put("a", 2, under(newer), None), Err(WrongLastSequence(Sequence::NONE)));
        assert!(
            stream.put("~owner", 0, under(Sequence::NONE), None).unwrap() > newer,
            "no fence is the same in two lives"
        );
    }

    #[test]
    fn a_lost_tail_brings_back_what_it_had_replaced() {
        let mut stream = MemoryStream::new(Incarnation::new(1));
        for (subject, value) in [("a", 1), ("b", 2), ("a", 3), ("c", 4)] {
            stream.put(subject, value, None, None).unwrap();
        }
        assert_eq!(stream.lose_tail(2), 2);
        let rows: Vec<_> = stream.rows().map(|(sequence, row)| (sequence, row.value)).collect();
        assert_eq!(
            (rows, stream.last()),
            (vec![(Sequence::new(1), 1), (Sequence::new(2), 2)], Sequence::new(2))
        );
        assert_eq!(
            (stream.last_sequence("a"), stream.last_sequence("c")),
            (Sequence::new(1), Sequence::NONE)
        );
        assert_eq!(stream.put("d", 5, None, None), Ok(Sequence::new(3)), "the sequence is given again");
        assert!(!stream.has_lost());
        stream.raise_epoch();
        assert_eq!(
            (stream.incarnation(), stream.rows().count(), stream.lose_tail(9)),
            (Incarnation::new(2), 3, 0)
        );
        assert!(stream.has_lost());
        stream.skip(5);
        assert_eq!(stream.put("e", 6, None, None), Ok(Sequence::new(9)));
        stream.wipe();
        assert!(!stream.has_lost());
    }

    #[test]
    fn tombstones_expire_and_the_subject_is_new_again() {
        let mut stream = MemoryStream::new(Incarnation::new(1));
        stream.put("a", 1, None, Some(10)).unwrap();
        stream.put("b", 2, None, Some(12)).unwrap();
        assert_eq!((stream.expire(9), stream.rows().count()), (0, 2));
        assert_eq!((stream.expire(10), stream.last_sequence("a")), (1, Sequence::NONE));
        stream.put("c", 3, None, Some(11)).unwrap();
        assert_eq!((stream.expire(11), stream.get("b").is_some()), (1, true));
        assert_eq!((stream.expire(12), stream.rows().count()), (1, 0));
    }

    #[test]
    fn nothing_is_stored_when_what_is_expected_does_not_hold() {
        let mut stream = MemoryStream::new(Incarnation::new(1));
        let sequence = stream.put("a", 1, None, None).unwrap();
        let expect = Some(Expect { subject: "a", sequence: sequence.next() });
        let error = stream.put("b", 2, expect, None).unwrap_err();
        assert_eq!(
            (error, error.to_string().as_str()),
            (WrongLastSequence(Sequence::new(1)), "wrong last sequence: 1")
        );
        assert_eq!(
            (stream.last(), stream.rows().count(), stream.last_sequence("b")),
            (Sequence::new(1), 1, Sequence::NONE)
        );
    }

    #[test]
    fn a_subject_that_was_never_there_has_sequence_0() {
        let mut stream = MemoryStream::<u8>::new(Incarnation::new(1));
        assert_eq!(
            (stream.last_sequence("a"), stream.get("a").is_none(), stream.next(Sequence::NONE).is_none()),
            (Sequence::NONE, true, true)
        );
        assert_eq!(
            stream.put("a", 1, Some(Expect { subject: "a", sequence: Sequence::NONE }), None),
            Ok(Sequence::new(1))
        );
    }

    #[test]
    fn a_row_that_replaces_one_that_would_expire_stays() {
        let mut stream = MemoryStream::new(Incarnation::new(1));
        stream.put("a", 1, None, Some(10)).unwrap();
        stream.put("a", 2, None, None).unwrap();
        assert_eq!((stream.expire(100), stream.get("a").map(|row| row.value)), (0, Some(2)));
    }

    #[test]
    fn the_rows_after_a_sequence_come_in_order_whatever_was_left_out() {
        let mut stream = MemoryStream::new(Incarnation::new(1));
        stream.put("a", 1, None, None).unwrap();
        stream.skip(10);
        stream.put("b", 2, None, None).unwrap();
        let next = |sequence| {
            let next = stream.next(Sequence::new(sequence));
            next.map(|(sequence, row)| (sequence.get(), row.subject.as_str()))
        };
        assert_eq!(
            (next(0), next(1), next(11), next(12)),
            (Some((1, "a")), Some((12, "b")), Some((12, "b")), None)
        );
    }

    #[test]
    fn a_stream_loses_no_more_than_its_tail() {
        let mut stream = MemoryStream::new(Incarnation::new(1));
        for number in 0..20 {
            stream.put(&number.to_string(), number, None, None).unwrap();
        }
        assert_eq!(
            (stream.lose_tail(100), stream.last(), stream.rows().count()),
            (TAIL, Sequence::new(12), 12)
        );
    }

    #[test]
    fn a_stream_that_is_made_anew_is_empty_and_goes_on() {
        let mut stream = MemoryStream::after(Incarnation::new(3), Sequence::new(40));
        assert_eq!(stream.put("a", 1, None, None), Ok(Sequence::new(41)));
        stream.wipe();
        assert_eq!(
            (stream.incarnation(), stream.rows().count(), stream.last()),
            (Incarnation::new(4), 0, Sequence::new(41))
        );
        assert_eq!(stream.lose_tail(1), 0);
    }
}
