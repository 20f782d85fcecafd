//! What is wrong.

use std::fmt;

use serde::{Deserialize, Serialize};
use sluice_api::ClusterRef;

/// Whether anything is wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Something cannot be done.
    #[default]
    Error,
    /// Everything is as it should be, and people should know something of it.
    Note,
}

/// What kind of fault it is: what metrics tell apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// No other one.
    #[default]
    Other,
    /// A limit of what a script, a template or an object may use was reached.
    Limit,
}

/// What is wrong and what to do.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Fault {
    /// Whether anything is wrong.
    pub severity: Severity,
    /// What kind of fault it is.
    pub class: Class,
    /// So many clusters have not got yet what goes to few of them at a time.
    pub left: u64,
    /// Those of them whose turn has not come; of very many some.
    pub waiting: Vec<ClusterRef>,
    /// The words for people.
    pub text: String,
}

// === impl Severity ===

impl Severity {
    /// Whether something cannot be done.
    pub fn is_error(&self) -> bool {
        *self == Self::Error
    }

    /// The words with what they are, where they are no error.
    pub fn with(self, text: &str) -> String {
        match self {
            Self::Error => text.to_owned(),
            Self::Note => format!("note: {text}"),
        }
    }
}

// === impl Class ===

impl Class {
    /// Whether nothing more is known of it.
    pub fn is_other(&self) -> bool {
        *self == Self::Other
    }
}

// === impl Fault ===

impl Fault {
    /// Something cannot be done. Whatever the text says, nothing more is known of it.
    pub fn new(text: impl Into<String>) -> Self {
        Self {
            severity: Severity::Error,
            class: Class::Other,
            left: 0,
            waiting: Vec::new(),
            text: text.into(),
        }
    }

    /// The same because a limit was reached, or not: the error that it is made of knows.
    pub fn of(is_limit: bool, text: impl Into<String>) -> Self {
        let class = if is_limit { Class::Limit } else { Class::Other };
        Self { class, ..Self::new(text) }
    }

    /// Something that people should know of what is as it should be.
    pub fn note(text: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::new(text) }
    }

    /// The same of what so many clusters have not got yet.
    #[must_use]
    pub fn left(self, clusters: usize) -> Self {
        Self { left: u64::try_from(clusters).unwrap_or(u64::MAX), ..self }
    }

    /// The same, where the turn of these clusters has not come.
    #[must_use]
    pub fn waiting(self, clusters: Vec<ClusterRef>) -> Self {
        Self { waiting: clusters, ..self }
    }

    /// The same, with where it is: `place: text`.
    #[must_use]
    pub fn within(self, place: impl fmt::Display) -> Self {
        Self { text: format!("{place}: {}", self.text), ..self }
    }

    /// The same with other words.
    #[must_use]
    pub fn reworded(self, words: impl FnOnce(&str) -> String) -> Self {
        Self { text: words(&self.text), ..self }
    }

    /// Several in one, errors first; `None` where there is none. It is an error when one of them is, and of the class that the first
    /// has which has one.
    pub fn all(faults: impl IntoIterator<Item = Self>) -> Option<Self> {
        let mut faults: Vec<_> = faults.into_iter().collect();
        faults.sort_by_key(|fault| fault.severity);
        faults.into_iter().reduce(|all, next| Self {
            severity: all.severity,
            class: if all.class.is_other() { next.class } else { all.class },
            left: all.left.saturating_add(next.left),
            waiting: [all.waiting.as_slice(), &next.waiting].concat(),
            text: format!("{}; {next}", all.text),
        })
    }
}

impl From<String> for Fault {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&str> for Fault {
    fn from(text: &str) -> Self {
        Self::new(text)
    }
}

/// As people read it.
impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.severity.with(&self.text))
    }
}

impl std::error::Error for Fault {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_are_an_error_when_one_is_and_keep_their_class() {
        assert_eq!(Fault::all([]), None);
        let all = Fault::all([Fault::note("a"), Fault::new("b"), Fault::of(true, "c")]);
        assert_eq!(all, Some(Fault::of(true, "b; c; note: a")));
        let notes = Fault::all([Fault::note("a"), Fault::note("b")]);
        assert_eq!(notes.map(|all| all.to_string()), Some("note: a; note: b".to_owned()));
        let waiting = || vec![ClusterRef::sveltos("n", "c")];
        let left = Fault::all([Fault::note("a"), Fault::note("b").left(3).waiting(waiting())]);
        assert_eq!(left, Some(Fault::note("a; note: b").left(3).waiting(waiting())));
    }

    #[test]
    fn where_it_is_comes_first_and_changes_nothing_else() {
        let fault = Fault::of(true, "too much").within("templates[0]");
        assert_eq!((fault.class, fault.to_string()), (Class::Limit, "templates[0]: too much".to_owned()));
    }
}
