//! What the shell tells an owner, and what it is told to do.

use crate::row::{Head, Publish, Row};
use crate::subject::Subject;

/// What happened, told by the shell.
#[derive(Debug)]
pub enum Event<S> {
    /// The fence row of `output` is now this owner's, at `sequence`.
    Claimed {
        /// Index of the output stream.
        output: usize,
        /// Sequence of the fence row.
        sequence: u64,
    },
    /// A row of this shard's own output.
    Found(Subject, Head),
    /// All own rows of one output stream have been found.
    Loaded,
    /// A row of the input table; `pending` when more are known to follow at once.
    Row(Row, bool),
    /// The input table had nothing after this sequence, and every row up to it has been delivered.
    CaughtUp(u64),
    /// It has more than was known when [`Command::FindEnd`] was given.
    More,
    /// News for the core.
    Side(S),
    /// The server has stored a publish.
    Stored(u64),
    /// The server refused a claim or publish, or did not answer.
    Refused,
    /// Time passed.
    Tick,
}

/// What to do, told to the shell.
#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "commands live for a moment, publishes are the most frequent")]
pub enum Command<E> {
    /// Replace the fence row of an output stream; answer with [`Event::Claimed`] or [`Event::Refused`].
    Claim(usize),
    /// Read the heads of this shard's own rows in an output stream; answer with [`Event::Found`] for each and
    /// one [`Event::Loaded`].
    Load(usize),
    /// Read the input table from its first row.
    Read,
    /// Ask whether the input table has a row after this sequence; answer with [`Event::CaughtUp`] or [`Event::More`].
    FindEnd(u64),
    /// Publish under the fence; answer with [`Event::Stored`] or [`Event::Refused`].
    Publish {
        /// Number of the publish.
        id: u64,
        /// Required last sequence of the fence row.
        fence: u64,
        /// Head of the row.
        head: Head,
        /// The row.
        row: Publish,
    },
    /// Something of the stage's own.
    Effect(E),
    /// Send [`Event::Tick`] at this time, microseconds since 1970.
    WakeAt(i64),
    /// Drop the owner and begin again.
    Stop(Stop),
}

/// Why an owner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// Another replica has the shard, or an answer is missing.
    Refused,
    /// It could not keep up and may have missed a tombstone.
    Lagging,
}
