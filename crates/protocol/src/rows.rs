//! What the bodies and meta data of rows say.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};
use sluice_api::model::Feature;
use sluice_api::{ClusterRef, Digest, ObjectKey, ProfileId, ServiceAccount, TriggerId, names};

use crate::subject::{cluster_shard, hash_shard};
use crate::{About, ProblemKey, Row, Shard};

mod rollback;

pub(crate) use rollback::GoBackBody;
pub use rollback::{GoBack, Good, Staged};

/// Meta of a `reports` row. Its body is the object, or empty when the EventSource does not collect.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ReportMeta {
    /// Indexes of the resource selectors that select the object, or of the criteria that select the CloudEvent.
    pub selectors: Vec<u16>,
    /// Of a CloudEvent: the greatest one of a source and subject is its newest event.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub order: u64,
    /// Of a row without a body: the profile that deploys the object, as the object says; empty when none does.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub owner: String,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

fn is_none(count: &usize) -> bool {
    *count == 0
}

/// Why a profile exists on a cluster. Meta of `desired` and `status` rows, and part of inventories.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Cause {
    /// A trigger made it of an event. Shared: whoever has a part in it keeps its name.
    Event(Arc<EventCause>),
    /// A profile that a user wrote.
    Profile(ProfileId),
}

// D-0928: a predecessor goes when its successors are there.
/// Meta of a tombstone in `desired`, where what is withdrawn does not go at once. Former versions do not know it, and let it go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Departure {
    /// It goes when these profiles are on the cluster as they should be.
    pub after: BTreeSet<ProfileId>,
    /// The cluster is not registered, which is no reason for anything to go: who does not know that yet leaves what is there.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub unregistered: bool,
}

/// The event, and the trigger that acts upon it.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct EventCause {
    /// Kind and name of who made the profile.
    pub trigger: TriggerId,
    /// Where the event is.
    pub cluster: ClusterRef,
    /// Name of the EventSource that says it is one.
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
    /// Profiles that it takes over from: what they have is its, whatever the tiers.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub succeeds: BTreeSet<ProfileId>,
    /// Whether add-ons stay when the profile goes.
    #[serde(default)]
    pub leave: bool,
    /// Whether nothing may be changed.
    #[serde(default)]
    pub dry_run: bool,
    /// Whether any value in it may have been made of what a Secret holds: what is told of it shows none. Said where nothing may be
    /// changed alone.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub hidden: bool,
    /// Whether what was once deployed is never updated.
    #[serde(default)]
    pub one_time: bool,
    /// Whether its maker gives it to few clusters at a time, and waits for what becomes of this very row.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub staged: bool,
    /// What it may delete at once although that is much of what it has: a word that the deployer has asked for.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub allow_prune: String,
    /// What it was asked with to be applied once more: a digest for each who asked. When one of them is new, it is.
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub redeploy: BTreeSet<String>,
    /// Labels that every object gets, over its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_labels: BTreeMap<String, String>,
    /// Annotations that every object gets, over its own.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub extra_annotations: BTreeMap<String, String>,
    /// For whom it is applied; without one the deployer does it for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub account: Option<ServiceAccount>,
    /// What the profile asks for and nobody can do yet, by the feature that lacks it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub lacks: BTreeMap<Feature, Vec<String>>,
    /// Why it exists.
    pub cause: Cause,
    /// The profile's spec, for the ClusterSummary.
    pub spec: Map<String, Value>,
    /// What to apply, in order.
    pub policies: Vec<Policy>,
    /// Jobs that checks of the spec run, in their order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub jobs: Vec<Arc<Value>>,
}

// D-0918: a profile without content announces that it wants its name.
/// Why a row of `desired` or `status` says nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoContent {
    /// It is withdrawn.
    #[error("it is withdrawn")]
    Tombstone,
    /// Its maker has no content for it yet.
    #[error("it is not rendered yet")]
    Unrendered,
    /// It goes back to a content that its cluster has kept: see [`GoBack`].
    #[error("it goes back to a content that its cluster has kept")]
    GoesBack,
    /// It is of a newer version, or broken.
    #[error("{0}")]
    Unreadable(String),
}

fn content<T: DeserializeOwned>(row: &Row) -> Result<T, NoContent> {
    if row.head.tombstone {
        return Err(NoContent::Tombstone);
    }
    row.content().map_err(NoContent::Unreadable)
}

/// Body of a `desired` row whose maker has no content for it yet: something is wrong in the profile, or it is not known what the
/// cluster can do. It says that the name is wanted, so that nothing goes which another maker of it has deployed. No field of
/// [`Desired`] is in it: deployers of every version take it for a row that they cannot read, and delete nothing for its sake.
pub const UNRENDERED: &[u8] = br#"{"unrendered":true}"#;

/// The rendered content of one referenced ConfigMap or Secret.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// `ConfigMap`, `Secret`, or `HelmChart`: then namespace and name are those of the release.
    pub kind: String,
    /// Its namespace in the management cluster.
    pub namespace: String,
    /// Its name in the management cluster.
    pub name: String,
    /// Lower wins inside a profile.
    pub tier: i32,
    /// Whether namespaces that are missing are left missing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub skip_namespace_creation: bool,
    /// Whether an object that the server does not let be changed as wanted is deleted and made anew.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force: bool,
    /// Subresources that its objects are written to as well, as far as they have a part of that name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub subresources: Vec<String>,
    /// So many of its first objects are definitions of kinds that a chart brings along beside its templates. Former versions take
    /// them for what they take everything for.
    #[serde(default, skip_serializing_if = "is_none")]
    pub crds: usize,
    /// Whether those that are there already are changed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub upgrade_crds: bool,
    /// What is released, of a chart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub release: Option<Release>,
    /// The objects in it, in order.
    pub objects: Vec<Value>,
}

/// The chart that a release is of, for those who look at it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Release {
    /// Address of the chart's repository.
    pub repository: String,
    /// Version of the chart.
    pub version: String,
    /// Version of what the chart installs, as it says itself.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub app_version: String,
    /// Digest of the values.
    pub values: String,
}

/// Body of a `status` row; its meta is the [`Cause`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Status {
    /// What came of it.
    pub state: State,
    /// The errors, one for each object that could not be applied.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub errors: Vec<String>,
    /// Which spec of a user's profile it is about: see [`Desired::of_spec`]. Former versions do not say it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub spec: String,
    /// Digest of the row that it is about, where that row is [`Desired::staged`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub row: Option<Digest>,
}

/// What came of a profile on a cluster.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum State {
    /// Found in the cluster's inventory after a take-over; not compared yet.
    Held,
    /// Work on the newest row has not ended after three seconds. Renderers that do not know it take it for what it is not asked about.
    Provisioning,
    /// Everything is applied.
    Provisioned,
    /// Something could not be applied and is tried again.
    Failed,
    /// Nothing is applied, because the profile says so. Renderers that do not know it take it for what it is not asked about.
    DryRun,
}

// === impl Desired ===

impl Desired {
    /// What a row of `desired` says.
    ///
    /// # Errors
    /// Why it says nothing.
    pub fn of_row(row: &Row) -> Result<Self, NoContent> {
        if *row.body == *UNRENDERED && !row.head.tombstone {
            return Err(NoContent::Unrendered);
        }
        if GoBack::of_row(row).is_some() {
            return Err(NoContent::GoesBack);
        }
        content(row)
    }

    /// Which profile it is.
    pub fn profile(&self) -> ProfileId {
        ProfileId::new(&*self.owner_namespace, &*self.owner_name)
    }

    // D-1043: a status names the spec that it is about.
    /// Digest of the spec that a user wrote: whoever sees the profile can tell whether what is said of it is about what stands
    /// there. Empty for what events led to.
    pub fn of_spec(&self) -> String {
        match &self.cause {
            Cause::Profile(_) => spec_digest(&Value::Object(self.spec.clone())),
            Cause::Event(_) => String::new(),
        }
    }
}

// === impl Policy ===

impl Policy {
    /// The definitions that a chart brings along.
    pub fn brought(&self) -> &[Value] {
        &self.objects[..self.crds.min(self.objects.len())]
    }

    /// Everything else.
    pub fn content(&self) -> &[Value] {
        &self.objects[self.crds.min(self.objects.len())..]
    }
}

/// Digest of the spec of an object.
pub fn spec_digest(spec: &Value) -> String {
    Digest::of(&[spec.to_string().as_bytes()]).to_string()
}

// === impl Status ===

impl Status {
    /// What a row of `status` says.
    ///
    /// # Errors
    /// Why it says nothing.
    pub fn of_row(row: &Row) -> Result<Self, NoContent> {
        content(row)
    }

    /// What came of a profile that no user wrote.
    pub fn new(state: State, errors: Vec<String>) -> Self {
        Self { state, errors, spec: String::new(), row: None }
    }

    /// Whether it is about another spec than that of this row. One that does not say which is taken for the row's.
    pub fn is_of_another(&self, desired: &Desired) -> bool {
        !self.spec.is_empty() && self.spec != desired.of_spec()
    }

    /// It is about this row, of this digest.
    pub fn of(self, desired: &Desired, row: Option<Digest>) -> Self {
        Self { spec: desired.of_spec(), row: row.filter(|_| desired.staged), ..self }
    }
}

// === impl Cause ===

impl EventCause {
    /// What makes names differ that are generated for this event; `what` says of which kind they are.
    pub fn identity<'a>(&'a self, what: &'a str) -> Vec<&'a str> {
        let mut parts = vec![
            what,
            self.trigger.as_str(),
            self.cluster.kind.lower(),
            &self.cluster.namespace,
            &self.cluster.name,
            &self.source,
        ];
        if let Some(item) = &self.item {
            parts.extend([&*item.gvk.group, &*item.gvk.kind, &*item.namespace, &*item.name]);
        }
        parts
    }

    /// Name of the profile that is made of the event, where its trigger has no format for it.
    pub fn profile_name(&self) -> String {
        names::generated(&self.identity("profile"))
    }
}

impl From<EventCause> for Cause {
    fn from(event: EventCause) -> Self {
        Self::Event(Arc::new(event))
    }
}

impl Cause {
    /// Where a problem of this cause is shown.
    pub fn problem(&self) -> ProblemKey {
        match self {
            Self::Profile(id) => ProblemKey::everywhere(About::Profile(id.clone())),
            Self::Event(event) => ProblemKey::on(&event.cluster, About::Event(event.clone())),
        }
    }

    /// The shard of the renderer whose cause it is, with that many shards: nobody else makes or withdraws its rows.
    pub fn origin(&self, shards: u16) -> Shard {
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
                write!(f, "{} on {}", event.trigger.described(), event.cluster)?;
                event.item.iter().try_for_each(|item| write!(f, " for {item}"))
            }
        }
    }
}

#[cfg(test)]
mod tests;
