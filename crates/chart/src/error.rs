//! What can be wrong with a chart. The texts are Helm's where Helm has one.

use sluice_template::TextError;

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

/// Bytes of a text that says what is wrong. It goes on in rows, problems and statuses, and what a chart's author wrote may be in it.
pub(crate) const LONGEST: usize = 2 << 10;
const LEFT_OUT: &str = " … ";

pub(crate) fn load(text: impl Into<String>) -> Error {
    Error::Load(cut(text))
}

/// A text that says what is wrong, of at most 2 KiB: of a longer one the beginning and the end, which is where it says what it is
/// about, and why.
pub fn cut(text: impl Into<String>) -> String {
    let text = text.into();
    if text.len() <= LONGEST {
        return text;
    }
    let half = (LONGEST - LEFT_OUT.len()) / 2;
    let end = text.ceil_char_boundary(text.len() - half);
    [&text[..text.floor_char_boundary(half)], LEFT_OUT, &text[end..]].concat()
}

impl Error {
    pub(crate) fn values(text: impl Into<String>) -> Self {
        Self::Values(cut(text))
    }

    pub(crate) fn render(text: impl Into<String>) -> Self {
        Self::Render(cut(text))
    }

    pub(crate) fn manifest(text: impl Into<String>) -> Self {
        Self::Manifest(cut(text))
    }

    pub(crate) fn limit(text: impl Into<String>) -> Self {
        Self::Limit(cut(text))
    }

    /// What could not be read, of this class where no limit was reached.
    pub(crate) fn of(failure: TextError, class: fn(String) -> Self) -> Self {
        match failure {
            TextError::Wrong(text) => class(text),
            TextError::Limit(text) => Self::limit(text),
        }
    }

    /// Whether a budget is used up.
    pub fn is_limit(&self) -> bool {
        matches!(self, Self::Limit(_))
    }

    /// The same class of error with words before its text.
    pub(crate) fn within(self, words: &str) -> Self {
        let put = |text: String| cut(format!("{words}{text}"));
        match self {
            Self::Load(text) => Self::Load(put(text)),
            Self::Values(text) => Self::Values(put(text)),
            Self::Render(text) => Self::Render(put(text)),
            Self::Manifest(text) => Self::Manifest(put(text)),
            Self::Limit(text) => Self::Limit(put(text)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end() {
        let short = "x".repeat(LONGEST);
        assert_eq!(cut(short.as_str()), short);
        let text = cut(format!("begin {} end", "ü".repeat(1 << 20)));
        assert!(text.len() <= LONGEST && text.len() > LONGEST - 8, "{}", text.len());
        assert!(text.starts_with("begin ü") && text.ends_with("ü end") && text.contains(LEFT_OUT), "{text}");
        let error = Error::limit("x".repeat(1 << 20)).within(&"y".repeat(1 << 20));
        assert!(error.to_string().len() <= LONGEST);
    }
}
