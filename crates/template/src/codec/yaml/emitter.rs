//! The emitter's position and indentation, block structures and keys.

use super::order::Dialect;
use crate::exec::{Cx, Fail};

/// Where a node is emitted; scalars and structures indent by it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodePosition {
    Root,
    Item,
    Value,
    Key,
}

/// The state of one document.
pub(super) struct Emitter {
    pub(super) out: Vec<u8>,
    pub(super) dialect: Dialect,
    pub(super) column: usize,
    /// The last character was a space or an indicator that counts as one.
    pub(super) whitespace: bool,
    /// The line holds nothing but indentation and indicators.
    pub(super) indention: bool,
    /// Nothing before the first structure.
    pub(super) indent: Option<usize>,
}

/// Lines are broken at the first space beyond this column.
const BEST_WIDTH: usize = 80;

pub(super) type Emit = Result<(), Fail>;

// === impl Emitter ===

impl Emitter {
    pub(super) fn new(dialect: Dialect) -> Self {
        Self { out: Vec::new(), dialect, column: 0, whitespace: true, indention: true, indent: None }
    }

    pub(super) fn best_indent(&self) -> usize {
        if self.dialect == Dialect::V3 { 4 } else { 2 }
    }

    /// Whether a line may break at a space here; `yaml.v3` never breaks lines.
    pub(super) fn is_full(&self) -> bool {
        self.dialect == Dialect::Sigs && self.column > BEST_WIDTH
    }

    pub(super) fn put(&mut self, byte: u8) {
        self.out.push(byte);
        self.column += 1;
    }

    pub(super) fn put_break(&mut self) {
        self.out.push(b'\n');
        self.column = 0;
        self.indention = true;
    }

    /// Writes a character of a scalar.
    pub(super) fn write(&mut self, bytes: &[u8]) {
        self.out.extend_from_slice(bytes);
        self.column += 1;
    }

    /// Writes a line break of a scalar.
    pub(super) fn write_break(&mut self, bytes: &[u8]) {
        if bytes == b"\n" {
            self.put_break();
            return;
        }
        self.out.extend_from_slice(bytes);
        self.column = 0;
        if self.dialect == Dialect::Sigs {
            self.indention = true;
        }
    }

    pub(super) fn indicator(&mut self, text: &[u8], need_space: bool, is_space: bool, is_indention: bool) {
        if need_space && !self.whitespace {
            self.put(b' ');
        }
        self.out.extend_from_slice(text);
        self.column += text.len();
        self.whitespace = is_space;
        self.indention = self.indention && is_indention;
    }

    pub(super) fn write_indent(&mut self) {
        let indent = self.indent.unwrap_or(0);
        if !self.indention || self.column > indent || (self.column == indent && !self.whitespace) {
            self.put_break();
        }
        while self.column < indent {
            self.put(b' ');
        }
        self.whitespace = true;
        if self.dialect == Dialect::Sigs {
            self.indention = true;
        }
    }

    /// Enters a structure or a scalar; answers the indentation to go back to.
    pub(super) fn increase_indent(
        &mut self,
        flow: bool,
        indentless: bool,
        place: NodePosition,
    ) -> Option<usize> {
        let outer = self.indent;
        let best = self.best_indent();
        self.indent = Some(match outer {
            None => {
                if flow {
                    best
                } else {
                    0
                }
            }
            Some(indent) if indentless => indent,
            Some(indent) if self.dialect == Dialect::Sigs => indent + best,
            Some(indent) if place == NodePosition::Item => indent + 2,
            Some(indent) => best * ((indent + best) / best),
        });
        outer
    }

    /// Starts a block sequence; answers the indentation to go back to.
    pub(super) fn start_sequence(&mut self, place: NodePosition) -> Option<usize> {
        let in_mapping = matches!(place, NodePosition::Value | NodePosition::Key) && !self.indention;
        self.increase_indent(false, in_mapping && self.dialect == Dialect::Sigs, place)
    }

    pub(super) fn start_item(&mut self) {
        self.write_indent();
        self.indicator(b"-", true, false, true);
    }

    /// Refuses documents that grow beyond one string.
    pub(super) fn check(&self, cx: &mut Cx<'_>) -> Emit {
        cx.step(1)?;
        cx.may_be_long(self.out.len())
    }
}
