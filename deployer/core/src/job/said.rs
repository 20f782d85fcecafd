//! What others ask of a job: how it went, and what it owns.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_protocol::rows::{Cause, Desired};

use super::Job;
use crate::inventory::Inventory;

impl Job {
    /// The errors of the last run, those that follow from others last, and what cannot be read of the row that it follows.
    pub(crate) fn errors(&self) -> Vec<String> {
        let faults = |follows| self.run.errors.values().filter(move |fault| fault.follows == follows);
        let texts = faults(false).chain(faults(true)).map(|fault| fault.text.clone());
        texts.chain(self.makers.unreadable.get(&self.origin).map(ToString::to_string)).collect()
    }

    /// The errors of the last run, by what they are about.
    pub(crate) fn errors_by_object(&self) -> BTreeMap<String, String> {
        self.run.errors.iter().map(|(about, fault)| (about.clone(), fault.text.clone())).collect()
    }

    /// The same, and what cannot be read of the rows of those who wait.
    pub(crate) fn all_errors(&self) -> Vec<String> {
        let waiting = self.makers.unreadable.iter().filter(|(origin, _)| **origin != self.origin);
        self.errors().into_iter().chain(waiting.map(|(_, error)| error.to_string())).collect()
    }

    /// Whether this many attempts in a row failed, all for reasons that lie in the server's state.
    pub(crate) fn is_held_up(&self, attempts: u32) -> bool {
        self.attempts.failed <= attempts
            && self.makers.unreadable.is_empty()
            && self.run.errors.values().all(|fault| fault.transient)
    }

    /// Whether it waits for kinds that its definitions make.
    pub(crate) fn waits_for_kinds(&self) -> bool {
        self.waits_since.is_some()
    }

    /// Whether something is wrong with it.
    pub(crate) fn has_errors(&self) -> bool {
        !self.run.errors.is_empty()
    }

    /// Attempts in a row that failed.
    pub(crate) fn failures(&self) -> u32 {
        self.attempts.failed
    }

    /// When something of it was applied last, as far as that is known: what a former owner has done is as old as its cause.
    pub(crate) fn shown_time(&self) -> i64 {
        if self.applied_at > 0 { self.applied_at } else { self.time }
    }

    /// What it owns, to be looked at elsewhere.
    pub(crate) fn owned(&self) -> Option<Arc<Inventory>> {
        self.inventory_state.stored.as_ref().map(|held| held.inventory.clone())
    }

    /// The inventory in the cluster, as far as it is known.
    pub(crate) fn inventory(&self) -> Option<&Inventory> {
        self.inventory_state.stored.as_ref().map(|held| &*held.inventory)
    }

    /// Why it is there: because of what its row wants, of the row itself where that goes back, or of what its inventory says.
    pub(crate) fn cause(&self, desired: Option<&Desired>) -> Option<Cause> {
        let wanted = desired.map(|desired| &desired.cause).or_else(|| self.target.goes_back_because_of());
        wanted.or_else(|| self.inventory().map(|inventory| &inventory.cause)).cloned()
    }
}
