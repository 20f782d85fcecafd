//! One schedule: a seed decides everything.

// D-1302: faults are simulated under a seed.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use sluice_protocol::Shard;
use sluice_renderer_core::Caches;

use crate::api_server::{ApiServer, SentEvent};
use crate::checks::History;
use crate::circle::Circle;
use crate::coverage::{Coverage, Fault};
use crate::departure::Departure;
use crate::faults::Faults;
use crate::fight::Fight;
use crate::management::{CLUSTERS, Management, SERVERS};
use crate::membership::Air;
use crate::pulling;
use crate::refusals::Lasting;
use crate::replica::{Process, Replica};
use crate::role::Seat;
use crate::roles::{AgentRole, DeployerRole, MatcherRole, RendererRole, SHARDS};
use crate::rollbacks::Rollbacks;
use crate::store::Store;
use crate::timed_pause::{self, TimedPause};
use crate::unreached::Unreached;
use crate::world::{STEP, TOMBSTONE_TTLS, World};

/// Steps of a schedule; faults end after a part of them.
pub(crate) const STEPS: i64 = 4000;
const FAULTS_UNTIL: i64 = 2000;
const SERVICES: [&str; 3] = ["s1", "s2", "s3"];
/// What CloudEvents are about.
const SUBJECTS: [&str; 2] = ["e1", "e2"];
/// How often a replica does something in two steps.
const EACH: usize = 5;

/// Something happened that must never happen, or the end is not what it should be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The seed that replays it.
    pub seed: u64,
    /// The step in which it was seen.
    pub step: i64,
    /// What.
    pub what: String,
}

/// Runs schedules; what they compile from the same text is kept.
pub struct Simulation {
    caches: Caches,
}

impl Default for Simulation {
    fn default() -> Self {
        Self { caches: Caches::keeping_everything() }
    }
}

impl Simulation {
    /// Runs the schedule of a seed; `trace` tells every step on standard error.
    ///
    /// # Errors
    /// The first violation.
    pub fn run(&self, seed: u64, trace: bool) -> Result<Coverage, Violation> {
        let mut schedule = Schedule::new(seed, trace, self.caches.clone());
        let end = schedule.world.end();
        while schedule.world.now < end {
            schedule.step();
            if let Some(what) = schedule.world.violation.take() {
                return Err(Violation { seed, step: schedule.world.now / STEP, what });
            }
        }
        schedule.compare().map_err(|what| Violation { seed, step: end / STEP, what })?;
        Ok(schedule.world.coverage)
    }
}

pub(crate) struct Schedule {
    pub(crate) world: World,
    pub(crate) replicas: Vec<Box<dyn Replica>>,
    faults: Faults,
    version: u64,
    /// The replicas that could do something in this step.
    awake: Vec<usize>,
}

/// Two replicas of every role; of a cluster that pulls the deployer that is in it is one.
fn replicas(pulling: Option<&'static str>) -> Vec<Box<dyn Replica>> {
    let mut replicas: Vec<Box<dyn Replica>> = Vec::new();
    for index in 0..2 {
        let mut roles = 0..;
        let mut seat = || Seat { role: roles.next().unwrap_or_default(), index };
        for cluster in CLUSTERS {
            replicas.push(Box::new(Process::new(AgentRole::new(cluster), seat())));
        }
        for shard in Shard::all(SHARDS) {
            replicas.push(Box::new(Process::new(MatcherRole::new(shard), seat())));
            replicas.push(Box::new(Process::new(RendererRole::new(shard), seat())));
            let seat = seat();
            replicas.push(Box::new(Process::new(DeployerRole::new(shard, seat), seat)));
        }
        if let Some(cluster) = pulling {
            let seat = seat();
            replicas.push(Box::new(Process::new(DeployerRole::inside(cluster, seat), seat)));
        }
    }
    replicas
}

impl Schedule {
    fn new(seed: u64, trace: bool, caches: Caches) -> Self {
        let mut random = SmallRng::seed_from_u64(seed);
        let pulling = pulling::pulling(seed);
        let (replicas, mut faults) =
            (replicas(pulling.map(|index| CLUSTERS[index])), Faults::new(&mut random));
        let timed_pause = TimedPause::of(seed);
        if timed_pause.is_some() {
            faults.keep_clocks_right();
        }
        let world = World {
            now: 0,
            store: Store::new(SHARDS, faults.is_replicated()),
            tombstone_ttl: TOMBSTONE_TTLS[random.random_range(0..TOMBSTONE_TTLS.len())],
            management: Management::new(&mut random, pulling),
            clusters: SERVERS.into_iter().map(|name| (name, ApiServer::default())).collect(),
            history: History::default(),
            rollbacks: Rollbacks::default(),
            lasting: Lasting::of(seed),
            departure: Departure::of(seed, FAULTS_UNTIL),
            circle: Circle::of(seed, FAULTS_UNTIL),
            timed_pause,
            fight: Fight::of(seed),
            // Who is in its cluster reaches it.
            unreached: Unreached::of(seed, FAULTS_UNTIL).filter(|_| pulling.is_none()),
            air: Air::new(replicas.len() / 2),
            at_work: vec![[false; 2]; replicas.len() / 2],
            coverage: Coverage::default(),
            rough: faults.is_rough(),
            trace,
            violation: None,
            caches,
            random,
        };
        let mut schedule = Self { world, replicas, faults, version: 0, awake: Vec::new() };
        let Self { faults, world, replicas, .. } = &mut schedule;
        faults.set_clocks(world, replicas);
        for _ in 0..4 {
            schedule.change_service();
        }
        schedule
    }

    fn step(&mut self) {
        let world = &mut self.world;
        world.now += STEP;
        world.history.now = world.now;
        let expired = world.store.expire(world.now);
        world.coverage.many(Fault::Expired, expired as u64);
        world.clusters.values_mut().for_each(|server| server.pass_time(world.now));
        let World { store, random, rough, coverage, now, .. } = world;
        store.pass_time(*now, || {
            let lags = *rough && random.random_bool(0.3);
            coverage.many(Fault::Lag, u64::from(lags));
            lags
        });
        if world.store.has_older() {
            world.history.note_older();
        }
        world.note_reasons();
        if world.now < FAULTS_UNTIL * STEP {
            self.faults.clone().happen(self);
        } else if world.now == FAULTS_UNTIL * STEP {
            world.management.mend(world.now);
            world.rough = false;
            world.clusters.values_mut().for_each(|server| server.ill = Default::default());
            world.begin_lasting();
            self.faults.end(&mut self.replicas);
        }
        self.world.depart();
        self.world.lose_way();
        self.world.pass_circle();
        self.world.pass_fight();
        timed_pause::pass(self);
        self.world.write_last();
        self.work();
    }

    /// Lets replicas do something in a random order: those that could, as often as if all were asked.
    fn work(&mut self) {
        let Self { world, replicas, awake, .. } = self;
        replicas.iter_mut().for_each(|replica| replica.keep_membership(world));
        awake.clear();
        awake.extend((0..replicas.len()).filter(|index| !replicas[*index].rest(world)));
        if awake.is_empty() {
            return;
        }
        for _ in 0..(EACH * awake.len()).div_ceil(2) {
            let index = awake[world.random.random_range(0..awake.len())];
            replicas[index].step(world);
        }
    }

    pub(crate) fn chance(&mut self, probability: f64) -> bool {
        self.world.random.random_bool(probability)
    }

    /// Somebody sends a CloudEvent to a cluster.
    pub(crate) fn send_event(&mut self) {
        let world = &mut self.world;
        let cluster = CLUSTERS[world.random.random_range(0..CLUSTERS.len())];
        if world.random.random_bool(0.15) {
            return send_again(world, cluster);
        }
        let subject = SUBJECTS[world.random.random_range(0..SUBJECTS.len())];
        let kind = ["made", "made", "gone", "else"][world.random.random_range(0..4)];
        self.version += 1;
        let event = SentEvent { subject, kind, version: self.version, time: world.now };
        if let Some(server) = world.clusters.get_mut(cluster) {
            server.sent.push(event);
        }
        if kind == "gone" {
            world.history.deleted(cluster, subject, self.version);
        }
        world.happened(Fault::Sent, || format!("{cluster}/{subject} {kind} {}", self.version));
    }

    pub(crate) fn change_service(&mut self) {
        let world = &mut self.world;
        let cluster = CLUSTERS[world.random.random_range(0..CLUSTERS.len())];
        let service = SERVICES[world.random.random_range(0..SERVICES.len())];
        let [exists, event, gold] = [0.7, 0.8, 0.5].map(|probability| world.random.random_bool(probability));
        self.version += 1;
        let Some(server) = world.clusters.get_mut(cluster) else { return };
        if !exists {
            let was = server.delete_service(service);
            world.coverage.many(Fault::Deleted, u64::from(was));
        } else if server.put_service(service, self.version, event, gold) {
            world.coverage.note(Fault::Created);
        } else {
            world.coverage.note(Fault::Edited);
        }
        world
            .tell(|| format!("service {cluster}/{service} exists {exists} event {event} v {}", self.version));
        let version = (exists && event).then_some(self.version);
        world.history.service(cluster, service, version, world.now);
    }
}

/// Somebody who does not know whether an event has arrived sends it once more, one of the last that agents remember.
fn send_again(world: &mut World, cluster: &'static str) {
    let Some(server) = world.clusters.get_mut(cluster) else { return };
    let back = world.random.random_range(1..12);
    let Some(event) = server.sent.len().checked_sub(back).map(|at| server.sent[at].clone()) else { return };
    let text = format!("{cluster}/{} {} {}", event.subject, event.kind, event.version);
    server.sent.push(SentEvent { time: world.now, ..event });
    world.happened(Fault::SentAgain, || text);
}
