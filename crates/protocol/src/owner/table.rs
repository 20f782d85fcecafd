//! What the table says, as far as its owner knows, and what people are told of its changes.

use std::collections::HashMap;

use sluice_api::Digest;

use crate::JournalEntry;
use crate::row::{Head, Line};

// D-0105: equal content is not sent again.
/// Every row of this shard's output, by subject, as it has been found or wanted last.
#[derive(Debug, Default)]
pub(super) struct OwnTable {
    rows: HashMap<String, Digest>,
    /// What people are to be told.
    lines: Vec<JournalEntry>,
}

impl OwnTable {
    /// Whether the table says so already.
    pub(super) fn says(&self, key: &str, head: &Head) -> bool {
        let there = self.rows.get(key);
        if head.tombstone { there.is_none() } else { there == Some(&head.digest) }
    }

    /// A row was found, or is about to be sent; what goes with it is told only when the table has not said the same.
    pub(super) fn take(&mut self, key: String, head: &Head, line: Option<Box<Line>>) {
        let is_new = !self.says(&key, head);
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
