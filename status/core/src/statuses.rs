//! What users' objects say of themselves: of triggers and profiles where they apply and what became of them there, of all kinds
//! what is wrong with them.
//!
//! ```text
//! clusters, cluster sets, triggers, profiles ─┐
//! problems ───────────────────────────────────┼─► Statuses ─► status of each object whose name is this shard's
//! status rows, of every shard ────────────────┘
//! ```
//!
//! It stands beside the renderer's core and has nothing to do with its work: no event waits for it, and what it
//! forgets is told to it again. An object has one writer, the owner of its name, and is written once in two seconds at most.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::{Fleet, FleetChange, Profile, Trigger, registration, user_object};
use sluice_api::{ClusterRef, FieldError, ObjectKey, ProfileId, TriggerId, object};
use sluice_protocol::rows::Cause;
use sluice_protocol::subject::NameHash;
use sluice_protocol::{ProblemRow, Row, Shard, Subject};

use crate::capi_labels::CapiLabels;
use crate::clusters::Clusters;
use crate::dependencies::KnownDependencies;
use crate::object::{GeneratedProfile, KnownObject, RowKey, StatusRow, hash, name_hash};
use crate::rollout::Rollout;
use crate::{condition, event, status};

// D-0605: status is worked out beside the renderer, not in it.
/// Changes that are looked at together, microseconds.
const QUIET: i64 = 300_000;
/// An object is written at most this often, microseconds.
const PERIOD: i64 = 2_000_000;

// D-0604: the status of an object has one writer.
/// What triggers and profiles say of themselves, for one shard.
pub struct Statuses {
    shard: Shard,
    shards: u16,
    /// Clusters and cluster sets.
    fleet: Fleet,
    /// Those of this shard.
    triggers: BTreeMap<TriggerId, Arc<Result<Trigger, FieldError>>>,
    profiles: BTreeMap<ProfileId, Arc<Result<Profile, FieldError>>>,
    dependencies: KnownDependencies,
    objects: BTreeMap<Arc<ObjectKey>, KnownObject>,
    /// Which object each row counts for.
    rows: HashMap<Arc<RowKey>, Arc<ObjectKey>>,
    /// Which profile that was made of an event.
    made_rows: HashMap<Arc<RowKey>, Arc<ObjectKey>>,
    due: BTreeSet<(i64, Arc<ObjectKey>)>,
    /// When all that say where they apply are to be looked at. A thousand clusters that are read are a thousand changes of what they
    /// apply to, and one look.
    all_due: Option<i64>,
    clusters: Clusters,
    capi_labels: CapiLabels,
}

/// What is to be written to the management cluster.
#[derive(Debug, Default, PartialEq)]
pub struct Writes {
    /// What objects of users say of themselves.
    pub statuses: Vec<(ObjectKey, Value)>,
    /// Labels that some of these should have besides, and Cluster API clusters, which say nothing of themselves here.
    pub labels: BTreeMap<ObjectKey, Value>,
    /// Kubernetes Events about them.
    pub events: Vec<(ObjectKey, Value)>,
}

// === impl Statuses ===

impl Statuses {
    /// Nothing is known yet. Of the objects, those are this one's whose names are of this shard.
    pub fn new(shard: Shard, shards: u16) -> Self {
        Self {
            shard,
            shards,
            fleet: Fleet::default(),
            triggers: BTreeMap::new(),
            profiles: BTreeMap::new(),
            dependencies: KnownDependencies::default(),
            objects: BTreeMap::new(),
            rows: HashMap::new(),
            made_rows: HashMap::new(),
            due: BTreeSet::new(),
            all_due: None,
            clusters: Clusters::default(),
            capi_labels: CapiLabels::default(),
        }
    }

    /// What profiles depend on goes only where it selects clusters itself. Before anything else is told.
    pub fn without_dependents(mut self) -> Self {
        self.dependencies = KnownDependencies::off();
        self
    }

    /// An object of the management cluster is like this, or was when it went; `now` is microseconds since 1970, here and everywhere.
    pub fn change(&mut self, object: &Arc<Value>, gone: bool, now: i64) {
        let Some(key) = ObjectKey::of(object).map(|key| self.shared(key)) else { return };
        let everywhere = matches!(key.gvk.kind.as_str(), "SveltosCluster" | "Cluster" | "ClusterSet" | "Set");
        let own = condition::has_status(&key) && self.is_mine(&key);
        if everywhere && self.fleet.put(object, gone) != FleetChange::Nothing {
            self.all_due.get_or_insert(now + QUIET);
        }
        for id in self.dependencies.change(&key, object, gone) {
            let concerned = self.shared(user_object(id.kind(), &id.namespace, id.object_name()));
            self.look_at(&concerned, now);
        }
        if self.is_mine(&key) {
            self.capi_labels.change(&key, object, gone, now);
        }
        if own {
            self.read(&key, object, gone);
            let known = self.known(&key);
            known.there = (!gone).then(|| object.get("status").cloned().unwrap_or_default());
            object::text(object, &["metadata", "uid"]).clone_into(&mut known.uid);
            known.hash = hash(object.get("spec"));
            known.labels.there(object);
            if gone {
                known.wanted = None;
            }
            self.look_at(&key, now);
        }
    }

    /// Takes a trigger or a profile.
    fn read(&mut self, key: &ObjectKey, object: &Value, gone: bool) {
        let gone = gone || !object::text(object, &["metadata", "deletionTimestamp"]).is_empty();
        match key.gvk.kind.as_str() {
            kind @ ("EventTrigger" | "EventBasedAddOn") => {
                let read = || Arc::new(Trigger::read(object));
                replace(&mut self.triggers, TriggerId::new(kind, &key.name), (!gone).then(read));
            }
            kind @ ("ClusterProfile" | "Profile" | "RoleRequest") => {
                let id = ProfileId::of_object(kind, &key.namespace, &key.name);
                let read = || Arc::new(Profile::read(object));
                replace(&mut self.profiles, id, (!gone).then(read));
            }
            _ => {}
        }
    }

    /// A ClusterProfile that was made of an event is like this, or has gone.
    pub fn made(&mut self, profile: &GeneratedProfile, now: i64) {
        let key = self.shared(user_object("ClusterProfile", "", &profile.name));
        if !self.is_mine(&key) {
            return;
        }
        let known = self.known(&key);
        known.made.clone_from(&profile.status);
        if known.there.is_none() {
            known.hash.clone_from(&profile.hash);
        }
        self.look_at(&key, now);
    }

    /// The agent of a cluster has said what it can do, and which version its server has; nothing when it has left a cluster that
    /// is no longer registered.
    pub fn capabilities(&mut self, cluster: &ClusterRef, version: Option<&str>, now: i64) {
        let Some(key) = registration(cluster) else {
            // Those of other shards are not among the objects of this one.
            return self.capi_labels.agent(cluster, version.is_some(), now);
        };
        if self.is_mine(&key) && self.clusters.set_version(&key, version) {
            self.look_at(&self.shared(key), now);
        }
    }

    /// Takes a row of `problems`; one without an error is one that has ended.
    pub fn problem(&mut self, row: ProblemRow, now: i64) {
        let Some(key) = condition::concerned(&row).filter(|key| self.is_mine(key)) else { return };
        let key = self.shared(key);
        self.known(&key).tell(row);
        self.look_at(&key, now);
    }

    /// Takes a row of `status`.
    pub fn row(&mut self, row: &Row, now: i64) {
        let Subject::Status { cluster, origin, profile, .. } = &row.subject else { return };
        let place = (cluster.clone(), *origin, profile.clone());
        if let Some(key) = self.rows.remove(&place) {
            if let Some(known) = self.objects.get_mut(&key) {
                known.rows.remove(&place);
            }
            self.look_at(&key, now);
        }
        if let Some(key) = self.made_rows.remove(&place) {
            if let Some(known) = self.objects.get_mut(&key) {
                known.rows.remove(&place);
            }
            self.made_changed(&key, now);
        }
        let Some(cause) = row.head.meta.cause().filter(|_| !row.head.tombstone) else { return };
        let key = self.shared(maker(cause));
        let is_mine = self.is_mine(&key);
        let made = made_of_event(cause, profile).filter(|made| self.is_mine(made));
        let made = made.map(|made| self.shared(made));
        if !is_mine && made.is_none() {
            return;
        }
        let (place, row) = (Arc::new(place), Arc::new(StatusRow::read(cause, row)));
        if let Some(made) = made {
            self.known(&made).rows.insert(place.clone(), row.clone());
            self.made_rows.insert(place.clone(), made.clone());
            self.made_changed(&made, now);
        }
        if is_mine {
            self.known(&key).rows.insert(place.clone(), row);
            self.rows.insert(place, key.clone());
            self.look_at(&key, now);
        }
    }

    /// When there is something to do next.
    pub fn next(&self) -> Option<i64> {
        let first = self.due.first().map(|(at, _)| *at);
        first.into_iter().chain(self.all_due).chain(self.clusters.next()).chain(self.capi_labels.next()).min()
    }

    /// What objects should say from now on and do not yet.
    pub fn take_due(&mut self, now: i64) -> Writes {
        let mut writes = Writes::default();
        if self.all_due.take_if(|at| *at <= now).is_some() {
            self.look_at_all(now);
        }
        writes.labels.extend(self.capi_labels.take_due(now));
        self.clusters.take_turned(now).iter().for_each(|key| self.look_at(key, now));
        while self.due.first().is_some_and(|(at, _)| *at <= now)
            && let Some((_, key)) = self.due.pop_first()
        {
            if let Some((status, event)) = self.look(&key, now) {
                let known = self.objects.get_mut(&key);
                let labels = known.and_then(|known| known.labels.ask(self.clusters.version(&key)?, now));
                writes.labels.extend(labels.map(|labels| (ObjectKey::clone(&key), labels)));
                writes.statuses.push((ObjectKey::clone(&key), status));
                writes.events.extend(event);
            }
        }
        writes
    }

    /// What the object should say, and the Event that is due because of it.
    fn look(&mut self, key: &Arc<ObjectKey>, now: i64) -> Option<(Value, Option<(ObjectKey, Value)>)> {
        let known = self.objects.get_mut(key)?;
        known.due = None;
        if known.there.is_none() && known.made.is_some() {
            return Some((self.look_at_made(key, now)?, None));
        }
        if known.there.is_none() {
            // An object that nobody wrote has no status.
            if known.rows.is_empty() && known.problems.is_empty() {
                self.objects.remove(key);
            }
            return None;
        }
        let known = self.objects.get(key)?;
        let mut status = self.status(key, known, now);
        self.clusters.say_when(&self.fleet, key, &mut status, now);
        let known = self.objects.get_mut(key)?;
        let lacks_labels =
            self.clusters.version(key).is_some_and(|version| known.labels.is_due(version, now));
        if !status::is_news(known, key, &status) && !lacks_labels {
            return None;
        }
        let event = event::of(key, &known.uid, known.before(), &status, now);
        known.wanted = Some(status.clone());
        known.free_at = now + PERIOD;
        Some((status, event))
    }

    /// Something has become of a profile that was made of an event. Before it is there it says nothing, and is looked at when it comes.
    fn made_changed(&mut self, key: &Arc<ObjectKey>, now: i64) {
        let Some(known) = self.objects.get(key) else { return };
        if known.made.is_some() {
            self.look_at(key, now);
        } else if known.there.is_none() && known.rows.is_empty() && known.problems.is_empty() {
            self.objects.remove(key);
        }
    }

    /// What a profile that was made of an event should say and does not. What is written comes back as what it says: nothing else
    /// of it is kept.
    fn look_at_made(&mut self, key: &ObjectKey, now: i64) -> Option<Value> {
        let known = self.objects.get_mut(key)?;
        let there: Value = serde_json::from_str(known.made.as_deref()?).unwrap_or_default();
        if known.rows.is_empty() {
            return None;
        }
        known.there = Some(there);
        let status = status::of(&Rollout::of_made(known), known, &[], now);
        let there = known.there.take()?;
        if status::says(&there, &status) {
            return None;
        }
        known.free_at = now + PERIOD;
        Some(status)
    }

    fn status(&self, key: &ObjectKey, known: &KnownObject, now: i64) -> Value {
        let problems: Vec<&ProblemRow> = known.problems.values().collect();
        let rollout = match key.gvk.kind.as_str() {
            "EventTrigger" | "EventBasedAddOn" => {
                let id = TriggerId::new(&key.gvk.kind, &key.name);
                Rollout::of_trigger(self.triggers.get(&id), known, &self.fleet)
            }
            "ClusterProfile" | "Profile" | "RoleRequest" => {
                let id = ProfileId::of_object(&key.gvk.kind, &key.namespace, &key.name);
                Rollout::of_profile(&id, self.profiles.get(&id), known, (&self.fleet, &self.dependencies))
            }
            _ => {
                let version = self.clusters.version(key);
                return condition::status(key, &problems, version, known.there.as_ref(), now);
            }
        };
        status::of(&rollout, known, &problems, now)
    }

    /// Looks at what users wrote as soon as that may be written. What was made of an event does not say where it applies.
    fn look_at_all(&mut self, now: i64) {
        for (key, known) in self.objects.iter_mut().filter(|(_, known)| known.there.is_some()) {
            let at = *known.due.get_or_insert(now.max(known.free_at));
            self.due.insert((at, key.clone()));
        }
    }

    fn look_at(&mut self, key: &Arc<ObjectKey>, now: i64) {
        let Some(known) = self.objects.get_mut(key).filter(|known| known.due.is_none()) else { return };
        let at = (now + QUIET).max(known.free_at);
        known.due = Some(at);
        self.due.insert((at, key.clone()));
    }

    /// What is known of an object, from now on if nothing was.
    fn known(&mut self, key: &Arc<ObjectKey>) -> &mut KnownObject {
        self.objects.entry(key.clone()).or_default()
    }

    /// The key as it is kept already, so that there is one of it.
    fn shared(&self, key: ObjectKey) -> Arc<ObjectKey> {
        let kept = self.objects.get_key_value(&key).map(|(kept, _)| kept.clone());
        kept.unwrap_or_else(|| Arc::new(key))
    }

    fn is_mine(&self, key: &ObjectKey) -> bool {
        name_hash(key).shard(self.shards) == self.shard
    }
}

/// The objects whose status a row of `status` counts for: who made it, and the profile that an event has led to. Others need not
/// be told of it.
pub fn concerned_by_row(row: &Row) -> [Option<NameHash>; 2] {
    let Subject::Status { profile, .. } = &row.subject else { return [None, None] };
    let Some(cause) = row.head.meta.cause() else { return [None, None] };
    [Some(maker(cause)), made_of_event(cause, profile)].map(|key| key.as_ref().map(name_hash))
}

/// The object whose status a problem counts for, where there is one.
pub fn concerned_by_problem(problem: &ProblemRow) -> Option<NameHash> {
    condition::concerned(problem).as_ref().map(name_hash)
}

fn replace<K: Ord, V>(map: &mut BTreeMap<K, V>, key: K, value: Option<V>) {
    match value {
        Some(value) => drop(map.insert(key, value)),
        None => drop(map.remove(&key)),
    }
}

/// The object because of which a row exists.
fn maker(cause: &Cause) -> ObjectKey {
    match cause {
        Cause::Event(event) => {
            let described = event.trigger.described();
            let (kind, name) = described.split_once(' ').unwrap_or(("", &described));
            user_object(kind, "", name)
        }
        Cause::Profile(id) => user_object(id.kind(), &id.namespace, id.object_name()),
    }
}

/// The profile that an event has led to. A user's is shown by its own rows.
fn made_of_event(cause: &Cause, profile: &ProfileId) -> Option<ObjectKey> {
    let is_made = matches!(cause, Cause::Event(_)) && profile.namespace.is_empty();
    is_made.then(|| user_object("ClusterProfile", "", &profile.name))
}

#[cfg(test)]
mod tests;
