//! What tenants may read: a trigger or profile that names a ServiceAccount reads in the management cluster what that account may
//! `get`, and nothing else.

use std::fmt;

use sluice_api::{ObjectKey, ServiceAccount};
use sluice_protocol::rows::Cause;

/// Whether an account may `get` an object of the management cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Question {
    /// Who wants to.
    pub account: ServiceAccount,
    /// What. The namespace of an object whose kind has none counts for nothing.
    pub object: ObjectKey,
}

/// The answer to a [`Question`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Right {
    /// It may.
    Granted,
    /// It may not.
    Denied,
    /// Nobody could be asked, for this reason.
    Unavailable(String),
}

/// For whom a cause reads.
#[derive(Clone, Debug)]
pub(crate) struct Tenant {
    pub(crate) account: ServiceAccount,
    /// What its generators make it may read.
    pub(crate) cause: Cause,
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ServiceAccount {} and {}", self.account, self.object)
    }
}

impl Question {
    /// Whether the object may be read.
    ///
    /// # Errors
    /// Why not, and what to do.
    pub(crate) fn verdict(&self, right: &Right) -> Result<(), String> {
        let Self { account, object } = self;
        match right {
            Right::Granted => Ok(()),
            Right::Denied => Err(format!(
                "ServiceAccount {account} may not get {object} in the management cluster; grant it to the account, or refer to \
                 something that it may read"
            )),
            Right::Unavailable(error) => Err(format!(
                "the management cluster cannot be asked whether ServiceAccount {account} may get {object} ({error}); it is tried again"
            )),
        }
    }
}
