//! The errors of everything a user can write wrongly: a field's names the object, the field and the remedy.

use std::fmt;

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

/// Why a text of manifests or of a patch cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Something is wrong in it.
    #[error("{0}")]
    Wrong(String),
    /// It is more than is taken.
    #[error("{0}")]
    Limit(String),
}

// === impl TextError ===

impl TextError {
    /// Whether a limit is reached.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Limit(_))
    }

    /// What is said to people.
    pub fn text(&self) -> &str {
        let (Self::Wrong(text) | Self::Limit(text)) = self;
        text
    }

    /// The same with other words.
    #[must_use]
    pub fn reworded(self, words: impl FnOnce(&str) -> String) -> Self {
        match self {
            Self::Wrong(text) => Self::Wrong(words(&text)),
            Self::Limit(text) => Self::Limit(words(&text)),
        }
    }

    /// The same, with where it is: `place: text`.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        self.reworded(|text| format!("{place}: {text}"))
    }
}

impl From<String> for TextError {
    fn from(text: String) -> Self {
        Self::Wrong(text)
    }
}

impl From<&str> for TextError {
    fn from(text: &str) -> Self {
        Self::Wrong(text.to_owned())
    }
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
