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
use sluice_api::{ClusterRef, Digest, ObjectKey, ProfileId, TriggerId};
use sluice_protocol::report::ProblemRow;
use sluice_protocol::rows::{Cause, State, Status};
use sluice_protocol::subject::hash_shard;
use sluice_protocol::{Row, Subject};

use crate::catalog::{Catalog, Change, Touched};
use crate::verdict;

mod standing;
mod status;

use standing::Standings;

/// Changes that are looked at together, microseconds.
const QUIET: i64 = 300_000;
/// An object is written at most this often, microseconds.
const PERIOD: i64 = 2_000_000;

/// A profile on a cluster, and the shard of the renderer that it is for.
type RowKey = (ClusterRef, u16, ProfileId);

/// See the module's text.
pub struct Seen {
    shard: u16,
    shards: u16,
    /// Clusters and cluster sets, and the triggers and profiles of this shard.
    catalog: Catalog,
    objects: BTreeMap<ObjectKey, SeenObject>,
    /// Which object each row counts for.
    rows: HashMap<RowKey, ObjectKey>,
    due: BTreeSet<(i64, ObjectKey)>,
}

/// What is known of one object.
#[derive(Default)]
struct SeenObject {
    /// Its status as it is; nothing while nobody has written the object.
    there: Option<Value>,
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

/// What a status row says.
struct SeenRow {
    cause: Arc<Cause>,
    state: State,
    errors: Vec<String>,
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
            due: BTreeSet::new(),
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
            seen.hash = hash(object.get("spec"));
            if gone {
                seen.wanted = None;
            }
            self.look_at(key, now);
        }
    }

    /// Takes a row of `problems`; one without an error is one that has ended.
    pub fn problem(&mut self, row: ProblemRow, now: i64) {
        let Some(key) = verdict::concerned(&row).filter(|key| self.is_mine(key)) else { return };
        let about = (row.stage.clone(), row.cluster.clone(), row.object.clone());
        let seen = self.objects.entry(key.clone()).or_default();
        if row.error.is_empty() {
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
        let Some(cause) = row.head.meta.cause().filter(|_| !row.head.tombstone) else { return };
        let key = maker(cause);
        if !self.is_mine(&key) {
            return;
        }
        // One that a newer deployer wrote: whatever it says, it is not that all is well.
        let unreadable = Status { state: State::Provisioning, errors: Vec::new() };
        let Status { state, errors } = serde_json::from_slice(&row.body).unwrap_or(unreadable);
        self.rows.insert(place.clone(), key.clone());
        let seen = SeenRow { cause: Arc::new(cause.clone()), state, errors };
        self.objects.entry(key.clone()).or_default().rows.insert(place, seen);
        self.look_at(key, now);
    }

    /// When there is something to do next.
    pub fn next(&self) -> Option<i64> {
        self.due.first().map(|(at, _)| *at)
    }

    /// What objects should say from now on and do not yet.
    pub fn take_due(&mut self, now: i64) -> Vec<(ObjectKey, Value)> {
        let mut writes = Vec::new();
        while self.next().is_some_and(|at| at <= now)
            && let Some((_, key)) = self.due.pop_first()
        {
            if let Some(status) = self.look(&key, now) {
                writes.push((key, status));
            }
        }
        writes
    }

    fn look(&mut self, key: &ObjectKey, now: i64) -> Option<Value> {
        let seen = self.objects.get_mut(key)?;
        seen.due = None;
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
        seen.wanted = Some(status.clone());
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
            _ => return verdict::status(key, &problems),
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

    /// Whether the object does not say this already.
    fn is_news(&self, key: &ObjectKey, status: &Value) -> bool {
        if matches!(key.gvk.kind.as_str(), "EventSource" | "SveltosCluster") {
            let is_empty = |value: &Value| value.as_object().is_none_or(serde_json::Map::is_empty);
            let told = self.wanted.as_ref().is_some_and(|wanted| !is_empty(wanted));
            return !is_empty(status) || told || self.there.as_ref().is_some_and(verdict::is_judged);
        }
        !self.there.as_ref().is_some_and(|there| status::says(there, status))
    }
}

/// The object because of which a row exists.
fn maker(cause: &Cause) -> ObjectKey {
    match cause {
        Cause::Event(event) => {
            let described = event.trigger.described();
            let (kind, name) = described.split_once(' ').unwrap_or(("", &described));
            verdict::user_object(kind, "", name)
        }
        Cause::Profile(id) => verdict::user_object(id.kind(), &id.namespace, id.object_name()),
    }
}

/// The digest of a spec, in the form of the API.
fn hash(spec: Option<&Value>) -> String {
    let text = spec.map(ToString::to_string).unwrap_or_default();
    STANDARD.encode(Digest::of(&[text.as_bytes()]).to_string())
}

#[cfg(test)]
mod tests;
