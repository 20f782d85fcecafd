//! Tokens of YAML and where they are.

use std::rc::Rc;

/// A place in the text; lines and columns count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    StreamEnd,
    /// `%YAML`, or a `%TAG` with its handle and prefix.
    Directive(Option<(Vec<u8>, Vec<u8>)>),
    DocumentStart,
    DocumentEnd,
    BlockSequenceStart,
    BlockMappingStart,
    BlockEnd,
    FlowSequenceStart,
    FlowSequenceEnd,
    FlowMappingStart,
    FlowMappingEnd,
    BlockEntry,
    FlowEntry,
    Key,
    Value,
    Alias(Vec<u8>),
    Anchor(Vec<u8>),
    Tag {
        handle: Vec<u8>,
        suffix: Vec<u8>,
    },
    /// Tokens are looked at more than once before they are taken: a look copies no text.
    Scalar {
        value: Rc<Vec<u8>>,
        plain: bool,
    },
}

/// A token and where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token {
    pub(super) kind: Kind,
    pub(super) start: Mark,
}

/// Go's text of an error; the scanner's lines count from 1.
pub(super) fn error(problem: &str, mark: Mark, context: Mark, scanner: bool) -> String {
    let line = match (mark.line, context.line) {
        (0, context) => context,
        (line, _) => line + usize::from(scanner),
    };
    if line == 0 { format!("yaml: {problem}") } else { format!("yaml: line {line}: {problem}") }
}
