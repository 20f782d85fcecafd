//! Why a check cannot be asked.

/// A script or rule of a check that is none. Only an edit heals it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {error}")]
pub struct Error {
    /// Path of the field.
    pub field: String,
    /// What is wrong with it.
    pub error: sluice_script::Error,
}
