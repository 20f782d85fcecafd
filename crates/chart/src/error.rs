//! What can be wrong with a chart. The texts are Helm's where Helm has one.

/// Why a chart cannot be loaded or rendered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// The archive, the folder or a file in it cannot be read.
    #[error("{0}")]
    Load(String),
    /// The values do not fit together, or not to the schema.
    #[error("{0}")]
    Values(String),
    /// A template is wrong or has failed.
    #[error("{0}")]
    Render(String),
    /// What was rendered is no manifest.
    #[error("{0}")]
    Manifest(String),
    /// A budget is used up.
    #[error("{0}")]
    Limit(String),
}

pub(crate) fn load(text: impl Into<String>) -> Error {
    Error::Load(text.into())
}

impl Error {
    /// The same class of error with words before its text.
    pub(crate) fn within(self, words: &str) -> Self {
        let put = |text: String| format!("{words}{text}");
        match self {
            Self::Load(text) => Self::Load(put(text)),
            Self::Values(text) => Self::Values(put(text)),
            Self::Render(text) => Self::Render(put(text)),
            Self::Manifest(text) => Self::Manifest(put(text)),
            Self::Limit(text) => Self::Limit(put(text)),
        }
    }
}
