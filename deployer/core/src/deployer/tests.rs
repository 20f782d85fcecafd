#![allow(clippy::unwrap_used)]

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use serde_json::{Map, Value, json};
use sluice_api::model::Check;
use sluice_api::{Digest, Gvk, ObjectKey, ProfileId, ServiceAccount, object};
use sluice_protocol::interest::Complete;
use sluice_protocol::rows::{Cause, Desired, Policy, Status};
use sluice_protocol::{Body, CallId, Incarnation, Problem, Revision, Shard};

use super::*;
use crate::PruneGuard;
use crate::checks::{CheckId, Outcome};
use crate::configuration::Configuration;
use crate::departures::Left;
use crate::drift::{Shown, Sight};
use crate::drift_event::{DriftEvent, Drifted};
use crate::inventory::Stored;
use crate::reload::Glimpse;
use crate::request::{Class, Failure, KeptBody, Live, Reply, Request};

/// Incarnation of `desired`.
const LIFE: Incarnation = Incarnation::new(7);

/// How long a cluster is not registered before nothing is said of it.
const FORGET_AFTER: i64 = 60_000_000;

/// Which requests fail, and how.
type Fails = Box<dyn FnMut(&Request) -> Option<Failure>>;

/// An API server, its client and a deployer, driven until nothing is left to do.
struct Fixture {
    deployer: Deployer,
    objects: BTreeMap<ObjectKey, Value>,
    inventories: BTreeMap<String, Stored>,
    /// What is kept of profiles, by the digest of its row.
    kept: BTreeMap<(ProfileId, Digest), KeptBody>,
    /// Rows that were written whatever the table seemed to say.
    forced: Vec<String>,
    /// What dry runs have told, and what they have asked the server.
    reports: Vec<crate::Report>,
    /// What rows show, where it is in the cluster.
    shown: BTreeMap<String, Option<Value>>,
    serves: Serves,
    tried: Vec<String>,
    statuses: BTreeMap<String, Option<Status>>,
    /// The same for each maker of a profile.
    by_maker: BTreeMap<(String, Shard), Option<Status>>,
    calls: Vec<String>,
    reads: usize,
    follows: usize,
    problems: Vec<Problem>,
    summaries: Vec<Summary>,
    configurations: Vec<Configuration>,
    /// Checks that are asked.
    asked: BTreeMap<CheckId, (Arc<Check>, Option<ServiceAccount>)>,
    /// The same of the cluster as a whole, by what they are called.
    guards: BTreeMap<CheckId, String>,
    /// Kinds whose deployed objects are watched.
    watched: std::collections::BTreeSet<Gvk>,
    /// What watches have not shown yet.
    unseen: Vec<Shown>,
    /// Kinds of which everything is watched that pods can read, and what these watches have not shown yet.
    sources: std::collections::BTreeSet<Gvk>,
    unglimpsed: Vec<Glimpse>,
    journal: Vec<String>,
    drifted: Vec<DriftEvent>,
    left: Vec<Left>,
    /// What the checks of these names say.
    says: BTreeMap<String, Outcome>,
    /// Whether definitions that are made are not served yet.
    slow_kinds: bool,
    fail: Fails,
    version: u64,
    now: i64,
    wake: Option<i64>,
}

fn cluster() -> ClusterRef {
    ClusterRef::sveltos("default", "c")
}

fn config_map(name: &str, data: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "namespace": "default"}, "data": {"a": data}})
}

fn desired(profile: &str, tier: i32, objects: Vec<Value>) -> Desired {
    Desired {
        owner_kind: "ClusterProfile".into(),
        owner_namespace: String::new(),
        owner_name: profile.into(),
        tier,
        leave: false,
        dry_run: false,
        one_time: false,
        staged: false,
        hidden: false,
        allow_prune: String::new(),
        succeeds: std::collections::BTreeSet::new(),
        lacks: std::collections::BTreeMap::new(),
        jobs: Vec::new(),
        redeploy: std::collections::BTreeSet::new(),
        extra_labels: BTreeMap::new(),
        extra_annotations: BTreeMap::new(),
        account: None,
        cause: Cause::Profile(ProfileId::cluster(profile)),
        spec: Map::new(),
        policies: vec![Policy {
            kind: "ConfigMap".into(),
            namespace: "n".into(),
            name: "c".into(),
            tier: 100,
            objects,
            ..Policy::default()
        }],
    }
}

/// A server that refuses objects of this name.
fn refusing(name: &'static str) -> Fails {
    Box::new(move |request| match request {
        Request::Apply { object, .. } if object::name(object) == name => {
            Some(Failure::new(Class::Refused, "no"))
        }
        _ => None,
    })
}

fn row_of(profile: &str, desired: Option<Desired>) -> Row {
    let profile = ProfileId::cluster(profile);
    let subject = Subject::Desired { shard: Shard::FIRST, cluster: cluster(), origin: Shard::FIRST, profile };
    let tombstone = desired.is_none();
    let body = desired.map(|desired| serde_json::to_vec(&desired).unwrap()).unwrap_or_default();
    let head = Head { digest: Digest::of(&[&body]), tombstone, time: 1, ..Head::default() };
    Row { subject, head, body: body.into(), sequence: Sequence::new(1) }
}

impl Fixture {
    fn new() -> Self {
        let mut fixture = Self {
            deployer: Deployer::new(Config {
                shard: Shard::FIRST,
                shards: 1,
                input: LIFE,
                former_calls: 10_000_000,
                serves: Serves::default(),
                prune_guard: Some(PruneGuard { objects: 3, percent: 50 }),
                forget_after: FORGET_AFTER,
            }),
            objects: BTreeMap::new(),
            inventories: BTreeMap::new(),
            kept: BTreeMap::new(),
            forced: Vec::new(),
            reports: Vec::new(),
            shown: BTreeMap::new(),
            serves: Serves::default(),
            tried: Vec::new(),
            statuses: BTreeMap::new(),
            by_maker: BTreeMap::new(),
            calls: Vec::new(),
            reads: 0,
            follows: 0,
            problems: Vec::new(),
            summaries: Vec::new(),
            configurations: Vec::new(),
            asked: BTreeMap::new(),
            guards: BTreeMap::new(),
            watched: std::collections::BTreeSet::new(),
            unseen: Vec::new(),
            sources: std::collections::BTreeSet::new(),
            unglimpsed: Vec::new(),
            journal: Vec::new(),
            drifted: Vec::new(),
            left: Vec::new(),
            says: BTreeMap::new(),
            slow_kinds: false,
            fail: Box::new(|_| None),
            version: 0,
            now: 0,
            wake: None,
        };
        fixture.run(|deployer, step| deployer.start(step));
        fixture.read_all();
        fixture
    }

    /// The same cluster under a new owner.
    fn restart(&mut self) {
        self.replace(1);
        self.reach();
        self.read_all();
    }

    /// A new owner has the shard, and has read nothing yet.
    fn replace(&mut self, shards: u16) {
        self.deployer = Deployer::new(Config {
            shard: Shard::FIRST,
            shards,
            input: LIFE,
            former_calls: 10_000_000,
            serves: self.serves.clone(),
            prune_guard: Some(PruneGuard { objects: 3, percent: 50 }),
            forget_after: FORGET_AFTER,
        });
        self.run(|deployer, step| deployer.start(step));
    }

    /// All rows that were there at the beginning have come, and every renderer has said that its are there.
    fn read_all(&mut self) {
        Shard::all(self.deployer.config.shards).for_each(|origin| self.said(origin, LIFE));
        self.read_some();
    }

    /// A renderer has said in this life of the stream that all its rows are there.
    fn said(&mut self, origin: Shard, life: Incarnation) {
        let meta = Meta::Complete(Complete::of_all(life, Revision::NONE));
        let subject = Subject::AllDesired { shard: Shard::FIRST, origin };
        let row = Row {
            subject,
            head: Head { meta, ..Head::default() },
            body: [].into(),
            sequence: Sequence::new(1),
        };
        self.run(|deployer, step| deployer.row(&row, step));
    }

    /// All rows that were there at the beginning have come.
    fn read_some(&mut self) {
        self.run(|deployer, step| deployer.caught_up(Sequence::NONE, step));
    }

    fn reach(&mut self) {
        self.run(|deployer, step| deployer.external(ExternalInput::Reachable(cluster(), None), step));
    }

    fn row(&mut self, profile: &str, desired: Option<Desired>) {
        let row = row_of(profile, desired);
        self.run(|deployer, step| deployer.row(&row, step));
    }

    /// Lets the deployer do something; its calls stay where they are.
    fn hold(&mut self, f: impl FnOnce(&mut Deployer, &mut Step<Effect>)) -> Vec<(CallId, Request)> {
        let mut step = Step::at(self.now);
        f(&mut self.deployer, &mut step);
        let call =
            |effect| if let Effect::Call(_, id, request) = effect { Some((id, request)) } else { None };
        step.into_parts().1.into_iter().filter_map(call).collect()
    }

    /// Calls of a former owner can no longer arrive.
    fn pass_former_calls(&mut self) {
        self.now += 20_000_000;
        self.run(|deployer, step| deployer.tick(step));
    }

    /// What is on the cluster is shown as soon as it may be.
    fn show(&mut self) {
        while let Some(at) = self.deployer.agenda.next() {
            (self.now, self.wake) = (at, None);
            self.run(|deployer, step| deployer.tick(step));
        }
    }

    /// The next thing that it waits for happens, besides showing what is there.
    fn wait(&mut self) {
        loop {
            let shown = self.deployer.agenda.next();
            let at = self.wake.take().unwrap_or(self.now);
            self.now = at + 1;
            self.run(|deployer, step| deployer.tick(step));
            if shown.is_none_or(|shown| shown > at) {
                return;
            }
        }
    }

    fn run(&mut self, f: impl FnOnce(&mut Deployer, &mut Step<Effect>)) {
        let mut step = Step::at(self.now);
        f(&mut self.deployer, &mut step);
        let (mut steps, mut rest) = (VecDeque::from([step]), 2_000);
        while let Some(step) = steps.pop_front() {
            rest -= 1;
            assert!(rest > 0, "it does not come to rest");
            let (rows, effects, wake) = step.into_parts();
            self.wake = wake.or(self.wake);
            for row in rows {
                self.forced.extend(row.forced.then(|| row.subject.to_string()));
                if let Subject::Shown { what, profile, .. } = &row.subject {
                    let value = |bytes: &[u8]| serde_json::from_slice(bytes).unwrap();
                    let said = if let Body::Value(bytes) = &row.body { Some(value(bytes)) } else { None };
                    self.shown.insert(format!("{} {}", what.token(), profile.path()), said);
                    continue;
                }
                let Subject::Status { profile, origin, .. } = &row.subject else { panic!("{row:?}") };
                let status = match &row.body {
                    Body::Value(bytes) => Some(serde_json::from_slice(bytes).unwrap()),
                    Body::Tombstone => None,
                };
                self.by_maker.insert((profile.path(), *origin), status.clone());
                self.statuses.insert(profile.path(), status);
            }
            for effect in effects {
                match effect {
                    Effect::Call(cluster, id, request) => {
                        let reply = self.serve(request);
                        let mut step = Step::at(self.now);
                        self.deployer.external(ExternalInput::Reply(cluster, id, reply), &mut step);
                        steps.push_back(step);
                    }
                    Effect::Problem(problem) => self.problems.push(problem),
                    Effect::FollowKinds(_) => self.follows += 1,
                    Effect::Summary(summary) => self.summaries.push(summary),
                    Effect::Configuration(configuration) => self.configurations.push(configuration),
                    Effect::Report(report) => self.reports.push(report),
                    Effect::Check(cluster, id, check, account) => {
                        let said = self.says.get(&check.name).cloned();
                        self.asked.insert(id, (check, account));
                        if let Some(said) = said {
                            let mut step = Step::at(self.now);
                            self.deployer.external(ExternalInput::Checked(cluster, id, said), &mut step);
                            steps.push_back(step);
                        }
                    }
                    Effect::ClusterCheck(_, id, check) => drop(self.guards.insert(id, check.title.clone())),
                    Effect::EndCheck(_, id) => {
                        assert!(self.asked.remove(&id).is_some() | self.guards.remove(&id).is_some());
                    }
                    Effect::Watch(_, gvk) => {
                        let same = self.objects.iter().filter(|(key, _)| key.gvk == gvk);
                        let all = same.map(|(key, object)| Sight::of(key.clone(), object)).collect();
                        self.unseen.push(Shown::All(gvk.clone(), all));
                        assert!(self.watched.insert(gvk));
                    }
                    Effect::EndWatch(_, gvk) => assert!(self.watched.remove(&gvk)),
                    Effect::WatchSources(_, gvk) => {
                        let glimpse = self.all_sources(&gvk);
                        self.unglimpsed.push(glimpse);
                        assert!(self.sources.insert(gvk));
                    }
                    Effect::EndWatchSources(_, gvk) => assert!(self.sources.remove(&gvk)),
                    Effect::Switch(_) => {
                        self.asked.clear();
                        self.guards.clear();
                        self.watched.clear();
                        self.sources.clear();
                    }
                    Effect::Journal(line) => self.journal.push(format!("{} {}", line.what, line.object)),
                    Effect::Drifted(event) => self.drifted.push(event),
                    Effect::Left(_, left) => self.left.push(left),
                }
            }
        }
    }

    fn serve(&mut self, request: Request) -> Reply {
        if let Some(failure) = (self.fail)(&request) {
            return Reply::Failed(failure);
        }
        self.reads += usize::from(matches!(request, Request::Read(_)));
        let conflict = || Reply::Failed(Failure::new(Class::Conflict, "the object has been modified"));
        match request {
            Request::Inventories => Reply::Inventories(self.inventories.values().cloned().collect()),
            Request::List(gvk) => {
                let same = self.objects.iter().filter(|(key, _)| key.gvk == gvk);
                Reply::Listed(same.map(|(key, object)| (key.clone(), Live::of(object))).collect())
            }
            Request::Read(key) => Reply::Read(self.objects.get(&key).map(Live::of)),
            Request::Content(key) => Reply::Content(self.content(&key)),
            Request::Along { holder, profile } => {
                let is_in = |key: &ObjectKey| key.namespace == holder.name || holder.gvk.kind != "Namespace";
                let of_others =
                    |object: &Value| !Live::of(object).owner.is_some_and(|owner| owner.is(&profile));
                let mut found = self.objects.iter().filter(|(key, object)| is_in(key) && of_others(object));
                self.calls.push(format!("along {}", holder.name));
                Reply::Along(found.next().map(|(key, _)| key.to_string().into()))
            }
            Request::Prove { .. } => Reply::Done,
            Request::Rehearse { object, .. } => {
                let there = self.objects.get(&ObjectKey::of(&object).unwrap());
                self.tried.push(format!("apply {}", object::name(&object)));
                let differs =
                    |there: &Value| (there["data"] != object["data"]).then(|| "it differs".to_owned());
                Reply::Rehearsed { exists: there.is_some(), difference: there.and_then(differs) }
            }
            Request::RehearseDelete { key, .. } => {
                self.tried.push(format!("delete {}", key.name));
                Reply::Done
            }
            Request::Apply { object, against, watched, .. } => {
                let key = ObjectKey::of(&object).unwrap();
                let known = self.objects.get(&key).map(|object| Live::of(object).version());
                if against != known {
                    return conflict();
                }
                self.calls.push(format!("apply {}", key.name));
                self.version += 1;
                let mut object = (*object).clone();
                object["metadata"]["uid"] = known.map_or(format!("u{}", self.version), |(uid, _)| uid).into();
                object["metadata"]["resourceVersion"] = self.version.to_string().into();
                if self.slow_kinds && key.gvk.kind == "CustomResourceDefinition" {
                    object["status"] = json!({"conditions": []});
                }
                drift::manage(&mut object);
                let sight = Sight::of(key.clone(), &object);
                let fields = sight.live.fields.filter(|_| watched);
                let live = Live { fields, ..Live::of(&object) };
                self.glimpse(Glimpse::Changed(key.clone(), live.version()));
                self.objects.insert(key, object);
                self.note(Shown::Changed(sight.into()));
                Reply::Applied(live)
            }
            Request::Delete { key, against, .. } => {
                if self.objects.get(&key).map(|object| Live::of(object).version()) != Some(against) {
                    return conflict();
                }
                self.calls.push(format!("delete {}", key.name));
                let held = object::at(&self.objects[&key], &["metadata", "finalizers"]).is_some();
                match self.objects.get_mut(&key) {
                    Some(object) if held => {
                        self.version += 1;
                        object["metadata"]["resourceVersion"] = self.version.to_string().into();
                        object["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
                    }
                    _ => {
                        let gone = self.objects.remove(&key).map(|object| Live::of(&object).uid);
                        self.glimpse(Glimpse::Gone(key.clone()));
                        self.note(Shown::Gone(key, gone.unwrap_or_default()));
                    }
                }
                Reply::Done
            }
            Request::Release { key, against, .. } => {
                if self.objects.get(&key).map(|object| Live::of(object).version()) != Some(against) {
                    return conflict();
                }
                self.calls.push(format!("release {}", key.name));
                self.version += 1;
                let object = self.objects.get_mut(&key).unwrap();
                sluice_api::marks::take(object);
                object["metadata"]["resourceVersion"] = self.version.to_string().into();
                Reply::Done
            }
            Request::ReadInventory(profile) => {
                Reply::Inventory(self.inventories.get(&profile.path()).cloned())
            }
            Request::WriteInventory { inventory, against } => {
                let name = inventory.id().path();
                if self.inventories.get(&name).map(|stored| &stored.version) != against.as_ref() {
                    return conflict();
                }
                self.calls.push(format!("inventory {}", inventory.objects.len()));
                self.version += 1;
                let version = (name.clone(), self.version.to_string());
                let stored = Stored { inventory: inventory.clone(), version: version.clone() };
                self.inventories.insert(name, stored);
                Reply::Written(version)
            }
            Request::DeleteInventory { profile, against } => {
                let name = profile.path();
                if self.inventories.get(&name).is_some_and(|stored| stored.version != against) {
                    return conflict();
                }
                self.inventories.remove(&name);
                Reply::Done
            }
            Request::Keep { profile, row, body, good } => {
                self.calls.push("keep".into());
                self.kept.retain(|(of, kept), _| *of != profile || Some(*kept) == good);
                self.kept.insert((profile, row), body);
                Reply::Done
            }
            Request::ReadKept { profile, row } => Reply::Kept(self.kept.get(&(profile, row)).cloned()),
            Request::DropKept(profile) => {
                self.calls.push("drop".into());
                self.kept.retain(|(of, _), _| *of != profile);
                Reply::Done
            }
        }
    }

    fn names(&self) -> Vec<&str> {
        self.objects.values().map(object::name).collect()
    }

    fn state(&self, profile: &str) -> Option<State> {
        self.statuses[profile].as_ref().map(|status| status.state)
    }

    fn take_calls(&mut self) -> Vec<String> {
        std::mem::take(&mut self.calls)
    }
}

mod all_said;
mod checks;
mod dependencies;
mod display;
mod drift;
mod going_back;
mod gone;
mod guards;
mod handover;
mod keep;
mod late;
mod leaving;
mod makers;
mod order;
mod order_property;
mod prune_guard;
mod pulling;
mod redeploy;
mod rehearse;
mod releases;
mod reload;
mod remake;
mod staged;
mod tenants;
mod transitions;

#[test]
fn the_inventory_is_written_before_the_first_apply() {
    let mut fixture = Fixture::new();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    assert!(fixture.calls.is_empty(), "nobody knows how to reach the cluster");
    fixture.reach();
    assert_eq!(fixture.take_calls(), ["inventory 2", "apply a", "apply b"]);
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}

#[test]
fn only_what_changed_is_applied_and_what_left_is_pruned_afterwards() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    fixture.take_calls();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("c", "1")])));
    assert_eq!(fixture.take_calls(), ["inventory 3", "apply c", "delete b", "inventory 2"]);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2"), config_map("c", "1")])));
    assert_eq!(fixture.take_calls(), ["apply a"]);
}

#[test]
fn what_a_profile_never_had_is_created_without_a_look_at_it() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let row = row_of("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    let mut calls = fixture.hold(|deployer, step| deployer.row(&row, step));
    let mut sent = Vec::new();
    while let Some((id, request)) = calls.pop() {
        sent.push(request.clone());
        let reply = fixture.serve(request);
        calls.extend(
            fixture
                .hold(|deployer, step| deployer.external(ExternalInput::Reply(cluster(), id, reply), step)),
        );
    }
    assert_eq!(fixture.names(), ["a", "b"]);
    assert!(!sent.iter().any(|request| matches!(request, Request::Read(_))), "{sent:?}");
    assert_eq!(
        sent.iter().filter(|request| matches!(request, Request::Apply { against: None, .. })).count(),
        2
    );
}

#[test]
fn what_is_there_without_an_owner_is_read_before_it_is_taken() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut there = config_map("a", "of a user");
    there["metadata"]["uid"] = "u".into();
    there["metadata"]["resourceVersion"] = "5".into();
    fixture.objects.insert(ObjectKey::of(&there).unwrap(), there);
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let taken = fixture.objects.values().next().unwrap();
    assert_eq!((&taken["metadata"]["uid"], &taken["data"]["a"]), (&json!("u"), &json!("1")));
    assert_eq!(fixture.take_calls(), ["inventory 1", "apply a"], "what would have created it did nothing");
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}

#[test]
fn a_tombstone_withdraws_everything_and_its_traces() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.row("p", None);
    assert!(fixture.objects.is_empty() && fixture.inventories.is_empty());
    assert_eq!(fixture.statuses["p"], None);
}

#[test]
fn a_tombstone_ends_the_work_that_is_under_way_also_while_the_cluster_is_away() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let row = row_of("p", Some(desired("p", 100, vec![config_map("x", "1")])));
    let mut calls = fixture.hold(|deployer, step| deployer.row(&row, step));
    let mut applied = false;
    while let Some((id, request)) = calls.pop() {
        applied |= matches!(request, Request::Apply { .. });
        let reply = fixture.serve(request.clone());
        if matches!(request, Request::WriteInventory { .. }) {
            let away = ExternalInput::Unreachable(cluster());
            assert!(fixture.hold(|deployer, step| deployer.external(away, step)).is_empty());
            assert!(fixture.hold(|deployer, step| deployer.row(&row_of("p", None), step)).is_empty());
        }
        calls.extend(
            fixture
                .hold(|deployer, step| deployer.external(ExternalInput::Reply(cluster(), id, reply), step)),
        );
    }
    assert!(!applied, "the tombstone came before");
    fixture.reach();
    (0..5).for_each(|_| fixture.wait());
    assert!(fixture.objects.is_empty());
    assert_eq!(
        fixture.state("p"),
        Some(State::Held),
        "the tombstone came before: it is to be said once more"
    );
    fixture.row("p", None);
    assert!(fixture.inventories.is_empty());
}

#[test]
fn a_list_of_inventories_that_is_overtaken_brings_no_removed_profile_back() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("x", "1")])));
    let row = row_of("p", None);
    let mut removal = fixture.hold(|deployer, step| deployer.row(&row, step));
    while !matches!(removal[0].1, Request::DeleteInventory { .. }) {
        let (id, request) = removal.remove(0);
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        removal.extend(fixture.hold(|deployer, step| deployer.external(reply, step)));
    }
    // The look after a takeover: the list is read before the removal has ended, and answered after it.
    fixture.now += 20_000_000;
    let (list, request) = fixture.hold(|deployer, step| deployer.tick(step)).remove(0);
    let late = ExternalInput::Reply(cluster(), list, fixture.serve(request));
    let (id, request) = removal.remove(0);
    let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
    fixture.run(|deployer, step| deployer.external(reply, step));
    assert!(fixture.inventories.is_empty() && fixture.statuses["p"].is_none());
    fixture.run(|deployer, step| deployer.external(late, step));
    assert!(fixture.statuses["p"].is_none(), "nothing is held");
    fixture.row("p", Some(desired("p", 100, vec![config_map("x", "1")])));
    assert_eq!(fixture.inventories.len(), 1, "what is applied is written down first");
}

#[test]
fn a_new_owner_applies_nothing_twice_and_withdraws_nothing_by_absence() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.row("q", Some(desired("q", 100, vec![config_map("b", "1")])));
    fixture.take_calls();
    fixture.restart();
    assert_eq!(fixture.state("q"), Some(State::Held));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    assert!(fixture.take_calls().is_empty());
    assert_eq!(fixture.names(), ["a", "b"]);
    fixture.row("q", None);
    assert_eq!(fixture.take_calls(), ["delete b"]);
}

#[test]
fn a_list_that_comes_after_everything_is_compared_anew_tells_nothing() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let many = || ["a", "b", "c"].map(|name| config_map(name, "1")).to_vec();
    fixture.row("p", Some(desired("p", 100, many())));
    fixture.replace(1);
    fixture.read_all();
    let reach = ExternalInput::Reachable(cluster(), None);
    let mut calls = fixture.hold(|deployer, step| deployer.external(reach, step));
    let (id, request) = calls.pop().unwrap();
    let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
    let mut calls = fixture.hold(|deployer, step| deployer.external(reply, step));
    let (id, request) = calls.pop().unwrap();
    assert!(matches!(request, Request::List(_)), "{request:?}");
    let late = ExternalInput::Reply(cluster(), id, fixture.serve(request));
    fixture.pass_former_calls();
    // It comes after the answer to the first deletion, and before the inventory goes.
    let (row, mut late) = (row_of("p", None), Some(late));
    let mut calls = VecDeque::from(fixture.hold(|deployer, step| deployer.row(&row, step)));
    while let Some((id, request)) = calls.pop_front() {
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        calls.extend(fixture.hold(|deployer, step| deployer.external(reply, step)));
        if let Some(late) = late.take_if(|_| fixture.names().len() < 3) {
            calls.extend(fixture.hold(|deployer, step| deployer.external(late, step)));
        }
    }
    assert!(late.is_none() && fixture.names().is_empty() && fixture.inventories.is_empty());
    fixture.row("p", Some(desired("p", 100, many())));
    assert_eq!(fixture.names(), ["a", "b", "c"]);
}

#[test]
fn a_new_owner_lists_what_is_many_and_reads_what_a_list_does_not_tell() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let objects = || ["a", "b", "c", "d"].map(|name| config_map(name, "1")).to_vec();
    fixture.row("p", Some(desired("p", 100, objects())));
    let foreign = ObjectKey::of(&config_map("b", "1")).unwrap();
    fixture.objects.get_mut(&foreign).unwrap()["metadata"]["annotations"] = json!({});
    fixture.objects.remove(&ObjectKey::of(&config_map("c", "1")).unwrap());
    fixture.take_calls();
    fixture.reads = 0;
    fixture.restart();
    fixture.row("p", Some(desired("p", 100, objects())));
    // What is absent, or somebody else's, is looked at again once the inventory is renewed.
    let calls = ["inventory 4", "apply b", "apply c"].map(str::to_owned).to_vec();
    assert_eq!((fixture.reads, fixture.take_calls()), (3, calls));
    // Without lists it goes on one by one.
    fixture.reads = 0;
    fixture.fail = Box::new(|request| {
        matches!(request, Request::List(_)).then(|| Failure::new(Class::Refused, "may not be listed"))
    });
    fixture.restart();
    fixture.row("p", Some(desired("p", 100, objects())));
    assert_eq!(
        (fixture.reads, fixture.state("p"), fixture.take_calls()),
        (4, Some(State::Provisioned), vec![])
    );
}

#[test]
fn what_goes_with_its_kind_is_missed_at_once_and_made_anew_when_the_kind_is_back() {
    let thing =
        json!({"apiVersion": "example.io/v1", "kind": "Thing", "metadata": {"name": "t", "namespace": "n"}});
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "1")])));
    assert_eq!(fixture.follows, 0, "its kind cannot go");
    fixture.row("p", Some(desired("p", 100, vec![thing.clone()])));
    assert_eq!(fixture.follows, 1);
    fixture.objects.remove(&ObjectKey::of(&thing).unwrap());
    fixture.fail = Box::new(|request| {
        let kind = |object: &Value| object::text(object, &["kind"]) == "Thing";
        matches!(request, Request::Apply { object, .. } if kind(object))
            .then(|| Failure::new(Class::NoKind, "no such kind"))
    });
    let changed = || ExternalInput::Kinds(cluster(), "example.io".into());
    fixture.run(|deployer, step| deployer.external(changed(), step));
    assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Failed), Some(State::Provisioned)));
    fixture.fail = Box::new(|_| None);
    fixture.run(|deployer, step| deployer.external(changed(), step));
    assert_eq!((fixture.state("p"), fixture.names()), (Some(State::Provisioned), vec!["a", "t"]));
}

#[test]
fn a_tombstone_of_former_times_withdraws_nothing_until_it_is_said_once_more() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    // The cluster is not registered for a while: its rows are withdrawn, and wanted again later.
    let away = ExternalInput::Unreachable(cluster());
    fixture.run(|deployer, step| deployer.external(away, step));
    fixture.row("p", None);
    fixture.reach();
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Held)));
    // A new owner reads that tombstone first.
    fixture.replace(1);
    fixture.reach();
    fixture.row("p", None);
    fixture.read_all();
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Held)));
    fixture.take_calls();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    assert_eq!((fixture.take_calls(), fixture.state("p")), (vec![], Some(State::Provisioned)));
    fixture.row("p", None);
    assert!(fixture.objects.is_empty() && fixture.inventories.is_empty());
}

#[test]
fn a_new_owner_that_reads_older_rows_first_brings_nothing_of_them_back() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    fixture.take_calls();
    fixture.replace(1);
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("b", "1")])));
    fixture.row("q", Some(desired("q", 100, vec![config_map("c", "1")])));
    assert!(fixture.take_calls().is_empty());
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    fixture.row("q", None);
    fixture.read_all();
    assert_eq!((fixture.take_calls(), fixture.names()), (vec![], vec!["a"]));
}

#[test]
fn what_a_former_owner_creates_late_is_withdrawn() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let late = config_map("late", "1");
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), late])));
    // The inventory names it, and its creation is still under way while a new owner begins.
    let key = fixture.objects.keys().find(|key| key.name == "late").unwrap().clone();
    let created = fixture.objects.remove(&key).unwrap();
    fixture.restart();
    fixture.row("p", None);
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec![], 1), "the inventory still names it");
    fixture.objects.insert(key, created);
    fixture.wait();
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec![], 0));
    assert!(fixture.statuses["p"].is_none());
}

#[test]
fn what_a_former_owner_creates_late_for_an_older_content_is_pruned() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1"), config_map("late", "1")])));
    let key = fixture.objects.keys().find(|key| key.name == "late").unwrap().clone();
    let created = fixture.objects.remove(&key).unwrap();
    fixture.restart();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
    fixture.objects.insert(key, created);
    fixture.wait();
    assert_eq!(fixture.names(), ["a"]);
    assert_eq!(fixture.inventories["p"].inventory.objects.len(), 1);
}

#[test]
fn an_inventory_that_a_former_owner_may_delete_is_written_before_something_is_created() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let former = fixture.inventories["p"].version.clone();
    // The former owner deleted the object, and the deletion of the inventory is under way.
    fixture.objects.clear();
    fixture.restart();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    assert_eq!(fixture.names(), ["a"]);
    assert_ne!(fixture.inventories["p"].version, former, "a deletion of the former version is refused");
}

#[test]
fn an_object_that_changed_owner_meanwhile_is_not_deleted() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.restart();
    let key = fixture.objects.keys().next().unwrap().clone();
    fixture.objects.get_mut(&key).unwrap()["metadata"]["annotations"]["projectsveltos.io/owner-name"] =
        json!("other");
    fixture.row("p", None);
    assert_eq!(
        (fixture.names(), fixture.inventories.len()),
        (vec!["a"], 1),
        "a former call may take it back"
    );
    fixture.pass_former_calls();
    assert_eq!(fixture.names(), ["a"]);
    assert!(fixture.inventories.is_empty());
}

#[test]
fn the_first_of_equal_tiers_keeps_the_object_and_the_second_gets_it_later() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p")])));
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "q")])));
    assert_eq!(fixture.state("q"), Some(State::Failed));
    assert!(fixture.statuses["q"].as_ref().unwrap().errors[0].contains("A conflict was detected"));
    fixture.row("p", None);
    fixture.wait();
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "q");
    assert_eq!(fixture.state("q"), Some(State::Provisioned));
}

#[test]
fn a_lower_tier_takes_the_object_over() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p")])));
    fixture.row("q", Some(desired("q", 50, vec![config_map("a", "q")])));
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "q");
    fixture.row("p", None);
    assert_eq!(fixture.names(), ["a"]);
}

/// A deployer that begins anew, and other tools, decide by what the object says.
#[test]
fn an_object_says_the_tiers_that_its_owner_has_now() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p")])));
    let mut changed = desired("p", 50, vec![config_map("a", "p")]);
    fixture.row("p", Some(changed.clone()));
    let tier = |fixture: &Fixture, of: &str| {
        let object = fixture.objects.values().next().unwrap();
        object::annotation(object, &format!("projectsveltos.io/{of}-tier")).unwrap().to_owned()
    };
    assert_eq!([tier(&fixture, "owner"), tier(&fixture, "reference")], ["50", "100"]);
    changed.policies[0].tier = 30;
    fixture.row("p", Some(changed));
    assert_eq!([tier(&fixture, "owner"), tier(&fixture, "reference")], ["50", "30"]);
}

#[test]
fn a_changed_object_is_planned_again() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let key = fixture.objects.keys().next().unwrap().clone();
    fixture.objects.get_mut(&key).unwrap()["metadata"]["resourceVersion"] = json!("99");
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "2")])));
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    assert_eq!(fixture.objects[&key]["data"]["a"], "2");
}

#[test]
fn refused_objects_are_named_delay_no_others_and_are_tried_again() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| match request {
        Request::Apply { object, .. } if object::name(object) == "bad" => {
            Some(Failure::new(Class::Refused, "no such kind"))
        }
        _ => None,
    });
    fixture.row("p", Some(desired("p", 100, vec![config_map("bad", "1"), config_map("good", "1")])));
    assert_eq!(fixture.names(), ["good"]);
    assert_eq!(fixture.statuses["p"].as_ref().unwrap().errors, ["ConfigMap default/bad: no such kind"]);
    assert_eq!(fixture.problems.last().unwrap().object(), "ClusterProfile p");
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    assert_eq!(fixture.problems.last().unwrap().error(), None);
}

#[test]
fn nothing_is_pruned_while_its_replacement_fails() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("old", "1")])));
    fixture.fail = Box::new(|request| {
        matches!(request, Request::Apply { .. }).then(|| Failure::new(Class::Refused, "quota"))
    });
    fixture.row("p", Some(desired("p", 100, vec![config_map("new", "1")])));
    assert_eq!(fixture.names(), ["old"]);
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!(fixture.names(), ["new"]);
}

#[test]
fn who_waits_for_what_is_not_pruned_gets_it_all_the_same() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 50, vec![config_map("a", "p"), config_map("b", "p")])));
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "q")])));
    assert_eq!(fixture.state("q"), Some(State::Failed));
    fixture.fail = Box::new(|request| match request {
        Request::Apply { object, .. } if object::name(object) == "new" => {
            Some(Failure::new(Class::Refused, "quota"))
        }
        _ => None,
    });
    fixture.row("p", Some(desired("p", 50, vec![config_map("new", "1")])));
    (0..3).for_each(|_| fixture.wait());
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "q");
    assert_eq!(fixture.state("q"), Some(State::Provisioned));
    assert_eq!(fixture.names(), ["a", "b"], "nobody waits for the other one");
    let calls = fixture.take_calls();
    assert!(calls.iter().all(|call| !call.starts_with("delete")), "{calls:?}: it was there all the time");
    fixture.fail = Box::new(|_| None);
    (0..3).for_each(|_| fixture.wait());
    assert_eq!(fixture.names(), ["a", "new"]);
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "q");
    assert_eq!(
        (fixture.state("p"), fixture.state("q")),
        (Some(State::Provisioned), Some(State::Provisioned))
    );
}

#[test]
fn who_waits_for_an_object_is_told_at_once_when_it_is_free() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 50, vec![config_map("a", "p")])));
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "q"), config_map("b", "q")])));
    assert_eq!(fixture.state("q"), Some(State::Failed));
    fixture.row("p", None);
    assert_eq!(fixture.state("q"), Some(State::Provisioned), "no time has passed");
}

#[test]
fn a_dead_server_is_left_alone_and_caught_up_with() {
    let mut fixture = Fixture::new();
    fixture.fail = Box::new(|_| Some(Failure::new(Class::Transient, "connection refused")));
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.wait();
    assert!(
        fixture
            .problems
            .iter()
            .any(|problem| problem.error().is_some_and(|error| error.contains("connection refused")))
    );
    fixture.fail = Box::new(|_| None);
    (0..5).for_each(|_| fixture.wait());
    assert_eq!(fixture.names(), ["a"]);
    assert_eq!(fixture.problems.last().unwrap().error(), None);
}

#[test]
fn a_server_in_trouble_is_one_problem_however_many_profiles_are_on_it() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|_| Some(Failure::new(Class::Transient, "internal error")));
    for profile in ["p", "q", "r", "s", "t"] {
        fixture.row(profile, Some(desired(profile, 100, vec![config_map(profile, "1")])));
    }
    (0..40).for_each(|_| fixture.wait());
    let open: BTreeSet<_> = fixture.problems.iter().map(Problem::object).collect();
    assert_eq!(open, ["cluster".to_owned()].into());
    assert_eq!(fixture.state("p"), Some(State::Failed));
    fixture.fail = Box::new(|_| None);
    (0..40).for_each(|_| fixture.wait());
    assert_eq!(fixture.names(), ["p", "q", "r", "s", "t"]);
    assert_eq!(fixture.problems.last().unwrap().error(), None);
}

#[test]
fn one_object_that_the_server_fails_on_is_the_problem_of_its_profile() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| match request {
        Request::Apply { object, .. } if object::name(object) == "bad" => {
            Some(Failure::new(Class::Transient, "failed calling webhook"))
        }
        _ => None,
    });
    fixture.row("p", Some(desired("p", 100, vec![config_map("bad", "1"), config_map("good", "1")])));
    assert!(fixture.problems.is_empty());
    (0..8).for_each(|_| fixture.wait());
    assert_eq!(fixture.problems.last().unwrap().object(), "ClusterProfile p");
}

#[test]
fn an_inventory_that_somebody_else_wrote_is_read_before_it_is_written() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    // A former owner wrote it meanwhile, and created another object.
    let former = desired("p", 100, vec![config_map("b", "1")]);
    let (prepared, _) = crate::prepare::prepare(&former);
    let key = prepared[0].key.clone();
    fixture.objects.insert(key.clone(), (*prepared[0].object).clone());
    let stored = fixture.inventories.get_mut("p").unwrap();
    let mut inventory = (*stored.inventory).clone();
    inventory.objects.insert(key.into());
    *stored = Stored { inventory: inventory.into(), version: ("p".into(), "99".into()) };
    fixture.row("p", Some(desired("p", 100, vec![config_map("c", "1")])));
    assert_eq!(fixture.names(), ["c"]);
    assert_eq!(fixture.inventories["p"].inventory.objects.len(), 1);
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}

#[test]
fn an_inventory_of_unknown_fate_is_read_before_anything_else() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut lost = true;
    fixture.fail = Box::new(move |request| {
        let fails = matches!(request, Request::WriteInventory { .. }) && std::mem::take(&mut lost);
        fails.then(|| Failure::new(Class::Unanswered, "no answer within 10 s"))
    });
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    // It did come through.
    let mut writer = Fixture::new();
    writer.reach();
    writer.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.inventories = writer.inventories;
    fixture.wait();
    assert_eq!(fixture.names(), ["a"]);
    fixture.row("p", None);
    assert!(fixture.names().is_empty() && fixture.inventories.is_empty());
}

#[test]
fn what_is_to_be_left_stays_when_its_profile_goes() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let keep = Desired { leave: true, ..desired("p", 100, vec![config_map("a", "1")]) };
    fixture.row("p", Some(keep.clone()));
    fixture.row("p", None);
    assert_eq!(fixture.names(), ["a"]);
    assert!(fixture.inventories.is_empty());
    assert_eq!(Live::of(fixture.objects.values().next().unwrap()).owner, None);
    // Another profile can have it.
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "2")])));
    assert_eq!(fixture.state("q"), Some(State::Provisioned));
    fixture.row("q", None);
    assert!(fixture.objects.is_empty());
}

#[test]
fn the_inventory_of_what_stays_goes_last_and_only_when_nobody_is_named_any_more() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let objects = vec![config_map("a", "1"), config_map("b", "1")];
    fixture.row("p", Some(Desired { leave: true, ..desired("p", 100, objects) }));
    fixture.fail = Box::new(|request| {
        let fails = matches!(request, Request::Release { key, .. } if key.name == "b");
        fails.then(|| Failure::new(Class::Refused, "quota"))
    });
    fixture.row("p", None);
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a", "b"], 1));
    fixture.fail = Box::new(|_| None);
    fixture.restart();
    fixture.row("p", None);
    fixture.pass_former_calls();
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a", "b"], 0));
    assert!(fixture.objects.values().all(|object| Live::of(object).owner.is_none()));
}

#[test]
fn a_change_of_extra_labels_alone_is_applied() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let labelled = |team: &str| Desired {
        extra_labels: BTreeMap::from([("team".to_owned(), team.to_owned())]),
        ..desired("p", 100, vec![config_map("a", "1")])
    };
    let team = |fixture: &Fixture| {
        fixture
            .objects
            .values()
            .map(|object| object::label(object, "team").map(str::to_owned))
            .collect::<Vec<_>>()
    };
    for next in ["x", "y"] {
        fixture.row("p", Some(labelled(next)));
        assert_eq!(team(&fixture), [Some(next.to_owned())]);
    }
    fixture.take_calls();
    fixture.row("p", Some(labelled("y")));
    assert!(!fixture.take_calls().contains(&"apply a".to_owned()), "nothing has changed");
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    assert_eq!(team(&fixture), [None]);
}

#[test]
fn a_dry_run_touches_nothing() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(Desired { dry_run: true, ..desired("p", 100, vec![config_map("a", "1")]) }));
    assert!(fixture.objects.is_empty() && fixture.inventories.is_empty());
    assert_eq!(fixture.state("p"), Some(State::DryRun));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
    fixture.row("p", Some(Desired { dry_run: true, ..desired("p", 100, vec![config_map("b", "1")]) }));
    assert_eq!(
        (fixture.names(), fixture.state("p")),
        (vec!["a"], Some(State::DryRun)),
        "what is there stays"
    );
}

#[test]
fn a_status_says_which_spec_it_is_about_also_where_nothing_was_to_be_done() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut row = desired("p", 100, vec![config_map("a", "1")]);
    for number in 1..3 {
        row.spec.insert("maxUpdate".into(), json!(number));
        fixture.row("p", Some(row.clone()));
        let status = fixture.statuses["p"].clone().unwrap();
        assert_eq!((status.state, &status.spec), (State::Provisioned, &row.of_spec()));
        assert_eq!(fixture.take_calls().iter().filter(|call| call.starts_with("apply")).count(), 2 - number);
    }
}

#[test]
fn what_is_wanted_again_while_a_finalizer_holds_it_is_waited_for_and_made_anew() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut held = config_map("a", "1");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    fixture.row("p", Some(desired("p", 100, vec![held.clone()])));
    fixture.row("p", None);
    fixture.take_calls();
    fixture.row("p", Some(desired("p", 100, vec![held])));
    let status = fixture.statuses["p"].clone().unwrap();
    assert_eq!(status.state, State::Failed);
    assert!(status.errors[0].contains("ConfigMap default/a waits for"), "{status:?}");
    assert_eq!(fixture.take_calls(), ["inventory 1"], "what goes is not changed");
    fixture.wait();
    assert_eq!(fixture.state("p"), Some(State::Failed));
    fixture.objects.clear();
    (0..3).for_each(|_| fixture.wait());
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
}

#[test]
fn what_goes_already_is_not_deleted_twice_and_holds_nobody_up() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let mut held = config_map("a", "1");
    held["metadata"]["finalizers"] = json!(["example.com/hold"]);
    fixture.row("p", Some(desired("p", 100, vec![held])));
    let key = fixture.objects.keys().next().unwrap().clone();
    // A user deleted it, and its version is another one since.
    let object = fixture.objects.get_mut(&key).unwrap();
    object["metadata"]["resourceVersion"] = json!("99");
    object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    fixture.take_calls();
    fixture.row("p", None);
    assert!(fixture.take_calls().is_empty());
    // Calls of a former owner can no longer bring it back.
    fixture.now += 20_000_000;
    fixture.wait();
    assert!(fixture.statuses["p"].is_none() && fixture.inventories.is_empty());
}

#[test]
fn what_was_known_of_a_server_is_not_believed_of_the_one_in_its_place() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    (fixture.objects, fixture.inventories) = Default::default();
    fixture.reach();
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a"], 1));
    (fixture.objects, fixture.inventories) = Default::default();
    fixture.run(|deployer, step| deployer.external(ExternalInput::Unreachable(cluster()), step));
    fixture.reach();
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a"], 1));
}

#[test]
fn answers_of_a_former_server_are_not_taken_for_those_of_the_new_one() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let row = row_of("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    let mut calls = fixture.hold(|deployer, step| deployer.row(&row, step));
    let mut late = Vec::new();
    // The former server has stored the inventory and the object, and the last answer is under way.
    while let Some((id, request)) = calls.pop() {
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request.clone()));
        if matches!(request, Request::Apply { .. }) {
            late.push(reply);
        } else {
            calls.extend(fixture.hold(|deployer, step| deployer.external(reply, step)));
        }
    }
    assert_eq!(late.len(), 1);
    (fixture.objects, fixture.inventories) = Default::default();
    let mut calls =
        fixture.hold(|deployer, step| deployer.external(ExternalInput::Reachable(cluster(), None), step));
    for reply in late {
        calls.extend(fixture.hold(|deployer, step| deployer.external(reply, step)));
    }
    let [(id, Request::Inventories)] = &calls[..] else { panic!("{calls:?}") };
    let reply = ExternalInput::Reply(cluster(), *id, Reply::Inventories(Vec::new()));
    fixture.run(|deployer, step| deployer.external(reply, step));
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a"], 1));
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}

#[test]
fn a_profile_that_the_new_server_does_not_hold_has_no_status_any_more() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.restart();
    assert_eq!(fixture.state("p"), Some(State::Held));
    (fixture.objects, fixture.inventories) = Default::default();
    fixture.reach();
    assert_eq!(fixture.statuses["p"], None);
}

#[test]
fn the_look_after_a_takeover_comes_although_something_else_was_due_before() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| {
        matches!(request, Request::Apply { .. }).then(|| Failure::new(Class::Refused, "quota"))
    });
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.fail = Box::new(|_| None);
    fixture.wait();
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
    assert!(fixture.wake.is_some(), "it is to be woken for the look");
}

#[test]
fn many_refused_objects_delay_nobody_and_go_with_their_profiles() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| match request {
        Request::Apply { object, .. } if object::name(object).contains(' ') => {
            Some(Failure::new(Class::Refused, "invalid uri character"))
        }
        _ => None,
    });
    let bad = |index: usize| (format!("bad{index}"), vec![config_map(&format!("front p{index}"), "1")]);
    for (profile, objects) in (0..50).map(bad) {
        fixture.row(&profile, Some(desired(&profile, 100, objects)));
    }
    fixture.row("good", Some(desired("good", 100, vec![config_map("a", "1")])));
    assert_eq!((fixture.names(), fixture.state("good")), (vec!["a"], Some(State::Provisioned)));
    assert!(fixture.problems.iter().all(|problem| problem.about != About::Cluster));
    // One is mended, the others are withdrawn.
    fixture.row("bad0", Some(desired("bad0", 100, vec![config_map("front-p0", "1")])));
    (1..50).for_each(|index| fixture.row(&bad(index).0, None));
    (0..20).for_each(|_| fixture.wait());
    fixture.now += 20_000_000;
    fixture.wait();
    assert_eq!((fixture.names(), fixture.inventories.len()), (vec!["a", "front-p0"], 2));
    assert_eq!(fixture.state("bad0"), Some(State::Provisioned));
}

#[test]
fn what_is_deployed_once_is_completely_deployed_before_it_rests() {
    let once = |data| Some(Desired { one_time: true, ..desired("p", 100, vec![config_map("a", data)]) });
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.fail = Box::new(|request| {
        matches!(request, Request::Apply { .. }).then(|| Failure::new(Class::Refused, "quota"))
    });
    fixture.row("p", once("1"));
    assert_eq!((fixture.state("p"), fixture.inventories.len()), (Some(State::Failed), 1));
    // The inventory is there and nothing else, also for who takes over.
    fixture.fail = Box::new(|_| None);
    fixture.restart();
    fixture.row("p", once("2"));
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
    fixture.row("p", once("3"));
    fixture.restart();
    fixture.row("p", once("4"));
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "2", "once is once");
    assert_eq!(fixture.state("p"), Some(State::Provisioned));
}

#[test]
fn who_loses_an_object_to_a_lower_tier_fails_and_gets_it_back() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p")])));
    fixture.row("q", Some(desired("q", 50, vec![config_map("a", "q")])));
    assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Failed), Some(State::Provisioned)));
    assert!(fixture.statuses["p"].as_ref().unwrap().errors[0].contains("A conflict was detected"));
    fixture.row("q", None);
    fixture.now += 20_000_000;
    fixture.wait();
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "p");
}

#[test]
fn after_a_takeover_who_has_an_object_keeps_it() {
    let rows = |fixture: &mut Fixture, order: [&str; 2]| {
        order.map(|profile| fixture.row(profile, Some(desired(profile, 100, vec![config_map("a", profile)]))))
    };
    for order in [["p", "q"], ["q", "p"]] {
        let mut fixture = Fixture::new();
        fixture.reach();
        rows(&mut fixture, ["q", "p"]);
        assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Failed), Some(State::Provisioned)));
        fixture.restart();
        rows(&mut fixture, order);
        assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Failed), Some(State::Provisioned)));
        // The same when everything is known before the cluster is.
        fixture.replace(1);
        rows(&mut fixture, order);
        fixture.reach();
        fixture.read_all();
        assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Failed), Some(State::Provisioned)));
        assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "q");
    }
}

fn owner_of(fixture: &Fixture) -> String {
    Live::of(fixture.objects.values().next().unwrap()).owner.unwrap().name.clone()
}

#[test]
fn equal_content_is_shared_and_goes_with_the_last_of_its_profiles() {
    for restart in [false, true] {
        let mut fixture = Fixture::new();
        fixture.reach();
        for profile in ["p", "q", "r"] {
            fixture.row(profile, Some(desired(profile, 100, vec![config_map("a", "1")])));
            assert_eq!(fixture.state(profile), Some(State::Provisioned));
        }
        for (gone, left) in [("p", "q"), ("q", "r")] {
            fixture.now += 20_000_000;
            fixture.wait();
            if restart {
                fixture.restart();
            }
            fixture.take_calls();
            fixture.row(gone, None);
            for profile in [left, "r"] {
                fixture.row(profile, Some(desired(profile, 100, vec![config_map("a", "1")])));
            }
            (0..3).for_each(|_| fixture.wait());
            assert_eq!((fixture.statuses[gone].clone(), owner_of(&fixture)), (None, left.to_owned()));
            assert!(!fixture.take_calls().iter().any(|call| call.starts_with("delete")));
            assert_eq!(fixture.state(left), Some(State::Provisioned));
        }
        fixture.row("r", None);
        (0..3).for_each(|_| fixture.wait());
        assert!(fixture.objects.is_empty() && fixture.inventories.is_empty());
    }
}

#[test]
fn shared_content_changes_when_the_last_of_its_profiles_wants_it_to() {
    let mut fixture = Fixture::new();
    fixture.reach();
    for data in ["1", "2"] {
        for profile in ["p", "q", "r"] {
            fixture.row(profile, Some(desired(profile, 100, vec![config_map("a", data)])));
        }
        assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], data);
        for profile in ["p", "q", "r"] {
            assert_eq!(fixture.state(profile), Some(State::Provisioned));
        }
    }
}

#[test]
fn a_former_call_that_takes_an_object_back_from_another_profile_leaves_nothing_behind() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let object = || vec![config_map("a", "1")];
    fixture.row("q", Some(desired("q", 100, object())));
    fixture.row("p", Some(desired("p", 100, object())));
    fixture.restart();
    fixture.row("q", Some(desired("q", 100, object())));
    fixture.row("p", Some(desired("p", 100, object())));
    assert_eq!(owner_of(&fixture), "q");
    fixture.row("p", None);
    // The former owner's creation for p, which nothing fences, arrives now; q goes after it.
    let key = ObjectKey::of(&config_map("a", "1")).unwrap();
    fixture.objects.get_mut(&key).unwrap()["metadata"]["annotations"]["projectsveltos.io/owner-name"] =
        json!("p");
    fixture.objects.get_mut(&key).unwrap()["metadata"]["resourceVersion"] = json!("999");
    fixture.row("q", None);
    fixture.pass_former_calls();
    assert!(fixture.objects.is_empty() && fixture.inventories.is_empty(), "{:?}", fixture.names());
}

#[test]
fn what_is_deployed_once_shares_with_nobody() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    fixture.row("q", Some(Desired { one_time: true, ..desired("q", 100, vec![config_map("a", "1")]) }));
    assert_eq!(fixture.state("q"), Some(State::Failed));
    fixture.row("p", None);
    (0..3).for_each(|_| fixture.wait());
    assert_eq!((fixture.state("q"), owner_of(&fixture)), (Some(State::Provisioned), "q".to_owned()));
}

#[test]
fn who_has_lost_an_object_prunes_all_the_same_and_forgets_what_it_lost() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p"), config_map("b", "p")])));
    fixture.row("q", Some(desired("q", 50, vec![config_map("a", "q")])));
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "p"), config_map("c", "p")])));
    fixture.pass_former_calls();
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a", "c"], Some(State::Failed)));
    let listed: Vec<_> =
        fixture.inventories["p"].inventory.objects.iter().map(|key| key.name.clone()).collect();
    assert_eq!(listed, ["c"]);
}

#[test]
fn what_was_read_before_a_change_is_not_believed_after_it() {
    let mut fixture = Fixture::new();
    fixture.reach();
    let wanted = || Some(desired("p", 100, vec![config_map("a", "1")]));
    fixture.row("p", wanted());
    fixture.row("q", Some(desired("q", 100, vec![config_map("a", "1")])));
    fixture.now += 20_000_000;
    fixture.wait();
    fixture.restart();
    fixture.now += 20_000_000;
    fixture.wait();
    let row = |profile: &str, desired| row_of(profile, desired);
    // Both go, and one of them has looked before the other deletes.
    let look = fixture.hold(|deployer, step| deployer.row(&row("q", None), step)).remove(0);
    assert!(matches!(look.1, Request::Read(_)));
    let late = ExternalInput::Reply(cluster(), look.0, fixture.serve(look.1));
    let mut calls = VecDeque::from(fixture.hold(|deployer, step| deployer.row(&row("p", None), step)));
    while let Some((id, request)) = calls.pop_front() {
        let last = matches!(request, Request::DeleteInventory { .. });
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        if last {
            // It is wanted again.
            assert!(fixture.hold(|deployer, step| deployer.row(&row("p", wanted()), step)).is_empty());
        }
        calls.extend(fixture.hold(|deployer, step| deployer.external(reply, step)));
        if last {
            break;
        }
    }
    assert!(fixture.objects.is_empty() && matches!(calls[0].1, Request::WriteInventory { .. }), "{calls:?}");
    calls.extend(fixture.hold(|deployer, step| deployer.external(late, step)));
    for (id, request) in calls {
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        fixture.run(|deployer, step| deployer.external(reply, step));
    }
    assert_eq!((fixture.names(), fixture.state("p")), (vec!["a"], Some(State::Provisioned)));
}

#[test]
fn with_a_kind_go_its_objects_and_with_it_they_come_back() {
    let thing = |name: &str, data: &str| json!({"apiVersion": "example.com/v1", "kind": "Thing", "metadata": {"name": name}, "a": data});
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.row("p", Some(desired("p", 100, vec![thing("a", "1"), config_map("c", "1")])));
    fixture.row("q", Some(desired("q", 100, vec![thing("b", "1")])));
    fixture.objects.retain(|key, _| key.gvk.kind != "Thing");
    fixture.fail = Box::new(|request| match request {
        Request::Apply { object, .. } if object["kind"] == "Thing" => {
            Some(Failure::new(Class::NoKind, "the cluster has no kind example.com/v1 Thing"))
        }
        _ => None,
    });
    fixture.row("p", Some(desired("p", 100, vec![thing("a", "2"), config_map("c", "1")])));
    assert_eq!((fixture.state("p"), fixture.state("q")), (Some(State::Failed), Some(State::Failed)));
    for profile in ["ClusterProfile p", "ClusterProfile q"] {
        let problem = fixture.problems.iter().find(|problem| problem.object() == profile).unwrap();
        assert!(problem.error().unwrap().contains("no kind example.com/v1 Thing"));
    }
    fixture.fail = Box::new(|_| None);
    (0..3).for_each(|_| fixture.wait());
    assert_eq!(
        (fixture.state("p"), fixture.state("q")),
        (Some(State::Provisioned), Some(State::Provisioned))
    );
    assert_eq!(fixture.names(), ["a", "b", "c"]);
}

#[test]
fn what_is_handed_over_is_taken_with_whatever_content_its_heir_has() {
    let mut fixture = Fixture::new();
    fixture.reach();
    fixture.pass_former_calls();
    fixture.row("p", Some(desired("p", 100, vec![config_map("a", "1")])));
    // While the other one is about to look at the object, its owner goes, and finds that somebody else wants it.
    let row = row_of("q", Some(desired("q", 100, vec![config_map("a", "2")])));
    fixture.restart();
    let mut calls = fixture.hold(|deployer, step| deployer.row(&row, step));
    fixture.row("p", None);
    while let Some((id, request)) = calls.pop() {
        let reply = ExternalInput::Reply(cluster(), id, fixture.serve(request));
        fixture.run(|deployer, step| deployer.external(reply, step));
    }
    (0..5).for_each(|_| fixture.wait());
    assert_eq!(fixture.objects.values().next().unwrap()["data"]["a"], "2");
    let calls = fixture.take_calls();
    assert!(calls.iter().all(|call| !call.starts_with("delete")), "{calls:?}: it was there all the time");
    fixture.pass_former_calls();
    assert_eq!((fixture.state("p"), fixture.state("q")), (None, Some(State::Provisioned)));
    assert_eq!(fixture.inventories.len(), 1);
}
