//! What is known of one object, and of the profiles that were made of events.

use std::collections::BTreeMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sluice_api::model::user_object;
use sluice_api::{ClusterRef, ObjectKey, ProfileId};
use sluice_protocol::rows::{Cause, State, Status, spec_digest};
use sluice_protocol::subject::NameHash;
use sluice_protocol::{ProblemRow, Row, Shard};

use crate::condition;
use crate::labels::Labels;

/// A profile on a cluster, and the shard of the renderer that it is for.
pub(crate) type RowKey = (ClusterRef, Shard, ProfileId);

/// A stage, a cluster, and what they say something about.
type Told = (String, String, String);

/// What is known of one object.
#[derive(Default)]
pub(crate) struct KnownObject {
    /// Its status as it is; nothing while nobody has written the object.
    pub(crate) there: Option<Value>,
    /// The same of a profile that was made of an event.
    pub(crate) made: Option<Box<str>>,
    /// Tells it from a later one of its name.
    pub(crate) uid: String,
    /// Digest of its spec.
    pub(crate) hash: String,
    /// By stage, cluster and what they are about.
    pub(crate) problems: BTreeMap<Told, ProblemRow>,
    /// The same of what goes to few clusters at a time, while it has not gone to all.
    pub(crate) rollouts: BTreeMap<Told, ProblemRow>,
    /// Shared with whom else they count for: most have one, and a node of a tree has room for eleven.
    pub(crate) rows: BTreeMap<Arc<RowKey>, Arc<StatusRow>>,
    /// Of a cluster, which labels it has for selectors.
    pub(crate) labels: Labels,
    /// What was last asked for.
    pub(crate) wanted: Option<Value>,
    /// When it is looked at.
    pub(crate) due: Option<i64>,
    /// When it may be written again.
    pub(crate) free_at: i64,
}

/// A ClusterProfile that Sluice has made of an event, as it is in the management cluster. There are many: its status is kept as text.
#[derive(Clone, Debug, PartialEq)]
pub struct GeneratedProfile {
    /// Its name.
    pub name: String,
    /// Digest of its spec.
    pub hash: String,
    /// Its status; nothing when it is gone.
    pub status: Option<Box<str>>,
    /// Whose it is to say something about it.
    pub place: NameHash,
}

/// What a status row says.
#[derive(Clone)]
pub(crate) struct StatusRow {
    pub(crate) cause: Cause,
    pub(crate) state: State,
    pub(crate) errors: Vec<String>,
    /// Of the spec that it is about, where that is said.
    pub(crate) hash: Option<String>,
}

// === impl KnownObject ===

impl KnownObject {
    /// What it says, or should by now.
    pub(crate) fn before(&self) -> Option<&Value> {
        self.wanted.as_ref().or(self.there.as_ref())
    }

    /// Takes a problem, or its end. What is only to be known is not wrong.
    pub(crate) fn tell(&mut self, row: ProblemRow) {
        let about = (row.stage.clone(), row.cluster.clone(), row.object.clone());
        let is_open = !row.error.is_empty();
        if is_open && row.left > 0 {
            self.rollouts.insert(about.clone(), row.clone());
        } else {
            self.rollouts.remove(&about);
        }
        if is_open && row.severity.is_error() {
            self.problems.insert(about, row);
        } else {
            self.problems.remove(&about);
        }
    }

    /// So many clusters have not got yet what goes to few at a time. That of an event is said of the cluster where the event is.
    pub(crate) fn left(&self) -> usize {
        let whole = self.rollouts.values().filter(|row| row.cluster.is_empty());
        usize::try_from(whole.map(|row| row.left).sum::<u64>()).unwrap_or(usize::MAX)
    }

    /// What is said of it while nothing is wrong with it, as people read it: who is updated, and what it waits for.
    pub(crate) fn rolled_out(&self) -> Option<String> {
        let whole = self.rollouts.values().find(|row| row.cluster.is_empty());
        whole.map(|row| condition::clipped(&condition::line(row), condition::LONGEST))
    }

    /// Whether something that was said here does not hold any more.
    pub(crate) fn is_withdrawn(&self, status: &Value) -> bool {
        let has = |field: &str| status.get(field).is_some();
        match self.wanted.as_ref().and_then(Value::as_object) {
            Some(wanted) => wanted.keys().any(|field| !has(field)),
            None => self.there.as_ref().is_some_and(|there| {
                condition::is_judged(there)
                    && (!has("conditions") || there.get("ready").is_some() && !has("ready"))
            }),
        }
    }
}

// === impl StatusRow ===

impl StatusRow {
    pub(crate) fn read(cause: &Cause, row: &Row) -> Self {
        // One that a newer deployer wrote: whatever it says, it is not that all is well.
        let unreadable = Status::new(State::Provisioning, Vec::new());
        let Status { state, errors, spec, row: _ } = Status::of_row(row).unwrap_or(unreadable);
        let hash = (!spec.is_empty()).then(|| STANDARD.encode(spec));
        Self { cause: cause.clone(), state, errors, hash }
    }

    /// Where the event is that it came of.
    pub(crate) fn source(&self) -> Option<&ClusterRef> {
        if let Cause::Event(event) = &self.cause { Some(&event.cluster) } else { None }
    }
}

// === impl GeneratedProfile ===

impl GeneratedProfile {
    /// The profile, as it is or is not any more; nothing of an object of another kind.
    pub fn of(object: &Value, is_gone: bool) -> Option<Self> {
        let key = ObjectKey::of(object).filter(|key| key.gvk.kind == "ClusterProfile")?;
        let status = object.get("status").map_or_else(|| "{}".to_owned(), ToString::to_string);
        let hash = hash(object.get("spec"));
        let place = name_hash(&user_object("ClusterProfile", "", &key.name));
        Some(Self { name: key.name, hash, status: (!is_gone).then(|| status.into()), place })
    }
}

/// Whose status an object's is: that of the shard of this name.
pub(crate) fn name_hash(key: &ObjectKey) -> NameHash {
    NameHash::of(&[&key.to_string()])
}

/// The digest of a spec, in the form of the API.
pub(crate) fn hash(spec: Option<&Value>) -> String {
    STANDARD.encode(spec_digest(spec.unwrap_or(&Value::Null)))
}
