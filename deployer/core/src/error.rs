//! Why what others have written cannot be read.

use sluice_api::ProfileId;
use sluice_protocol::Fault;
use sluice_protocol::rows::NoContent;

/// An inventory or a row that cannot be used. What is there stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// An inventory cannot be read.
    #[error("{object}: data.inventory cannot be read: {why}")]
    Inventory {
        /// The ConfigMap.
        object: String,
        /// What is wrong in it.
        why: String,
    },
    /// An inventory is in another place than its own.
    #[error("{object} is not where the inventory of {profile} is; delete this copy")]
    Misplaced {
        /// The ConfigMap.
        object: String,
        /// Whose inventory it holds.
        profile: ProfileId,
    },
    /// The maker of a row has no content for it yet.
    #[error("{0} has nothing to deploy yet: its own problem says why; what is here stays")]
    Unrendered(ProfileId),
    /// A row cannot be read.
    #[error(
        "the row cannot be read ({0}); it is rewritten when the profile changes or the renderer restarts"
    )]
    Row(NoContent),
    /// A row is about another profile than its subject says.
    #[error(
        "the row cannot be read (it is about {0}); it is rewritten when the profile changes or the renderer restarts"
    )]
    Other(ProfileId),
}

impl From<&Error> for Fault {
    fn from(error: &Error) -> Self {
        Self::new(error.to_string())
    }
}
