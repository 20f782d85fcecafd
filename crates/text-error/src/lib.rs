//! Why a text cannot be used: what readers of YAML and JSON, patches and template engines say.

use std::fmt;

/// Why a text cannot be read or rendered. The same text gives the same.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum TextError {
    /// Something is wrong in it.
    #[error("{0}")]
    Wrong(String),
    /// It is, or needs, more than is taken.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn other_words_leave_a_limit_a_limit() {
        let limit = TextError::Limit("too much".to_owned()).within("spec.patches[0]");
        assert_eq!((limit.is_limit(), limit.to_string().as_str()), (true, "spec.patches[0]: too much"));
        // What only says so is none.
        let wrong = TextError::from("limit: said by a user").reworded(str::to_uppercase);
        assert_eq!((wrong.is_limit(), wrong.text()), (false, "LIMIT: SAID BY A USER"));
    }
}
