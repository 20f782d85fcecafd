//! One run of a job, from its beginning to its end or to the next beginning.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use sluice_api::ObjectKey;

use super::lanes::Lanes;
use super::replies::Fault;
use crate::order::Lane;
use crate::prepare::Prepared;
use crate::releases::Releases;
use crate::reload::Reload;
use crate::request::Failure;

#[derive(Debug, Default)]
pub(super) struct Run {
    /// Whether it began while calls could arrive that were made before this owner.
    pub(super) early: bool,
    /// Whether anything was changed in the cluster, in this run or in those that it replaces.
    pub(super) changed: bool,
    /// Whether all that it should have could be read.
    pub(super) is_whole: bool,
    /// What there should be, as far as the profile can have it.
    pub(super) objects: BTreeMap<ObjectKey, Prepared>,
    /// The releases of charts that it has.
    pub(super) releases: Releases,
    /// Those of them that are as Helm had installed them when they were taken over.
    pub(super) adopted: Releases,
    /// Objects that were just seen to be absent.
    pub(super) absent: BTreeSet<ObjectKey>,
    /// What is left behind because it says that it stays.
    pub(super) staying: BTreeSet<ObjectKey>,
    /// What was deleted to be made anew.
    pub(super) remade: BTreeSet<ObjectKey>,
    /// How far each lane has come.
    pub(super) lanes: Lanes,
    /// Definitions that the server was asked about, as their kinds were not there yet.
    pub(super) looked_at: BTreeSet<ObjectKey>,
    /// Objects of a kind that comes with them and that the server does not know yet, and what it said.
    pub(super) too_early: BTreeMap<ObjectKey, String>,
    /// What the inventory says of workloads, those that are to be restarted among them.
    pub(super) reloads: BTreeMap<String, Reload>,
    /// Objects that wait for what checks say, or for what their pods read.
    pub(super) gated: BTreeSet<ObjectKey>,
    /// Lanes in which nothing more is done, as checks fail.
    pub(super) shut: BTreeSet<Lane>,
    /// What the server says would go along with what is to be deleted, and is not of this profile.
    pub(super) along: BTreeMap<ObjectKey, Result<Option<Box<str>>, Failure>>,
    /// How often each object had changed when it was to be written.
    pub(super) conflicts: HashMap<ObjectKey, u32>,
    /// What is wrong, by object.
    pub(super) errors: BTreeMap<String, Fault>,
}

impl Run {
    /// Begins anew.
    pub(super) fn begin(&mut self, early: bool) {
        *self = Self { early, changed: self.changed, ..Self::default() };
    }

    /// What of its objects is never deleted.
    pub(super) fn staying_objects(&self) -> BTreeSet<ObjectKey> {
        let stay = self.objects.values().filter(|one| one.keeps || one.brought.is_some());
        stay.map(|one| one.key.clone()).collect()
    }

    /// Ends: whether anything was changed. Objects are prepared again when there is more to do; a fleet of profiles at rest
    /// is small.
    pub(super) fn end(&mut self) -> bool {
        self.rest();
        std::mem::take(&mut self.changed)
    }

    /// Nothing is done for a while.
    pub(super) fn rest(&mut self) {
        (self.objects, self.releases, self.adopted, self.absent, self.lanes) = Default::default();
        (self.reloads, self.gated, self.shut) = Default::default();
    }
}
