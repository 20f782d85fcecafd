//! Tokens of YAML and where they are.

use std::{ops::Deref, rc::Rc};

/// A place in the text; lines and columns count from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Mark {
    pub(super) index: usize,
    pub(super) line: usize,
    pub(super) column: usize,
}

/// What a token is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Lexeme<'t> {
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
    Scalar {
        value: Text<'t>,
        plain: bool,
    },
}

/// The text of a scalar: a piece of the document where it stands there as it is. Tokens are looked at more than once
/// before they are taken, and a look copies nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Text<'t> {
    /// As it stands in the document.
    There(&'t [u8]),
    /// Put together of several lines, or of escapes.
    Made(Rc<[u8]>),
}

/// A token and where it starts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) kind: Lexeme<'t>,
    pub(super) start: Mark,
}

impl Deref for Text<'_> {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Self::There(text) => text,
            Self::Made(text) => text,
        }
    }
}

impl From<Vec<u8>> for Text<'_> {
    fn from(made: Vec<u8>) -> Self {
        Self::Made(made.into())
    }
}

/// Go's text of an error; the scanner's lines count from 1.
pub(super) fn error(problem: &str, mark: Mark, context: Mark, scanner: bool) -> String {
    let line = match (mark.line, context.line) {
        (0, context) => context,
        (line, _) => line + usize::from(scanner),
    };
    if line == 0 { format!("yaml: {problem}") } else { format!("yaml: line {line}: {problem}") }
}
