//! The agent of one cluster.

use std::collections::BTreeMap;

use rand::Rng as _;
use sluice_agent_core as agent;
use sluice_protocol::{Subject, Table};

use super::{Interests, SHARDS};
use crate::api_server::{seen, selects};
use crate::role::Role;
use crate::world::{World, cluster_ref};

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

    fn reset(&mut self, _: &World) {
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
