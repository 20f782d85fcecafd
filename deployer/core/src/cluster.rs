//! One destination cluster: its jobs, its budget, what is known of its objects.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::model::Dependencies;
use sluice_api::{Gvk, ObjectKey, ProfileId};
use sluice_protocol::{About, CallId, Shard};

use crate::call_queue::CallQueue;
use crate::checks::{Asker, Asking, CheckBook, CheckId, Outcome as CheckOutcome};
use crate::claims::Claims;
use crate::drift_event::Drifted;
use crate::error::Error;
use crate::inventory::Inventory;
use crate::job::{Ended, Job, JobContext, MakerRow};
use crate::late_calls::LateCalls;
use crate::live_objects::LiveObjects;
use crate::prune_guard::PruneGuard;
use crate::request::{Class, Failure, Reply, Request};
use crate::sources::SourceBook;

use drift::Watched;
use guards::Guard;
use reachability::Reachability;
pub(crate) use reloads::Reloads;

mod drift;
mod guards;
mod kinds;
mod needs;
mod opening;
mod reachability;
mod reloads;

pub(crate) use needs::{Others, Unmet};

pub(crate) struct Cluster {
    /// Number of shards of every table.
    shards: u16,
    is_management: bool,
    prune_guard: Option<PruneGuard>,
    /// Boxed, since a map of large values keeps room for many more of them.
    pub(crate) jobs: BTreeMap<ProfileId, Box<Job>>,
    live: LiveObjects,
    claims: Claims,
    checks: CheckBook,
    guard: Guard,
    watched: Watched,
    sources: SourceBook,
    dependencies: Dependencies,
    /// Profiles that go after others are there.
    departures: Dependencies,
    calls: CallQueue,
    /// Jobs that are to restart, by time.
    retries: BTreeSet<(i64, ProfileId)>,
    /// Whether a profile has an object of a kind that can come and go.
    custom_kinds: bool,
    reachability: Reachability,
    reopen_failures: u32,
    /// Whether every renderer has said that all its rows are there: before that nothing is deleted.
    all_said: bool,
    /// Profiles that have something to delete and wait for that.
    deferred: BTreeSet<ProfileId>,
    /// Profiles whose work ended since the inventories were asked for.
    ended: BTreeSet<ProfileId>,
    /// Whether the list of inventories that is under way is too old, and another one is to be asked for.
    asks_again: bool,
}

/// What a cluster wants done, and what its jobs came to.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Calls to send, with their numbers.
    pub(crate) calls: Vec<(CallId, Request)>,
    /// Profiles whose job ended.
    pub(crate) ended: Vec<(ProfileId, Ended)>,
    /// The inventories were read for the first time: these profiles are held.
    pub(crate) opened: bool,
    /// Why the cluster cannot be worked on; `Some(None)` when it can again.
    pub(crate) trouble: Option<Option<String>>,
    /// Checks that are to be asked from now on, or no longer.
    pub(crate) checks: Vec<Asking>,
    /// What is wrong with the cluster as a whole, or nothing from now on.
    pub(crate) guards: Vec<(About, Option<String>)>,
    /// Kinds whose deployed objects are to be watched from now on, or (`false`) no longer.
    pub(crate) watched: Vec<(Gvk, bool)>,
    /// Objects of profiles that somebody else had changed, and what became of them.
    pub(crate) drifted: Vec<(ProfileId, ObjectKey, Drifted)>,
    /// What watches of what pods read are to begin, or end, what is wrong with them, and which workloads were restarted.
    pub(crate) reloads: Reloads,
    /// Profiles that wait for others than before.
    pub(crate) waits: Vec<ProfileId>,
    /// For the first time a profile has an object of a kind that can come and go.
    pub(crate) custom_kinds: bool,
    /// When to be asked again.
    pub(crate) wake_at: Option<i64>,
}

impl Outcome {
    fn wake(&mut self, at: i64) {
        self.wake_at = Some(self.wake_at.map_or(at, |wake| wake.min(at)));
    }
}

impl Cluster {
    /// A cluster of which nothing is known.
    pub(crate) fn new(
        shards: u16,
        is_management: bool,
        prune_guard: Option<PruneGuard>,
        late: LateCalls,
        all_said: bool,
    ) -> Self {
        Self {
            shards,
            is_management,
            prune_guard,
            jobs: BTreeMap::new(),
            live: LiveObjects::default(),
            claims: Claims::default(),
            checks: CheckBook::default(),
            guard: Guard::default(),
            watched: Watched::default(),
            sources: SourceBook::default(),
            dependencies: Dependencies::default(),
            departures: Dependencies::default(),
            calls: CallQueue::new(late),
            retries: BTreeSet::new(),
            custom_kinds: false,
            reachability: Reachability::None,
            reopen_failures: 0,
            all_said,
            deferred: BTreeSet::new(),
            ended: BTreeSet::new(),
            asks_again: false,
        }
    }

    /// What of an inventory is not there, as far as this owner has seen.
    pub(crate) fn missing(&self, inventory: &Inventory) -> BTreeSet<ObjectKey> {
        let objects = inventory.objects.iter().map(AsRef::as_ref);
        objects.filter(|key| !self.live.contains_key(key)).cloned().collect()
    }

    /// Whether something on it is to be deleted once every renderer has said that all its rows are there.
    pub(crate) fn defers(&self) -> bool {
        !self.all_said && !self.deferred.is_empty()
    }

    /// A row of `profile` came, or one that cannot be read for this reason.
    pub(crate) fn retarget(
        &mut self,
        profile: &ProfileId,
        origin: Shard,
        row: Result<MakerRow, Error>,
        now: i64,
        next_id: &mut CallId,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let job = self.jobs.entry(profile.clone()).or_insert_with(|| Job::new(profile, origin).into());
        let begins = job.retarget(origin, row);
        self.note_needs(profile);
        if begins && self.reachability == Reachability::Open {
            self.begin(profile, now, &mut outcome);
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// Every renderer has said that all its rows are there: what waited for that begins.
    pub(crate) fn all_said(&mut self, now: i64, next_id: &mut CallId) -> Outcome {
        let mut outcome = Outcome::default();
        self.all_said = true;
        if self.reachability == Reachability::Open {
            self.begin_all(now, &mut outcome);
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// Time passed.
    pub(crate) fn tick(&mut self, now: i64, next_id: &mut CallId) -> Outcome {
        let mut outcome = Outcome::default();
        if self.calls.take_end_of_late(now) {
            self.verify(now);
        }
        match self.reachability {
            Reachability::OpenAt(at) if at <= now => {
                self.reachability = Reachability::Opening;
                self.asks_again = false;
                self.ended.clear();
                self.calls.push(Request::Inventories, None);
            }
            Reachability::OpenAt(at) => outcome.wake(at),
            Reachability::Open => self.retry(now, &mut outcome),
            Reachability::Opening | Reachability::Looking(_) | Reachability::None => {}
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// The answer to one of the calls.
    pub(crate) fn reply(&mut self, id: CallId, reply: Reply, now: i64, next_id: &mut CallId) -> Outcome {
        let mut outcome = Outcome::default();
        let Some(answered) = self.calls.answer(id, reply, self.guard.threshold(), now) else {
            return outcome;
        };
        outcome.trouble = answered.trouble;
        let ((request, profile), reply) = (answered.call, answered.reply);
        if let (Some(key), Some(Reply::Failed(Failure { class: Class::NoKind, .. }))) =
            (request.changes(), &reply)
        {
            self.lose_kind(&key.gvk);
        }
        if let Request::WriteInventory { inventory, .. } = &request {
            self.note_kinds(inventory, &mut outcome);
        }
        match (request, profile, reply) {
            (request, profile, None) => self.calls.push(request, profile),
            (Request::List(_), _, Some(reply)) => self.listed(reply, now, &mut outcome),
            (Request::Content(key), _, Some(reply)) => self.source_read(&key, reply, now, &mut outcome),
            (_, None, Some(reply)) => self.opened(reply, now, &mut outcome),
            (request, Some(profile), Some(reply)) => {
                let ended = self.with_job(&profile, now, |job, context| job.reply(&request, reply, context));
                self.end(&profile, ended, &mut outcome);
                self.look_at_later(&profile, now, &mut outcome);
            }
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// A check says something.
    pub(crate) fn checked(
        &mut self,
        id: CheckId,
        said: CheckOutcome,
        now: i64,
        next_id: &mut CallId,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        match self.checks.asker(id).cloned() {
            None => {}
            Some(Asker::Cluster) => self.guard_said(id, said, now),
            Some(Asker::Profile(profile)) => {
                let ended = self.with_job(&profile, now, |job, context| job.checked(id, said, context));
                self.end(&profile, ended, &mut outcome);
            }
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    fn begin_all(&mut self, now: i64, outcome: &mut Outcome) {
        let mut all: Vec<_> = self.jobs.keys().cloned().collect();
        // Who holds something has it before anybody else asks for it.
        all.sort_by_key(|profile| self.jobs.get(profile).is_none_or(|job| job.inventory().is_none()));
        all.iter().for_each(|profile| self.begin(profile, now, outcome));
    }

    fn retry(&mut self, now: i64, outcome: &mut Outcome) {
        let later = self.retries.split_off(&(now + 1, ProfileId::cluster("")));
        for (_, profile) in std::mem::replace(&mut self.retries, later) {
            self.begin(&profile, now, outcome);
        }
    }

    fn begin(&mut self, profile: &ProfileId, now: i64, outcome: &mut Outcome) {
        if self.holds_up() {
            return;
        }
        let ended = self.with_job(profile, now, Job::begin);
        self.end(profile, ended, outcome);
        self.look_at_later(profile, now, outcome);
    }

    fn with_job(
        &mut self,
        profile: &ProfileId,
        now: i64,
        f: impl FnOnce(&mut Job, &mut JobContext<'_>) -> Ended,
    ) -> Option<Ended> {
        // It looks at the others.
        let (id, mut job) = self.jobs.remove_entry(profile)?;
        if let Some(at) = job.retry_at {
            self.retries.remove(&(at, profile.clone()));
        }
        let mut calls = Vec::new();
        let mut context = JobContext {
            now,
            shards: self.shards,
            is_management: self.is_management,
            prune_guard: self.prune_guard,
            late: self.calls.late(),
            all_said: self.all_said,
            others: Others { dependencies: &self.dependencies, jobs: &self.jobs },
            live: &mut self.live,
            claims: &mut self.claims,
            checks: &mut self.checks,
            sources: &mut self.sources,
            calls: &mut calls,
        };
        let ended = f(&mut job, &mut context);
        if let Some(at) = job.retry_at {
            self.retries.insert((at, profile.clone()));
        }
        match job.defers {
            true => self.deferred.insert(profile.clone()),
            false => self.deferred.remove(profile),
        };
        self.jobs.insert(id, job);
        calls.into_iter().for_each(|request| self.calls.push(request, Some(profile.clone())));
        Some(ended)
    }

    fn end(&mut self, profile: &ProfileId, ended: Option<Ended>, outcome: &mut Outcome) {
        // Also one that has put off what is left to do: a list that was asked for before knows nothing of its last write.
        let defers = || self.jobs.get(profile).is_some_and(|job| !job.is_at_work());
        let has_ended = match ended {
            None => false,
            Some(Ended::NotYet) => defers(),
            Some(_) => true,
        };
        if self.reachability == Reachability::Opening && has_ended {
            self.ended.insert(profile.clone());
        }
        // Another maker may have the name by now.
        self.note_needs(profile);
        if let Some(job) = self.jobs.get_mut(profile) {
            outcome.waits.extend(job.takes_new_wait().then(|| profile.clone()));
            if ended == Some(Ended::Removed) {
                job.end_checks(&mut self.checks);
                job.end_reloads(&mut self.sources);
            }
            let drifted = job.take_drifted().into_iter();
            outcome.drifted.extend(drifted.map(|(key, what)| (profile.clone(), key, what)));
            outcome.reloads.done.extend(job.take_reloaded());
        }
        self.note_watched(profile, outcome);
        match ended {
            None | Some(Ended::NotYet) => {}
            Some(ended) => {
                self.settled(profile, ended == Ended::Removed);
                outcome.ended.push((profile.clone(), ended));
            }
        }
    }

    /// Lets those restart to whom an object has become free, or who have lost one. It ends: an object only goes to
    /// who comes before its holder, or to one of those who wait for it.
    fn ask(&mut self, now: i64, outcome: &mut Outcome) {
        loop {
            let asked = self.claims.take_asked();
            if asked.is_empty() || self.reachability != Reachability::Open {
                return;
            }
            asked.iter().for_each(|profile| self.begin(profile, now, outcome));
        }
    }

    /// Sends as many calls as the budget allows.
    fn send(&mut self, now: i64, next_id: &mut CallId, outcome: &mut Outcome) {
        self.begin_held_up(now, outcome);
        self.ask(now, outcome);
        self.mind_guard(now, outcome);
        self.look_at_sources(now, outcome);
        outcome.calls.extend(self.calls.take(now, next_id));
        outcome.checks.append(&mut self.checks.take_news());
        self.calls.wakes_at(now).into_iter().for_each(|at| outcome.wake(at));
        if let (Some((at, _)), Reachability::Open) = (self.retries.first(), self.reachability) {
            outcome.wake(*at);
        }
    }
}
