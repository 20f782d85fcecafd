//! One profile on one cluster: what it should be, what it owns, and how far the work is.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use sluice_api::ObjectKey;
use sluice_protocol::rows::{Desired, State};

use crate::budget::{backoff, micros};
use crate::conflict::{conflict, owned_by};
use crate::inventory::Inventory;
use crate::prepare::{Prepared, owner_name, prepare};
use crate::request::{Class, Failure, Live, Reply, Request};

/// Pause before a failed profile is tried again.
const FIRST_RETRY: Duration = Duration::from_millis(250);
const LONGEST_RETRY: Duration = Duration::from_secs(10);
/// Re-plans of one object because of conflicts, before it counts as failed.
const MAX_CONFLICTS: u32 = 8;

/// What the newest row says.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// It should be like this.
    Value(Arc<Desired>),
    /// It should go.
    Gone,
    /// Only the inventory is known; nothing is done.
    Unknown,
}

/// See the module's text.
#[derive(Debug)]
pub(crate) struct Job {
    pub(crate) profile: String,
    pub(crate) origin: u16,
    pub(crate) target: Target,
    pub(crate) inventory: Option<Inventory>,
    /// The inventory that was deleted last.
    pub(crate) withdrawn: Option<Inventory>,
    /// When the cause of the newest row happened, microseconds since 1970.
    pub(crate) time: i64,
    phase: Phase,
    again: bool,
    changed: bool,
    objects: BTreeMap<ObjectKey, Prepared>,
    in_flight: usize,
    conflicts: HashMap<ObjectKey, u32>,
    errors: BTreeMap<String, String>,
    attempts: u32,
    pub(crate) retry_at: Option<i64>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// The inventory is being extended by what will be created.
    Reserving,
    /// Namespaces and CRDs, then everything else.
    Applying {
        first: bool,
    },
    Pruning,
    /// The inventory is being reduced to what is there, or deleted.
    Recording,
}

/// What a job may look at and change in its cluster.
pub(crate) struct Site<'a> {
    pub(crate) now: i64,
    pub(crate) live: &'a mut HashMap<ObjectKey, Live>,
    pub(crate) claims: &'a mut HashMap<ObjectKey, (i32, String)>,
    pub(crate) calls: &'a mut Vec<Request>,
}

/// How a job ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// It did not: calls are in flight.
    NotYet,
    /// The cluster is as the row says, or as near to it as possible.
    Settled {
        /// What came of it.
        state: State,
        /// Whether anything was changed in the cluster.
        changed: bool,
    },
    /// The profile and everything it owned is gone.
    Removed,
}

impl Job {
    pub(crate) fn new(profile: &str, origin: u16) -> Self {
        Self {
            profile: profile.to_owned(),
            origin,
            target: Target::Unknown,
            inventory: None,
            withdrawn: None,
            time: 0,
            phase: Phase::Idle,
            again: false,
            changed: false,
            objects: BTreeMap::new(),
            in_flight: 0,
            conflicts: HashMap::new(),
            errors: BTreeMap::new(),
            attempts: 0,
            retry_at: None,
        }
    }

    /// The errors of the last run.
    pub(crate) fn errors(&self) -> Vec<String> {
        self.errors.values().cloned().collect()
    }

    /// A newer row came; whether the work must begin (again).
    pub(crate) fn retarget(&mut self, target: Target, origin: u16, time: i64) -> bool {
        // The same tombstone once more is no reason to begin its removal anew.
        let same =
            matches!((&self.target, &target), (Target::Gone, Target::Gone)) && self.phase != Phase::Idle;
        (self.target, self.origin, self.time, self.attempts) = (target, origin, time, 0);
        // What is under way is for the former target; also when nothing can begin now it must not go on.
        self.again |= !same && self.in_flight > 0;
        !same
    }

    /// Begins, or begins again once the calls in flight are answered.
    pub(crate) fn begin(&mut self, site: &mut Site<'_>) -> Ended {
        if self.in_flight > 0 {
            self.again = true;
            return Ended::NotYet;
        }
        self.again = false;
        self.retry_at = None;
        self.errors.clear();
        self.conflicts.clear();
        self.objects.clear();
        let Target::Value(desired) = self.target.clone() else { return self.begin_removal(site) };
        let (prepared, errors) = prepare(&desired);
        self.errors.extend(errors.into_iter().map(|error| (error.clone(), error)));
        let untouchable = desired.dry_run || (desired.one_time && self.inventory.is_some());
        for one in prepared.into_iter().filter(|_| !untouchable) {
            self.claim(&desired, one, site);
        }
        if untouchable || (self.objects.is_empty() && self.inventory.is_none()) {
            return self.settle(site.now);
        }
        self.reserve(&desired, site)
    }

    fn begin_removal(&mut self, site: &mut Site<'_>) -> Ended {
        if matches!(self.target, Target::Unknown) {
            return Ended::Settled { state: State::Held, changed: false };
        }
        if self.inventory.is_none() {
            self.unclaim(site);
            return Ended::Removed;
        }
        self.prune(site)
    }

    /// An object belongs to one profile: the one with the lower tier, else the one that came first.
    fn claim(&mut self, desired: &Desired, one: Prepared, site: &mut Site<'_>) {
        match site.claims.get(&one.key) {
            Some((tier, other)) if *other != self.profile && *tier <= desired.tier => {
                let text = conflict(
                    &one.key,
                    &format!("{} {other}", desired.owner_kind),
                    "another row of this deployer",
                );
                self.errors.insert(one.key.to_string(), text);
            }
            _ => {
                site.claims.insert(one.key.clone(), (desired.tier, self.profile.clone()));
                self.objects.insert(one.key.clone(), one);
            }
        }
    }

    fn unclaim(&self, site: &mut Site<'_>) {
        site.claims.retain(|key, (_, profile)| *profile != self.profile || self.objects.contains_key(key));
    }

    /// What will be created is written into the inventory first: a crash must not leave an unknown object.
    fn reserve(&mut self, desired: &Desired, site: &mut Site<'_>) -> Ended {
        let keys: BTreeSet<_> = self.objects.keys().cloned().collect();
        let mut inventory = Inventory {
            profile: self.profile.clone(),
            owner_kind: desired.owner_kind.clone(),
            owner_namespace: desired.owner_namespace.clone(),
            origin: self.origin,
            cause: desired.cause.clone(),
            leave: desired.leave,
            objects: keys,
        };
        inventory.objects.extend(self.inventory.iter().flat_map(|known| known.objects.iter().cloned()));
        if self.inventory.as_ref() == Some(&inventory) {
            return self.apply(true, site);
        }
        self.phase = Phase::Reserving;
        self.call(Request::WriteInventory(inventory.clone()), site);
        self.inventory = Some(inventory);
        Ended::NotYet
    }

    fn apply(&mut self, first: bool, site: &mut Site<'_>) -> Ended {
        self.phase = Phase::Applying { first };
        let keys: Vec<_> =
            self.objects.values().filter(|one| one.first == first).map(|one| one.key.clone()).collect();
        for key in keys {
            self.next_for(&key, site);
        }
        self.advance(site)
    }

    /// The next call for one object, if it needs one.
    fn next_for(&mut self, key: &ObjectKey, site: &mut Site<'_>) {
        let Some(one) = self.objects.get(key).cloned() else { return };
        match site.live.get(key) {
            None => self.call(Request::Read(key.clone()), site),
            Some(live) if live.hash.as_deref() == Some(&one.hash) && self.owns(live) => {}
            Some(live) => {
                let against = (!live.uid.is_empty()).then(|| live.version());
                self.changed = true;
                self.call(Request::Apply { object: one.object, against }, site);
            }
        }
    }

    fn owns(&self, live: &Live) -> bool {
        let Some(owner) = &live.owner else { return false };
        let named = |kind: &str, namespace: &str| {
            owner.kind == kind && owner.name == owner_name(namespace, &self.profile)
        };
        match (&self.target, &self.inventory) {
            (Target::Value(desired), _) => named(&desired.owner_kind, &desired.owner_namespace),
            (_, Some(inventory)) => named(&inventory.owner_kind, &inventory.owner_namespace),
            _ => false,
        }
    }

    fn prune(&mut self, site: &mut Site<'_>) -> Ended {
        self.phase = Phase::Pruning;
        let leave = self.inventory.as_ref().is_some_and(|inventory| inventory.leave)
            && matches!(self.target, Target::Gone);
        let owned = self.inventory.iter().flat_map(|inventory| inventory.objects.iter());
        let stale: Vec<_> = owned.filter(|key| !self.objects.contains_key(*key) && !leave).cloned().collect();
        for key in stale {
            self.next_prune(&key, site);
        }
        self.advance(site)
    }

    /// Deletes what this profile owns and nothing else: the live object must still say so.
    fn next_prune(&mut self, key: &ObjectKey, site: &mut Site<'_>) {
        match site.live.get(key) {
            None => self.call(Request::Read(key.clone()), site),
            Some(live) if self.owns(live) => {
                self.changed = true;
                self.call(Request::Delete { key: key.clone(), against: live.version() }, site);
            }
            Some(_) => {}
        }
    }

    fn record(&mut self, site: &mut Site<'_>) -> Ended {
        self.unclaim(site);
        let keys: BTreeSet<_> = self.objects.keys().cloned().collect();
        let exact = self.inventory.as_ref().is_none_or(|inventory| inventory.objects == keys);
        let gone = matches!(self.target, Target::Gone);
        if exact && !gone {
            return self.settle(site.now);
        }
        self.phase = Phase::Recording;
        if gone {
            self.call(Request::DeleteInventory(self.profile.clone()), site);
        } else if let Some(mut inventory) = self.inventory.clone() {
            inventory.objects = keys;
            self.call(Request::WriteInventory(inventory.clone()), site);
            self.inventory = Some(inventory);
        }
        Ended::NotYet
    }

    fn settle(&mut self, now: i64) -> Ended {
        self.phase = Phase::Idle;
        let changed = std::mem::take(&mut self.changed);
        if self.errors.is_empty() {
            self.attempts = 0;
            return Ended::Settled { state: State::Provisioned, changed };
        }
        self.attempts += 1;
        self.retry_at = Some(now + micros(backoff(self.attempts, FIRST_RETRY, LONGEST_RETRY)));
        Ended::Settled { state: State::Failed, changed }
    }

    fn call(&mut self, request: Request, site: &mut Site<'_>) {
        self.in_flight += 1;
        site.calls.push(request);
    }

    /// Goes on to the next phase when this one has nothing left in flight.
    fn advance(&mut self, site: &mut Site<'_>) -> Ended {
        if self.in_flight > 0 {
            return Ended::NotYet;
        }
        if self.again {
            return self.begin(site);
        }
        let failed = !self.errors.is_empty();
        match self.phase {
            Phase::Idle => self.settle(site.now),
            Phase::Reserving | Phase::Pruning | Phase::Recording if failed => self.settle(site.now),
            Phase::Reserving => self.apply(true, site),
            Phase::Applying { first: true } => self.apply(false, site),
            // What replaces it must be there before the old goes.
            Phase::Applying { first: false } if failed => self.settle(site.now),
            Phase::Applying { first: false } => self.prune(site),
            Phase::Pruning => self.record(site),
            Phase::Recording if matches!(self.target, Target::Gone) => Ended::Removed,
            Phase::Recording => self.settle(site.now),
        }
    }

    /// Takes the answer to one of its calls.
    pub(crate) fn reply(&mut self, request: &Request, reply: Reply, site: &mut Site<'_>) -> Ended {
        self.in_flight = self.in_flight.saturating_sub(1);
        let key = match request {
            Request::Read(key) | Request::Delete { key, .. } => Some(key.clone()),
            Request::Apply { object, .. } => ObjectKey::of(object),
            _ => None,
        };
        match (key, reply) {
            (Some(key), Reply::Failed(failure)) => self.failed(&key, &failure, site),
            (Some(key), Reply::Read(live)) => self.read(&key, live, site),
            (Some(key), Reply::Applied(live)) => drop(site.live.insert(key, live)),
            (Some(key), _) => drop(site.live.remove(&key)),
            (None, Reply::Failed(failure)) => self.inventory_failed(&failure),
            (None, _) if matches!(request, Request::DeleteInventory(_)) => {
                self.withdrawn = self.inventory.take()
            }
            (None, _) => {}
        }
        self.advance(site)
    }

    fn inventory_failed(&mut self, failure: &Failure) {
        self.errors
            .insert("inventory".into(), format!("the inventory cannot be written: {}", failure.message));
        // Whether it was written or deleted is unknown: it differs from every wish, so that it is written again.
        if let Some(inventory) = self.inventory.as_mut() {
            inventory.origin = u16::MAX;
        }
    }

    fn read(&mut self, key: &ObjectKey, live: Option<Live>, site: &mut Site<'_>) {
        let absent = live.is_none();
        let live = live.unwrap_or_default();
        if let (Some(owner), Target::Value(desired)) =
            (live.owner.as_ref().filter(|_| !self.owns(&live)), &self.target)
            && self.objects.contains_key(key)
            && owner.tier <= desired.tier
        {
            self.errors.insert(key.to_string(), owned_by(key, owner));
            return;
        }
        if self.again {
            return;
        }
        site.live.insert(key.clone(), live);
        if self.objects.contains_key(key) {
            self.next_for(key, site);
        } else if !absent {
            self.next_prune(key, site);
        }
        if absent {
            // An absent object is only a plan for the next call.
            site.live.remove(key);
        }
    }

    fn failed(&mut self, key: &ObjectKey, failure: &Failure, site: &mut Site<'_>) {
        site.live.remove(key);
        if failure.class == Class::Conflict && !self.again {
            let conflicts = self.conflicts.entry(key.clone()).or_default();
            *conflicts += 1;
            if *conflicts <= MAX_CONFLICTS {
                return self.call(Request::Read(key.clone()), site);
            }
        }
        self.errors.insert(key.to_string(), format!("{key}: {}", failure.message));
    }
}
