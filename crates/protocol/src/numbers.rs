//! Numbers that mean something: each is a type of its own, so that none is taken for another, and only what makes sense of it
//! can be done with it. Where they come from and go to (the wire, the command line) they are converted in so many words.

use std::fmt;
use std::num::ParseIntError;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What all of these types have: the number goes in and out by name, and is written as it is.
macro_rules! number {
    ($name:ident, $inner:ty) => {
        impl $name {
            /// That of this number.
            pub const fn new(number: $inner) -> Self {
                Self(number)
            }

            /// The number itself.
            pub const fn get(self) -> $inner {
                self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.fmt(f)
            }
        }
    };
}

/// What those that people write have as well.
macro_rules! written_number {
    ($name:ident) => {
        impl FromStr for $name {
            type Err = ParseIntError;

            fn from_str(text: &str) -> Result<Self, ParseIntError> {
                text.parse().map(Self)
            }
        }
    };
}

/// Which shard of a table, or of the stage that owns one: shards count from 0, and how many there are is said when the bus is
/// laid out. Their order means nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Shard(u16);

number!(Shard, u16);
written_number!(Shard);

// === impl Shard ===

impl Shard {
    /// The one that is always there.
    pub const FIRST: Self = Self(0);

    /// All of them, where there are so many.
    pub fn all(count: u16) -> impl DoubleEndedIterator<Item = Self> + Clone {
        (0..count).map(Self)
    }

    /// That of the stream with this index among the outputs of a stage.
    pub fn of_output(index: usize) -> Self {
        u16::try_from(index).map_or(Self::FIRST, Self)
    }

    /// Its index among all of them.
    pub fn index(self) -> usize {
        usize::from(self.0)
    }
}

/// The place of a message in a stream: the server counts from 1 on, or from the time at which the stream was made. A later message
/// of one life of a stream has a higher one; those of two streams, or of two lives, say nothing of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Sequence(u64);

number!(Sequence, u64);
written_number!(Sequence);

// === impl Sequence ===

impl Sequence {
    /// That of no message: before every one.
    pub const NONE: Self = Self(0);

    /// After every message that there can be.
    pub const END: Self = Self(u64::MAX);

    /// The one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }

    /// The one before it.
    #[must_use]
    pub const fn before(self) -> Self {
        Self(self.0.saturating_sub(1))
    }

    /// So many after it.
    #[must_use]
    pub const fn after_more(self, count: u64) -> Self {
        Self(self.0.saturating_add(count))
    }
}

/// How new something is that is known and changes: the interest row of a cluster, or the objects of a kind in the management cluster,
/// which have it from their server. That of an interest row grows with every change, also where its bucket was lost in between, since
/// it follows the clock: milliseconds since 1970, or the one before and more. Of two revisions of one thing the higher is the later;
/// those of two things say nothing of each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Revision(u64);

number!(Revision, u64);
written_number!(Revision);

// === impl Revision ===

impl Revision {
    /// That of what is not known: before every one.
    pub const NONE: Self = Self(0);

    /// The least that is given at a time, microseconds since 1970.
    pub fn of_time(micros: i64) -> Self {
        Self(u64::try_from(micros / 1000).unwrap_or(0))
    }

    /// The first one after it.
    #[must_use]
    pub const fn next(self) -> Self {
        self.after_more(1)
    }

    /// So many after it.
    #[must_use]
    pub const fn after_more(self, count: u64) -> Self {
        Self(self.0.saturating_add(count))
    }
}

/// How often a stream was taken for another one since it had lost rows which it had acknowledged. A later epoch of one stream is
/// higher, but for the one after the last: what counts is whether two are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Epoch(u64);

number!(Epoch, u64);

// === impl Epoch ===

impl Epoch {
    /// That of a stream that has lost nothing.
    pub const FIRST: Self = Self(0);

    /// More than there will ever be; what is above is no epoch.
    const LAST: u64 = u32::MAX as u64;

    /// The one of the stream after the next loss. After the last one they begin again: another one is all that it must be.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 % Self::LAST + 1)
    }
}

/// The text is no epoch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("an epoch is a number of {} at most", Epoch::LAST)]
pub struct NotAnEpoch;

impl FromStr for Epoch {
    type Err = NotAnEpoch;

    fn from_str(text: &str) -> Result<Self, NotAnEpoch> {
        let number = text.parse().ok().filter(|number| *number <= Self::LAST);
        number.map(Self).ok_or(NotAnEpoch)
    }
}

/// Which life of a stream this is: a stream that was deleted and made again, or has lost rows, is another one for everybody. It is the
/// time at which the stream was made, nanoseconds since 1970, and its epoch. A later one of a stream is higher, but what counts is
/// whether two are the same.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Incarnation(u64);

number!(Incarnation, u64);

// === impl Incarnation ===

impl Incarnation {
    /// That of no stream: what is said of it proves nothing.
    pub const NONE: Self = Self(0);

    /// That of a stream that was made at this time, nanoseconds since 1970, in this epoch.
    pub const fn of(created: u64, epoch: Epoch) -> Self {
        Self(created.saturating_add(epoch.get()))
    }

    /// Another one, which is later.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.saturating_add(1))
    }
}

/// Which call to an API server of a cluster an answer is to. The core that asks counts its calls from 1 on, over all clusters; a call
/// that is made later has a higher one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(u64);

number!(CallId, u64);

// === impl CallId ===

impl CallId {
    /// That of the call after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

/// Which watch of a cluster something was seen by, or which reading of what is sent to it. The core that begins them counts both from 1
/// on; one that is begun later has a higher one, and what comes of one that has ended is known by it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WatchId(u64);

number!(WatchId, u64);

// === impl WatchId ===

impl WatchId {
    /// That of the one that is begun after it.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shard_is_written_as_its_number() {
        let shard = Shard::new(7);
        assert_eq!((shard.to_string(), format!("{shard:02}"), shard.index()), ("7".into(), "07".into(), 7));
        assert_eq!(serde_json::to_string(&shard).unwrap(), "7");
        assert_eq!(serde_json::from_str::<Shard>("7").unwrap(), shard);
        assert_eq!(("07".parse(), "x".parse::<Shard>().is_err()), (Ok(shard), true));
    }

    #[test]
    fn all_shards_are_as_many_as_there_are() {
        assert_eq!(Shard::all(3).map(Shard::get).collect::<Vec<_>>(), [0, 1, 2]);
        assert_eq!((Shard::of_output(2), Shard::of_output(1 << 20)), (Shard::new(2), Shard::FIRST));
    }

    #[test]
    fn sequences_follow_each_other_from_none_to_the_end() {
        let first = Sequence::NONE.next();
        assert_eq!(
            (first, first.before(), first.after_more(4)),
            (Sequence::new(1), Sequence::NONE, Sequence::new(5))
        );
        assert_eq!((Sequence::NONE.before(), Sequence::END.next()), (Sequence::NONE, Sequence::END));
        assert_eq!((serde_json::to_string(&first).unwrap(), first.to_string()), ("1".into(), "1".into()));
        assert_eq!("12".parse(), Ok(Sequence::new(12)));
    }

    #[test]
    fn revisions_follow_the_clock_and_each_other() {
        let at = Revision::of_time(1_700_000_000_000_999);
        assert_eq!((at, at.next().get()), (Revision::new(1_700_000_000_000), 1_700_000_000_001));
        assert_eq!(
            (Revision::of_time(-5_000), Revision::new(u64::MAX).next().get()),
            (Revision::NONE, u64::MAX)
        );
        assert_eq!(
            (serde_json::to_string(&at.next()).unwrap(), "7".parse()),
            (at.next().to_string(), Ok(Revision::new(7)))
        );
    }

    #[test]
    fn the_epoch_after_the_last_is_another_one() {
        assert_eq!((Epoch::FIRST.next(), Epoch::new(7).next()), (Epoch::new(1), Epoch::new(8)));
        let last: Epoch = "4294967295".parse().unwrap();
        assert_eq!((last.next(), serde_json::to_string(&last).unwrap()), (Epoch::new(1), last.to_string()));
        for text in ["4294967296", "-1", "", "x"] {
            assert_eq!(text.parse::<Epoch>(), Err(NotAnEpoch), "{text}");
        }
        assert_eq!(NotAnEpoch.to_string(), "an epoch is a number of 4294967295 at most");
    }

    #[test]
    fn a_stream_that_was_made_later_or_lost_rows_is_another_one() {
        let first = Incarnation::of(1_700, Epoch::FIRST);
        assert_eq!((first, Incarnation::of(1_700, Epoch::new(1))), (Incarnation::new(1_700), first.next()));
        assert_eq!(
            (Incarnation::default(), serde_json::to_string(&first).unwrap()),
            (Incarnation::NONE, "1700".into())
        );
    }

    #[test]
    fn calls_and_watches_count_from_1_on() {
        assert_eq!((CallId::default().next(), CallId::new(1).next().get()), (CallId::new(1), 2));
        assert_eq!(
            (WatchId::default().next(), WatchId::new(1).next().to_string()),
            (WatchId::new(1), "2".to_owned())
        );
    }
}
