//! What the shell tells an owner, and what it is told to do.

use std::sync::Arc;

use sluice_api::DigestKey;

use crate::row::{Head, Publish, Row};
use crate::subject::Subject;
use crate::{JournalEntry, Sequence};

/// What happened, told by the shell.
#[derive(Debug)]
pub enum Event<S> {
    // D-0208: claims are announced before anything is written.
    /// The fence row of `output` is now this owner's, at `sequence`.
    Claimed {
        /// Index of the output stream.
        output: usize,
        /// Sequence of the fence row.
        sequence: Sequence,
    },
    /// A row of this shard's own output.
    Found(Subject, Head),
    /// All own rows of one output stream have been found.
    Loaded,
    /// A row of the input table; `pending` when more are known to follow at once.
    Row(Row, bool),
    /// The input table had nothing after this sequence, and every row up to it has been delivered.
    CaughtUp(Sequence),
    /// It has more than was known when [`Command::FindEnd`] was given, or nobody could say.
    More,
    /// News for the core.
    External(S),
    /// The server has stored the whole group that was sent to `output`.
    Stored {
        /// Index of the output stream.
        output: usize,
        /// Sequence of its last row; `None` when no message can hold any of its rows.
        sequence: Option<Sequence>,
    },
    /// The server will not take the group now, and nothing of it is under way.
    NotStored(usize),
    /// There is no answer to a claim or a group: it may have been stored, and it may still be.
    Unanswered(usize),
    /// It is over, for a reason that the shell has seen.
    Ended(Stop),
    /// Time passed.
    Tick,
}

/// What to do, told to the shell.
#[derive(Debug)]
pub enum Command<E> {
    /// Replace a fence row; answer with [`Event::Claimed`], [`Event::Unanswered`] or [`Event::Ended`].
    Claim(Claim),
    /// Every fence row is this owner's, and it has written nothing yet: tell the other members.
    Claimed,
    /// Read the heads of this shard's own rows in an output stream, up to its fence row; answer with [`Event::Found`] for
    /// each and one [`Event::Loaded`].
    Load {
        /// Index of the output stream.
        output: usize,
        /// Sequence of the fence row: a reader that has delivered it has delivered everything before it.
        fence: Sequence,
    },
    /// Read the input table from its first row.
    Read,
    /// Ask whether the input table has a row after this sequence; answer with [`Event::CaughtUp`] or [`Event::More`].
    FindEnd(Sequence),
    /// Store rows in one go under the fence; answer with [`Event::Stored`], [`Event::NotStored`], [`Event::Unanswered`] or
    /// [`Event::Ended`].
    Send(Group),
    /// Something of the stage's own.
    Effect(E),
    /// Tell people of a row that says something new, and is about to be sent.
    Tell(JournalEntry),
    /// Tell people why rows stay as they are, or that they do not any more.
    Behind(Option<String>),
    /// Send [`Event::Tick`] at this time, microseconds since 1970.
    WakeAt(i64),
    /// Drop the owner. Whether another one begins is the shell's to decide.
    Stop(Stop),
}

/// A fence row that is to be replaced.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// Index of the output stream.
    pub output: usize,
    /// Which claim of this owner it is: the row says so, and a claim without an answer is recognised by it.
    pub number: u32,
    /// The owner's own fence row that must be there still; `None` takes the place of whoever has it.
    pub former: Option<Sequence>,
    /// How long to wait first, microseconds; around it, so that not all come at once.
    pub delay: i64,
}

/// Rows that go to one output stream together.
#[derive(Clone, Debug)]
pub struct Group {
    /// Index of the output stream.
    pub output: usize,
    /// Required last sequence of the fence row.
    pub fence: Sequence,
    /// The rows, in order.
    pub rows: Arc<[Outgoing]>,
    /// How long to wait first, microseconds; around it, so that not all come at once.
    pub delay: i64,
}

/// A row that is sent.
#[derive(Clone, Debug)]
pub struct Outgoing {
    /// Number of the row, in the order in which the core wanted them.
    pub id: u64,
    /// What goes into the headers of the message.
    pub head: Head,
    /// Where it goes, and its body.
    pub row: Publish,
}

// D-0305: an election or a lost connection is a pause, not an end.
/// Why an owner ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Stop {
    /// Another owner has replaced the fence row.
    Deposed,
    /// The stream has lost rows that it had acknowledged.
    Lost,
    /// It could not keep up and may have missed a tombstone.
    Lagging,
    /// A stream was deleted and made anew.
    Reborn,
    /// The replica's lease has lapsed: others may have done its work.
    Lease,
    /// A large body that its rows name has expired.
    Content,
    /// Who reads its rows has another key, or a key has come that rows are sealed for: they are sealed, or read, anew.
    Keys,
    /// A task of the shard has failed.
    Failed,
}

impl Stop {
    /// Its name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Deposed => "deposed",
            Self::Lost => "lost",
            Self::Lagging => "lagging",
            Self::Reborn => "reborn",
            Self::Lease => "lease",
            Self::Content => "content",
            Self::Keys => "keys",
            Self::Failed => "failed",
        }
    }
}

/// What an owner has to know.
#[derive(Clone, Debug)]
pub struct OwnerConfig {
    /// How many streams this shard writes to.
    pub outputs: usize,
    /// Whether there is an input table to read.
    pub reads: bool,
    /// How long to wait for a view that covers what the predecessor saw, microseconds.
    pub patience: i64,
    /// How long the owner may lag behind its input before it may have missed a tombstone, microseconds.
    pub max_lag: i64,
    /// What digests of secrets are made with, on a bus where they are sealed.
    pub digest_key: Option<DigestKey>,
}
