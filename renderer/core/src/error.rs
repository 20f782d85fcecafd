//! What can be wrong with what is rendered: a variant for each kind of fault, whose fields are what its text says.
//!
//! ```text
//! a template, script, chart or text ─► what its library says ─┐
//! a value, a reference, a right ─► what is said here ─────────┴─► Within a place ─► Fault, by `From` alone
//! ```

// D-0611: a problem is a value.

use std::fmt::Display;

use sluice_api::{FieldError, ObjectKey, ServiceAccount, TextError};
use sluice_protocol::Fault;

/// Why something cannot be rendered. The same input gives the same: only an edit, or what is read, heals it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A template has failed, or is none.
    #[error(transparent)]
    Template(#[from] sluice_template::Error),
    /// A script has failed.
    #[error(transparent)]
    Script(#[from] sluice_script::Error),
    /// A chart, or its values.
    #[error(transparent)]
    Chart(#[from] sluice_chart::Error),
    /// A chart cannot be had.
    #[error("{trouble}")]
    Fetch {
        /// What the fetcher says.
        trouble: String,
        /// Whether it is more than a chart may be.
        limit: bool,
    },
    /// Manifests or a patch, or the second engine renders nothing.
    #[error(transparent)]
    Text(#[from] TextError),
    /// A field of a manifest.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// What is made cannot be written, or read again.
    #[error("{0}")]
    Json(String),
    /// What was said, but for what a Secret holds.
    #[error("{text}")]
    Covered {
        /// What is left.
        text: String,
        /// Whether it was a limit.
        limit: bool,
    },
    /// A value that is not what it should be.
    #[error("{what} {remedy}")]
    Value {
        /// The field, the value or the object.
        what: String,
        /// What is wrong with it, and what to do.
        remedy: String,
    },
    /// A field of an object that is none without it.
    #[error("{0} is missing or no text")]
    NoText(&'static str),
    /// What is referred to is not there.
    #[error("{object} does not exist in the management cluster; create it{or}")]
    Absent {
        /// What is not there.
        object: String,
        /// What else to do.
        or: String,
    },
    /// What should be rendered is not there.
    #[error("{0} does not exist")]
    Gone(String),
    /// Something that an event is made of is not known.
    #[error("what EventSource {0} chooses is not known")]
    NotChosen(String),
    /// The management cluster cannot be asked for an object.
    #[error("{0}")]
    Unavailable(String),
    /// A right lacks.
    #[error(
        "ServiceAccount {account} may not get {object} in the management cluster; grant it to the account, or refer to something that it may read"
    )]
    Denied {
        /// Who wants to.
        account: ServiceAccount,
        /// What.
        object: Box<ObjectKey>,
    },
    /// Nobody can say whether a right lacks.
    #[error(
        "the management cluster cannot be asked whether ServiceAccount {account} may get {object} ({why}); it is tried again"
    )]
    Unasked {
        /// Who wants to.
        account: ServiceAccount,
        /// What.
        object: Box<ObjectKey>,
        /// Why it cannot be asked.
        why: String,
    },
    /// What a tenant generates is for that tenant.
    #[error(
        "{object} is made by a generator of ServiceAccount {maker}, and read by what is of that account only; refer to another name"
    )]
    OfTenant {
        /// What is read.
        object: Box<ObjectKey>,
        /// Whose it is.
        maker: ServiceAccount,
    },
    /// A name that another has.
    #[error("{object} is already made by {by}, and stays; {remedy}")]
    Taken {
        /// What is called so.
        object: String,
        /// Who makes it.
        by: String,
        /// How to make it differ.
        remedy: String,
    },
    /// It is not known which clusters are meant.
    #[error("{0}")]
    Unsure(String),
    /// An error in a place.
    #[error("{place}: {source}")]
    Within {
        /// The field, the object or the file.
        place: String,
        /// What is wrong there.
        source: Box<Error>,
    },
    /// An error with more words.
    #[error("{source}; {words}")]
    Explained {
        /// What is wrong.
        source: Box<Error>,
        /// What else is to know, or to do.
        words: String,
    },
    /// Errors of several places.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))]
    Several(Vec<Error>),
    /// An error of some destinations.
    #[error("{source} (on {clusters})")]
    On {
        /// What is wrong.
        source: Box<Error>,
        /// Where.
        clusters: String,
    },
}

/// What is rendered, or why not.
pub type Result<T, E = Error> = std::result::Result<T, E>;

// === impl Error ===

impl Error {
    /// A value that is not what it should be; `remedy` goes on with the sentence that `what` begins.
    pub(crate) fn value(what: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self::Value { what: what.into(), remedy: remedy.into() }
    }

    /// The same in a place: `place: error`.
    #[must_use]
    pub(crate) fn within(self, place: impl Display) -> Self {
        Self::Within { place: place.to_string(), source: Box::new(self) }
    }

    /// The same with what else is to know, or to do: `error; words`.
    #[must_use]
    pub(crate) fn explained(self, words: impl Into<String>) -> Self {
        Self::Explained { source: Box::new(self), words: words.into() }
    }

    /// The same in words that repeat nothing of a Secret.
    #[must_use]
    pub(crate) fn covered(self, words: impl FnOnce(&str) -> String) -> Self {
        Self::Covered { text: words(&self.to_string()), limit: self.is_limit() }
    }

    /// The same, where what is read holds a Secret.
    #[must_use]
    pub(crate) fn covered_if(self, is_secret: bool, words: impl FnOnce(&str) -> String) -> Self {
        if is_secret { self.covered(words) } else { self }
    }

    /// That a chart cannot be had, and nobody says why.
    pub(crate) fn no_chart() -> Self {
        Self::Fetch { trouble: String::new(), limit: false }
    }

    /// The same with no more than so many characters.
    #[must_use]
    pub(crate) fn cut(self, most: usize) -> Self {
        self.covered(|text| text.chars().take(most).collect())
    }

    /// Whether it says only that a field is not there, and nothing of what is.
    pub(crate) fn is_of_field(&self) -> bool {
        match self {
            Self::NoText(_) => true,
            Self::Within { source, .. } => source.is_of_field(),
            _ => false,
        }
    }

    /// Whether a limit is reached.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::Template(error) => error.is_limit(),
            Self::Script(error) => error.is_limit(),
            Self::Chart(error) => error.is_limit(),
            Self::Text(error) => error.is_limit(),
            Self::Field(error) => error.is_limit(),
            Self::Fetch { limit, .. } | Self::Covered { limit, .. } => *limit,
            Self::Within { source, .. } | Self::Explained { source, .. } | Self::On { source, .. } => {
                source.is_limit()
            }
            Self::Several(all) => all.iter().any(Self::is_limit),
            _ => false,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::of(error.is_limit(), error.to_string())
    }
}
