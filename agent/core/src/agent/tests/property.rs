//! Any order of changes, deletions, interests and slow watches ends with the rows that the cluster and the interest ask for,
//! what was there and asked for all the time is never withdrawn and in what is complete, also when it goes from one selection
//! to another, and no row goes back to an older state.
#![allow(clippy::unwrap_used)]

use std::collections::VecDeque;

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_api::Gvk;
use sluice_protocol::WatchId;
use sluice_protocol::interest::Source;

use super::*;

/// Names of objects; the first one is there and asked for all the time.
const NAMES: [&str; 3] = ["steady", "x", "y"];

#[derive(Clone, Debug)]
enum Op {
    /// An object changes: whether it is a Pod, its name, whether it has the label.
    Put(bool, usize, bool),
    Remove(bool, usize),
    /// Which sources there are, besides the one for the steady object.
    Interest(u8),
    /// A watch shows the next thing that it has to show.
    Deliver(usize),
}

fn op() -> impl Strategy<Value = Op> {
    prop_oneof![
        3 => (any::<bool>(), 0..NAMES.len(), any::<bool>()).prop_map(|(pod, name, web)| Op::Put(pod, name, web)),
        2 => (any::<bool>(), 1..NAMES.len()).prop_map(|(pod, name)| Op::Remove(pod, name)),
        1 => (0..16u8).prop_map(Op::Interest),
        6 => (0..4usize).prop_map(Op::Deliver),
    ]
}

/// Sources that overlap: all Services; those of a namespace; those with a label, and those without; Pods.
fn selectors(sources: u8) -> Vec<Value> {
    let web = |operation: &str| json!({"version": "v1", "kind": "Service", "labelFilters": [{"key": "app", "operation": operation, "value": "web"}]});
    let optional = [
        json!({"version": "v1", "kind": "Service", "namespace": "n"}),
        web("Equal"),
        web("Different"),
        json!({"version": "v1", "kind": "Service"}),
    ];
    let chosen = optional.into_iter().enumerate().filter(|(index, _)| sources & (1 << index) != 0);
    chosen.map(|(_, selector)| selector).chain([json!({"version": "v1", "kind": "Pod"})]).collect()
}

/// A cluster in memory, its watches, and the rows on the bus.
struct Cluster {
    agent: Agent,
    version: u64,
    revision: Revision,
    sources: u8,
    objects: BTreeMap<ObjectKey, (u64, bool)>,
    /// What each watch has to show, after its list.
    watches: BTreeMap<WatchId, (WatchSpec, bool, VecDeque<ExternalInput>)>,
    rows: BTreeMap<ObjectKey, Vec<u8>>,
    /// The last version of the steady Service that nobody asked for.
    unasked: u64,
    /// Which operation this is.
    time: u64,
    /// Since when the steady Service has been there and asked for.
    steady_since: Option<u64>,
    /// When each watch listed.
    listed: BTreeMap<WatchId, u64>,
}

fn key(pod: bool, name: usize) -> ObjectKey {
    let kind = if pod { "Pod" } else { "Service" };
    ObjectKey { gvk: Gvk::new("", "v1", kind), namespace: "n".into(), name: NAMES[name].into() }
}

/// An object as its server has it: its version, and whether it has the label.
fn object(key: &ObjectKey, (version, web): (u64, bool)) -> Value {
    let app = if web { "web" } else { "other" };
    let metadata = json!({"namespace": key.namespace, "name": key.name, "labels": {"app": app}});
    json!({"kind": key.gvk.kind, "metadata": metadata, "version": version})
}

fn shows(spec: &WatchSpec, key: &ObjectKey, state: (u64, bool)) -> bool {
    let object = object(key, state);
    spec.scope.gvk == key.gvk && spec.scope.selects(&object) && spec.wants(&object)
}

fn seen(key: &ObjectKey, state: (u64, bool)) -> Seen {
    Seen { key: key.clone(), body: object(key, state).to_string().into_bytes().into() }
}

fn version(body: &[u8]) -> u64 {
    serde_json::from_slice::<Value>(body).unwrap()["version"].as_u64().unwrap()
}

impl Cluster {
    fn new() -> Self {
        let config = Config {
            cluster: ClusterRef::sveltos("default", "c"),
            shards: 2,
            outputs: vec![Incarnation::new(1), Incarnation::new(2)],
        };
        let mut cluster = Self {
            agent: Agent::new(config),
            version: 0,
            revision: Revision::NONE,
            sources: 0,
            objects: BTreeMap::new(),
            watches: BTreeMap::new(),
            rows: BTreeMap::new(),
            unasked: 0,
            time: 0,
            steady_since: None,
            listed: BTreeMap::new(),
        };
        cluster.take(&Op::Put(true, 0, false));
        cluster.run(Agent::start);
        cluster.take(&Op::Interest(0));
        cluster
    }

    fn run(&mut self, f: impl FnOnce(&mut Agent, &mut Step<Effect>)) {
        let mut step = Step::at(0);
        f(&mut self.agent, &mut step);
        let (rows, effects, _) = step.into_parts();
        for row in rows {
            let complete = row.meta.complete().is_some_and(|said| said.revision == self.revision);
            let is_late = self.watches.keys().any(|id| self.listed.get(id) < self.steady_since.as_ref());
            let expected = complete && self.steady_since.is_some() && !is_late;
            assert!(!expected || self.rows.contains_key(&key(false, 0)), "not complete");
            let Subject::Change { object, .. } = row.subject else { continue };
            match row.body {
                Body::Value(bytes) => {
                    let before = self.rows.insert(object, bytes.to_vec());
                    assert!(before.is_none_or(|before| version(&before) <= version(&bytes)));
                }
                Body::Tombstone => {
                    assert_ne!(object, key(true, 0), "it was there all the time");
                    let shown = self.rows.remove(&object).map_or(0, |body| version(&body));
                    let steady = object == key(false, 0) && self.unasked < shown;
                    assert!(!steady, "it was asked for ever since");
                }
            }
        }
        for effect in effects {
            match effect {
                Effect::Watch(id, spec) => drop(self.watches.insert(id, (spec, false, VecDeque::new()))),
                Effect::Unwatch(id) => drop(self.watches.remove(&id)),
                Effect::Listen(_)
                | Effect::Unlisten
                | Effect::Left(_)
                | Effect::Refused
                | Effect::Problem(_) => {}
            }
        }
    }

    /// Every watch that has listed shows how an object changes from `before` to `after`.
    fn change(&mut self, key: &ObjectKey, after: Option<(u64, bool)>) {
        let before = match after {
            Some(after) => self.objects.insert(key.clone(), after),
            None => self.objects.remove(key),
        };
        self.note_unasked();
        for (id, (spec, listed, queue)) in &mut self.watches {
            let selects = |state: Option<(u64, bool)>| state.filter(|state| shows(spec, key, *state));
            match (selects(before), selects(after)) {
                _ if !*listed => {}
                (_, Some(state)) => queue.push_back(ExternalInput::Applied(*id, seen(key, state))),
                (Some(_), None) => queue.push_back(ExternalInput::Deleted(*id, key.clone())),
                (None, None) => {}
            }
        }
    }

    fn take(&mut self, op: &Op) {
        self.time += 1;
        match *op {
            Op::Put(pod, name, web) => {
                self.version += 1;
                self.change(&key(pod, name), Some((self.version, web)));
            }
            Op::Remove(pod, name) => self.change(&key(pod, name), None),
            Op::Interest(sources) => {
                self.revision = self.revision.next();
                self.sources = sources;
                self.note_unasked();
                let source = |(index, selector): (usize, Value)| {
                    let manifest = json!({"kind": "EventSource", "metadata": {"name": "s"}, "spec": {"resourceSelectors": [selector]}});
                    Source { name: format!("s{index}"), changed: self.revision, manifest: manifest.into() }
                };
                let sources = selectors(sources).into_iter().enumerate().map(source).collect();
                let row = Interest { revision: self.revision, sources, ..Interest::default() };
                self.run(|agent, step| agent.external(ExternalInput::Interest(row), step));
            }
            Op::Deliver(watch) => {
                let Some(id) = self.watches.keys().nth(watch).copied() else { return };
                let Some((spec, listed, queue)) = self.watches.get_mut(&id) else { return };
                let next = if std::mem::replace(listed, true) {
                    queue.pop_front()
                } else {
                    self.listed.insert(id, self.time);
                    let shown = self.objects.iter().filter(|(key, state)| shows(spec, key, **state));
                    Some(ExternalInput::Listed(id, shown.map(|(key, state)| seen(key, *state)).collect()))
                };
                if let Some(next) = next {
                    self.run(|agent, step| agent.external(next, step));
                }
            }
        }
    }

    /// Everything that is under way arrives.
    fn rest(&mut self) {
        while let Some(watch) =
            self.watches.values().position(|(_, listed, queue)| !listed || !queue.is_empty())
        {
            self.take(&Op::Deliver(watch));
        }
    }

    fn asks(&self, key: &ObjectKey, web: bool) -> bool {
        let [namespace, with, without, all] = [1, 2, 4, 8].map(|bit| self.sources & bit != 0);
        key.gvk.kind == "Pod" || namespace || all || (with && web) || (without && !web)
    }

    fn note_unasked(&mut self) {
        let steady = key(false, 0);
        let there = self.objects.get(&steady).copied();
        let asked = there.is_some_and(|(_, web)| self.asks(&steady, web));
        self.steady_since = self.steady_since.or(Some(self.time)).filter(|_| asked);
        if let Some((version, _)) = there.filter(|_| !asked) {
            self.unasked = version;
        }
    }

    fn wanted(&self) -> BTreeMap<ObjectKey, Vec<u8>> {
        let wanted = self.objects.iter().filter(|(key, (_, web))| self.asks(key, *web));
        wanted.map(|(key, state)| (key.clone(), seen(key, *state).body.to_vec())).collect()
    }
}

proptest! {
    #[test]
    fn rows_become_what_the_cluster_has_and_the_interest_asks_for(ops in proptest::collection::vec(op(), 0..60)) {
        let mut cluster = Cluster::new();
        ops.iter().for_each(|op| cluster.take(op));
        cluster.rest();
        prop_assert_eq!(&cluster.rows, &cluster.wanted());
    }
}
