//! The deployer of one shard.

use std::collections::BTreeSet;

use rand::Rng as _;
use sluice_api::ClusterRef;
use sluice_deployer_core as deployer;
use sluice_deployer_core::{CheckId, Class, Failure, Reply, Request, Shown};
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{CallId, Shard, Subject, Table};

use super::forbidden::{forbidden, goes_with_its_maker, in_spite_of, readiness};
use super::kind_watch::KindWatch;
use super::{FORGET_AFTER, Interests, SHARDS};
use crate::api_server::Written;
use crate::coverage::Fault;
use crate::management::{Addon, SERVERS};
use crate::manifests::SOUND;
use crate::membership::MEMBER_TTL;
use crate::refusals::proxy_answer;
use crate::role::{Link, Role, Seat};
use crate::rollbacks;
use crate::world::{CALL_TIMEOUT, STEP, World, cluster_ref};

mod calls;
mod hearing;
mod places;

use hearing::{Heard, Hearing};
use places::{is_paused, pulling_in, standing};

/// The deployer of one shard, or the one that is in a cluster.
pub(crate) struct DeployerRole {
    shard: Shard,
    /// The cluster that it is in.
    only: Option<&'static str>,
    /// Those of the shard that pull, as far as it knew when it began.
    others: BTreeSet<ClusterRef>,
    /// What it hears of the registration of the cluster that it is in, and what that says.
    interests: Interests,
    hearing: Hearing,
    seat: Seat,
    /// The clusters of the shard, and what the core was told of them.
    clusters: Vec<(&'static str, Standing)>,
    calls: Vec<Call>,
    /// Calls on their way to an API server: they arrive also when the owner has ended.
    flying: Vec<(i64, Call)>,
    replies: Vec<deployer::ExternalInput>,
    /// Checks that are asked, and what was told last of each.
    asked: Vec<AskedCheck>,
    /// Kinds whose deployed objects are watched.
    watches: Vec<KindWatch>,
    /// Whether it was said that every registered cluster has been told.
    listed: bool,
    life: u64,
    /// Whether it writes inventories in a form that the older version cannot read.
    newer: bool,
}

/// How a cluster stands: what a core that was told nothing takes for it is that it is not registered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Standing {
    Reachable(u64),
    Paused,
    Unregistered,
}

struct AskedCheck {
    cluster: ClusterRef,
    id: CheckId,
    /// Whether it is about what the profile has deployed that goes back.
    of_back: bool,
    told: Option<bool>,
}

#[derive(Clone)]
struct Call {
    cluster: ClusterRef,
    id: CallId,
    request: Request,
    /// Of the replica.
    life: u64,
    /// The way to the cluster; `None` when there was none.
    way: Option<u64>,
    /// When the core asked for it.
    asked_at: i64,
    /// Whether its sender is of the newer version.
    newer: bool,
}

impl DeployerRole {
    pub(crate) fn new(shard: Shard, seat: Seat) -> Self {
        let own = SERVERS.into_iter().filter(|name| cluster_shard(&cluster_ref(name), SHARDS) == shard);
        Self {
            shard,
            only: None,
            others: BTreeSet::new(),
            interests: Interests::default(),
            hearing: Hearing::default(),
            seat,
            clusters: own.map(|name| (name, Standing::Unregistered)).collect(),
            calls: Vec::new(),
            flying: Vec::new(),
            replies: Vec::new(),
            asked: Vec::new(),
            watches: Vec::new(),
            listed: false,
            life: 0,
            newer: false,
        }
    }

    /// The one that is in a cluster.
    pub(crate) fn inside(cluster: &'static str, seat: Seat) -> Self {
        let clusters = vec![(cluster, Standing::Unregistered)];
        let shard = cluster_shard(&cluster_ref(cluster), SHARDS);
        Self { only: Some(cluster), clusters, ..Self::new(shard, seat) }
    }

    /// What the bus says of the registration of the cluster that it is in.
    fn hear(&mut self, world: &mut World) {
        let Some((cluster, row)) = self.interests.next(world) else { return };
        if self.only.is_some_and(|name| cluster == cluster_ref(name)) {
            self.hearing.note(world.now, Some(&row));
        }
    }

    /// How a cluster stands, as far as it can know.
    fn standing(&self, world: &World, name: &str) -> Standing {
        match (self.only, self.hearing.heard()) {
            (None, _) if self.others.contains(&cluster_ref(name)) => Standing::Unregistered,
            (None, _) => standing(world, name),
            (Some(_), None | Some(Heard::Gone)) => Standing::Unregistered,
            (Some(_), _) if self.hearing.is_missing(world.now) => Standing::Unregistered,
            (Some(_), Some(Heard::Served)) => Standing::Paused,
            (Some(_), Some(Heard::Pulls(cluster))) if is_paused(world, cluster) => Standing::Paused,
            (Some(_), Some(Heard::Pulls(_))) => {
                Standing::Reachable(world.clusters.get(name).map_or(0, |server| server.way))
            }
        }
    }

    /// Whether it has been told every cluster that it should be, so that it can know which are not registered.
    fn knows_all(&self) -> bool {
        self.only.is_none() || self.hearing.heard().is_some()
    }

    /// A check of which something else is to be told than before, and whether it passes.
    fn check_news(&self, world: &World) -> Option<(usize, bool)> {
        self.asked.iter().enumerate().find_map(|(index, asked)| {
            let server = world.clusters.get(asked.cluster.name.as_str())?;
            let passes = match asked.of_back {
                true => rollbacks::works(world, &asked.cluster.name, server),
                false => server.ill_for(world.now).is_none(),
            };
            let answers = world.answers(&asked.cluster.name);
            (answers && asked.told != Some(passes)).then_some((index, passes))
        })
    }

    /// What a watch shows next, and of which.
    fn drift_news(&self, world: &World) -> Option<(usize, Shown)> {
        self.watches.iter().enumerate().find_map(|(index, watch)| {
            let server = world.clusters.get(watch.cluster.name.as_str())?;
            Some((index, watch.news(server).filter(|_| world.answers(&watch.cluster.name))?))
        })
    }
}

impl Role for DeployerRole {
    type Core = deployer::Deployer;

    fn name(&self) -> String {
        match self.only {
            Some(cluster) => format!("deployer in {cluster}"),
            None => format!("deployer {}", self.shard),
        }
    }

    fn core(&self, world: &World, _: i64) -> deployer::Deployer {
        deployer::Deployer::new(deployer::Config {
            shard: self.shard,
            shards: SHARDS,
            input: world.store.stream(Table::Desired, self.shard).incarnation(),
            former_calls: CALL_TIMEOUT + MEMBER_TTL,
            serves: deployer::Serves { only: self.only.map(cluster_ref), others: self.others.clone() },
            prune_guard: None,
            forget_after: FORGET_AFTER,
        })
    }

    fn output(&self) -> Table {
        Table::Status
    }

    fn fence(&self) -> String {
        match self.only {
            Some(cluster) => cluster_ref(cluster).to_string(),
            None => own_rows::shard_token(self.shard),
        }
    }

    fn owns(&self, subject: &Subject) -> bool {
        let (Subject::Status { shard, cluster, .. } | Subject::Shown { shard, cluster, .. }) = subject else {
            return false;
        };
        self.only.map_or(*shard == self.shard, |only| *cluster == cluster_ref(only))
    }

    fn reads(&self, subject: &Subject) -> bool {
        self.only.is_none_or(|only| subject.cluster() == Some(&cluster_ref(only)))
    }

    fn is_outdated(&self, world: &World) -> bool {
        self.only.is_none() && self.others != pulling_in(world, self.shard)
    }

    fn crash(&mut self) {
        self.hearing = Hearing::default();
    }

    /// Who is in a cluster begins when the bus says something of its registration, or has said nothing for long.
    fn may_begin(&self, world: &World) -> bool {
        let is_there = |name: &str| world.store.present_interest(&cluster_ref(name)).is_some();
        if self.hearing.heard().is_some() || self.only.is_none_or(is_there) {
            return true;
        }
        self.hearing.note_missing(world.now);
        self.hearing.is_missing(world.now)
    }

    fn is_inside(&self) -> bool {
        self.only.is_some()
    }

    fn input(&self) -> Option<(Table, Shard)> {
        Some((Table::Desired, self.shard))
    }

    fn reset(&mut self, world: &mut World, newer: bool) {
        let (flying, life) = (std::mem::take(&mut self.flying), self.life + 1);
        let new = match self.only {
            Some(cluster) => {
                let row = world.store.present_interest(&cluster_ref(cluster));
                self.hearing.note(world.now, row);
                let (interests, hearing) = (Interests::of(newer), std::mem::take(&mut self.hearing));
                Self { interests, hearing, ..Self::inside(cluster, self.seat) }
            }
            None => Self { others: pulling_in(world, self.shard), ..Self::new(self.shard, self.seat) },
        };
        *self = Self { flying, newer, life, ..new };
    }

    fn external(&mut self, world: &mut World, link: Link) -> Option<deployer::ExternalInput> {
        if self.is_outdated(world) {
            return None;
        }
        self.hearing.pass(world.now);
        if self.is_inside() && link.online && world.random.random_bool(0.5) {
            self.hear(world);
        }
        let news = self.clusters.iter().position(|(name, told)| self.standing(world, name) != *told);
        if let Some(index) = news {
            let (name, _) = self.clusters[index];
            let stands = self.standing(world, name);
            self.clusters[index].1 = stands;
            let cluster = cluster_ref(name);
            return Some(match stands {
                Standing::Reachable(_) => deployer::ExternalInput::Reachable(cluster, readiness(name)),
                Standing::Paused => deployer::ExternalInput::Unreachable(cluster),
                Standing::Unregistered => deployer::ExternalInput::Unregistered(cluster),
            });
        }
        if self.knows_all() && !std::mem::replace(&mut self.listed, true) {
            return Some(deployer::ExternalInput::Listed);
        }
        if !self.replies.is_empty() && world.random.random_bool(0.5) {
            let index = world.random.random_range(0..self.replies.len());
            return Some(self.replies.remove(index));
        }
        if let Some((index, passes)) = self.check_news(world)
            && world.random.random_bool(0.5)
        {
            let asked = &mut self.asked[index];
            asked.told = Some(passes);
            let said = if passes { Ok(()) } else { Err("not well".to_owned()) };
            return Some(deployer::ExternalInput::Checked(asked.cluster.clone(), asked.id, said));
        }
        if let Some((index, shown)) = self.drift_news(world)
            && world.random.random_bool(0.5)
        {
            let watch = &mut self.watches[index];
            if let Some(server) = world.clusters.get(watch.cluster.name.as_str()) {
                watch.note(&shown, server, world.now);
            }
            return Some(deployer::ExternalInput::Shown(watch.cluster.clone(), shown));
        }
        self.send(world, link.lease);
        None
    }

    fn has_news(&self, world: &World) -> bool {
        !self.calls.is_empty()
            || !self.replies.is_empty()
            || (!self.listed && self.knows_all())
            || (self.is_inside() && self.interests.has_news(world))
            || self.check_news(world).is_some()
            || self.drift_news(world).is_some()
            || self.clusters.iter().any(|(name, told)| self.standing(world, name) != *told)
    }

    fn effect(&mut self, world: &mut World, effect: deployer::Effect) {
        let (cluster, id, request) = match effect {
            deployer::Effect::Call(cluster, id, request) => (cluster, id, request),
            deployer::Effect::Check(cluster, id, check, _) => {
                let of_back = check.name == SOUND;
                return self.asked.push(AskedCheck { cluster, id, of_back, told: None });
            }
            deployer::Effect::ClusterCheck(cluster, id, _) => {
                return self.asked.push(AskedCheck { cluster, id, of_back: false, told: None });
            }
            deployer::Effect::EndCheck(cluster, id) => {
                return self.asked.retain(|asked| (&asked.cluster, asked.id) != (&cluster, id));
            }
            deployer::Effect::Watch(cluster, gvk) => {
                let watch = KindWatch::new(cluster.clone(), gvk, world.clusters.get(cluster.name.as_str()));
                return self.watches.push(watch);
            }
            deployer::Effect::EndWatch(cluster, gvk) => {
                return self.watches.retain(|watch| (&watch.cluster, &watch.gvk) != (&cluster, &gvk));
            }
            deployer::Effect::Switch(cluster) => {
                self.watches.retain(|watch| watch.cluster != cluster);
                return self.asked.retain(|asked| asked.cluster != cluster);
            }
            _ => return,
        };
        let told = self.clusters.iter().find(|(name, _)| *name == cluster.name);
        let way = told.and_then(|(_, standing)| match standing {
            Standing::Reachable(way) => Some(*way),
            Standing::Paused | Standing::Unregistered => None,
        });
        let (life, newer) = (self.life, self.newer);
        self.calls.push(Call { cluster, id, request, life, way, asked_at: world.now, newer });
    }

    fn arrive(&mut self, world: &mut World) {
        while let Some(index) = self.flying.iter().position(|(at, _)| *at <= world.now) {
            let (_, call) = self.flying.remove(index);
            self.serve(world, call);
        }
    }

    fn is_calling(&self) -> bool {
        !self.flying.is_empty()
    }
}
