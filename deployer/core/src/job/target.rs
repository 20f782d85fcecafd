//! What the newest row of a profile says.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_api::model::prerequisites;
use sluice_api::{Digest, ProfileId};
use sluice_protocol::Row;
use sluice_protocol::rows::{Desired, NoContent};

use crate::error::Error;

#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// It should be like this.
    Value(Goal),
    /// It should go, after these are there.
    Gone(BTreeSet<ProfileId>),
    /// Only the inventory is known; nothing is done.
    Unknown,
}

/// The body of a row. Decoded it is ten times as large, so that it is decoded only while there is work on it.
#[derive(Clone, Debug)]
pub(crate) struct Goal {
    body: Arc<[u8]>,
    digest: Digest,
    needs: BTreeSet<ProfileId>,
    succeeds: BTreeSet<ProfileId>,
    decoded: Option<Arc<Desired>>,
}

impl Goal {
    /// Reads a row of `profile`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(row: &Row, profile: &ProfileId) -> Result<Self, Error> {
        let desired = Desired::of_row(row).map_err(|why| match why {
            NoContent::Unrendered => Error::Unrendered(profile.clone()),
            why => Error::Row(why),
        })?;
        if desired.profile() != *profile {
            return Err(Error::Other(desired.profile()));
        }
        let needs = prerequisites(profile, desired.spec.get("dependsOn"));
        let (body, digest, succeeds) = (row.body.clone(), row.head.digest, desired.succeeds.clone());
        Ok(Self { body, digest, needs, succeeds, decoded: Some(Arc::new(desired)) })
    }

    /// The profiles that it depends on.
    pub(super) fn needs(&self) -> &BTreeSet<ProfileId> {
        &self.needs
    }

    /// The profiles that it takes over from.
    pub(super) fn succeeds(&self) -> &BTreeSet<ProfileId> {
        &self.succeeds
    }
}

impl Target {
    /// What it should be like, decoded if need be.
    pub(super) fn decode(&mut self) -> Option<Arc<Desired>> {
        let Self::Value(goal) = self else { return None };
        if goal.decoded.is_none() {
            // It was read before: it can be read.
            goal.decoded = serde_json::from_slice(&goal.body).ok().map(Arc::new);
        }
        goal.decoded.clone()
    }

    /// The same while there is work on it.
    pub(crate) fn decoded(&self) -> Option<&Desired> {
        let Self::Value(goal) = self else { return None };
        goal.decoded.as_deref()
    }

    /// What it should be like, whoever works on it.
    pub(crate) fn look(&self) -> Option<Arc<Desired>> {
        let Self::Value(goal) = self else { return None };
        goal.decoded.clone().or_else(|| serde_json::from_slice(&goal.body).ok().map(Arc::new))
    }

    /// Digest of the row that says so.
    pub(crate) fn digest(&self) -> Option<Digest> {
        if let Self::Value(goal) = self { Some(goal.digest) } else { None }
    }

    /// Work on it has ended: what it should be like, for the last time.
    pub(crate) fn rest(&mut self) -> Option<Arc<Desired>> {
        let desired = self.decode();
        if let Self::Value(goal) = self {
            goal.decoded = None;
        }
        desired
    }
}
