//! What users' objects say of themselves: of triggers and profiles where they apply and what became of them there, of all kinds
//! what is wrong with them.
//!
//! ```text
//! clusters, cluster sets, triggers, profiles ─┐
//! problems ───────────────────────────────────┼─► Seen ─► status of each object whose name is this shard's
//! status rows, of every shard ────────────────┘
//! ```
//!
//! It stands beside the [`Renderer`](crate::Renderer) and has nothing to do with its work: no event waits for it, and what it
//! forgets is told to it again. An object has one writer, the owner of its name, and is written once in two seconds at most.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sluice_api::{ClusterRef, ObjectKey, ProfileId, TriggerId, object};
use sluice_protocol::report::{NOTE, ProblemRow};
use sluice_protocol::rows::{Cause, State, spec_digest};
use sluice_protocol::subject::hash_shard;
use sluice_protocol::{Row, Subject};

use crate::catalog::{Catalog, Change, Touched};
use crate::verdict;

mod standing;
mod status;
mod told;

use standing::{Standings, made_of_event, maker};

/// Changes that are looked at together, microseconds.
const QUIET: i64 = 300_000;
/// An object is written at most this often, microseconds.
const PERIOD: i64 = 2_000_000;

/// A profile on a cluster, and the shard of the renderer that it is for.
type RowKey = (ClusterRef, u16, ProfileId);

/// What triggers and profiles say of themselves, for one shard.
pub struct Seen {
    shard: u16,
    shards: u16,
    /// Clusters and cluster sets, and the triggers and profiles of this shard.
    catalog: Catalog,
    objects: BTreeMap<ObjectKey, SeenObject>,
    /// Which object each row counts for.
    rows: HashMap<RowKey, ObjectKey>,
    /// Which profile that was made of an event.
    made_rows: HashMap<RowKey, ObjectKey>,
    due: BTreeSet<(i64, ObjectKey)>,
    /// Versions of clusters whose agents have spoken.
    versions: BTreeMap<ObjectKey, String>,
}

/// What is to be written to the management cluster.
#[derive(Debug, Default, PartialEq)]
pub struct Writes {
    /// What objects of users say of themselves.
    pub statuses: Vec<(ObjectKey, Value)>,
    /// Kubernetes Events about them.
    pub events: Vec<(ObjectKey, Value)>,
}

/// What is known of one object.
#[derive(Default)]
struct SeenObject {
    /// Its status as it is; nothing while nobody has written the object.
    there: Option<Value>,
    /// The same of a profile that was made of an event.
    made: Option<Box<str>>,
    /// Tells it from a later one of its name.
    uid: String,
    /// Digest of its spec.
    hash: String,
    /// By stage, cluster and what they are about.
    problems: BTreeMap<(String, String, String), ProblemRow>,
    rows: BTreeMap<RowKey, SeenRow>,
    /// What was last asked for.
    wanted: Option<Value>,
    /// When it is looked at.
    due: Option<i64>,
    /// When it may be written again.
    free_at: i64,
}

/// A ClusterProfile that Sluice has made of an event, as it is in the management cluster. There are many: its status is kept as text.
#[derive(Clone, Debug, PartialEq)]
pub struct MadeProfile {
    /// Its name.
    pub name: String,
    /// Digest of its spec.
    pub hash: String,
    /// Its status; nothing when it is gone.
    pub status: Option<Box<str>>,
}

/// What a status row says.
#[derive(Clone)]
struct SeenRow {
    cause: Arc<Cause>,
    state: State,
    errors: Vec<String>,
    /// Of the spec that it is about, where that is said.
    hash: Option<String>,
}

// === impl Seen ===

impl Seen {
    /// Nothing is known yet. Of the objects, those are this one's whose names are of this shard.
    pub fn new(shard: u16, shards: u16) -> Self {
        Self {
            shard,
            shards,
            catalog: Catalog::default(),
            objects: BTreeMap::new(),
            rows: HashMap::new(),
            made_rows: HashMap::new(),
            due: BTreeSet::new(),
            versions: BTreeMap::new(),
        }
    }

    /// Takes a change of the management cluster; `now` is microseconds since 1970, here and everywhere.
    pub fn change(&mut self, change: &Change, now: i64) {
        let (object, gone) = match change {
            Change::Upsert(object) => (object, false),
            Change::Delete(object) => (object, true),
            Change::Listed(..) => return,
        };
        let Some(key) = ObjectKey::of(object) else { return };
        let everywhere = matches!(key.gvk.kind.as_str(), "SveltosCluster" | "Cluster" | "ClusterSet" | "Set");
        let own = verdict::has_status(&key) && self.is_mine(&key);
        if everywhere || own {
            let touched = self.catalog.apply(change);
            if everywhere && touched != Touched::Nothing {
                self.look_at_all(now);
            }
        }
        if own {
            let seen = self.objects.entry(key.clone()).or_default();
            seen.there = (!gone).then(|| object.get("status").cloned().unwrap_or_default());
            object::text(object, &["metadata", "uid"]).clone_into(&mut seen.uid);
            seen.hash = hash(object.get("spec"));
            if gone {
                seen.wanted = None;
            }
            self.look_at(key, now);
        }
    }

    /// A ClusterProfile that was made of an event is like this, or has gone.
    pub fn made(&mut self, profile: &MadeProfile, now: i64) {
        let key = verdict::user_object("ClusterProfile", "", &profile.name);
        if !self.is_mine(&key) {
            return;
        }
        let seen = self.objects.entry(key.clone()).or_default();
        seen.made.clone_from(&profile.status);
        if seen.there.is_none() {
            seen.hash.clone_from(&profile.hash);
        }
        self.look_at(key, now);
    }

    /// The agent of a cluster has said what it can do, and which version its server has; nothing when it has left a cluster that
    /// is no longer registered.
    pub fn capabilities(&mut self, cluster: &ClusterRef, version: Option<&str>, now: i64) {
        let Some(key) = verdict::registration(cluster).filter(|key| self.is_mine(key)) else { return };
        let known = self.versions.get(&key).map(String::as_str);
        match version {
            Some(version) if known != Some(version) => {
                self.versions.insert(key.clone(), version.to_owned());
                self.look_at(key, now);
            }
            Some(_) => {}
            None => drop(self.versions.remove(&key)),
        }
    }

    /// Takes a row of `problems`; one without an error is one that has ended.
    pub fn problem(&mut self, row: ProblemRow, now: i64) {
        let Some(key) = verdict::concerned(&row).filter(|key| self.is_mine(key)) else { return };
        let about = (row.stage.clone(), row.cluster.clone(), row.object.clone());
        let seen = self.objects.entry(key.clone()).or_default();
        // What is only to be known is not wrong.
        if row.error.is_empty() || row.error.starts_with(NOTE) {
            seen.problems.remove(&about);
        } else {
            seen.problems.insert(about, row);
        }
        self.look_at(key, now);
    }

    /// Takes a row of `status`.
    pub fn row(&mut self, row: &Row, now: i64) {
        let Subject::Status { cluster, origin, profile, .. } = &row.subject else { return };
        let place = (cluster.clone(), *origin, profile.clone());
        if let Some(key) = self.rows.remove(&place) {
            if let Some(seen) = self.objects.get_mut(&key) {
                seen.rows.remove(&place);
            }
            self.look_at(key, now);
        }
        if let Some(key) = self.made_rows.remove(&place) {
            if let Some(seen) = self.objects.get_mut(&key) {
                seen.rows.remove(&place);
            }
            self.made_changed(key, now);
        }
        let Some(cause) = row.head.meta.cause().filter(|_| !row.head.tombstone) else { return };
        let key = maker(cause);
        let is_mine = self.is_mine(&key);
        let made = made_of_event(cause, profile).filter(|made| self.is_mine(made));
        if !is_mine && made.is_none() {
            return;
        }
        let seen = SeenRow::read(cause, &row.body);
        if let Some(made) = made {
            self.made_rows.insert(place.clone(), made.clone());
            self.objects.entry(made.clone()).or_default().rows.insert(place.clone(), seen.clone());
            self.made_changed(made, now);
        }
        if is_mine {
            self.rows.insert(place.clone(), key.clone());
            self.objects.entry(key.clone()).or_default().rows.insert(place, seen);
            self.look_at(key, now);
        }
    }

    /// When there is something to do next.
    pub fn next(&self) -> Option<i64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// What objects should say from now on and do not yet.
    pub fn take_due(&mut self, now: i64) -> Writes {
        let mut writes = Writes::default();
        while self.next().is_some_and(|at| at <= now)
            && let Some((_, key)) = self.due.pop_first()
        {
            if let Some((status, event)) = self.look(&key, now) {
                writes.statuses.push((key, status));
                writes.events.extend(event);
            }
        }
        writes
    }

    /// What the object should say, and the Event that is due because of it.
    fn look(&mut self, key: &ObjectKey, now: i64) -> Option<(Value, Option<(ObjectKey, Value)>)> {
        let seen = self.objects.get_mut(key)?;
        seen.due = None;
        if seen.there.is_none() && seen.made.is_some() {
            return Some((self.look_at_made(key, now)?, None));
        }
        if seen.there.is_none() {
            // An object that nobody wrote has no status.
            if seen.rows.is_empty() && seen.problems.is_empty() {
                self.objects.remove(key);
            }
            return None;
        }
        let seen = self.objects.get(key)?;
        let status = self.status(key, seen, now);
        let seen = self.objects.get_mut(key)?;
        if !seen.is_news(key, &status) {
            return None;
        }
        let event = told::event(key, &seen.uid, seen.before(), &status, now);
        seen.wanted = Some(status.clone());
        seen.free_at = now + PERIOD;
        Some((status, event))
    }

    /// Something has become of a profile that was made of an event. Before it is there it says nothing, and is looked at when it comes.
    fn made_changed(&mut self, key: ObjectKey, now: i64) {
        let Some(seen) = self.objects.get(&key) else { return };
        if seen.made.is_some() {
            self.look_at(key, now);
        } else if seen.there.is_none() && seen.rows.is_empty() && seen.problems.is_empty() {
            self.objects.remove(&key);
        }
    }

    /// What a profile that was made of an event should say and does not. What is written comes back as what it says: nothing else
    /// of it is kept.
    fn look_at_made(&mut self, key: &ObjectKey, now: i64) -> Option<Value> {
        let seen = self.objects.get_mut(key)?;
        let there: Value = serde_json::from_str(seen.made.as_deref()?).unwrap_or_default();
        if seen.rows.is_empty() {
            return None;
        }
        seen.there = Some(there);
        let status = status::of(&Standings::of_made(seen), seen, &[], now);
        let there = seen.there.take()?;
        if status::says(&there, &status) {
            return None;
        }
        seen.free_at = now + PERIOD;
        Some(status)
    }

    fn status(&self, key: &ObjectKey, seen: &SeenObject, now: i64) -> Value {
        let problems: Vec<&ProblemRow> = seen.problems.values().collect();
        let standings = match key.gvk.kind.as_str() {
            "EventTrigger" | "EventBasedAddOn" => {
                let id = TriggerId::new(&key.gvk.kind, &key.name);
                Standings::of_trigger(self.catalog.triggers.get(&id), seen, &self.catalog)
            }
            "ClusterProfile" | "Profile" | "RoleRequest" => {
                let id = ProfileId::of_object(&key.gvk.kind, &key.namespace, &key.name);
                Standings::of_profile(&id, seen, &self.catalog)
            }
            _ => {
                let version = self.versions.get(key).map(String::as_str);
                return verdict::status(key, &problems, version, seen.there.as_ref(), now);
            }
        };
        status::of(&standings, seen, &problems, now)
    }

    fn look_at_all(&mut self, now: i64) {
        let keys: Vec<ObjectKey> = self.objects.keys().cloned().collect();
        keys.into_iter().for_each(|key| self.look_at(key, now));
    }

    fn look_at(&mut self, key: ObjectKey, now: i64) {
        let Some(seen) = self.objects.get_mut(&key) else { return };
        if seen.due.is_none() {
            let at = (now + QUIET).max(seen.free_at);
            seen.due = Some(at);
            self.due.insert((at, key));
        }
    }

    fn is_mine(&self, key: &ObjectKey) -> bool {
        hash_shard(&[&key.to_string()], self.shards) == self.shard
    }
}

// === impl SeenObject ===

impl SeenObject {
    /// What it says, or should by now.
    fn before(&self) -> Option<&Value> {
        self.wanted.as_ref().or(self.there.as_ref())
    }

    /// Whether something that was said here does not hold any more.
    fn is_withdrawn(&self, status: &Value) -> bool {
        let has = |field: &str| status.get(field).is_some();
        match self.wanted.as_ref().and_then(Value::as_object) {
            Some(wanted) => wanted.keys().any(|field| !has(field)),
            None => self.there.as_ref().is_some_and(|there| {
                verdict::is_judged(there)
                    && (!has("conditions") || there.get("ready").is_some() && !has("ready"))
            }),
        }
    }

    /// Whether the object does not say this already.
    fn is_news(&self, key: &ObjectKey, status: &Value) -> bool {
        if matches!(key.gvk.kind.as_str(), "EventSource" | "SveltosCluster") {
            return status::lacks(self.there.as_ref(), status) || self.is_withdrawn(status);
        }
        !self.there.as_ref().is_some_and(|there| status::says(there, status))
    }
}

// === impl MadeProfile ===

impl MadeProfile {
    /// The profile, as it is or is not any more; nothing of an object of another kind.
    pub fn of(object: &Value, is_gone: bool) -> Option<Self> {
        let key = ObjectKey::of(object).filter(|key| key.gvk.kind == "ClusterProfile")?;
        let status = object.get("status").map_or_else(|| "{}".to_owned(), ToString::to_string);
        let hash = hash(object.get("spec"));
        Some(Self { name: key.name, hash, status: (!is_gone).then(|| status.into()) })
    }
}

/// The digest of a spec, in the form of the API.
fn hash(spec: Option<&Value>) -> String {
    STANDARD.encode(spec_digest(spec.unwrap_or(&Value::Null)))
}

#[cfg(test)]
mod tests;
