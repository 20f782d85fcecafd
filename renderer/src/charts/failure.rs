//! Why a chart could not be fetched. No text here says anything secret: of addresses only what stands before a `?`.

use sluice_chart::cut;

use super::http::origin;

/// What went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub(crate) struct Failure {
    text: String,
    /// The server that does not do its work, by scheme, host and port: others who ask it in the same way need not try.
    pub(crate) server: Option<String>,
    /// Whether it is more than a chart may be.
    pub(crate) limit: bool,
}

// === impl Failure ===

impl Failure {
    /// The server of this address does not answer, or answers that it cannot.
    pub(crate) fn server(url: &str, text: impl Into<String>) -> Self {
        Self { text: cut(text), server: Some(origin(url).to_owned()), limit: false }
    }

    /// It answers, and what it says is of no use, or cannot be asked like this.
    pub(crate) fn content(text: impl Into<String>) -> Self {
        Self { text: cut(text), server: None, limit: false }
    }

    /// What an archive holds is no chart.
    pub(crate) fn no_chart(url: &str, error: &sluice_chart::Error) -> Self {
        Self { limit: error.is_limit(), ..Self::content(format!("{url} is no chart: {error}")) }
    }
}
