//! Who is told what a shard does besides moving rows.

use std::time::Duration;

use sluice_protocol::{Core, JournalEntry};

/// What takes a shard time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Span {
    /// From a row of the input until what follows from it is stored.
    Stage,
    /// From the moment at which a group of rows is sent until it is stored.
    Publish,
    /// From the claim of a shard until its input has been read to the end.
    Takeover,
    /// What a core makes of one row.
    Row,
    /// What a core makes of something else that it is told.
    External,
    /// What a core does because it is time.
    Tick,
}

/// Carries out what a core wants besides rows.
pub trait Effects<C: Core>: Send {
    /// Takes one effect; must not block.
    fn effect(&mut self, effect: C::Effect);
}

/// Is told what passes through a shard, for metrics and problems.
pub trait Observer: Send + Sync {
    /// A message of the input is no row.
    fn malformed(&self, subject: &str, reason: &str);

    /// A row of the input is there, but its body cannot be read; the core says what follows.
    fn unreadable(&self, subject: &str, reason: &str);

    /// A row of the input was read, and this many are known to follow it.
    fn read(&self, pending: u64);

    /// A row that says something new is about to be sent.
    fn tell(&self, line: JournalEntry);

    /// Rows of a former owner stay as they are, and why; without a reason they do not any more.
    fn behind(&self, why: Option<&str>);

    /// A row with a body of this many bytes was published.
    fn published(&self, bytes: usize);

    /// Something took so long.
    fn took(&self, span: Span, duration: Duration);

    /// A row cannot be published because of its size, and what was published of it before stays; without a reason it can
    /// be published again.
    fn too_large(&self, subject: &str, reason: Option<&str>);
}
