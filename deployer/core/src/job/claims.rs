//! Which of the objects that a profile wants it can have.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_api::{Digest, ObjectKey};
use sluice_protocol::rows::{Desired, Policy};

use super::lanes::Snag;
use super::replies::Fault;
use super::{Job, JobContext};
use crate::claims::{Denied, Proof, Want};
use crate::conflict::{conflict, owned_by, release_conflict};
use crate::prepare::Prepared;
use crate::releases;
use crate::request::{Live, OwningProfile};

impl Job {
    /// It wants all of these.
    pub(super) fn claim_all(
        &mut self,
        desired: &Desired,
        prepared: impl Iterator<Item = Prepared>,
        context: &mut JobContext<'_>,
    ) {
        prepared.for_each(|one| self.claim(desired, one, context));
        self.look_at_workloads(context);
    }

    /// It wants an object; who has it already is named otherwise.
    fn claim(&mut self, desired: &Desired, one: Prepared, context: &mut JobContext<'_>) {
        if one.brought.is_some() {
            return self.bring(one, context);
        }
        let owner = Live::of(&one.object).owner.unwrap_or_default();
        // What is deployed once is never written again, so that nobody could leave it to that profile.
        let alone = if desired.one_time { self.profile.path() } else { String::new() };
        let want = Want {
            tier: desired.tier,
            content: Digest::of(&[one.hash.as_bytes(), owner.reference.as_bytes(), alone.as_bytes()]),
            listed: self.inventory().is_some_and(|inventory| inventory.objects.contains(&one.key)),
            unable: false,
            account: self.tenant.clone(),
            proof: self.proof(&one.key),
        };
        let key = self.shared(&one.key);
        self.claimed.insert(key.clone());
        match context.claims.claim(&key, &self.profile, want) {
            Ok(()) => drop(self.run.objects.insert(one.key.clone(), one)),
            Err(Denied { by, provable }) => {
                let mut text = conflict(&one.key, &by.to_string(), "another row of this deployer");
                if provable {
                    text.extend(self.proves.refusal(&one.key));
                    self.proves.want(one.key.clone(), one.object.clone());
                }
                self.run.lanes.snag(one.turn.lane, one.turn.reference, Snag::lost());
                self.run.errors.insert(one.key.to_string(), Fault::lost(text));
            }
        }
    }

    /// A chart brings a definition along, as others may: nobody has it alone.
    fn bring(&mut self, one: Prepared, context: &mut JobContext<'_>) {
        let key = Arc::new(releases::brought_key(&one.key));
        let want = Want {
            tier: 0,
            content: Digest::default(),
            listed: true,
            unable: false,
            account: None,
            proof: Proof::Given,
        };
        if context.claims.claim(&key, &self.profile, want).is_ok() {
            self.claimed.insert(key);
            self.run.objects.insert(one.key.clone(), one);
        }
    }

    /// It wants releases of charts. Of one that another profile has it gets no object: two would undo what each other does.
    pub(super) fn claim_releases(&mut self, desired: &Desired, context: &mut JobContext<'_>) {
        for policy in releases::charts(desired) {
            let path = releases::path(policy);
            let key = Arc::new(self.release_key(&path));
            let want = Want {
                tier: desired.tier,
                content: Digest::of(&[self.profile.path().as_bytes()]),
                listed: self.inventory().is_some_and(|inventory| inventory.releases.contains_key(&path)),
                unable: self.unable.contains_key(&path),
                account: self.tenant.clone(),
                proof: Proof::Given,
            };
            self.claimed.insert(key.clone());
            match context.claims.claim_release(&key, &self.profile, want) {
                Ok(()) => self.have_release(path, policy),
                Err(Denied { by, .. }) => {
                    let text = release_conflict(&path, &by.to_string(), self.unable.get(&path));
                    self.run.errors.insert(releases::error_key(&path), Fault::lost(text));
                }
            }
        }
    }

    // D-1048: what Helm has installed stays until its chart or values change.
    fn have_release(&mut self, path: String, policy: &Policy) {
        let Some(wanted) = policy.release.clone() else { return };
        let taken_over = self.inventory().and_then(|known| known.adopted.get(&path));
        if let Some(release) = taken_over.filter(|release| releases::is_same(release, &wanted)).cloned() {
            self.run.adopted.insert(path.clone(), release);
        }
        self.run.releases.insert(path, wanted);
    }

    /// Whether another profile has the release that these objects are of.
    pub(super) fn has_lost(&self, policy: &Policy) -> bool {
        policy.kind == releases::CHART
            && self.run.errors.contains_key(&releases::error_key(&releases::path(policy)))
    }

    /// What it has, and waits for, is looked at anew.
    pub(super) fn leave_claims(&self, context: &mut JobContext<'_>) {
        self.claimed.iter().for_each(|key| context.claims.leave(key, &self.profile));
    }

    /// What it no longer wants is gone, or another's. What it wants and has lost it waits for: it is told when that is free.
    pub(super) fn unclaim(&mut self, context: &mut JobContext<'_>) {
        let (objects, errors) = (&self.run.objects, &self.run.errors);
        let lost = errors.iter().filter(|(_, fault)| fault.lost).map(|(about, _)| about.as_str());
        let releases =
            lost.filter_map(releases::path_of_error).chain(self.run.releases.keys().map(String::as_str));
        let releases: BTreeSet<_> = releases.map(|path| self.release_key(path)).collect();
        let has_lost = |key: &ObjectKey| errors.get(&key.to_string()).is_some_and(|fault| fault.lost);
        let brought = objects.values().filter(|one| one.brought.is_some());
        let brought: BTreeSet<_> = brought.map(|one| releases::brought_key(&one.key)).collect();
        let is_over = |key: &ObjectKey| {
            !(objects.contains_key(key) || releases.contains(key) || brought.contains(key) || has_lost(key))
        };
        for key in self.claimed.extract_if(.., |key| is_over(key)) {
            context.claims.release(&key, &self.profile);
        }
    }

    /// Whether the object that is there belongs to somebody else, who does not give way.
    pub(super) fn is_anothers(&mut self, key: &ObjectKey, live: &Live, context: &mut JobContext<'_>) -> bool {
        let Some(owner) = self.other_owner(key, live, context) else { return false };
        let text = owned_by(key, owner);
        context.claims.yield_to(key, &self.profile, owner);
        self.run.errors.insert(key.to_string(), Fault::lost(text));
        true
    }

    /// The profile that has the object and does not give way to this one.
    pub(super) fn other_owner<'l>(
        &self,
        key: &ObjectKey,
        live: &'l Live,
        context: &JobContext<'_>,
    ) -> Option<&'l OwningProfile> {
        let (owner, desired, one) =
            (live.owner.as_ref()?, self.target.decoded()?, self.run.objects.get(key)?);
        if one.brought.is_some() {
            return None;
        }
        let wanted = Live::of(&one.object);
        let same = !desired.one_time
            && live.hash == wanted.hash
            && wanted.owner.is_some_and(|own| own.reference == owner.reference);
        let handed_over = context.claims.is_handed_over(key, owner) || context.claims.may_not(key, owner);
        let comes_first = owner.tier > desired.tier || context.claims.takes_over_from(&self.profile, owner);
        let is_had = self.owns(live) || same || handed_over || comes_first;
        (!is_had).then_some(owner)
    }
}
