//! The errors of this crate. Their texts are exactly Go's where Go has one.

use std::fmt;

/// What went wrong, for callers that treat the classes differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorKind {
    /// The text is not a template.
    Parse,
    /// The template failed on this data.
    Exec,
    /// A budget of [`crate::Limits`] is used up.
    Limit,
}

/// A failed compile or render. `Display` prints Go's text, position included.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    kind: ErrorKind,
    text: String,
    line: usize,
    column: Option<usize>,
    causes: Vec<Box<str>>,
}

// === impl Error ===

impl Error {
    pub(crate) fn parse(name: &str, line: usize, message: impl fmt::Display) -> Self {
        let text = format!("template: {name}:{line}: {message}");
        Self { kind: ErrorKind::Parse, text, line, column: None, causes: Vec::new() }
    }

    pub(crate) fn parse_limit(name: &str, line: usize, message: impl fmt::Display) -> Self {
        Self { kind: ErrorKind::Limit, ..Self::parse(name, line, message) }
    }

    pub(crate) fn exec(kind: ErrorKind, text: String, line: usize, column: usize) -> Self {
        Self { kind, text, line, column: Some(column), causes: Vec::new() }
    }

    /// The same with what it was caused by, the nearest cause last.
    pub(crate) fn caused_by(mut self, causes: Vec<Box<str>>) -> Self {
        self.causes = causes;
        self
    }

    /// This error as the cause of another.
    pub(crate) fn into_causes(self) -> Vec<Box<str>> {
        let mut causes = self.causes;
        causes.push(self.text.into());
        causes
    }

    /// The texts of the errors that this one wraps, the nearest first. Only templates of a [`crate::TemplateSet`] wrap.
    pub fn causes(&self) -> impl Iterator<Item = &str> {
        self.causes.iter().rev().map(|cause| &**cause)
    }

    /// The class of the failure.
    pub fn kind(&self) -> ErrorKind {
        self.kind
    }

    /// Whether a budget is used up.
    pub fn is_limit(&self) -> bool {
        self.kind == ErrorKind::Limit
    }

    /// The line in the template, from 1.
    pub fn line(&self) -> usize {
        self.line
    }

    /// The column as Go counts it (bytes, from 0); parse errors have none.
    pub fn column(&self) -> Option<usize> {
        self.column
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for Error {}
