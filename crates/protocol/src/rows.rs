//! What the bodies and meta data of rows say.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sluice_api::{ClusterRef, ObjectKey, ProfileId};

use crate::subject::{cluster_shard, hash_shard};

/// Meta of a `reports` row. Its body is the object, or empty when the EventSource does not collect.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportMeta {
    /// Indexes of the resource selectors that select the object.
    pub selectors: Vec<u16>,
}

/// Why a profile exists on a cluster. Meta of `desired` and `status` rows, and part of inventories.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// An event.
    Event(EventCause),
    /// A profile that a user wrote.
    Profile(ProfileId),
}

/// The event, and the trigger that acts upon it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventCause {
    /// The trigger, as `EventTrigger/name`.
    pub trigger: String,
    /// Where the event is.
    pub cluster: ClusterRef,
    /// The EventSource.
    pub source: String,
    /// The object; `None` stands for all that match together.
    pub item: Option<ObjectKey>,
}

/// Body of a `desired` row: one profile, completely rendered, for one cluster.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Desired {
    /// `ClusterProfile` or `Profile`.
    pub owner_kind: String,
    /// Namespace of the profile, empty for a ClusterProfile.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner_namespace: String,
    /// Name of the profile.
    pub owner_name: String,
    /// Lower wins where two profiles claim one object.
    pub tier: i32,
    /// Whether add-ons stay when the profile goes.
    #[serde(default)]
    pub leave: bool,
    /// Whether nothing may be changed.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether what was once deployed is never updated.
    #[serde(default)]
    pub one_time: bool,
    /// Why it exists.
    pub cause: Cause,
    /// The profile's spec, for the ClusterSummary.
    pub spec: Map<String, Value>,
    /// What to apply, in order.
    pub policies: Vec<Policy>,
}

/// The rendered content of one referenced ConfigMap or Secret.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// `ConfigMap` or `Secret`.
    pub kind: String,
    /// Its namespace in the management cluster.
    pub namespace: String,
    /// Its name in the management cluster.
    pub name: String,
    /// Lower wins inside a profile.
    pub tier: i32,
    /// The objects in it, in order.
    pub objects: Vec<Value>,
}

/// Body of a `status` row; its meta is the [`Cause`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// What came of it.
    pub state: State,
    /// The errors, one for each object that could not be applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
}

/// What came of a profile on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Found in the cluster's inventory after a take-over; not compared yet.
    Held,
    /// Everything is applied.
    Provisioned,
    /// Something could not be applied and is tried again.
    Failed,
}

// === impl Desired ===

impl Desired {
    /// Which profile it is.
    pub fn profile(&self) -> ProfileId {
        ProfileId::new(&*self.owner_namespace, &*self.owner_name)
    }
}

// === impl Cause ===

impl Cause {
    /// As meta data.
    pub fn to_meta(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_meta`](Self::to_meta) has written.
    ///
    /// # Errors
    /// That the text is something else.
    pub fn of_meta(meta: &str) -> Result<Self, serde_json::Error> {
        serde_json::from_str(meta)
    }

    /// Where a problem of this cause is shown: the cluster, if it is on one, and the object.
    pub fn place(&self) -> (String, String) {
        match self {
            Self::Profile(id) => (String::new(), id.to_string()),
            Self::Event(event) => {
                let trigger = event.trigger.replace('/', " ");
                let item = event.item.as_ref().map(|item| format!(", {item}")).unwrap_or_default();
                (event.cluster.to_string(), format!("{trigger}, EventSource {}{item}", event.source))
            }
        }
    }

    /// The shard of the renderer whose cause it is, with that many shards: nobody else makes or withdraws its rows.
    pub fn origin(&self, shards: u16) -> u16 {
        match self {
            Self::Event(event) => cluster_shard(&event.cluster, shards),
            Self::Profile(id) => hash_shard(&[&id.to_string()], shards),
        }
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Profile(id) => write!(f, "{id}"),
            Self::Event(event) => {
                write!(f, "{} on {}", event.trigger.replace('/', " "), event.cluster)?;
                event.item.iter().try_for_each(|item| write!(f, " for {item}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_are_read_back() {
        let cause = Cause::Event(EventCause {
            trigger: "EventTrigger/t".into(),
            cluster: ClusterRef::sveltos("a", "b"),
            source: "s".into(),
            item: None,
        });
        assert_eq!(serde_json::from_str::<Cause>(&cause.to_meta()).unwrap(), cause);
    }
}
