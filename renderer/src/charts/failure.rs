//! Why a chart could not be fetched. No text here says anything secret: of addresses only what stands before a `?`.

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Failure {
    text: String,
    /// Whether it is the host that does not do its work: others who ask it need not try.
    pub(crate) is_hosts: bool,
}

impl Failure {
    /// The host does not answer, or answers that it cannot.
    pub(crate) fn host(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_hosts: true }
    }

    /// It answers, and what it says is of no use.
    pub(crate) fn content(text: impl Into<String>) -> Self {
        Self { text: text.into(), is_hosts: false }
    }
}
