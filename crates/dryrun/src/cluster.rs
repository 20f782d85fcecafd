//! A cluster in memory for the deployer to work on: what it would send, and in what order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sluice_api::{ClusterRef, ObjectKey, object};
use sluice_deployer_core::{Class, Config, Deployer, Effect, ExternalInput, Failure, Live, Reply, Request};
use sluice_protocol::interest::Complete;
use sluice_protocol::{
    Core as _, Head, Incarnation, Meta, Problem, Revision, Row, Sequence, Shard, Step, Subject,
};

use crate::packed::Packed;
use crate::served::{Definitions, note};

/// Applied objects of every cluster, by key, and the deployer's problems.
pub(crate) type Deployed = (BTreeMap<ClusterRef, BTreeMap<ObjectKey, Packed>>, Vec<Problem>);

/// The objects that define kinds which clusters have already, by whomever.
pub(crate) type Defined = BTreeMap<ClusterRef, BTreeSet<ObjectKey>>;

/// What clusters have before anything is deployed: nothing besides this.
#[derive(Default)]
pub(crate) struct Begin {
    pub(crate) defined: Defined,
    /// Their kinds besides the built-in ones.
    pub(crate) kinds: BTreeMap<ClusterRef, Definitions>,
}

#[derive(Default)]
struct Clusters {
    begin: Begin,
    objects: BTreeMap<ClusterRef, BTreeMap<ObjectKey, Packed>>,
    problems: Vec<Problem>,
    version: u64,
}

/// Lets a deployer apply `rows` to clusters that begin like this.
pub(crate) fn deploy(rows: Vec<Row>, clusters: &[ClusterRef], begin: Begin) -> Deployed {
    let mut simulated = Clusters { begin, ..Clusters::default() };
    let mut deployer = Deployer::new(Config {
        shard: Shard::FIRST,
        shards: 1,
        input: Incarnation::NONE,
        former_calls: i64::MAX / 4,
        serves: sluice_deployer_core::Serves::default(),
        prune_guard: None,
        forget_after: i64::MAX,
    });
    let mut step = Step::at(0);
    deployer.start(&mut step);
    deployer.caught_up(Sequence::NONE, &mut step);
    for cluster in clusters.iter().chain([&ClusterRef::management()]) {
        deployer.external(ExternalInput::Reachable(cluster.clone(), None), &mut step);
    }
    simulated.answer_calls(&mut deployer, step);
    let all = Meta::Complete(Complete::of_all(Incarnation::NONE, Revision::NONE));
    let subject = Subject::AllDesired { shard: Shard::FIRST, origin: Shard::FIRST };
    let all = Row {
        subject,
        head: Head { meta: all, ..Head::default() },
        body: [].into(),
        sequence: Sequence::NONE,
    };
    for row in rows.into_iter().chain([all]) {
        let mut step = Step::at(0);
        deployer.row(&row, &mut step);
        simulated.answer_calls(&mut deployer, step);
    }
    (simulated.objects, simulated.problems)
}

impl Clusters {
    fn answer_calls(&mut self, deployer: &mut Deployer, step: Step<Effect>) {
        let mut steps = VecDeque::from([step]);
        while let Some(step) = steps.pop_front() {
            for effect in step.into_parts().1 {
                match effect {
                    Effect::Call(cluster, id, request) => {
                        let reply = self.serve(&cluster, request);
                        let mut next = Step::at(0);
                        deployer.external(ExternalInput::Reply(cluster, id, reply), &mut next);
                        steps.push_back(next);
                    }
                    // Of what runs in a cluster nothing is known here.
                    Effect::Check(cluster, id, ..) | Effect::ClusterCheck(cluster, id, _) => {
                        let mut next = Step::at(0);
                        deployer.external(ExternalInput::Checked(cluster, id, Ok(())), &mut next);
                        steps.push_back(next);
                    }
                    Effect::Problem(problem) => self.problems.push(problem),
                    Effect::Summary(_)
                    | Effect::Configuration(_)
                    | Effect::Report(_)
                    | Effect::Journal(_)
                    | Effect::Drifted(_)
                    | Effect::Left(..)
                    | Effect::Switch(_)
                    | Effect::FollowKinds(_)
                    | Effect::EndCheck(..)
                    | Effect::Watch(..)
                    | Effect::EndWatch(..)
                    | Effect::WatchSources(..)
                    | Effect::EndWatchSources(..) => {}
                }
            }
        }
    }

    fn serve(&mut self, cluster: &ClusterRef, request: Request) -> Reply {
        let objects = self.objects.entry(cluster.clone()).or_default();
        let is_defined =
            |key: &ObjectKey| self.begin.defined.get(cluster).is_some_and(|all| all.contains(key));
        let definitions = self.begin.kinds.get(cluster);
        match request {
            // The clusters have nothing of profiles at first, and nobody else writes to them.
            Request::Inventories => Reply::Inventories(Vec::new()),
            Request::List(_) => Reply::Listed(Vec::new()),
            Request::Content(_) => Reply::Content(None),
            Request::Along { .. } => Reply::Along(None),
            Request::ReadInventory(_) => Reply::Inventory(None),
            // Nothing is known of rights here.
            Request::Prove { .. } | Request::RehearseDelete { .. } => Reply::Done,
            Request::Rehearse { .. } => Reply::Rehearsed { exists: false, difference: None },
            Request::Read(key) => Reply::Read(match objects.get(&stored(definitions, key.clone())) {
                Some(object) => Some(Live { uid: "1".into(), ..Live::of(&object.value()) }),
                None => is_defined(&key).then(Live::default),
            }),
            Request::Apply { object, against: None, .. }
                if ObjectKey::of(&object).is_some_and(|key| {
                    is_defined(&key) || objects.contains_key(&stored(definitions, key))
                }) =>
            {
                Reply::Failed(Failure::new(Class::Conflict, "it is there already"))
            }
            Request::Apply { object, .. } => {
                let mut object = (*object).clone();
                if let Some(definitions) = definitions {
                    let said = definitions.serve(&mut object);
                    self.problems.extend(note(&cluster.path(), object::describe(&object), &said));
                }
                self.version += 1;
                let live =
                    Live { uid: "1".into(), resource_version: self.version.to_string(), ..Live::of(&object) };
                if let Some(key) = ObjectKey::of(&object) {
                    objects.insert(key, Packed::of(&object));
                }
                Reply::Applied(live)
            }
            Request::Delete { key, .. } => {
                objects.remove(&stored(definitions, key));
                Reply::Done
            }
            // Nothing is withdrawn here, so that nothing is left behind either.
            Request::Release { .. } => Reply::Done,
            Request::WriteInventory { .. } => {
                self.version += 1;
                Reply::Written(("1".into(), self.version.to_string()))
            }
            Request::DeleteInventory { .. } | Request::Keep { .. } | Request::DropKept(_) => Reply::Done,
            Request::ReadKept { .. } => Reply::Kept(None),
        }
    }
}

/// The key under which a server has it.
fn stored(definitions: Option<&Definitions>, mut key: ObjectKey) -> ObjectKey {
    match definitions.and_then(|definitions| definitions.kind(&key.gvk)) {
        Some(kind) if kind.is_cluster_scoped => key.namespace.clear(),
        Some(_) if key.namespace.is_empty() => key.namespace = "default".to_owned(),
        _ => {}
    }
    key
}
