//! Regular expressions as fields of manifests have them.

use regex::Regex;

/// A regular expression that need not match the whole.
#[derive(Clone, Debug, Default)]
pub enum Pattern {
    /// What is empty: it matches everything.
    #[default]
    Any,
    /// An expression that stands for itself, as nearly all do.
    Plain(String),
    /// Any other.
    Regex(Regex),
}

// === impl Pattern ===

impl Pattern {
    /// Reads it.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.is_empty() {
            return Ok(Self::Any);
        }
        if regex::escape(text).replace("\\-", "-") == text {
            return Ok(Self::Plain(text.to_owned()));
        }
        let regex = Regex::new(text).map_err(|error| {
            let last = error.to_string().lines().last().unwrap_or_default().trim().to_owned();
            format!(
                "{text:?} is no regular expression: {}; write it as RE2 has them",
                last.trim_start_matches("error: ")
            )
        });
        regex.map(Self::Regex)
    }

    /// Whether a part of the text matches.
    pub fn matches(&self, text: &str) -> bool {
        match self {
            Self::Any => true,
            Self::Plain(part) => text.contains(part),
            Self::Regex(regex) => regex.is_match(text),
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        match self {
            Self::Any => "",
            Self::Plain(text) => text,
            Self::Regex(regex) => regex.as_str(),
        }
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.text() == other.text()
    }
}

impl Eq for Pattern {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_part_of_the_text_is_enough_and_nothing_is_in_everything() {
        let matches = |pattern: &str, text: &str| Pattern::read(pattern).unwrap().matches(text);
        assert!(matches("", "") && matches("", "x") && matches("rd", "order") && !matches("rd", "x"));
        assert!(matches("^or.er$", "order") && !matches("^or.er$", "orders") && matches("or.er", "orders"));
    }

    #[test]
    fn what_is_no_expression_says_why() {
        let error = Pattern::read("(a").unwrap_err();
        assert_eq!(error, "\"(a\" is no regular expression: unclosed group; write it as RE2 has them");
    }
}
