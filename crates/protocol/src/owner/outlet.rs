//! The rows on their way to one output stream: one group in flight, and what comes meanwhile is the next one.
//!
//! A replicated stream admits one conditional message in process for each fence, so more than one group in flight would
//! be refused. And one at a time keeps the order: what is sent again is never older than what has been stored since.
//!
//! ```text
//!             send                 stored
//!   idle ─────────────► in flight ────────► idle, or the next group
//!                        │  ▲  │ held: the same again, later
//!                        │  └──┘
//!                        │ unanswered                    claimed
//!                        └────────────► fence renewed ────────────► the same again under the new fence
//! ```
//!
//! A group without an answer may still be on its way: in the buffer of a server that is paused it may wait longer than
//! its repetition and what follows it. So it is sent again under another fence only, which refuses the first copy for ever.

use std::collections::VecDeque;
use std::sync::Arc;

use super::shell::{Claim, Command, Group, Outgoing, Stop};
use crate::Sequence;
use crate::row::Body;

// D-0301: rows go in groups, one in flight.
/// Rows of a group at most: the server's limit of an atomic batch.
const MAX_ROWS: usize = 1000;
/// Bytes of a group: less than any server takes in a message by default, and enough for a good rate.
const MAX_BYTES: usize = 1 << 20;
/// Larger bodies are not in their rows.
const LARGE: usize = 64 << 10;
/// Headers of a row, without view and meta data, bytes: more than they ever are.
const HEADERS: usize = 512;
/// Pauses before something is tried again, microseconds: doubled from the first to the last.
const FIRST_PAUSE: i64 = 5_000;
const LAST_PAUSE: i64 = 320_000;

/// The group in flight to one output stream, and the rows that wait for its answer.
#[derive(Debug)]
pub(super) struct Outlet {
    output: usize,
    fence: Sequence,
    /// How many claims there were.
    claims: u32,
    /// Tries of what is in flight, a group or a claim.
    tries: u32,
    waiting: VecDeque<Outgoing>,
    in_flight: Option<Arc<[Outgoing]>>,
    /// Whether the fence row is being replaced.
    claiming: bool,
    /// The highest sequence that the server has acknowledged.
    acknowledged: Sequence,
}

// === impl Outlet ===

impl Outlet {
    /// An outlet without a fence, and the claim of its first one.
    pub(super) fn new(output: usize) -> (Self, Claim) {
        let mut outlet = Self {
            output,
            fence: Sequence::NONE,
            claims: 0,
            tries: 0,
            waiting: VecDeque::new(),
            in_flight: None,
            claiming: false,
            acknowledged: Sequence::NONE,
        };
        outlet.claims += 1;
        let claim = outlet.claim();
        (outlet, claim)
    }

    /// Sequence of its fence row.
    pub(super) fn fence(&self) -> Sequence {
        self.fence
    }

    /// Whether a group is on its way.
    pub(super) fn is_busy(&self) -> bool {
        self.in_flight.is_some() || self.claiming
    }

    /// A row waits for the next group.
    pub(super) fn push(&mut self, row: Outgoing) {
        self.waiting.push_back(row);
    }

    /// The next group, when there is one and none is in flight.
    pub(super) fn next<E>(&mut self) -> Option<Command<E>> {
        if self.is_busy() || self.waiting.is_empty() {
            return None;
        }
        let mut bytes = 0;
        let fits = |row: &&Outgoing| {
            bytes += size(row);
            bytes <= MAX_BYTES
        };
        // A single row may be larger: then it is alone.
        let count = self.waiting.iter().take(MAX_ROWS).take_while(fits).count().max(1);
        self.in_flight = Some(self.waiting.drain(..count).collect());
        self.tries = 0;
        self.send()
    }

    fn send<E>(&mut self) -> Option<Command<E>> {
        let rows = self.in_flight.clone()?;
        let delay = self.pause();
        Some(Command::Send(Group { output: self.output, fence: self.fence, rows, delay }))
    }

    fn claim(&mut self) -> Claim {
        self.claiming = true;
        let former = (self.fence > Sequence::NONE).then_some(self.fence);
        Claim { output: self.output, number: self.claims, former, delay: self.pause() }
    }

    /// How long to wait before the next try.
    fn pause(&mut self) -> i64 {
        let pause = match self.tries {
            0 => 0,
            tries => (FIRST_PAUSE << (tries - 1).min(16)).min(LAST_PAUSE),
        };
        self.tries += 1;
        pause
    }

    /// The fence row is this owner's; what was in flight goes again.
    pub(super) fn claimed<E>(&mut self, sequence: Sequence) -> Result<Option<Command<E>>, Stop> {
        if !self.claiming {
            return Ok(None);
        }
        self.claiming = false;
        self.fence = sequence;
        self.acknowledge(sequence)?;
        self.tries = 0;
        Ok(self.send())
    }

    /// The group in flight is stored; the rows it had.
    pub(super) fn stored(&mut self, sequence: Option<Sequence>) -> Result<Arc<[Outgoing]>, Stop> {
        if let Some(sequence) = sequence {
            self.acknowledge(sequence)?;
        }
        Ok(self.in_flight.take().unwrap_or_default())
    }

    /// Sequences of one stream grow, unless it has lost some.
    fn acknowledge(&mut self, sequence: Sequence) -> Result<(), Stop> {
        if sequence <= self.acknowledged {
            return Err(Stop::Lost);
        }
        self.acknowledged = sequence;
        Ok(())
    }

    /// The server will not take it now: the same again, later.
    pub(super) fn held<E>(&mut self) -> Option<Command<E>> {
        if self.claiming { None } else { self.send() }
    }

    // D-0304: a group without an answer goes again under a renewed fence.
    /// Nobody knows what became of it: a claim is made again, a group only under another fence.
    pub(super) fn unanswered<E>(&mut self) -> Command<E> {
        if !self.claiming {
            self.claims += 1;
        }
        Command::Claim(self.claim())
    }
}

/// Bytes of a row on the wire, at most.
fn size(row: &Outgoing) -> usize {
    let body = match &row.row.body {
        Body::Value(bytes) if bytes.len() <= LARGE => bytes.len(),
        Body::Value(_) | Body::Tombstone => 0,
    };
    body + row.row.meta.to_string().len() + HEADERS
}
