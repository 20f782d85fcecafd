//! Before anything is done in a cluster: its inventories are read, and what they name many of is listed.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use sluice_api::{Gvk, ObjectKey, ProfileId};

use super::reachability::Reachability;
use super::{Cluster, Outcome};
use crate::budget::{backoff, micros};
use crate::inventory::Stored;
use crate::job::Job;
use crate::request::{Failure, Live, Reply, Request};

/// Pause before a cluster whose inventories cannot be read is asked again.
const FIRST_REOPEN: Duration = Duration::from_millis(250);
const LONGEST_REOPEN: Duration = Duration::from_secs(10);
// D-1012: after a takeover, kinds with many objects are listed.
/// Objects of a kind that inventories name, from which on they are listed and not read one by one.
const MANY: usize = 3;

impl Cluster {
    pub(super) fn opened(&mut self, reply: Reply, now: i64, outcome: &mut Outcome) {
        match reply {
            Reply::Inventories(_) if self.asks_again => {
                self.reachability = Reachability::OpenAt(now);
                outcome.wake(now);
            }
            Reply::Inventories(inventories) => {
                self.reopen_failures = 0;
                outcome.trouble = Some(None);
                outcome.opened = true;
                inventories.iter().for_each(|stored| self.note_kinds(&stored.inventory, outcome));
                self.hold(inventories);
                self.look(now, outcome);
            }
            other => {
                self.reopen_failures += 1;
                let at = now + micros(backoff(self.reopen_failures, FIRST_REOPEN, LONGEST_REOPEN));
                self.reachability = Reachability::OpenAt(at);
                outcome.wake(at);
                // Who does not answer may do so the next time; who refuses says why at once.
                let is_patient = |failure: &Failure| {
                    failure.class.is_transient() && self.reopen_failures < self.guard.threshold()
                };
                if let Reply::Failed(failure) = other
                    && !is_patient(&failure)
                {
                    outcome.trouble = Some(Some(format!(
                        "its inventories cannot be read: {}; it is tried again",
                        failure.message
                    )));
                }
            }
        }
    }

    /// What inventories name many of is listed before the work begins. Where there is work already, a list could tell of
    /// what was before it.
    fn look(&mut self, now: i64, outcome: &mut Outcome) {
        let mut kinds = BTreeMap::<&Gvk, usize>::new();
        for inventory in self.jobs.values().filter_map(|job| job.inventory()) {
            inventory.objects.iter().for_each(|key| *kinds.entry(&key.gvk).or_default() += 1);
        }
        let many = kinds.into_iter().filter(|(_, count)| *count >= MANY).map(|(gvk, _)| gvk.clone());
        let lists: Vec<_> = many.filter(|_| self.calls.is_quiet() && self.live.is_empty()).collect();
        if lists.is_empty() {
            return self.open(now, outcome);
        }
        self.reachability = Reachability::Looking(lists.len());
        lists.into_iter().for_each(|gvk| self.calls.push(Request::List(gvk), None));
    }

    /// A list came, or cannot be had: what it does not tell is read one by one. One that nobody waits for any more, as
    /// everything is compared anew, may be older than what has been done since.
    pub(super) fn listed(&mut self, reply: Reply, now: i64, outcome: &mut Outcome) {
        let Reachability::Looking(left) = self.reachability else { return };
        if let Reply::Listed(objects) = reply {
            let own =
                objects.into_iter().filter_map(|(key, live)| Some((self.of_its_owner(&key, &live)?, live)));
            let own: Vec<_> = own.collect();
            own.into_iter().for_each(|(key, live)| self.live.insert(key, live));
        }
        if left > 1 {
            self.reachability = Reachability::Looking(left - 1);
        } else {
            self.open(now, outcome);
        }
    }

    /// The object's key in the inventory of the profile that it names, if it is in that.
    fn of_its_owner(&self, key: &ObjectKey, live: &Live) -> Option<Arc<ObjectKey>> {
        let owner = live.owner.as_ref().filter(|_| !live.going)?;
        let inventory = self.jobs.get(&ProfileId::of_path(&owner.name))?.inventory()?;
        inventory.objects.get(key).cloned()
    }

    fn open(&mut self, now: i64, outcome: &mut Outcome) {
        self.reachability = Reachability::Open;
        self.begin_all(now, outcome);
    }

    fn hold(&mut self, inventories: Vec<Stored>) {
        let mut found: BTreeMap<_, _> =
            inventories.into_iter().map(|stored| (stored.inventory.id(), stored)).collect();
        for (profile, job) in &mut self.jobs {
            job.hold(found.remove(profile), self.ended.contains(profile), &mut self.claims);
        }
        // What ended since the list was asked for may be in it all the same: its own calls were answered later.
        found.retain(|profile, _| !self.ended.contains(profile));
        for (profile, stored) in found {
            let mut job = Job::new(&profile, stored.inventory.cause.origin(self.shards));
            job.hold(Some(stored), false, &mut self.claims);
            self.jobs.insert(profile, job.into());
        }
        for profile in self.jobs.keys().cloned().collect::<Vec<_>>() {
            self.note_needs(&profile);
        }
    }
}
