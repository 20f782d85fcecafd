//! Pruning and recording: what a profile has too much goes, and the inventory says what is left.

use sluice_api::{ObjectKey, ProfileId};

use super::replies::Fault;
use super::{Ended, HANDED_OVER, Job, JobContext, Phase, Target};
use crate::releases;
use crate::request::Request;

impl Job {
    pub(super) fn prune(&mut self, context: &mut JobContext<'_>) -> Ended {
        self.phase = Phase::Pruning;
        let owned = self.inventory().into_iter().flat_map(|inventory| inventory.objects.iter());
        let stale: Vec<_> = owned.filter(|key| !self.run.objects.contains_key(*key)).cloned().collect();
        for key in stale {
            self.next_prune(&key, context);
        }
        self.advance(context)
    }

    /// Ends without deleting what it has too much: another profile may want that and not have said so yet.
    pub(super) fn put_off(&mut self, now: i64) -> Ended {
        let mut owned = self.inventory().into_iter().flat_map(|inventory| &inventory.objects);
        let too_much = owned.any(|key| !self.run.objects.contains_key(key));
        let ended = self.settle(now);
        self.puts_off = too_much;
        ended
    }

    /// Whether what it owns stays when it goes.
    fn leaves(&self) -> bool {
        matches!(self.target, Target::Gone) && self.inventory().is_some_and(|inventory| inventory.leave)
    }

    /// Deletes what this profile owns and nothing else: the live object must still say so. What stays is taken from
    /// nobody from now on: without the marks of its owner another profile, or a user, can have it.
    pub(super) fn next_prune(&mut self, key: &ObjectKey, context: &mut JobContext<'_>) {
        match context.live.get(key) {
            None => self.call(Request::Read(key.clone()), context),
            Some(live) if self.owns(live) => {
                if let Some(heir) = context.claims.heir(key, &self.profile).cloned() {
                    return self.hand_over(key, &heir, context);
                }
                let (key, against) = (key.clone(), live.version());
                self.run.changed = true;
                let account = self.account();
                let request = if self.leaves() {
                    Request::Release { key, against, account }
                } else {
                    Request::Delete { key, against, account }
                };
                self.call(request, context);
            }
            Some(_) => {}
        }
    }

    /// What it has too much stays while its replacement fails; but nobody else waits for that.
    pub(super) fn give(&mut self, context: &mut JobContext<'_>) {
        // Of what cannot be read nobody knows which objects it is about.
        if !self.run.is_whole {
            return;
        }
        let Some(owned) = self.inventory() else { return };
        let objects = owned.objects.iter().filter(|key| !self.run.objects.contains_key(*key)).cloned();
        let releases = owned.releases.keys().filter(|path| !self.run.releases.contains_key(*path));
        for key in objects.chain(releases.map(|path| releases::key(path))) {
            if context.claims.give(&key, &self.profile) {
                context.live.remove(&key);
            }
        }
    }

    /// Somebody else wants the same object: it goes on in that name before this profile's inventory forgets it.
    fn hand_over(&mut self, key: &ObjectKey, heir: &ProfileId, context: &mut JobContext<'_>) {
        let text = format!("{key} waits until {heir} has taken it over");
        // That it has lost the object is said beside it.
        self.run.errors.insert(format!("{key}{HANDED_OVER}"), Fault::new(text, true));
        context.live.remove(key);
        context.claims.hand_over(key, &self.profile, heir);
    }

    pub(super) fn record(&mut self, context: &mut JobContext<'_>) -> Ended {
        self.unclaim(context);
        let Some(held) = &self.held.stored else { return self.settle(context.now) };
        let gone = matches!(self.target, Target::Gone);
        // What was called before this owner may come yet, and create what is absent, or put this profile's marks on what is
        // another's: both stay in the inventory, and everything is compared once more when that is over.
        let late = |key: &ObjectKey| context.late.may_create(key, context.now);
        let may_come =
            |key: &ObjectKey| self.run.absent.contains(key) || context.live.contains_key(key) || late(key);
        let unwanted = |key: &&ObjectKey| !self.run.objects.contains_key(*key);
        let mut unwanted = held.inventory.objects.iter().filter(unwanted);
        if context.late.may_come(context.now) && unwanted.any(may_come) {
            self.phase = Phase::Idle;
            return if gone { Ended::NotYet } else { self.settle(context.now) };
        }
        // What it has looked at may be older than a call that came since.
        if self.run.early && unwanted.next().is_some() {
            return self.begin(context);
        }
        if gone {
            self.phase = Phase::Recording;
            let (profile, against) = (self.profile.clone(), held.version.clone());
            self.call(Request::DeleteInventory { profile, against }, context);
            return Ended::NotYet;
        }
        let complete = self.target.decoded().is_some_and(|desired| desired.one_time);
        let same = held.inventory.objects.iter().eq(self.run.objects.keys())
            && held.inventory.releases == self.run.releases;
        if same && held.inventory.complete == complete && !self.anew.is_asked() {
            return self.settle(context.now);
        }
        let mut inventory = (*held.inventory).clone();
        inventory.complete = complete;
        inventory.redeployed = self.anew.to_record().cloned().unwrap_or(inventory.redeployed);
        inventory.objects = self.run.objects.keys().cloned().collect();
        inventory.releases.clone_from(&self.run.releases);
        self.phase = Phase::Recording;
        self.write(inventory, context);
        Ended::NotYet
    }
}
