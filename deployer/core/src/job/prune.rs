//! Pruning and recording: what a profile has too much goes, and the inventory says what is left.

// D-1025: an object that is to be kept is never deleted.

// D-1008: only what carries the profile's mark is deleted.

use sluice_api::ObjectKey;
use sluice_api::model::CheckPoint;

use super::{Ended, Job, JobContext, Phase, Target};
use crate::order::{Lane, Wave};
use crate::prepare::DEFINITION;
use crate::releases;
use crate::request::{Live, Request};

impl Job {
    pub(super) fn prune(&mut self, context: &mut JobContext<'_>) -> Ended {
        self.let_go(context);
        if let Some(at) = self.patience(context) {
            return self.wait_until(at, context);
        }
        self.phase = Phase::Pruning { wave: None };
        let unknown = |key: &&ObjectKey| !context.live.contains_key(key) && !self.run.absent.contains(*key);
        for key in self.stale().filter(unknown).cloned().collect::<Vec<_>>() {
            self.call(Request::Read(key), context);
        }
        self.advance(context)
    }

    /// What goes next: what was applied last goes first, so that what is in a namespace, or of a kind, goes before that.
    pub(super) fn next_wave(&self, after: Option<Wave>) -> Option<Wave> {
        let waves = self.stale().map(|key| Wave::of(&key.gvk));
        waves.filter(|wave| after.is_none_or(|after| *wave < after)).max()
    }

    pub(super) fn prune_wave(&mut self, wave: Wave, context: &mut JobContext<'_>) -> Ended {
        self.phase = Phase::Pruning { wave: Some(wave) };
        let goes = |key: &&ObjectKey| Wave::of(&key.gvk) == wave && !self.run.absent.contains(*key);
        for key in self.stale().filter(goes).cloned().collect::<Vec<_>>() {
            self.next_prune(&key, context);
        }
        self.advance(context)
    }

    /// What its inventory names and it does not want.
    pub(super) fn stale(&self) -> impl Iterator<Item = &ObjectKey> {
        let owned = self.inventory().into_iter().flat_map(|inventory| &inventory.objects);
        owned.map(AsRef::as_ref).filter(|key| !self.run.objects.contains_key(*key))
    }

    /// Ends without deleting what it has too much: another profile may want that and not have said so yet.
    pub(super) fn defer(&mut self, context: &mut JobContext<'_>) -> Ended {
        let too_much = self.stale().next().is_some();
        let ended = self.settle(context);
        self.defers = too_much;
        ended
    }

    /// Whether what it owns stays when it goes.
    fn leaves(&self) -> bool {
        matches!(self.target, Target::Gone(_)) && self.inventory().is_some_and(|inventory| inventory.leave)
    }

    /// Deletes what this profile owns and nothing else: the live object must still say so. What stays is taken from
    /// nobody from now on: without the marks of its owner another profile, or a user, can have it. All of it is the deployer's to
    /// take away, with its own rights: those of the tenant may have gone, and those of a later one say nothing of it.
    pub(super) fn next_prune(&mut self, key: &ObjectKey, context: &mut JobContext<'_>) {
        let Some(live) = context.live.get(key).cloned() else {
            return self.call(Request::Read(key.clone()), context);
        };
        if !self.owns(&live) {
            if self.is_last_of_brought(key, &live, context) {
                self.release(key, &live, context);
            }
            return;
        }
        if let Some(heir) = context.claims.heir(key, &self.profile).cloned() {
            return self.hand_over(key, &heir, context);
        }
        if self.waits_for_heir(&live, context) {
            return;
        }
        if self.leaves() {
            return self.release(key, &live, context);
        }
        if self.stays(key, &live, context) {
            self.run.staying.insert(key.clone());
            return self.release(key, &live, context);
        }
        if matches!(self.target, Target::Gone(_))
            && self.is_gated(CheckPoint::PreDelete, Lane::of_live(&live), key, context)
        {
            return;
        }
        let (key, against) = (key.clone(), live.version());
        self.run.changed = true;
        self.call(Request::Delete { key, against, account: None }, context);
    }

    fn release(&mut self, key: &ObjectKey, live: &Live, context: &mut JobContext<'_>) {
        let (key, against) = (key.clone(), live.version());
        self.run.changed = true;
        self.call(Request::Release { key, against, account: None }, context);
    }

    /// Whether an object is never deleted: it says so, or said so when it was rendered last, or holds something that stays. What
    /// charts bring along had an owner in former versions, and cannot be told there from other definitions of charts.
    pub(super) fn stays(&self, key: &ObjectKey, live: &Live, context: &JobContext<'_>) -> bool {
        let Some(inventory) = self.inventory() else { return false };
        let stay = inventory.stay.as_ref();
        let of_chart =
            || live.owner.as_ref().is_some_and(|owner| owner.reference.starts_with(releases::CHART));
        let is_named = |key: &ObjectKey| stay.is_some_and(|stay| stay.contains(key));
        let in_it = |other: &&ObjectKey| {
            holds(key, other) && context.live.get(other).is_some_and(|live| live.keeps || is_named(other))
        };
        live.keeps
            || is_named(key)
            || (stay.is_none() && key.gvk.kind == DEFINITION && of_chart())
            || (holds_others(key)
                && self
                    .stale()
                    .any(|other| in_it(&other) || self.left_behind.iter().any(|left| holds(key, left))))
    }

    /// Whether it is a definition that charts brought along, and no other one is left that does.
    fn is_last_of_brought(&self, key: &ObjectKey, live: &Live, context: &JobContext<'_>) -> bool {
        let stay = self.inventory().and_then(|inventory| inventory.stay.as_ref());
        let is_brought = key.gvk.kind == DEFINITION && stay.is_some_and(|stay| stay.contains(key));
        is_brought
            && live.owner.is_none()
            && live.hash.is_some()
            && context.claims.heir(&releases::brought_key(key), &self.profile).is_none()
    }

    pub(super) fn record(&mut self, context: &mut JobContext<'_>) -> Ended {
        self.unclaim(context);
        let Some(held) = self.inventory_state.stored.clone() else { return self.settle(context) };
        let gone = matches!(self.target, Target::Gone(_));
        // What was called before this owner may come yet, and create what is absent, or put this profile's marks on what is
        // another's: both stay in the inventory, and everything is compared once more when that is over.
        let late = |key: &ObjectKey| context.late.may_create(key, context.now);
        let may_come =
            |key: &ObjectKey| self.run.absent.contains(key) || context.live.contains_key(key) || late(key);
        let unwanted = |key: &&ObjectKey| !self.run.objects.contains_key(*key);
        let mut unwanted = held.inventory.objects.iter().map(AsRef::as_ref).filter(unwanted);
        if context.late.may_come(context.now) && unwanted.any(may_come) {
            self.phase = Phase::Idle;
            return if gone { Ended::NotYet } else { self.settle(context) };
        }
        // What it has looked at may be older than a call that came since.
        if self.run.early && unwanted.next().is_some() {
            return self.begin(context);
        }
        if gone {
            if let Some(ended) = self.wait_for_removal_checks(context) {
                return ended;
            }
            self.phase = Phase::Recording;
            let (profile, against) = (self.profile.clone(), held.version.clone());
            self.call(Request::DeleteInventory { profile, against }, context);
            return Ended::NotYet;
        }
        let complete = self.target.decoded().is_some_and(|desired| desired.one_time);
        let stay = Some(self.run.staying_objects());
        let reloads = self.reloads_to_record(context);
        let keeps = self.keeps();
        let same = held.inventory.objects.iter().map(AsRef::as_ref).eq(self.run.objects.keys())
            && held.inventory.stay == stay
            && held.inventory.releases == self.run.releases
            && held.inventory.keeps == keeps
            && held.inventory.adopted == self.run.adopted
            && held.inventory.reloads == reloads
            && held.inventory.fields == self.fields_of(held.inventory.objects.iter());
        if same && held.inventory.complete == complete && !self.redeploy.is_asked() {
            return self.settle(context);
        }
        let mut inventory = (*held.inventory).clone();
        (inventory.complete, inventory.keeps) = (complete, keeps);
        inventory.redeployed = self.redeploy.to_record().cloned().unwrap_or(inventory.redeployed);
        inventory.objects = self.run.objects.keys().map(|key| self.shared(key)).collect();
        inventory.fields = self.fields_of(inventory.objects.iter());
        inventory.stay = stay;
        inventory.reloads = reloads;
        inventory.releases.clone_from(&self.run.releases);
        inventory.adopted.clone_from(&self.run.adopted);
        self.phase = Phase::Recording;
        self.write(inventory, context);
        Ended::NotYet
    }
}

/// Whether other objects may be in it, which go with it.
pub(super) fn holds_others(key: &ObjectKey) -> bool {
    matches!(
        (key.gvk.group.as_str(), key.gvk.kind.as_str()),
        ("", "Namespace") | ("apiextensions.k8s.io", DEFINITION)
    )
}

/// Whether the other one would go with it.
fn holds(key: &ObjectKey, other: &ObjectKey) -> bool {
    if key.gvk.kind == DEFINITION {
        let group = key.name.split_once('.').map(|(_, group)| group);
        return group == Some(other.gvk.group.as_str());
    }
    !other.namespace.is_empty() && key.name == other.namespace
}
