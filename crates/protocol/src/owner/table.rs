//! What the table says, as far as its owner knows, and what people are told of its changes.

use std::collections::HashMap;

use sluice_api::Digest;

use crate::JournalEntry;
use crate::row::{Head, Line};
use crate::subject::Subject;

/// A subject, as short as all others: there is one for each row that a shard has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct RowKey(Digest);

// D-0105: equal content is not sent again.
/// Every row of this shard's output, by subject, as it has been found or wanted last.
#[derive(Debug, Default)]
pub(super) struct OwnTable {
    rows: HashMap<RowKey, Digest>,
    /// What people are to be told.
    lines: Vec<JournalEntry>,
}

// === impl RowKey ===

impl RowKey {
    /// Whoever can make two subjects of one key can break SHA-256.
    pub(super) fn of(subject: &Subject) -> Self {
        Self(Digest::of(&[subject.to_string().as_bytes()]))
    }
}

// === impl OwnTable ===

impl OwnTable {
    /// Whether the table says so already.
    pub(super) fn says(&self, key: RowKey, head: &Head) -> bool {
        let there = self.rows.get(&key);
        if head.tombstone { there.is_none() } else { there == Some(&head.digest) }
    }

    /// A row was found, or is about to be sent; what goes with it is told only when the table has not said the same.
    pub(super) fn take(&mut self, key: RowKey, head: &Head, line: Option<Box<Line>>) {
        let is_new = !self.says(key, head);
        let there = match head.tombstone {
            true => self.rows.remove(&key),
            false => self.rows.insert(key, head.digest),
        };
        match line.map(|line| *line) {
            Some(Line::Change(line)) if is_new => self.lines.push(line),
            Some(Line::Begin(line)) if there.is_none() => self.lines.push(line),
            _ => {}
        }
    }

    // D-0106: a journal line goes with its row.
    /// The lines that are to be told now, in their order.
    pub(super) fn lines(&mut self) -> impl Iterator<Item = JournalEntry> {
        self.lines.drain(..)
    }
}
