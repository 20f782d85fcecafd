//! Why there is no answer, in words for who has asked.

use crate::trace::TraceError;

/// Why there is no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InspectError {
    /// What is asked for does not exist; what exists is said.
    #[error("{0}")]
    NotFound(String),
    /// The question cannot be understood: the field, and how to write it.
    #[error("{0}")]
    Invalid(String),
    /// Bus or management cluster do not answer; it may be asked again.
    #[error("{0}")]
    Away(String),
    /// The question or the answer is too large, or too many are asked at the same time.
    #[error("{0}")]
    TooMuch(String),
    /// Anything else.
    #[error("{0}")]
    Failed(String),
}

impl From<TraceError> for InspectError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Bus(error) => Self::Away(error.to_string()),
            TraceError::Nothing { .. } | TraceError::Former { .. } => Self::NotFound(error.to_string()),
        }
    }
}
