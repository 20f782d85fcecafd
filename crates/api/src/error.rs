//! The error of everything a user can write wrongly: it names the object, the field and the remedy.

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
}

impl FieldError {
    /// Makes the error; `object` comes from [`crate::object::describe`].
    pub fn new(object: impl Into<String>, field: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { object: object.into(), field: field.into(), reason: reason.into() }
    }
}
