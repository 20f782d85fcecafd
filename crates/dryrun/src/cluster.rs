//! A cluster in memory for the deployer to work on: what it would send, and in what order.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use sluice_api::{ClusterRef, ObjectKey};
use sluice_deployer_core::{Class, Config, Deployer, Effect, ExternalInput, Failure, Live, Reply, Request};
use sluice_protocol::interest::Complete;
use sluice_protocol::{Core as _, Head, Meta, Problem, Row, Step, Subject};

use crate::packed::Packed;

/// Applied objects of every cluster, by key, and the deployer's problems.
pub(crate) type Deployed = (BTreeMap<ClusterRef, BTreeMap<ObjectKey, Packed>>, Vec<Problem>);

/// Definitions of kinds that clusters have already, by whomever.
pub(crate) type Definitions = BTreeMap<ClusterRef, BTreeSet<ObjectKey>>;

#[derive(Default)]
struct Clusters {
    definitions: Definitions,
    objects: BTreeMap<ClusterRef, BTreeMap<ObjectKey, Packed>>,
    problems: Vec<Problem>,
    version: u64,
}

/// Lets a deployer apply `rows` to clusters that have nothing but these definitions.
pub(crate) fn deploy(rows: Vec<Row>, clusters: &[ClusterRef], definitions: Definitions) -> Deployed {
    let mut simulated = Clusters { definitions, ..Clusters::default() };
    let mut deployer = Deployer::new(Config {
        shard: 0,
        shards: 1,
        input: 0,
        former_calls: i64::MAX / 4,
        forget_after: i64::MAX,
    });
    let mut step = Step::at(0);
    deployer.start(&mut step);
    deployer.caught_up(0, &mut step);
    for cluster in clusters.iter().chain([&ClusterRef::management()]) {
        deployer.external(ExternalInput::Reachable(cluster.clone()), &mut step);
    }
    simulated.answer_calls(&mut deployer, step);
    let all = Meta::Complete(Complete::of_all(0, 0));
    let subject = Subject::AllDesired { shard: 0, origin: 0 };
    let all = Row { subject, head: Head { meta: all, ..Head::default() }, body: [].into(), sequence: 0 };
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
                    Effect::Problem(problem) => self.problems.push(problem),
                    Effect::Summary(_)
                    | Effect::Configuration(_)
                    | Effect::Journal(_)
                    | Effect::Switch(_)
                    | Effect::FollowKinds(_) => {}
                }
            }
        }
    }

    fn serve(&mut self, cluster: &ClusterRef, request: Request) -> Reply {
        let objects = self.objects.entry(cluster.clone()).or_default();
        let is_defined = |key: &ObjectKey| self.definitions.get(cluster).is_some_and(|all| all.contains(key));
        match request {
            // The clusters have nothing of profiles at first, and nobody else writes to them.
            Request::Inventories => Reply::Inventories(Vec::new()),
            Request::List(_) => Reply::Listed(Vec::new()),
            Request::ReadInventory(_) => Reply::Inventory(None),
            Request::Read(key) => Reply::Read(match objects.get(&key) {
                Some(object) => Some(Live { uid: "1".into(), ..Live::of(&object.value()) }),
                None => is_defined(&key).then(Live::default),
            }),
            Request::Apply { object, against: None, .. }
                if ObjectKey::of(&object)
                    .is_some_and(|key| objects.contains_key(&key) || is_defined(&key)) =>
            {
                Reply::Failed(Failure::new(Class::Conflict, "it is there already"))
            }
            Request::Apply { object, .. } => {
                self.version += 1;
                let live =
                    Live { uid: "1".into(), resource_version: self.version.to_string(), ..Live::of(&object) };
                if let Some(key) = ObjectKey::of(&object) {
                    objects.insert(key, Packed::of(&object));
                }
                Reply::Applied(live)
            }
            Request::Delete { key, .. } => {
                objects.remove(&key);
                Reply::Done
            }
            // Nothing is withdrawn here, so that nothing is left behind either.
            Request::Release { .. } => Reply::Done,
            Request::WriteInventory { .. } => {
                self.version += 1;
                Reply::Written(("1".into(), self.version.to_string()))
            }
            Request::DeleteInventory { .. } => Reply::Done,
        }
    }
}
