//! The four stages as roles.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use rand::Rng as _;
use sluice_agent_core as agent;
use sluice_api::ClusterRef;
use sluice_deployer_core as deployer;
use sluice_matcher_core as matcher;
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{Row, Subject, Table};
use sluice_renderer_core as renderer;

use crate::api_server::{seen, selects};
use crate::management::CLUSTERS;
use crate::role::Role;
use crate::world::{STEP, TOMBSTONE_TTL, World, cluster_ref};

/// Shards of every table in the simulation.
pub(crate) const SHARDS: u16 = 2;

/// A position in the interest rows.
#[derive(Default)]
struct Interests(usize);

impl Interests {
    fn next(&mut self, world: &World) -> Option<(ClusterRef, sluice_protocol::interest::Interest)> {
        // A bucket keeps the newest row of each key: older ones cannot be read any more.
        loop {
            let (cluster, row) = world.store.interests.get(self.0)?.clone();
            self.0 += 1;
            if world.store.interests[self.0..].iter().all(|(newer, _)| *newer != cluster) {
                return Some((cluster, row));
            }
        }
    }
}

// === agent ===

/// The agent of one cluster.
pub(crate) struct AgentRole {
    cluster: String,
    interests: Interests,
    /// By number: what it watches, whether it has listed, and its position in the log.
    watches: BTreeMap<u64, (agent::WatchSpec, bool, usize)>,
}

impl AgentRole {
    pub(crate) fn new(cluster: &str) -> Self {
        Self { cluster: cluster.to_owned(), interests: Interests::default(), watches: BTreeMap::new() }
    }

    fn watched(&mut self, world: &mut World) -> Option<agent::Side> {
        let server = world.clusters.get(&self.cluster)?;
        let index = world.random.random_range(0..self.watches.len().max(1));
        let (id, (spec, listed, at)) = self.watches.iter_mut().nth(index)?;
        // Now and then a watch is cut, and lists again.
        if !*listed || world.random.random_bool(0.02) {
            (*listed, *at) = (true, server.log.len());
            return Some(agent::Side::Listed(*id, server.list(spec)));
        }
        let (key, object) = server.log.get(*at)?;
        *at += 1;
        let shown = object.as_ref().filter(|object| selects(spec, object)).and_then(seen);
        Some(match shown {
            Some(seen) => agent::Side::Applied(*id, seen),
            None => agent::Side::Deleted(*id, key.clone()),
        })
    }
}

impl Role for AgentRole {
    type Core = agent::Agent;

    fn name(&self) -> String {
        format!("agent {}", self.cluster)
    }

    fn core(&self, world: &World) -> agent::Agent {
        let outputs = world.store.incarnations(Table::Changes);
        agent::Agent::new(agent::Config { cluster: cluster_ref(&self.cluster), shards: SHARDS, outputs })
    }

    fn output(&self) -> Table {
        Table::Changes
    }

    fn fence(&self) -> String {
        self.cluster.clone()
    }

    fn owns(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Change { cluster, .. } | Subject::Complete { cluster, .. } => {
                *cluster == cluster_ref(&self.cluster)
            }
            _ => false,
        }
    }

    fn input(&self) -> Option<(Table, u16)> {
        None
    }

    fn reset(&mut self) {
        *self = Self::new(&self.cluster);
    }

    fn side(&mut self, world: &mut World) -> Option<agent::Side> {
        if world.random.random_bool(0.5)
            && let Some((cluster, row)) = self.interests.next(world)
        {
            return (cluster == cluster_ref(&self.cluster)).then_some(agent::Side::Interest(row));
        }
        self.watched(world)
    }

    fn effect(&mut self, _: &mut World, effect: agent::Effect) {
        match effect {
            agent::Effect::Watch(id, spec) => drop(self.watches.insert(id, (spec, false, 0))),
            agent::Effect::Unwatch(id) => drop(self.watches.remove(&id)),
        }
    }
}

// === matcher ===

/// The matcher of one shard.
pub(crate) struct MatcherRole {
    shard: u16,
    interests: Interests,
    replays: VecDeque<matcher::Side>,
}

impl MatcherRole {
    pub(crate) fn new(shard: u16) -> Self {
        Self { shard, interests: Interests::default(), replays: VecDeque::new() }
    }
}

impl Role for MatcherRole {
    type Core = matcher::Matcher;

    fn name(&self) -> String {
        format!("matcher {}", self.shard)
    }

    fn core(&self, world: &World) -> matcher::Matcher {
        matcher::Matcher::new(matcher::Config {
            shard: self.shard,
            shards: SHARDS,
            input: world.store.stream(Table::Changes, self.shard).incarnation(),
            outputs: world.store.incarnations(Table::Reports),
            limits: sluice_script::Limits::default(),
        })
    }

    fn output(&self) -> Table {
        Table::Reports
    }

    fn fence(&self) -> String {
        own_rows::shard_token(self.shard)
    }

    fn owns(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Report { origin, .. } | Subject::Complete { origin: Some(origin), .. } => {
                *origin == self.shard
            }
            _ => false,
        }
    }

    fn input(&self) -> Option<(Table, u16)> {
        Some((Table::Changes, self.shard))
    }

    fn reset(&mut self) {
        *self = Self::new(self.shard);
    }

    fn side(&mut self, world: &mut World) -> Option<matcher::Side> {
        if world.random.random_bool(0.5)
            && let Some(replayed) = self.replays.pop_front()
        {
            return Some(replayed);
        }
        self.interests.next(world).map(|(cluster, row)| matcher::Side::Interest(cluster, row))
    }

    fn effect(&mut self, world: &mut World, effect: matcher::Effect) {
        let matcher::Effect::Replay(cluster, id) = effect else { return };
        for (sequence, stored) in world.store.stream(Table::Changes, self.shard).rows() {
            let message = stored.value.clone();
            if matches!(&message.subject, Subject::Change { cluster: of, .. } if *of == cluster) {
                let row = Row { subject: message.subject, head: message.head, body: message.body, sequence };
                self.replays.push_back(matcher::Side::Replayed(row));
            }
        }
        self.replays.push_back(matcher::Side::ReplayDone(cluster, id));
    }
}

// === renderer ===

/// The renderer of one shard.
pub(crate) struct RendererRole {
    shard: u16,
    interests: Interests,
    management: usize,
    status: u64,
    status_incarnation: u64,
}

impl RendererRole {
    pub(crate) fn new(shard: u16) -> Self {
        Self { shard, interests: Interests::default(), management: 0, status: 0, status_incarnation: 0 }
    }
}

impl Role for RendererRole {
    type Core = renderer::Renderer;

    fn name(&self) -> String {
        format!("renderer {}", self.shard)
    }

    fn core(&self, world: &World) -> renderer::Renderer {
        let mut core = renderer::Renderer::new(renderer::Config {
            shard: self.shard,
            shards: SHARDS,
            input: world.store.stream(Table::Reports, self.shard).incarnation(),
            tombstone_ttl: TOMBSTONE_TTL,
            limits: sluice_template::Limits::default(),
        });
        // The shell lets a renderer begin only when it has read the management cluster and the interest rows.
        let mut step = sluice_protocol::Step::at(world.now);
        for object in &world.management.objects {
            let change = renderer::Change::Upsert(Arc::new(object.clone()));
            sluice_protocol::Core::side(&mut core, renderer::Side::Management(change), &mut step);
        }
        for (cluster, row) in &world.store.interests {
            sluice_protocol::Core::side(
                &mut core,
                renderer::Side::Interest(cluster.clone(), row.clone()),
                &mut step,
            );
        }
        core
    }

    fn output(&self) -> Table {
        Table::Desired
    }

    fn fence(&self) -> String {
        own_rows::shard_token(self.shard)
    }

    fn owns(&self, subject: &Subject) -> bool {
        matches!(subject, Subject::Desired { origin, .. } if *origin == self.shard)
    }

    fn input(&self) -> Option<(Table, u16)> {
        Some((Table::Reports, self.shard))
    }

    fn reset(&mut self) {
        // Positions are set by the first look: the core was made from what is there now.
        *self = Self { interests: Interests(usize::MAX), management: usize::MAX, ..Self::new(self.shard) };
    }

    fn side(&mut self, world: &mut World) -> Option<renderer::Side> {
        if self.management == usize::MAX {
            // Nothing has happened since the core was made in this very step's owner.
            (self.management, self.interests.0) = (world.management.log.len(), world.store.interests.len());
        }
        match world.random.random_range(0..3) {
            0 => {
                let change = world.management.log.get(self.management)?.clone();
                self.management += 1;
                Some(renderer::Side::Management(change))
            }
            1 => self.interests.next(world).map(|(cluster, row)| renderer::Side::Interest(cluster, row)),
            _ => {
                let stream = world.store.stream(Table::Status, 0);
                if stream.incarnation() != self.status_incarnation {
                    (self.status, self.status_incarnation) = (0, stream.incarnation());
                }
                let (sequence, stored) = stream.next(self.status)?;
                self.status = sequence;
                let message = stored.value.clone();
                Some(renderer::Side::Status(Arc::new(Row {
                    subject: message.subject,
                    head: message.head,
                    body: message.body,
                    sequence,
                })))
            }
        }
    }

    fn effect(&mut self, world: &mut World, effect: renderer::Effect) {
        if let renderer::Effect::WriteInterest(cluster, row) = effect {
            world.store.write_interest(&cluster, &row);
        }
    }
}

// === deployer ===

/// The deployer of one shard.
pub(crate) struct DeployerRole {
    shard: u16,
    index: usize,
    reachable: VecDeque<ClusterRef>,
    calls: VecDeque<(ClusterRef, u64, deployer::Request)>,
    replies: VecDeque<deployer::Side>,
}

impl DeployerRole {
    pub(crate) fn new(shard: u16, index: usize) -> Self {
        let reachable = CLUSTERS
            .iter()
            .map(|name| cluster_ref(name))
            .filter(|cluster| cluster_shard(cluster, SHARDS) == shard);
        Self {
            shard,
            index,
            reachable: reachable.collect(),
            calls: VecDeque::new(),
            replies: VecDeque::new(),
        }
    }

    /// One call reaches its API server. Calls that no version of an object protects need the lease.
    fn serve(&self, world: &mut World, cluster: &ClusterRef, request: &deployer::Request) -> deployer::Reply {
        use deployer::Request;
        let unprotected = matches!(
            request,
            Request::Apply { against: None, .. } | Request::WriteInventory(_) | Request::DeleteInventory(_)
        );
        if unprotected && world.owners.get(&self.name()) != Some(&self.index) {
            return deployer::Reply::Failed(deployer::Failure::new(
                deployer::Class::Transient,
                "the lease has lapsed",
            ));
        }
        if !matches!(request, Request::Read(_)) {
            world.tell(|| format!("{} {} calls {} {request:.100?}", self.name(), self.index, cluster.name));
        }
        let Some(server) = world.clusters.get_mut(&cluster.name) else {
            return deployer::Reply::Failed(deployer::Failure::new(
                deployer::Class::Transient,
                "no such cluster",
            ));
        };
        let before = server.applied.clone();
        let reply = server.call(request);
        for key in before.keys().chain(server.applied.keys()) {
            let (old, new) = (before.get(key), server.applied.get(key));
            if old != new
                && let Err(violation) = world.history.check(&cluster.name, key, old, new)
            {
                world.violation.get_or_insert(violation);
            }
        }
        reply
    }
}

impl Role for DeployerRole {
    type Core = deployer::Deployer;

    fn name(&self) -> String {
        format!("deployer {}", self.shard)
    }

    fn core(&self, _: &World) -> deployer::Deployer {
        deployer::Deployer::new(deployer::Config { shard: self.shard, request_timeout: 30 * STEP })
    }

    fn output(&self) -> Table {
        Table::Status
    }

    fn fence(&self) -> String {
        own_rows::shard_token(self.shard)
    }

    fn owns(&self, subject: &Subject) -> bool {
        matches!(subject, Subject::Status { shard, .. } if *shard == self.shard)
    }

    fn input(&self) -> Option<(Table, u16)> {
        Some((Table::Desired, self.shard))
    }

    fn reset(&mut self) {
        *self = Self::new(self.shard, self.index);
    }

    fn side(&mut self, world: &mut World) -> Option<deployer::Side> {
        if let Some(cluster) = self.reachable.pop_front() {
            return Some(deployer::Side::Reachable(cluster));
        }
        if world.random.random_bool(0.5)
            && let Some(reply) = self.replies.pop_front()
        {
            return Some(reply);
        }
        let (cluster, id, request) = self.calls.pop_front()?;
        let reply = self.serve(world, &cluster, &request);
        self.replies.push_back(deployer::Side::Reply(cluster, id, reply));
        None
    }

    fn effect(&mut self, _: &mut World, effect: deployer::Effect) {
        if let deployer::Effect::Call(cluster, id, request) = effect {
            self.calls.push_back((cluster, id, request));
        }
    }
}
