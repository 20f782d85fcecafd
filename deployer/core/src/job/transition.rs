//! A profile that goes after others have taken over from it.

// D-0929: a removal waits on its own cluster.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_api::ProfileId;
use sluice_protocol::rows::Desired;

use super::{Job, Target};

impl Job {
    /// The profiles that it takes over from.
    pub(crate) fn succeeds(&self) -> Option<&BTreeSet<ProfileId>> {
        if let Target::Value(goal) = &self.target { Some(goal.succeeds()) } else { None }
    }

    /// The profiles after which it goes.
    pub(crate) fn successors(&self) -> Option<&BTreeSet<ProfileId>> {
        if let Target::Gone(after) = &self.target { Some(after) } else { None }
    }

    /// What was wanted last, where it is to be removed and waits for those that take over.
    pub(crate) fn former(&self) -> Option<&Arc<Desired>> {
        self.former.as_ref()
    }

    /// Its next row says this: what was wanted is kept as long as it waits to be removed, for those who look at it.
    pub(super) fn note_former(&mut self, next: &Target) {
        self.former = match (next, &self.target) {
            (Target::Gone(after), Target::Value(_)) if !after.is_empty() => self.target.look(),
            (Target::Gone(after), Target::Gone(_)) if !after.is_empty() => self.former.take(),
            _ => None,
        };
    }
}
