//! What profiles want of an object, and who comes first.

use std::sync::Arc;

use sluice_api::{Digest, ProfileId, ServiceAccount};

/// What a profile wants of an object.
#[derive(Clone, Debug)]
pub(crate) struct Want {
    /// The lower one has it.
    pub(crate) tier: i32,
    /// Digest of the content and of what it is deployed from.
    pub(crate) content: Digest,
    /// Whether the object is in the profile's inventory.
    pub(crate) listed: bool,
    /// Whether it could not have it as it wants it, and has given it back: everybody else comes first.
    pub(crate) unable: bool,
    /// The tenant that it is wanted for, whose rights are asked.
    pub(crate) account: Option<Arc<ServiceAccount>>,
    /// Whether that one may write it.
    pub(crate) proof: Proof,
}

/// Whether a tenant may write an object. Whoever may not must not take it from others either, nor keep it from them: a tier is what
/// the tenant says of itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Proof {
    /// It has written it, or the server said that it could; or no tenant wants it.
    #[default]
    Given,
    /// Nobody has tried.
    Untried,
    /// The server has said that it may not.
    Refused,
}

/// Who has what is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Denied {
    /// The profile that has it.
    pub(crate) by: ProfileId,
    /// Whether it would give way if the tenant that wants it proved that it may write it.
    pub(crate) provable: bool,
}

/// Whether a tenant that may not write it wants it.
pub(super) fn is_refused(want: Option<&Want>) -> bool {
    want.is_some_and(|want| want.proof == Proof::Refused)
}

impl Denied {
    /// Whatever would be proved.
    pub(super) fn by(profile: ProfileId) -> Self {
        Self { by: profile, provable: false }
    }
}
