//! Which deployed kinds of a cluster are watched for drift, and what the watches show.

// D-1056: drift is that our entry in managedFields is not what our last apply has left.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::{Gvk, ObjectKey, ProfileId};
use sluice_protocol::CallId;

use super::{Cluster, Outcome};
use crate::drift::{Shown, Sight};
use crate::inventory::Inventory;
use crate::job::{Job, ShownObject};

/// The kinds that profiles watch.
#[derive(Debug, Default)]
pub(super) struct Watched {
    of: BTreeMap<ProfileId, Kinds>,
    by: BTreeMap<Gvk, usize>,
}

/// The kinds of a profile's objects, and what they were found in: each sight of one of thousands of objects asks for them again.
#[derive(Debug)]
struct Kinds {
    inventory: Arc<Inventory>,
    kinds: BTreeSet<Gvk>,
}

// === impl Watched ===

impl Watched {
    /// A profile watches the kinds of this inventory and no others: those that are watched from now on, and those that are not any more.
    fn set(&mut self, profile: &ProfileId, inventory: Option<Arc<Inventory>>) -> (Vec<Gvk>, Vec<Gvk>) {
        let known = self.of.get(profile).map(|known| Arc::as_ptr(&known.inventory));
        let (mut begun, mut ended) = (Vec::new(), Vec::new());
        if known == inventory.as_ref().map(Arc::as_ptr) {
            return (begun, ended);
        }
        let kinds = kinds_of(inventory.as_deref());
        let before = self.of.remove(profile).map(|known| known.kinds).unwrap_or_default();
        for kind in kinds.difference(&before) {
            let count = self.by.entry(kind.clone()).or_default();
            *count += 1;
            if *count == 1 {
                begun.push(kind.clone());
            }
        }
        for kind in before.difference(&kinds) {
            let Some(count) = self.by.get_mut(kind) else { continue };
            *count -= 1;
            if *count == 0 {
                self.by.remove(kind);
                ended.push(kind.clone());
            }
        }
        if let Some(inventory) = inventory {
            self.of.insert(profile.clone(), Kinds { inventory, kinds });
        }
        (begun, ended)
    }

    pub(super) fn clear(&mut self) {
        *self = Self::default();
    }
}

fn kinds_of(inventory: Option<&Inventory>) -> BTreeSet<Gvk> {
    let mut kinds = BTreeSet::new();
    for key in inventory.into_iter().flat_map(|inventory| &inventory.objects) {
        if !kinds.contains(&key.gvk) {
            kinds.insert(key.gvk.clone());
        }
    }
    kinds
}

impl Cluster {
    /// What a profile has may be of other kinds now.
    pub(super) fn note_watched(&mut self, profile: &ProfileId, outcome: &mut Outcome) {
        let job = self.jobs.get(profile).filter(|job| job.watches_drift());
        let (begun, ended) = self.watched.set(profile, job.and_then(|job| job.owned()));
        outcome.watched.extend(begun.into_iter().map(|gvk| (gvk, true)));
        outcome.watched.extend(ended.into_iter().map(|gvk| (gvk, false)));
    }

    /// A watch shows something.
    pub(crate) fn shown(&mut self, shown: Shown, now: i64, next_id: &mut CallId) -> Outcome {
        let mut outcome = Outcome::default();
        match shown {
            Shown::Changed(sight) => self.sight(sight, now, &mut outcome),
            Shown::Gone(key, uid) => self.sees(key, ShownObject::Gone(uid), now, &mut outcome),
            Shown::All(gvk, sights) => self.all_shown(&gvk, sights, now, &mut outcome),
            // The deployer tells it.
            Shown::Trouble(..) => {}
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// What is not in the list has gone.
    fn all_shown(&mut self, gvk: &Gvk, sights: Vec<Sight>, now: i64, outcome: &mut Outcome) {
        let there: BTreeSet<&ObjectKey> = sights.iter().map(|sight| &sight.key).collect();
        let gone = self.live.iter().filter(|(key, _)| key.gvk == *gvk && !there.contains(key));
        let mut gone: Vec<_> = gone.map(|(key, live)| (key.clone(), live.uid.clone())).collect();
        gone.sort();
        for (key, uid) in gone {
            self.sees(key, ShownObject::Gone(uid), now, outcome);
        }
        sights.into_iter().for_each(|sight| self.sight(sight.into(), now, outcome));
    }

    fn sight(&mut self, sight: Box<Sight>, now: i64, outcome: &mut Outcome) {
        self.sees(sight.key.clone(), ShownObject::There(sight), now, outcome);
    }

    fn sees(&mut self, key: ObjectKey, shown: ShownObject, now: i64, outcome: &mut Outcome) {
        let known = self.live.get(&key).and_then(|live| live.owner.as_ref());
        let seen = match &shown {
            ShownObject::There(sight) => sight.live.owner.as_ref(),
            ShownObject::Gone(_) => None,
        };
        let named = known.or(seen).map(|owner| ProfileId::of_path(&owner.name));
        // It may be being read, as it was before it went.
        let Some(profile) = named.or_else(|| self.holder(&key)) else { return };
        let ended = self.with_job(&profile, now, |job, context| job.sees(key, shown, context));
        self.end(&profile, ended, outcome);
    }

    /// Who has an object in its inventory and watches it.
    fn holder(&self, key: &ObjectKey) -> Option<ProfileId> {
        let has =
            |job: &Job| job.watches_drift() && job.inventory().is_some_and(|held| held.objects.contains(key));
        self.jobs.iter().find(|(_, job)| has(job)).map(|(profile, _)| profile.clone())
    }

    /// What was shown of a profile's objects while there was work on it.
    pub(super) fn look_at_later(&mut self, profile: &ProfileId, now: i64, outcome: &mut Outcome) {
        let Some(job) = self.jobs.get_mut(profile) else { return };
        for (key, shown) in job.take_later() {
            let ended = self.with_job(profile, now, |job, context| job.sees(key, shown, context));
            self.end(profile, ended, outcome);
        }
        self.hear_later(profile, now, outcome);
    }
}
