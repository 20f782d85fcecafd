//! Which rows of a stream are read, and up to where.

use sluice_protocol::Sequence;

/// What to read.
#[derive(Clone, Debug)]
pub struct ReadSpec {
    /// What the server calls the stream.
    pub stream: String,
    /// Only subjects that match one of these; empty for all.
    pub filters: Vec<String>,
    /// Whether bodies are left out.
    pub heads_only: bool,
    /// Subjects and sequences of rows after which the reading is at its end, on any node: own fence rows, whose claims came after
    /// everything that there is to read.
    pub until: Vec<(String, Sequence)>,
    /// Whether the end is where the server estimates it, for who concludes nothing from absence: only who may read every row of
    /// a stream can ask it where its end is.
    pub estimated: bool,
    /// Whether nothing in it is replaced: then the server knows how many messages follow one, and nobody asks the stream.
    pub log: bool,
}

impl ReadSpec {
    /// Everything that is in a stream.
    pub fn all(stream: String) -> Self {
        Self::some(stream, Vec::new())
    }

    /// What is sent to subjects that match `filter`, in a stream that keeps everything.
    pub(crate) fn log(stream: String, filter: String) -> Self {
        Self { log: true, ..Self::some(stream, vec![filter]) }
    }

    /// Rows of a stream whose subject matches one of `filters`.
    pub fn some(stream: String, filters: Vec<String>) -> Self {
        Self { stream, filters, heads_only: false, until: Vec::new(), estimated: false, log: false }
    }
}
