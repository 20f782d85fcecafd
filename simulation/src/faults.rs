//! What breaks in a schedule, and how often.

use rand::Rng as _;
use rand::rngs::SmallRng;
use sluice_protocol::Table;

use crate::api_server::others::Meddling;
use crate::coverage::Fault;
use crate::management::{CLUSTERS, SERVERS};
use crate::pulling;
use crate::refusals::Refused;
use crate::replica::Replica;
use crate::schedule::Schedule;
use crate::store::NODES;
use crate::world::{STEP, World};

/// How much of each kind there is in this schedule: schedules differ, so that what needs quiet in one place and
/// trouble in another comes together too.
#[derive(Clone)]
pub(crate) struct Faults {
    services: f64,
    edits: f64,
    upsets: f64,
    rivals: f64,
    spoilings: f64,
    owners: f64,
    crashes: f64,
    silence: f64,
    outages: f64,
    refusals: f64,
    clocks: f64,
    upgrades: f64,
    wipes: f64,
    elections: f64,
    losses: f64,
    replicated: bool,
    rough: bool,
}

impl Faults {
    pub(crate) fn new(random: &mut SmallRng) -> Self {
        let mut pick = || [0.0, 0.3, 1.0, 1.0, 3.0][random.random_range(0..5)];
        let (clocks, upgrades) = (0.01 * pick(), if pick() > 0.5 { 0.03 } else { 0.0 });
        Self {
            services: 0.03 * (pick() + 0.1),
            edits: 0.002 * pick(),
            upsets: 0.001 * pick(),
            rivals: if pick() > 1.0 { 0.004 } else { 0.0 },
            spoilings: if pick() > 0.5 { 0.004 } else { 0.0 },
            owners: 0.012 * pick(),
            crashes: 0.01 * pick(),
            silence: 0.01 * pick(),
            outages: 0.002 * pick(),
            refusals: 0.003 * pick(),
            clocks,
            upgrades,
            wipes: 0.004 * pick(),
            elections: 0.01 * pick(),
            losses: 0.002 * pick(),
            replicated: pick() > 0.5,
            rough: pick() > 0.0,
        }
    }

    /// Every machine has a clock that is right.
    pub(crate) fn keep_clocks_right(&mut self) {
        self.clocks = 0.0;
    }

    /// In the end all are of one version.
    pub(crate) fn end(&self, replicas: &mut [Box<dyn Replica>]) {
        if self.upgrades > 0.0 {
            replicas.iter_mut().for_each(|replica| replica.upgrade(true));
        }
    }

    /// Clocks of machines are off from the beginning.
    pub(crate) fn set_clocks(&self, world: &mut World, replicas: &mut [Box<dyn Replica>]) {
        for replica in replicas.iter_mut().filter(|_| self.clocks > 0.0) {
            set_clock(world, &mut **replica);
        }
    }

    /// Whether messages are delayed, lost, repeated and reordered.
    pub(crate) fn is_rough(&self) -> bool {
        self.rough
    }

    /// Whether streams have several replicas.
    pub(crate) fn is_replicated(&self) -> bool {
        self.replicated
    }

    /// What happens in one step.
    pub(crate) fn happen(&self, schedule: &mut Schedule) {
        if schedule.chance(self.services) {
            schedule.change_service();
        }
        if schedule.chance(self.services / 2.0) {
            schedule.send_event();
        }
        self.manage(schedule);
        self.break_replicas(schedule);
        self.break_servers(schedule);
        pulling::cut_off(schedule);
        if self.replicated {
            self.break_nodes(schedule);
        }
    }

    /// Leaders change, nodes die, and a stream may not have what it had acknowledged.
    fn break_nodes(&self, schedule: &mut Schedule) {
        let Schedule { world, replicas, .. } = schedule;
        if world.random.random_bool(self.elections) {
            let streams = world.store.keys();
            let until = world.now + world.random.random_range(2..80) * STEP;
            // A node leads a third of them.
            for key in streams {
                if world.random.random_bool(0.3) {
                    world.store.elect(key, until);
                }
            }
            world.happened(Fault::Election, String::new);
            let node = world.random.random_range(0..NODES);
            if world.random.random_bool(0.5) {
                replicas.iter_mut().for_each(|replica| replica.lose_node(node, (node + 1) % NODES));
                world.happened(Fault::NodeDeath, || node.to_string());
            }
        }
        if world.random.random_bool(self.elections / 2.0) {
            // Not for as long as tombstones live: what comes after the lag is still to be read.
            let most = (world.tombstone_ttl / STEP * 2 / 3).min(500);
            let longest = if world.random.random_bool(0.3) { most } else { 60 };
            let (node, steps) = (world.random.random_range(0..NODES), world.random.random_range(5..longest));
            if world.store.slow_down(node, world.now, world.now + steps * STEP) {
                world.happened(Fault::SlowNode, || format!("{node} for {steps} steps"));
            }
        }
        if world.random.random_bool(self.losses) {
            let streams = world.store.keys();
            let key = streams[world.random.random_range(0..streams.len())];
            let (rows, after) = (world.random.random_range(1..6), world.random.random_range(1..20) * STEP);
            let lost = world.store.lose_tail(key, rows, world.now + after);
            if lost > 0 {
                world.note_loss();
                world.happened(Fault::LostTail, || format!("{lost} of {key:?}"));
            }
        }
    }

    fn manage(&self, schedule: &mut Schedule) {
        let world = &mut schedule.world;
        let fault = if world.random.random_bool(self.edits) {
            world.management.edit(&mut world.random, world.now)
        } else if world.random.random_bool(self.upsets) {
            world.management.upset(&mut world.random, world.now)
        } else if world.random.random_bool(self.rivals) {
            world.management.flip_rival_at(world.now)
        } else if world.random.random_bool(self.spoilings) {
            world.management.change_back(&mut world.random, world.now)
        } else if world.random.random_bool(0.002) && world.management.register_late(world.now) {
            Fault::Registered
        } else {
            return;
        };
        world.note_reasons();
        let what = world.management.last();
        world.happened(fault, || what);
    }

    fn break_replicas(&self, schedule: &mut Schedule) {
        let Schedule { world, replicas, .. } = schedule;
        let index = world.random.random_range(0..replicas.len());
        let victim = &mut replicas[index];
        if world.random.random_bool(self.owners) {
            let until = world.now + [1, 10, 70, 200][world.random.random_range(0..4)] * STEP;
            victim.leave(world, until);
            world.happened(Fault::Leave, || victim.name().to_owned());
        }
        if world.random.random_bool(self.crashes) {
            victim.crash();
            world.happened(Fault::Crash, || victim.name().to_owned());
        }
        if world.random.random_bool(self.upgrades) {
            let newer = world.random.random_bool(0.7);
            victim.upgrade(newer);
            let fault = if newer { Fault::Upgraded } else { Fault::Downgraded };
            world.happened(fault, || victim.name().to_owned());
        }
        if world.random.random_bool(0.01) && victim.relist() {
            world.happened(Fault::Relist, || victim.name().to_owned());
        }
        if world.random.random_bool(self.clocks) {
            set_clock(world, &mut **victim);
        }
        if !world.random.random_bool(self.silence) {
            return;
        }
        let steps = [3, 30, 70, 300][world.random.random_range(0..4)];
        let until = world.now + steps * STEP;
        let fault = match world.random.random_range(0..10) {
            0..5 => {
                victim.pause(until);
                Fault::Pause
            }
            5..8 => {
                victim.cut(until);
                Fault::Cut
            }
            _ => {
                victim.deafen(until);
                Fault::Deaf
            }
        };
        world.happened(fault, || format!("{} for {steps} steps", victim.name()));
    }

    fn break_servers(&self, schedule: &mut Schedule) {
        let world = &mut schedule.world;
        if world.random.random_bool(self.outages) {
            let cluster = SERVERS[world.random.random_range(0..SERVERS.len())];
            let until = world.now + world.random.random_range(5..100) * STEP;
            if let Some(server) = world.clusters.get_mut(cluster) {
                server.away_until = until;
            }
            world.happened(Fault::Outage, || cluster.to_owned());
        }
        if world.random.random_bool(self.outages) {
            fail_checks(world);
            interfere(world);
        }
        if world.random.random_bool(self.refusals) {
            let cluster = SERVERS[world.random.random_range(0..SERVERS.len())];
            let refused = Refused::pick(&mut world.random);
            let steps = world.random.random_range(5..200);
            let until = world.now + steps * STEP;
            world.tell(|| format!("{cluster} refuses {refused:?} for {steps} steps"));
            if let Some(server) = world.clusters.get_mut(cluster) {
                server.refusals.begin(refused, until);
            }
        }
        if world.random.random_bool(self.outages / 2.0) {
            let cluster = CLUSTERS[world.random.random_range(0..CLUSTERS.len())];
            let swap = world.random.random_bool(0.5);
            // Who is in its cluster needs no kubeconfig.
            let pulls = world.management.pulling() == Some(cluster);
            if let Some(server) = world.clusters.get_mut(cluster).filter(|_| !pulls) {
                server.change_way(swap);
                world.happened(if swap { Fault::Swapped } else { Fault::Rekeyed }, || cluster.to_owned());
            }
        }
        if world.random.random_bool(self.outages) {
            let cluster = SERVERS[world.random.random_range(0..SERVERS.len())];
            let index = world.random.random_range(0..4);
            if let Some(key) = world.clusters.get_mut(cluster).and_then(|server| server.adopt(index)) {
                world.happened(Fault::Adopted, || format!("{cluster} {key}"));
            }
        }
        if world.random.random_bool(self.wipes) {
            let streams = world.store.keys();
            if world.random.random_bool(0.2) {
                streams.into_iter().for_each(|(table, shard)| world.store.wipe(table, shard));
                world.store.wipe_interests();
                world.history.wiped_at = world.now;
                return world.happened(Fault::WipeAll, String::new);
            }
            let Some(&(table, shard)) = streams.get(world.random.random_range(0..=streams.len())) else {
                world.store.wipe_interests();
                return world.happened(Fault::WipeInterest, String::new);
            };
            world.store.wipe(table, shard);
            if table == Table::Desired {
                world.history.wiped_at = world.now;
            }
            world.happened(Fault::Wipe, || format!("{table:?} {shard}"));
        }
    }
}

/// Of a cluster on which they do not fail already.
fn fail_checks(world: &mut World) {
    let cluster = SERVERS[world.random.random_range(0..SERVERS.len())];
    let (now, steps) = (world.now, world.random.random_range(5..1_500));
    let Some(server) = world.clusters.get_mut(cluster).filter(|server| server.ill_for(now).is_none()) else {
        return;
    };
    server.ill = (now, now + steps * STEP);
    world.happened(Fault::Ill, || format!("{cluster} for {steps} steps"));
}

/// With what a profile has deployed.
fn interfere(world: &mut World) {
    let cluster = SERVERS[world.random.random_range(0..SERVERS.len())];
    let all = [Meddling::Delete, Meddling::Change, Meddling::Strip];
    let meddling = all[world.random.random_range(0..all.len())];
    if world.is_fought_over(cluster) {
        return;
    }
    let Some(server) = world.clusters.get_mut(cluster) else { return };
    if let Some(key) = server.interfere(meddling) {
        world.happened(meddling.fault(), || format!("{cluster} {key}"));
    }
}

/// By up to five minutes.
fn set_clock(world: &mut World, victim: &mut dyn Replica) {
    let seconds = world.random.random_range(-300..300);
    victim.set_clock(seconds * 1_000_000);
    let fault = if seconds < 0 { Fault::ClockBack } else { Fault::ClockForward };
    world.happened(fault, || format!("{} by {seconds} s", victim.name()));
}
