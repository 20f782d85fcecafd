//! The deployer of one shard.

use std::collections::VecDeque;

use rand::Rng as _;
use sluice_api::ClusterRef;
use sluice_deployer_core as deployer;
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{Subject, Table};

use super::SHARDS;
use crate::management::CLUSTERS;
use crate::role::Role;
use crate::world::{STEP, World, cluster_ref};

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
        let unprotected = matches!(request, Request::Apply { against: None, .. });
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

    fn reset(&mut self, _: &World) {
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
