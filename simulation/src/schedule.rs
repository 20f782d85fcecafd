//! One schedule: a seed decides everything.

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;
use sluice_api::object;
use sluice_dryrun::{Input, build_at};

use crate::api_server::ApiServer;
use crate::checks::History;
use crate::management::{CLUSTERS, Management};
use crate::replica::{Process, Replica};
use crate::roles::{AgentRole, DeployerRole, MatcherRole, RendererRole, SHARDS};
use crate::store::Store;
use crate::world::{STEP, World};

/// Steps of a schedule; faults end after a part of them.
const STEPS: i64 = 4000;
const FAULTS_UNTIL: i64 = 2000;
const SERVICES: [&str; 3] = ["s1", "s2", "s3"];
/// Replicas that do something in one step.
const AT_ONCE: usize = 40;

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

/// Runs the schedule of a seed; `trace` tells every step on standard error.
///
/// # Errors
/// The first violation.
pub fn run(seed: u64, trace: bool) -> Result<(), Violation> {
    let mut schedule = Schedule::new(seed, trace);
    while schedule.world.now < STEPS * STEP {
        schedule.step();
        if let Some(what) = schedule.world.violation.take() {
            return Err(Violation { seed, step: schedule.world.now / STEP, what });
        }
    }
    schedule.compare().map_err(|what| Violation { seed, step: STEPS, what })
}

struct Schedule {
    world: World,
    replicas: Vec<Box<dyn Replica>>,
    version: u64,
}

impl Schedule {
    fn new(seed: u64, trace: bool) -> Self {
        let mut replicas: Vec<Box<dyn Replica>> = Vec::new();
        for index in 0..2 {
            for cluster in CLUSTERS {
                replicas.push(Box::new(Process::new(AgentRole::new(cluster), index)));
            }
            for shard in 0..SHARDS {
                replicas.push(Box::new(Process::new(MatcherRole::new(shard), index)));
                replicas.push(Box::new(Process::new(RendererRole::new(shard), index)));
                replicas.push(Box::new(Process::new(DeployerRole::new(shard, index), index)));
            }
        }
        let world = World {
            random: SmallRng::seed_from_u64(seed),
            now: 0,
            store: Store::new(SHARDS),
            management: Management::new(),
            clusters: CLUSTERS.iter().map(|name| ((*name).to_owned(), ApiServer::default())).collect(),
            history: History::default(),
            owners: replicas.iter().map(|replica| (replica.role().to_owned(), 0)).collect(),
            trace,
            violation: None,
        };
        let mut schedule = Self { world, replicas, version: 0 };
        for _ in 0..4 {
            schedule.change_service();
        }
        schedule
    }

    fn step(&mut self) {
        self.world.now += STEP;
        let now = self.world.now;
        self.world.store.expire(now);
        // Of a trigger that is not there, everything may go at any time.
        for trigger in &self.world.management.missing {
            self.world.history.reason(trigger, now);
        }
        self.world.history.now = now;
        if now < FAULTS_UNTIL * STEP {
            self.fault();
        }
        for _ in 0..AT_ONCE {
            let index = self.world.random.random_range(0..self.replicas.len());
            self.replicas[index].step(&mut self.world);
        }
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.world.random.random_bool(probability)
    }

    fn fault(&mut self) {
        if self.chance(0.03) {
            self.change_service();
        }
        if self.chance(0.0015) {
            let now = self.world.now;
            for trigger in self.world.management.change(&mut self.world.random) {
                self.world.history.reason(trigger, now);
            }
        }
        if self.chance(0.012) {
            let index = self.world.random.random_range(0..self.world.owners.len());
            if let Some(owner) = self.world.owners.values_mut().nth(index) {
                *owner ^= 1;
            }
        }
        let victim = self.world.random.random_range(0..self.replicas.len());
        if self.chance(0.01) {
            self.world.tell(|| format!("crash {}", self.replicas[victim].role()));
            self.replicas[victim].crash();
        }
        if self.chance(0.01) {
            let steps = [3, 30, 300][self.world.random.random_range(0..3)];
            self.replicas[victim].pause(self.world.now + steps * STEP);
        }
        let streams = self.world.store.keys();
        if self.chance(0.004) {
            let (table, shard) = streams[self.world.random.random_range(0..streams.len())];
            self.world.tell(|| format!("wipe {table:?} {shard}"));
            self.world.store.wipe(table, shard);
        }
        if self.chance(0.001) {
            self.world.tell(|| "wipe all".to_owned());
            streams.iter().for_each(|(table, shard)| self.world.store.wipe(*table, *shard));
        }
    }

    fn change_service(&mut self) {
        let cluster = CLUSTERS[self.world.random.random_range(0..CLUSTERS.len())];
        let service = SERVICES[self.world.random.random_range(0..SERVICES.len())];
        let (exists, event) = (self.chance(0.7), self.chance(0.8));
        self.version += 1;
        let Some(server) = self.world.clusters.get_mut(cluster) else { return };
        if exists {
            server.put_service(service, self.version, event);
        } else {
            server.delete_service(service);
        }
        self.world
            .tell(|| format!("service {cluster}/{service} exists {exists} event {event} v {}", self.version));
        let version = (exists && event).then_some(self.version);
        self.world.history.service(cluster, service, version, self.world.now);
    }

    /// After the faults the clusters hold what a pure function says.
    fn compare(&self) -> Result<(), String> {
        let held = self.world.clusters.iter().map(|(name, server)| {
            (("default".to_owned(), name.clone()), server.services.values().cloned().collect())
        });
        let input = Input {
            management: self.world.management.objects.iter().map(|object| (**object).clone()).collect(),
            clusters: held.collect(),
        };
        let expected = build_at(&input, 0);
        for (name, server) in &self.world.clusters {
            let wanted = expected.clusters.get(&format!("default/{name}")).map_or(&[][..], Vec::as_slice);
            let (wanted, found) =
                (content(wanted.iter()), content(server.applied.values().map(|object| &**object)));
            if wanted != found {
                return Err(format!("cluster {name} holds {found:?} and should hold {wanted:?}"));
            }
        }
        Ok(())
    }
}

fn content<'a>(objects: impl Iterator<Item = &'a Value>) -> BTreeMap<String, String> {
    objects
        .map(|object| {
            (object::name(object).to_owned(), object.get("data").map(Value::to_string).unwrap_or_default())
        })
        .collect()
}
