//! Reserving and applying: what a profile should have comes to be.

use std::sync::Arc;

use sluice_api::ObjectKey;
use sluice_api::model::CheckPoint;
use sluice_protocol::rows::Desired;

use super::{Ended, Job, JobContext, Knowledge, Phase, checked};
use crate::inventory::Inventory;
use crate::prepare::Prepared;
use crate::releases;
use crate::reload::says;
use crate::request::{Live, OwningProfile, Request};

impl Job {
    /// What will be created is written into the inventory first: a crash must not leave an unknown object. Meanwhile what it had
    /// is read.
    pub(super) fn reserve(&mut self, desired: &Desired, context: &mut JobContext<'_>) -> Ended {
        let mut inventory = Inventory {
            profile: self.profile.name.clone(),
            owner_kind: self.profile.kind().to_owned(),
            owner_namespace: self.profile.namespace.clone(),
            cause: desired.cause.clone(),
            leave: desired.leave,
            depends_on: self.needs().cloned().unwrap_or_default(),
            checks: checked::of_removal(desired),
            complete: false,
            keeps: self.keeps() || self.inventory().is_some_and(|known| known.keeps),
            redeployed: self.inventory().map(|known| known.redeployed.clone()).unwrap_or_default(),
            renewed: self.inventory().map_or(0, |known| known.renewed),
            releases: self.inventory().map(|known| known.releases.clone()).unwrap_or_default(),
            objects: self.run.objects.keys().map(|key| self.shared(key)).collect(),
            formerly: self.inventory().map(|known| known.formerly.clone()).unwrap_or_default(),
            adopted: self.run.adopted.clone(),
            fields: Vec::new(),
            reloads: self.reloads_to_reserve(),
            stay: Some(self.run.staying_objects()),
        };
        inventory.releases.extend(self.run.releases.clone());
        let former = self.inventory();
        inventory.objects.extend(former.iter().flat_map(|known| known.objects.iter().cloned()));
        // What said so when it was rendered last, too: until it is there as it is rendered now.
        let stay = former.iter().flat_map(|known| known.stay.iter().flatten().cloned());
        inventory.stay.iter_mut().for_each(|all| all.extend(stay.clone()));
        inventory.fields = self.fields_of(inventory.objects.iter());
        if std::mem::take(&mut self.inventory_state.renew) {
            inventory.renewed += 1;
        }
        if self.inventory() == Some(&inventory) {
            return self.apply(context);
        }
        self.phase = Phase::Reserving;
        let unknown = self.run.objects.keys().filter(|key| !context.live.contains_key(key)).cloned();
        let listed = |key: &ObjectKey| self.inventory().is_some_and(|known| known.objects.contains(key));
        let (known, new): (Vec<_>, Vec<_>) = unknown.partition(listed);
        self.write(inventory, context);
        for key in known {
            self.call(Request::Read(key), context);
        }
        // What it has never had is nearly always absent. Where it is not the server does not create it, and it is read then.
        self.run.absent.extend(new);
        Ended::NotYet
    }

    pub(super) fn write(&mut self, inventory: Inventory, context: &mut JobContext<'_>) {
        let inventory = Arc::new(inventory);
        let against = self.inventory_state.write(inventory.clone());
        self.call(Request::WriteInventory { inventory, against }, context);
    }

    pub(super) fn apply(&mut self, context: &mut JobContext<'_>) -> Ended {
        self.phase = Phase::Applying;
        for one in self.run.objects.values() {
            self.run.lanes.add(one.turn, one.key.clone());
        }
        self.advance(context)
    }

    /// The next call for one object, if it needs one.
    pub(super) fn next_for(&mut self, key: &ObjectKey, context: &mut JobContext<'_>) {
        let Some(one) = self.run.objects.get(key).cloned() else { return };
        if self.run.errors.get(&key.to_string()).is_some_and(|fault| !fault.is_fight) {
            return;
        }
        let has_drifted = self.has_drifted(key, context);
        if self.is_left_alone(key, context) || self.holds_back(key, context) {
            return;
        }
        let mark = self.mark_of(key, context.live.get(key));
        if let (Some(brought), Some(live)) = (one.brought, context.live.get(key)) {
            let live = live.clone();
            if self.is_brought(key, brought, &one.hash, &live, context) {
                return;
            }
        }
        let against = match context.live.get(key) {
            None if !self.run.absent.remove(key) => return self.call(Request::Read(key.clone()), context),
            // A late call may be about to delete the inventory, or to take this object out of it, or has done so since it was
            // read. What somebody else has comes to be this profile's as what is absent does.
            found
                if found.is_none_or(|live| !self.has(key, live, context))
                    && self.inventory_state.knowledge != Knowledge::Written
                    && (self.run.early || context.late.may_come(context.now)) =>
            {
                (self.inventory_state.renew, self.again) = (true, true);
                return;
            }
            None => None,
            Some(live)
                if self.has(key, live, context)
                    && ((self.is_as_wanted(live, &one) && says(live, key, mark.as_deref()))
                        || self.is_adopted(live, &one))
                    && !(self.owns(live)
                        && (self.redeploy.is_due(key) || (has_drifted && !self.is_adopted(live, &one)))) =>
            {
                return;
            }
            Some(live) => Some(live.version()),
        };
        if self.is_gated(CheckPoint::PreDeploy, one.turn.lane, key, context) {
            if against.is_none() {
                self.run.absent.insert(key.clone());
            }
            return;
        }
        self.run.changed = true;
        let one = self.with_mark(one, mark.as_deref(), context.live.get(key));
        let (excluded, watched) = (self.excluded_of(&one), self.watches_drift());
        let Prepared { object, subresources, make_namespace, .. } = one;
        let account = self.account();
        self.call(
            Request::Apply { object, against, subresources, make_namespace, excluded, watched, account },
            context,
        );
    }

    /// Whether it has the object, alone or together with the profile that is named on it.
    fn has(&self, key: &ObjectKey, live: &Live, context: &JobContext<'_>) -> bool {
        let shares = |owner: &OwningProfile| context.claims.shares(key, &self.profile, owner);
        self.owns(live) || live.owner.as_deref().is_some_and(shares)
    }

    /// Whether the object has the content that is wanted, and, where it is this profile's, says of it what is true now: the
    /// tiers that others decide by among it. What was taken over may go on naming it as it was called before.
    fn is_as_wanted(&self, live: &Live, one: &Prepared) -> bool {
        if live.hash.as_deref() != Some(&one.hash) {
            return false;
        }
        let wanted = Live::of(&one.object).owner;
        match (&live.owner, &wanted) {
            (Some(owner), Some(wanted)) if self.is_former(owner) => {
                (owner.tier, owner.reference_tier) == (wanted.tier, wanted.reference_tier)
            }
            _ => !self.owns(live) || live.owner == wanted,
        }
    }

    /// Whether Helm has made it, in a release that is wanted as it was then. Values that the chart draws at random would be others.
    pub(super) fn is_adopted(&self, live: &Live, one: &Prepared) -> bool {
        if self.run.adopted.is_empty() || !self.owns(live) {
            return false;
        }
        let owner = Live::of(&one.object).owner.unwrap_or_default();
        releases::path_of_error(&owner.reference).is_some_and(|path| self.run.adopted.contains_key(path))
    }

    /// Whether it is this profile's: it says so, or it has been taken over as it was and nobody has written to it since.
    pub(super) fn owns(&self, live: &Live) -> bool {
        match (&live.owner, &live.installed_by) {
            (Some(owner), _) => owner.is(&self.profile) || self.is_former(owner),
            (None, Some(release)) => {
                self.inventory().is_some_and(|known| known.releases.contains_key(&**release))
            }
            (None, None) => false,
        }
    }

    // D-1049: what was taken over is known by its former names.
    /// Whether that is what the profile was called where it was taken over from.
    fn is_former(&self, owner: &OwningProfile) -> bool {
        let formerly = self.inventory().map(|known| known.formerly.as_str()).unwrap_or_default();
        !formerly.is_empty() && owner.name == formerly && owner.kind == self.profile.kind()
    }
}
