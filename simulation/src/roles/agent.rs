//! The agent of one cluster.

use std::collections::BTreeMap;

use rand::Rng as _;
use sluice_agent_core as agent;
use sluice_api::ClusterRef;
use sluice_protocol::{Sequence, Shard, Subject, Table, WatchId};

use super::{Interests, SHARDS};
use crate::coverage::Fault;
use crate::role::{Link, Role};
use crate::world::{STEP, World, cluster_ref};

/// The agent of one cluster.
pub(crate) struct AgentRole {
    cluster: &'static str,
    interests: Interests,
    /// By number.
    watches: BTreeMap<WatchId, Watch>,
    listening: Option<Listening>,
    has_left: bool,
}

/// A reading of what is sent to the cluster: its number, its position, and whether its end was told.
struct Listening {
    id: WatchId,
    at: usize,
    told: bool,
}

/// What is watched, whether it has been listed, how often in a row it could not be, the position in the log, and until
/// when it shows nothing.
struct Watch {
    spec: agent::WatchSpec,
    listed: bool,
    failures: u32,
    at: usize,
    slow_until: i64,
}

/// For so many steps at most a watch shows nothing while everything else goes on.
const SLOW: i64 = 60;

/// After so many failures in a row everything else of the cluster does not wait for a kind.
const GIVEN_UP: u32 = 3;

impl AgentRole {
    pub(crate) fn new(cluster: &'static str) -> Self {
        Self {
            cluster,
            interests: Interests::default(),
            watches: BTreeMap::new(),
            listening: None,
            has_left: false,
        }
    }

    /// What was sent, from the first message on.
    fn heard(&mut self, world: &mut World) -> Option<agent::ExternalInput> {
        let Listening { id, at, told } = self.listening.as_mut()?;
        let Some(event) = world.clusters.get(self.cluster)?.sent.get(*at) else {
            return (!std::mem::replace(told, true)).then_some(agent::ExternalInput::SentAll(*id));
        };
        let sent = agent::Sent {
            channel: "events".to_owned(),
            headers: BTreeMap::new(),
            body: event.object().to_string().into_bytes(),
            sequence: Sequence::new(*at as u64 + 1),
            time: event.time,
        };
        // A reader that has lost its consumer may begin anew.
        match world.mishap(Fault::Duplicate, 0.02) {
            true => *at = 0,
            false => *at += 1,
        }
        Some(agent::ExternalInput::Sent(*id, sent))
    }

    fn watched(&mut self, world: &mut World) -> Option<agent::ExternalInput> {
        let index = if self.watches.len() > 1 { world.random.random_range(0..self.watches.len()) } else { 0 };
        let (id, Watch { spec, listed, failures, at, slow_until }) = self.watches.iter_mut().nth(index)?;
        if *slow_until > world.now {
            return None;
        }
        if world.mishap(Fault::SlowWatch, 0.02) {
            *slow_until = world.now + world.random.random_range(1..SLOW) * STEP;
            return None;
        }
        let refused = !*listed && world.mishap(Fault::ProxyNotFound, 0.02);
        let server = world.clusters.get(self.cluster).filter(|server| server.away_until <= world.now)?;
        if !*listed {
            if refused || server.refusals.refuse_watches() {
                world.coverage.many(Fault::Unlistable, u64::from(!refused));
                *failures += 1;
                return (*failures == GIVEN_UP).then_some(agent::ExternalInput::Troubled(*id));
            }
            (*listed, *failures, *at) = (true, 0, server.log.len());
            return Some(agent::ExternalInput::Listed(*id, server.list(spec)));
        }
        let (key, service) = server.log.get(*at)?;
        let shown = service.as_ref().filter(|service| service.is_shown(spec));
        let side = match shown {
            Some(service) => agent::ExternalInput::Applied(*id, service.seen.clone()),
            None => agent::ExternalInput::Deleted(*id, key.clone()),
        };
        if !world.mishap(Fault::Duplicate, 0.02) {
            *at += 1;
        }
        Some(side)
    }
}

impl Role for AgentRole {
    type Core = agent::Agent;

    fn name(&self) -> String {
        format!("agent {}", self.cluster)
    }

    fn core(&self, world: &World, _: i64) -> agent::Agent {
        let outputs = world.store.incarnations(Table::Changes);
        agent::Agent::new(agent::Config { cluster: cluster_ref(self.cluster), shards: SHARDS, outputs })
    }

    fn output(&self) -> Table {
        Table::Changes
    }

    fn fence(&self) -> String {
        cluster_ref(self.cluster).to_string()
    }

    fn owns(&self, subject: &Subject) -> bool {
        match subject {
            Subject::Change { cluster, .. } | Subject::Complete { cluster, .. } => {
                is_ref(cluster, self.cluster)
            }
            _ => false,
        }
    }

    fn input(&self) -> Option<(Table, Shard)> {
        None
    }

    fn reset(&mut self, _: &mut World, newer: bool) {
        *self = Self { interests: Interests::of(newer), ..Self::new(self.cluster) };
    }

    fn external(&mut self, world: &mut World, link: Link) -> Option<agent::ExternalInput> {
        if link.online
            && world.random.random_bool(0.5)
            && let Some((cluster, row)) = self.interests.next(world)
        {
            return is_ref(&cluster, self.cluster).then_some(agent::ExternalInput::Interest(row));
        }
        if link.online
            && world.random.random_bool(0.5)
            && let Some(heard) = self.heard(world)
        {
            return Some(heard);
        }
        self.watched(world)
    }

    fn has_news(&self, world: &World) -> bool {
        let Some(server) = world.clusters.get(self.cluster) else { return false };
        let refuses = server.refusals.refuse_watches();
        let pending = |watch: &Watch| {
            watch.slow_until <= world.now
                && match watch.listed {
                    true => watch.at < server.log.len(),
                    false => !refuses || watch.failures < GIVEN_UP,
                }
        };
        let hears = |listening: &Listening| !listening.told || listening.at < server.sent.len();
        let answers = server.away_until <= world.now;
        self.interests.has_news(world)
            || self.listening.as_ref().is_some_and(hears)
            || (answers && self.watches.values().any(pending))
    }

    fn relist(&mut self) -> bool {
        self.watches.values_mut().for_each(|watch| watch.listed = false);
        !self.watches.is_empty()
    }

    fn take_end(&mut self) -> bool {
        std::mem::take(&mut self.has_left)
    }

    fn effect(&mut self, world: &mut World, effect: agent::Effect) {
        world.tell(|| format!("{} wants {effect:?}", self.name()));
        match effect {
            agent::Effect::Watch(id, spec) => {
                self.watches.insert(id, Watch { spec, listed: false, failures: 0, at: 0, slow_until: 0 });
            }
            agent::Effect::Unwatch(id) => drop(self.watches.remove(&id)),
            agent::Effect::Listen(id) => self.listening = Some(Listening { id, at: 0, told: false }),
            agent::Effect::Unlisten => self.listening = None,
            agent::Effect::Left(revision) => {
                world.coverage.note(Fault::Left);
                world.store.remove_interest(&cluster_ref(self.cluster), revision);
                self.has_left = true;
            }
            agent::Effect::Refused | agent::Effect::Problem(_) => {}
        }
    }
}

/// Whether this is the cluster of that name.
fn is_ref(cluster: &ClusterRef, name: &str) -> bool {
    cluster.name == name && *cluster == cluster_ref(name)
}
