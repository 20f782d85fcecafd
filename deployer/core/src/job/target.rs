//! What the newest row of a profile says.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_api::model::prerequisites;
use sluice_api::{Digest, ProfileId};
use sluice_protocol::rows::{Cause, Desired, GoBack, NoContent};
use sluice_protocol::{Row, json};

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
    kept: Option<Keeps>,
    decoded: Option<Arc<Desired>>,
}

/// What a row says whose content is kept on the cluster.
#[derive(Clone, Debug)]
pub(crate) struct Keeps {
    /// The other content that stays kept, as this row had it.
    pub(crate) good: Option<Digest>,
    /// Why the row exists.
    cause: Arc<Cause>,
    /// What it goes back to, where it does: its body is none until that has been read.
    back: Option<GoBack>,
}

impl Goal {
    /// Reads a row of `profile`.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(row: &Row, profile: &ProfileId) -> Result<Self, Error> {
        if let Some(back) = GoBack::of_row(row) {
            return Self::going_back(row, back);
        }
        let desired = Desired::of_row(row).map_err(|why| match why {
            NoContent::Unrendered => Error::Unrendered(profile.clone()),
            why => Error::Row(why),
        })?;
        if desired.profile() != *profile {
            return Err(Error::Other(desired.profile()));
        }
        let needs = prerequisites(profile, desired.spec.get("dependsOn"));
        let (body, digest, succeeds) = (row.body.clone(), row.head.digest, desired.succeeds.clone());
        let kept = row.head.meta.staged().map(|staged| Keeps {
            good: staged.good.as_ref().map(|good| good.row),
            cause: staged.cause.clone(),
            back: None,
        });
        Ok(Self { body, digest, needs, succeeds, kept, decoded: Some(Arc::new(desired)) })
    }

    /// Of a row that goes back it is known why it exists.
    fn going_back(row: &Row, back: GoBack) -> Result<Self, Error> {
        let staged = row.head.meta.staged().ok_or(Error::Row(NoContent::GoesBack))?;
        Ok(Self {
            body: Arc::default(),
            digest: row.head.digest,
            needs: BTreeSet::new(),
            succeeds: BTreeSet::new(),
            kept: Some(Keeps { good: None, cause: staged.cause.clone(), back: Some(back) }),
            decoded: None,
        })
    }

    /// What is kept of it, where anything is.
    pub(super) fn kept(&self) -> Option<&Keeps> {
        self.kept.as_ref()
    }

    /// The row whose content is kept: its own, or that which it goes back to.
    fn kept_row(&self) -> Digest {
        self.back().map_or(self.digest, |back| back.to)
    }

    fn back(&self) -> Option<&GoBack> {
        self.kept.as_ref()?.back.as_ref()
    }

    /// As its maker has written it.
    pub(super) fn body(&self) -> &Arc<[u8]> {
        &self.body
    }

    /// This is the content that it goes back to.
    fn restore(&mut self, body: &[u8], profile: &ProfileId) -> Result<(), String> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let mut desired: Desired = serde_json::from_slice(body).map_err(|error| error.to_string())?;
        if desired.profile() != *profile || desired.cause != *kept.cause {
            return Err(format!("it is of {} because of {}", desired.profile(), desired.cause));
        }
        if let Some(back) = &kept.back {
            desired.allow_prune.clone_from(&back.allow_prune);
            desired.redeploy.clone_from(&back.redeploy);
        }
        // Its maker waits for what becomes of the row that goes back.
        desired.staged = true;
        self.needs = prerequisites(profile, desired.spec.get("dependsOn"));
        self.succeeds.clone_from(&desired.succeeds);
        self.body = json::bytes(&desired).into();
        self.decoded = Some(Arc::new(desired));
        Ok(())
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

    /// The row of which the content is to be read before anything can be done.
    pub(super) fn lacks(&self) -> Option<Digest> {
        let Self::Value(goal) = self else { return None };
        goal.back().filter(|_| goal.body.is_empty()).map(|back| back.to)
    }

    /// This is that content.
    ///
    /// # Errors
    /// Why it cannot be.
    pub(super) fn restore(&mut self, body: &[u8], profile: &ProfileId) -> Result<(), String> {
        if let Self::Value(goal) = self { goal.restore(body, profile) } else { Ok(()) }
    }

    /// Whether contents are to be kept on the cluster.
    pub(super) fn keeps(&self) -> bool {
        matches!(self, Self::Value(goal) if goal.kept.is_some())
    }

    /// The row whose content is kept.
    pub(super) fn kept_row(&self) -> Option<Digest> {
        if let Self::Value(goal) = self { Some(goal.kept_row()) } else { None }
    }

    /// Why the row exists that goes back.
    pub(crate) fn goes_back_because_of(&self) -> Option<&Cause> {
        let Self::Value(goal) = self else { return None };
        goal.kept.as_ref().filter(|kept| kept.back.is_some()).map(|kept| &*kept.cause)
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
