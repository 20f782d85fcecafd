//! One destination cluster: its jobs, its budget, what is known of its objects.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};

use sluice_api::{ObjectKey, ProfileId};

use crate::budget::Budget;
use crate::claims::Claims;
use crate::inventory::Inventory;
use crate::job::{Ended, Job, JobContext, MakerRow};
use crate::late_calls::LateCalls;
use crate::request::{Class, Failure, Live, Reply, Request};

mod kinds;
mod opening;

pub(crate) struct Cluster {
    /// Number of shards of every table.
    shards: u16,
    is_management: bool,
    pub(crate) jobs: BTreeMap<ProfileId, Job>,
    live: HashMap<ObjectKey, Live>,
    claims: Claims,
    /// Calls, and whose they are; the list of all inventories is nobody's.
    queue: VecDeque<(Request, Option<ProfileId>)>,
    in_flight: HashMap<u64, (Request, Option<ProfileId>)>,
    /// Calls in flight on objects that were changed since: what their answers tell may be older than that.
    overtaken: HashSet<u64>,
    /// Jobs that are to restart, by time.
    retries: BTreeSet<(i64, ProfileId)>,
    /// Whether a profile has an object of a kind that can come and go.
    custom_kinds: bool,
    budget: Budget,
    reachability: Reachability,
    reopen_failures: u32,
    /// Calls that may still arrive. Once they are over everything is compared with the cluster once more.
    late: LateCalls,
    /// Whether every renderer has said that all its rows are there: before that nothing is deleted.
    all_said: bool,
    /// Profiles that have something to delete and wait for that.
    put_off: BTreeSet<ProfileId>,
    /// Profiles whose work ended since the inventories were asked for.
    ended: BTreeSet<ProfileId>,
    /// Whether the list of inventories that is under way is too old, and another one is to be asked for.
    asks_again: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reachability {
    /// Nobody said how to reach it.
    None,
    /// Its inventories are to be read at this time.
    OpenAt(i64),
    Opening,
    /// Objects of so many kinds are being listed.
    Looking(usize),
    Open,
}

/// What a cluster wants done, and what its jobs came to.
#[derive(Default)]
pub(crate) struct Outcome {
    /// Calls to send, with their numbers.
    pub(crate) calls: Vec<(u64, Request)>,
    /// Profiles whose job ended.
    pub(crate) ended: Vec<(ProfileId, Ended)>,
    /// The inventories were read for the first time: these profiles are held.
    pub(crate) opened: bool,
    /// Why the cluster cannot be worked on; `Some(None)` when it can again.
    pub(crate) trouble: Option<Option<String>>,
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
    pub(crate) fn new(shards: u16, is_management: bool, late: LateCalls, all_said: bool) -> Self {
        Self {
            shards,
            is_management,
            jobs: BTreeMap::new(),
            live: HashMap::new(),
            claims: Claims::default(),
            queue: VecDeque::new(),
            in_flight: HashMap::new(),
            overtaken: HashSet::new(),
            retries: BTreeSet::new(),
            custom_kinds: false,
            budget: Budget::new(),
            reachability: Reachability::None,
            reopen_failures: 0,
            late,
            all_said,
            put_off: BTreeSet::new(),
            ended: BTreeSet::new(),
            asks_again: false,
        }
    }

    /// Whether its server does not answer as it should.
    pub(crate) fn is_in_trouble(&self) -> bool {
        self.budget.is_broken() || self.reopen_failures > 0
    }

    /// Whether somebody said how to reach it.
    pub(crate) fn is_known(&self) -> bool {
        self.reachability != Reachability::None
    }

    /// Whether its inventories are known.
    pub(crate) fn is_open(&self) -> bool {
        self.reachability == Reachability::Open
    }

    /// What of an inventory is not there, as far as this owner has seen.
    pub(crate) fn missing(&self, inventory: &Inventory) -> BTreeSet<ObjectKey> {
        inventory.objects.iter().filter(|key| !self.live.contains_key(*key)).cloned().collect()
    }

    /// Whether something on it is to be deleted once every renderer has said that all its rows are there.
    pub(crate) fn puts_off(&self) -> bool {
        !self.all_said && !self.put_off.is_empty()
    }

    /// It can be reached from now on, and before perhaps in another way: nothing that is known of it need be so any more.
    pub(crate) fn reachable(&mut self, now: i64, next_id: &mut u64) -> Outcome {
        self.forget(now);
        self.reachability = Reachability::OpenAt(now);
        self.tick(now, next_id)
    }

    /// It cannot be reached any more: nobody knows how.
    pub(crate) fn unreachable(&mut self, now: i64) -> Outcome {
        self.forget(now);
        self.reachability = Reachability::None;
        Outcome { trouble: Some(None), ..Outcome::default() }
    }

    /// Forgets everything but the rows: the next server may be another one. Answers to what was sent are for nobody,
    /// and what was sent may arrive yet, as if a former owner had sent it.
    fn forget(&mut self, now: i64) {
        for (request, _) in std::mem::take(&mut self.in_flight).into_values() {
            self.late.expect(&request, now);
        }
        self.live.clear();
        self.claims.clear();
        self.queue.clear();
        self.overtaken.clear();
        self.retries.clear();
        self.put_off.clear();
        self.asks_again = false;
        self.jobs.values_mut().for_each(Job::forget);
        (self.budget, self.reopen_failures, self.custom_kinds) = (Budget::new(), 0, false);
    }

    /// A row of `profile` came, or one that cannot be read for this reason.
    pub(crate) fn retarget(
        &mut self,
        profile: &ProfileId,
        origin: u16,
        row: Result<MakerRow, String>,
        now: i64,
        next_id: &mut u64,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let job = self.jobs.entry(profile.clone()).or_insert_with(|| Job::new(profile, origin));
        if job.retarget(origin, row) && self.reachability == Reachability::Open {
            self.begin(profile, now, &mut outcome);
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// Every renderer has said that all its rows are there: what waited for that begins.
    pub(crate) fn all_said(&mut self, now: i64, next_id: &mut u64) -> Outcome {
        let mut outcome = Outcome::default();
        self.all_said = true;
        if self.reachability == Reachability::Open {
            self.begin_all(now, &mut outcome);
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// Compares everything with the cluster once more.
    fn verify(&mut self, now: i64) {
        self.live.clear();
        self.jobs.values_mut().for_each(Job::doubt_inventory);
        // The server may have made the list that is under way before the last late call came.
        self.asks_again = self.reachability == Reachability::Opening;
        if matches!(self.reachability, Reachability::Open | Reachability::Looking(_)) {
            self.reachability = Reachability::OpenAt(now);
        }
    }

    /// Time passed.
    pub(crate) fn tick(&mut self, now: i64, next_id: &mut u64) -> Outcome {
        let mut outcome = Outcome::default();
        if self.late.take_end(now) {
            self.verify(now);
        }
        match self.reachability {
            Reachability::OpenAt(at) if at <= now => {
                self.reachability = Reachability::Opening;
                self.asks_again = false;
                self.ended.clear();
                self.queue.push_back((Request::Inventories, None));
            }
            Reachability::OpenAt(at) => outcome.wake(at),
            Reachability::Open => self.retry(now, &mut outcome),
            Reachability::Opening | Reachability::Looking(_) | Reachability::None => {}
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// The answer to one of the calls.
    pub(crate) fn reply(&mut self, id: u64, reply: Reply, now: i64, next_id: &mut u64) -> Outcome {
        let mut outcome = Outcome::default();
        let Some((request, profile)) = self.in_flight.remove(&id) else { return outcome };
        self.count(&reply, now, &mut outcome);
        if matches!(reply, Reply::Failed(Failure { class: Class::Unanswered, .. })) {
            self.late.expect(&request, now);
        }
        if let (Some(key), Reply::Failed(Failure { class: Class::NoKind, .. })) = (request.changes(), &reply)
        {
            self.lose_kind(&key.gvk);
        }
        if let Request::WriteInventory { inventory, .. } = &request {
            self.note_kinds(inventory, &mut outcome);
        }
        let reply = self.order(id, &request, reply);
        match (request, profile, reply) {
            (request @ Request::Read(_), profile, None) => self.queue.push_back((request, profile)),
            (_, _, None) => {}
            (Request::List(_), _, Some(reply)) => self.listed(reply, now, &mut outcome),
            (_, None, Some(reply)) => self.opened(reply, now, &mut outcome),
            (request, Some(profile), Some(reply)) => {
                let ended = self.with_job(&profile, now, |job, context| job.reply(&request, reply, context));
                self.end(&profile, ended, &mut outcome);
            }
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// Two profiles may be at one object: what was seen of it before the last change is seen anew (`None`).
    fn order(&mut self, id: u64, request: &Request, reply: Reply) -> Option<Reply> {
        let overtaken = self.overtaken.remove(&id);
        if let Some(key) = request.changes() {
            let about = self.in_flight.iter().filter(|(_, (other, _))| other.is_about(&key));
            self.overtaken.extend(about.map(|(id, _)| *id));
        }
        match reply {
            Reply::Read(_) if overtaken => None,
            Reply::Applied(_) if overtaken => Some(Reply::Done),
            reply => Some(reply),
        }
    }

    /// How the server does.
    fn count(&mut self, reply: &Reply, now: i64, outcome: &mut Outcome) {
        match reply {
            Reply::Failed(Failure { class, message }) if class.is_transient() => {
                let was_broken = self.budget.is_broken();
                self.budget.failed(now);
                if self.budget.is_broken() && !was_broken {
                    outcome.trouble = Some(Some(format!(
                        "the API server does not answer as it should: {message}; it is tried again"
                    )));
                }
            }
            _ => {
                if self.budget.is_broken() {
                    outcome.trouble = Some(None);
                }
                self.budget.answered();
            }
        }
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
        let ended = self.with_job(profile, now, Job::begin);
        self.end(profile, ended, outcome);
    }

    fn with_job(
        &mut self,
        profile: &ProfileId,
        now: i64,
        f: impl FnOnce(&mut Job, &mut JobContext<'_>) -> Ended,
    ) -> Option<Ended> {
        let job = self.jobs.get_mut(profile)?;
        if let Some(at) = job.retry_at {
            self.retries.remove(&(at, profile.clone()));
        }
        let mut calls = Vec::new();
        let mut context = JobContext {
            now,
            shards: self.shards,
            is_management: self.is_management,
            late: &self.late,
            all_said: self.all_said,
            live: &mut self.live,
            claims: &mut self.claims,
            calls: &mut calls,
        };
        let ended = f(job, &mut context);
        if let Some(at) = job.retry_at {
            self.retries.insert((at, profile.clone()));
        }
        match job.puts_off {
            true => self.put_off.insert(profile.clone()),
            false => self.put_off.remove(profile),
        };
        self.queue.extend(calls.into_iter().map(|request| (request, Some(profile.clone()))));
        Some(ended)
    }

    fn end(&mut self, profile: &ProfileId, ended: Option<Ended>, outcome: &mut Outcome) {
        // Also one that has put off what is left to do: a list that was asked for before knows nothing of its last write.
        let puts_off = || self.jobs.get(profile).is_some_and(|job| !job.is_at_work());
        let has_ended = match ended {
            None => false,
            Some(Ended::NotYet) => puts_off(),
            Some(_) => true,
        };
        if self.reachability == Reachability::Opening && has_ended {
            self.ended.insert(profile.clone());
        }
        match ended {
            None | Some(Ended::NotYet) => {}
            Some(ended) => outcome.ended.push((profile.clone(), ended)),
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
    fn send(&mut self, now: i64, next_id: &mut u64, outcome: &mut Outcome) {
        self.ask(now, outcome);
        while !self.queue.is_empty() && self.budget.take(now) {
            let Some((request, profile)) = self.queue.pop_front() else { break };
            *next_id += 1;
            self.in_flight.insert(*next_id, (request.clone(), profile));
            outcome.calls.push((*next_id, request));
        }
        if !self.queue.is_empty() && self.budget.opens_at() > now {
            outcome.wake(self.budget.opens_at());
        }
        if let Some(until) = self.late.until() {
            outcome.wake(until);
        }
        if let (Some((at, _)), Reachability::Open) = (self.retries.first(), self.reachability) {
            outcome.wake(*at);
        }
    }
}
