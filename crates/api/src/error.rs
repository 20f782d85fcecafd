//! The errors of everything a user can write wrongly: a field's names the object, the field and the remedy.

pub use sluice_text_error::TextError;

/// A field of a user's object that cannot be used as it is. Not retryable: only an edit heals it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{object}: {field}: {reason}")]
pub struct FieldError {
    /// The object, as `Kind namespace/name`.
    pub object: String,
    /// Path of the field, for example `spec.policyRefs[0].name`.
    pub field: String,
    /// What is wrong and what to write instead.
    pub reason: String,
    /// Whether a limit is reached.
    pub limit: bool,
}

// === impl FieldError ===

impl FieldError {
    /// Makes the error; `object` comes from [`crate::object::describe`].
    pub fn new(object: impl Into<String>, field: impl Into<String>, reason: impl Into<TextError>) -> Self {
        let reason = reason.into();
        let limit = reason.is_limit();
        Self { object: object.into(), field: field.into(), reason: reason.text().to_owned(), limit }
    }

    /// Whether a limit is reached.
    pub fn is_limit(&self) -> bool {
        self.limit
    }
}
