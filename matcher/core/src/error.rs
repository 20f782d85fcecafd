//! Why an EventSource cannot be used, says nothing of an object, or a row is not read.

// D-0611: a problem is a value.

use sluice_api::{FieldError, ObjectKey};
use sluice_protocol::Fault;
use sluice_script::cel::Unanswered;

/// What can be wrong, by what it is wrong with. Only an edit of the EventSource or the object heals it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// A field of the EventSource.
    #[error(transparent)]
    Field(#[from] FieldError),
    /// A rule or script of the EventSource does not compile.
    #[error("EventSource {name}: {path}: {error}")]
    Compile {
        /// Of the EventSource.
        name: String,
        /// Of the field.
        path: String,
        /// What the language says.
        error: sluice_script::Error,
    },
    /// A script failed on the object.
    #[error(transparent)]
    Script(#[from] sluice_script::Error),
    /// A rule says nothing of the object.
    #[error("{rule}: {error}")]
    Rule {
        /// What it is called.
        rule: String,
        /// Why not.
        error: Unanswered,
    },
    /// What was said of a Secret, but for what it holds.
    #[error("{text}")]
    Covered {
        /// What is left.
        text: String,
        /// Whether it was a limit.
        limit: bool,
    },
    /// The row cannot be read.
    #[error("the row cannot be read ({0}); it is rewritten when the object changes or the agent restarts")]
    Row(#[from] RowError),
}

/// Why a row of `changes` cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RowError {
    /// Its body cannot be had, or is no JSON.
    #[error("{0}")]
    Body(String),
    /// It holds another object than its subject says.
    #[error("it holds {0}")]
    Other(Box<ObjectKey>),
    /// It holds none.
    #[error("it holds no object")]
    Nothing,
    /// Its meta data are those of another table.
    #[error("its meta data are {0:?}")]
    Meta(String),
}

/// What is known, or why not.
pub type Result<T, E = Error> = std::result::Result<T, E>;

// === impl Error ===

impl Error {
    /// The same in words that repeat nothing of a Secret.
    #[must_use]
    pub(crate) fn covered(self, words: impl FnOnce(&str) -> String) -> Self {
        Self::Covered { text: words(&self.to_string()), limit: self.is_limit() }
    }

    /// Whether a limit is reached.
    pub fn is_limit(&self) -> bool {
        match self {
            Self::Field(error) => error.is_limit(),
            Self::Compile { error, .. } | Self::Script(error) => error.is_limit(),
            Self::Rule { error, .. } => error.is_limit(),
            Self::Covered { limit, .. } => *limit,
            Self::Row(_) => false,
        }
    }
}

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Self::of(error.is_limit(), error.to_string())
    }
}
