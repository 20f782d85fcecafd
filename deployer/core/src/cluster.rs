//! One destination cluster: its jobs, its budget, what is known of its objects.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet, VecDeque};
use std::time::Duration;

use sluice_api::{Gvk, ObjectKey, ProfileId};

use crate::budget::{Budget, backoff, micros};
use crate::claims::Claims;
use crate::inventory::{Inventory, Stored};
use crate::job::{Ended, Job, Made, Site};
use crate::request::{Class, Failure, Live, Reply, Request};

/// Pause before a cluster whose inventories cannot be read is asked again.
const FIRST_REOPEN: Duration = Duration::from_millis(250);
/// Objects of a kind that inventories name, from which on they are listed and not read one by one.
const MANY: usize = 3;
const LONGEST_REOPEN: Duration = Duration::from_secs(10);

/// See the module's text.
pub(crate) struct Cluster {
    /// Number of shards of every table.
    shards: u16,
    pub(crate) jobs: BTreeMap<ProfileId, Job>,
    live: HashMap<ObjectKey, Live>,
    claims: Claims,
    /// Calls, and whose they are; the list of all inventories is nobody's.
    queue: VecDeque<(Request, Option<ProfileId>)>,
    in_flight: HashMap<u64, (Request, Option<ProfileId>)>,
    /// Calls in flight on objects that were changed since: what their answers tell may be older than that.
    overtaken: HashSet<u64>,
    /// Jobs that are to begin again, by time.
    retries: BTreeSet<(i64, ProfileId)>,
    /// Whether a profile has an object of a kind that can come and go.
    custom_kinds: bool,
    budget: Budget,
    access: Access,
    reopen_failures: u32,
    /// Until when calls may arrive that were made before this owner, or before the cluster was reached in this way.
    /// Once that is over everything is compared with the cluster once more.
    former_until: Option<i64>,
    /// Profiles whose work ended since the inventories were asked for.
    ended: BTreeSet<ProfileId>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Access {
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
    /// A cluster of which nothing is known; calls of a former owner may arrive until then.
    pub(crate) fn new(shards: u16, former_until: Option<i64>) -> Self {
        Self {
            shards,
            jobs: BTreeMap::new(),
            live: HashMap::new(),
            claims: Claims::default(),
            queue: VecDeque::new(),
            in_flight: HashMap::new(),
            overtaken: HashSet::new(),
            retries: BTreeSet::new(),
            custom_kinds: false,
            budget: Budget::new(),
            access: Access::None,
            reopen_failures: 0,
            former_until,
            ended: BTreeSet::new(),
        }
    }

    /// Whether its server does not answer as it should.
    pub(crate) fn is_in_trouble(&self) -> bool {
        self.budget.is_broken() || self.reopen_failures > 0
    }

    /// Calls of a former owner may arrive until then.
    pub(crate) fn follows_another(&mut self, until: i64) {
        self.former_until = Some(until);
    }

    /// It can be reached from now on, and before perhaps in another way: nothing that is known of it need be so any more.
    pub(crate) fn reachable(&mut self, now: i64, former_calls: i64, next_id: &mut u64) -> Outcome {
        self.forget(now, former_calls);
        self.access = Access::OpenAt(now);
        self.tick(now, next_id)
    }

    /// It cannot be reached any more: nobody knows how.
    pub(crate) fn unreachable(&mut self, now: i64, former_calls: i64) -> Outcome {
        self.forget(now, former_calls);
        self.access = Access::None;
        Outcome { trouble: Some(None), ..Outcome::default() }
    }

    /// Forgets everything but the rows: the next server may be another one. Answers to what was sent are for nobody,
    /// and what was sent may arrive yet, as if a former owner had sent it.
    fn forget(&mut self, now: i64, former_calls: i64) {
        if !self.in_flight.is_empty() {
            self.former_until = self.former_until.max(Some(now + former_calls));
        }
        self.live.clear();
        self.claims.clear();
        self.queue.clear();
        self.in_flight.clear();
        self.overtaken.clear();
        self.retries.clear();
        self.jobs.values_mut().for_each(Job::forget);
        (self.budget, self.reopen_failures, self.custom_kinds) = (Budget::new(), 0, false);
    }

    /// A row of `profile` came.
    pub(crate) fn retarget(
        &mut self,
        profile: &ProfileId,
        origin: u16,
        row: Made,
        now: i64,
        next_id: &mut u64,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        let job = self.jobs.entry(profile.clone()).or_insert_with(|| Job::new(profile, origin));
        if job.retarget(origin, row) && self.access == Access::Open {
            self.begin(profile, now, &mut outcome);
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// Compares everything with the cluster once more.
    fn verify(&mut self, now: i64) {
        self.live.clear();
        if matches!(self.access, Access::Open | Access::Looking(_)) {
            self.access = Access::OpenAt(now);
        }
    }

    /// Time passed.
    pub(crate) fn tick(&mut self, now: i64, next_id: &mut u64) -> Outcome {
        let mut outcome = Outcome::default();
        if self.former_until.is_some_and(|until| until <= now) {
            self.former_until = None;
            self.verify(now);
        }
        match self.access {
            Access::OpenAt(at) if at <= now => {
                self.access = Access::Opening;
                self.ended.clear();
                self.queue.push_back((Request::Inventories, None));
            }
            Access::OpenAt(at) => outcome.wake(at),
            Access::Open => self.retry(now, &mut outcome),
            Access::Opening | Access::Looking(_) | Access::None => {}
        }
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// The answer to one of the calls.
    pub(crate) fn reply(&mut self, id: u64, reply: Reply, now: i64, next_id: &mut u64) -> Outcome {
        let mut outcome = Outcome::default();
        let Some((request, profile)) = self.in_flight.remove(&id) else { return outcome };
        self.count(&reply, now, &mut outcome);
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
                let ended = self.with_job(&profile, now, |job, site| job.reply(&request, reply, site));
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

    /// With a kind go all objects of it: who had some looks again, says what is missing, and tries until it is back.
    fn lose_kind(&mut self, gvk: &Gvk) {
        let known = self.live.len();
        self.live.retain(|key, _| key.gvk != *gvk);
        if self.live.len() != known {
            self.ask_holders(|key| key.gvk == *gvk);
        }
    }

    /// Kinds of this group came or went: who has objects of them looks again.
    pub(crate) fn kinds_changed(&mut self, group: &str, now: i64, next_id: &mut u64) -> Outcome {
        let mut outcome = Outcome::default();
        self.live.retain(|key, _| key.gvk.group != group);
        self.ask_holders(|key| key.gvk.group == group);
        self.send(now, next_id, &mut outcome);
        outcome
    }

    fn ask_holders(&mut self, of: impl Fn(&ObjectKey) -> bool) {
        for (profile, job) in &self.jobs {
            let mut objects = job.inventory().into_iter().flat_map(|inventory| &inventory.objects);
            if objects.any(&of) {
                self.claims.ask(profile);
            }
        }
    }

    /// Groups of the project's own kinds end with `.k8s.io` or have no point: others can come and go.
    fn note_kinds(&mut self, inventory: &Inventory, outcome: &mut Outcome) {
        let custom = |key: &ObjectKey| key.gvk.group.contains('.') && !key.gvk.group.ends_with(".k8s.io");
        if !self.custom_kinds && inventory.objects.iter().any(custom) {
            (self.custom_kinds, outcome.custom_kinds) = (true, true);
        }
    }

    /// How the server does.
    fn count(&mut self, reply: &Reply, now: i64, outcome: &mut Outcome) {
        match reply {
            Reply::Failed(Failure { class: Class::Transient, message }) => {
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

    fn opened(&mut self, reply: Reply, now: i64, outcome: &mut Outcome) {
        match reply {
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
                self.access = Access::OpenAt(at);
                outcome.wake(at);
                if let Reply::Failed(failure) = other {
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
        for inventory in self.jobs.values().filter_map(Job::inventory) {
            inventory.objects.iter().for_each(|key| *kinds.entry(&key.gvk).or_default() += 1);
        }
        let many = kinds.into_iter().filter(|(_, count)| *count >= MANY).map(|(gvk, _)| gvk.clone());
        let lists: Vec<_> = many.filter(|_| self.in_flight.is_empty() && self.live.is_empty()).collect();
        if lists.is_empty() {
            return self.open(now, outcome);
        }
        self.access = Access::Looking(lists.len());
        self.queue.extend(lists.into_iter().map(|gvk| (Request::List(gvk), None)));
    }

    /// A list came, or cannot be had: what it does not tell is read one by one.
    fn listed(&mut self, reply: Reply, now: i64, outcome: &mut Outcome) {
        if let Reply::Listed(objects) = reply {
            let own = objects.into_iter().filter(|(key, live)| self.is_its_owners(key, live));
            let own: Vec<_> = own.collect();
            self.live.extend(own);
        }
        match self.access {
            Access::Looking(left) if left > 1 => self.access = Access::Looking(left - 1),
            Access::Looking(_) => self.open(now, outcome),
            _ => {}
        }
    }

    /// Whether the profile that the object names has it in its inventory.
    fn is_its_owners(&self, key: &ObjectKey, live: &Live) -> bool {
        let owner = live.owner.as_ref().map(|owner| ProfileId::of_path(&owner.name));
        let inventory = owner.and_then(|owner| self.jobs.get(&owner)?.inventory());
        !live.going && inventory.is_some_and(|inventory| inventory.objects.contains(key))
    }

    fn open(&mut self, now: i64, outcome: &mut Outcome) {
        self.access = Access::Open;
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
            self.jobs.insert(profile, job);
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
        f: impl FnOnce(&mut Job, &mut Site<'_>) -> Ended,
    ) -> Option<Ended> {
        let job = self.jobs.get_mut(profile)?;
        if let Some(at) = job.retry_at {
            self.retries.remove(&(at, profile.clone()));
        }
        let mut calls = Vec::new();
        let mut site = Site {
            now,
            shards: self.shards,
            former_until: self.former_until.unwrap_or(0),
            live: &mut self.live,
            claims: &mut self.claims,
            calls: &mut calls,
        };
        let ended = f(job, &mut site);
        if let Some(at) = job.retry_at {
            self.retries.insert((at, profile.clone()));
        }
        self.queue.extend(calls.into_iter().map(|request| (request, Some(profile.clone()))));
        Some(ended)
    }

    fn end(&mut self, profile: &ProfileId, ended: Option<Ended>, outcome: &mut Outcome) {
        if self.access == Access::Opening && !matches!(ended, None | Some(Ended::NotYet)) {
            self.ended.insert(profile.clone());
        }
        match ended {
            None | Some(Ended::NotYet) => {}
            Some(ended) => outcome.ended.push((profile.clone(), ended)),
        }
    }

    /// Lets those begin again to whom an object has become free, or who have lost one. It ends: an object only goes to
    /// who comes before its holder, or to one of those who wait for it.
    fn ask(&mut self, now: i64, outcome: &mut Outcome) {
        loop {
            let asked = self.claims.take_asked();
            if asked.is_empty() || self.access != Access::Open {
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
        if let Some(until) = self.former_until {
            outcome.wake(until);
        }
        if let (Some((at, _)), Access::Open) = (self.retries.first(), self.access) {
            outcome.wake(*at);
        }
    }
}
