//! What a deployer asks of an API server, and what it learns from the answers.

use std::fmt;
use std::num::NonZeroU64;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::marks::RELOAD;
use sluice_api::{Digest, Gvk, ObjectKey, ProfileId, ServiceAccount, object};

use crate::inventory::{Inventory, Stored};
use crate::marks;

/// uid and resourceVersion of an object.
pub type Version = (String, String);

/// One call.
#[derive(Clone, Debug, PartialEq)]
pub enum Request {
    /// All inventories in the cluster.
    Inventories,
    /// The metadata of all objects of a kind that profiles have deployed.
    List(Gvk),
    /// The metadata of an object.
    Read(ObjectKey),
    /// What a ConfigMap or Secret holds, as far as that tells it from another content.
    Content(ObjectKey),
    /// What would go along with this object, a namespace, a definition or a volume claim, and is not of this profile.
    Along {
        /// The object that would be deleted.
        holder: ObjectKey,
        /// Whose things may go.
        profile: ProfileId,
    },
    /// Server-side apply.
    Apply {
        /// The object, complete.
        object: Arc<Value>,
        /// uid and resourceVersion of the object it was planned against; `None` creates it, and is a [`Class::Conflict`] where
        /// there is one.
        against: Option<Version>,
        /// Parts of it that are written to the subresources of these names as well. Until all of them are, it does not say that it
        /// has the content that it should have.
        subresources: Vec<String>,
        /// Whether its namespace is made where it is missing.
        make_namespace: bool,
        /// Fields of it, as JSON pointers, that are left to who owns them where the object exists.
        excluded: Vec<String>,
        /// Whether the answer is to say which fields are ours.
        watched: bool,
        /// For which tenant: it is done as the account that stands for it in the cluster.
        account: Option<ServiceAccount>,
    },
    /// Try a server-side apply without doing it: whether a tenant may take over what another profile has.
    Prove {
        /// The object, complete.
        object: Arc<Value>,
        /// The tenant.
        account: ServiceAccount,
    },
    /// Look at an object, and try a server-side apply of it without doing it.
    Rehearse {
        /// The object, complete.
        object: Arc<Value>,
        /// Fields of it, as JSON pointers, that are left to who owns them where the object exists.
        excluded: Vec<String>,
        /// Whether its namespace would be made where it is missing.
        make_namespace: bool,
        /// Whether any value of it may have been made of what a Secret holds.
        hidden: bool,
        /// For which tenant.
        account: Option<ServiceAccount>,
    },
    /// Try to delete an object without doing it.
    RehearseDelete {
        /// Which.
        key: ObjectKey,
        /// Its uid and resourceVersion.
        against: Version,
    },
    /// Delete exactly this object.
    Delete {
        /// Which.
        key: ObjectKey,
        /// Its uid and resourceVersion: a later object of the same name, or a change by somebody else, is not meant.
        against: Version,
        /// For which tenant; without one the deployer does it for itself.
        account: Option<ServiceAccount>,
    },
    /// Take the marks of its owner off exactly this object: it stays, and belongs to nobody.
    Release {
        /// Which.
        key: ObjectKey,
        /// Its uid and resourceVersion: a later object of the same name, or a change by somebody else, is not meant.
        against: Version,
        /// For which tenant; without one the deployer does it for itself.
        account: Option<ServiceAccount>,
    },
    /// The inventory of a profile.
    ReadInventory(ProfileId),
    /// Store an inventory.
    WriteInventory {
        /// Everything that the profile may own once it is stored.
        inventory: Arc<Inventory>,
        /// The version that it replaces; `None` creates it.
        against: Option<Version>,
    },
    /// Delete the inventory of a profile.
    DeleteInventory {
        /// Whose.
        profile: ProfileId,
        /// The version that may be deleted.
        against: Version,
    },
    /// Keep a content of a profile beside its inventory, so that it can be gone back to.
    Keep {
        /// Whose.
        profile: ProfileId,
        /// Digest of the row that it came with.
        row: Digest,
        /// The content.
        body: KeptBody,
        /// The other one that stays kept, by its row; all others go.
        good: Option<Digest>,
    },
    /// What is kept of a profile as the content of this row.
    ReadKept {
        /// Whose.
        profile: ProfileId,
        /// Digest of the row that it came with.
        row: Digest,
    },
    /// Keep nothing of a profile any more.
    DropKept(ProfileId),
}

/// The body of a row, as it is kept. It may hold what Secrets hold, and is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct KeptBody(pub Arc<[u8]>);

// === impl KeptBody ===

impl fmt::Debug for KeptBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "KeptBody({} bytes)", self.0.len())
    }
}

/// The answer to a [`Request`].
#[derive(Clone, Debug, PartialEq)]
pub enum Reply {
    /// To [`Request::Inventories`].
    Inventories(Vec<Stored>),
    /// To [`Request::List`]; nothing when there is no such kind.
    Listed(Vec<(ObjectKey, Live)>),
    /// To [`Request::ReadInventory`].
    Inventory(Option<Stored>),
    /// To [`Request::WriteInventory`]: its new version.
    Written(Version),
    /// To [`Request::Read`]; `None` when there is no such object (or no such kind).
    Read(Option<Live>),
    /// To [`Request::Content`]: its version, and what tells its content from another one; `None` when there is no such object.
    Content(Option<(Version, String)>),
    /// To [`Request::Along`]: the first thing that was found, in words for people.
    Along(Option<Box<str>>),
    /// To [`Request::ReadKept`]; `None` when there is none.
    Kept(Option<KeptBody>),
    /// To [`Request::Apply`].
    Applied(Live),
    /// To [`Request::Rehearse`]: whether there is such an object, and how it would differ, without values of Secrets.
    Rehearsed {
        /// Whether it exists.
        exists: bool,
        /// In the unified form; nothing where nothing differs.
        difference: Option<String>,
    },
    /// To the others.
    Done,
    /// It did not work.
    Failed(Failure),
}

/// Why a call did not work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// What follows from it.
    pub class: Class,
    /// The server's words, with what to do.
    pub message: String,
    /// How long the server asks to be left alone, microseconds; 0 where it does not.
    pub retry_after: i64,
}

/// What follows from a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The object is not what it was: plan again at once.
    Conflict,
    /// The server is overloaded or away, and has not done it: slow down and try again.
    Transient,
    /// It did not answer: like [`Class::Transient`], but it may have done it, or still do it.
    Unanswered,
    /// The server refuses it: try again later, something else may have to change first.
    Refused,
    /// The tenant that it was for may not do it: like [`Class::Refused`].
    Forbidden,
    /// The server refuses it because what is there cannot be changed so: a new object could be.
    Immutable,
    /// The cluster has no such kind (any more): like [`Class::Refused`], for everything of the kind.
    NoKind,
}

impl Class {
    /// Whether the server's state is the reason, and trying again may help.
    pub fn is_transient(self) -> bool {
        matches!(self, Self::Transient | Self::Unanswered)
    }
}

/// What is known of an existing object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Live {
    /// Tells it from a later object of the same name.
    pub uid: String,
    /// Calls that are made against it fail once anybody has changed the object.
    pub resource_version: String,
    /// What it says of its content: `projectsveltos.io/hash`, and the digest of extra labels and annotations.
    pub hash: Option<String>,
    /// Which profile deployed it.
    pub owner: Option<Arc<OwningProfile>>,
    /// Of what no profile has deployed: the release that Helm has installed it with, as `namespace/name`.
    pub installed_by: Option<Box<str>>,
    /// Whether it has been deleted, and stays only until its finalizers are done.
    pub going: bool,
    /// Whether it says that it stays when nobody wants it any more.
    pub keeps: bool,
    /// Of a definition: why its kind is not served yet.
    pub unserved: Option<Box<str>>,
    /// What tells the fields of which we are the manager; where it was asked for.
    pub fields: Option<NonZeroU64>,
    /// What a workload says of what its pods were started with, once it was restarted.
    pub reload: Option<Box<str>>,
}

/// The profile that an object says it belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct OwningProfile {
    /// `ClusterProfile` or `Profile`.
    pub kind: String,
    /// For a Profile with its namespace: two profiles of one name are two.
    pub name: String,
    /// The lower one may take the object over.
    pub tier: i32,
    /// What it is deployed from, for messages.
    pub reference: String,
    /// The lower one wins inside of a profile.
    pub reference_tier: i32,
}

impl Request {
    /// Whether it looks at this object, or changes it.
    pub(crate) fn is_about(&self, key: &ObjectKey) -> bool {
        match self {
            Self::Read(other) | Self::Delete { key: other, .. } | Self::Release { key: other, .. } => {
                other == key
            }
            Self::Apply { object, .. } => {
                object::name(object) == key.name && ObjectKey::of(object).as_ref() == Some(key)
            }
            _ => false,
        }
    }

    /// Whether it changes nothing.
    pub fn is_read(&self) -> bool {
        matches!(
            self,
            Self::Inventories
                | Self::List(_)
                | Self::Read(_)
                | Self::Content(_)
                | Self::Along { .. }
                | Self::Prove { .. }
                | Self::Rehearse { .. }
                | Self::RehearseDelete { .. }
                | Self::ReadInventory(_)
                | Self::ReadKept { .. }
        )
    }

    /// The object that it looks at or changes.
    pub(crate) fn about(&self) -> Option<ObjectKey> {
        if let Self::Read(key) = self { Some(key.clone()) } else { self.changes() }
    }

    /// The object that it changes.
    pub(crate) fn changes(&self) -> Option<ObjectKey> {
        match self {
            Self::Delete { key, .. } | Self::Release { key, .. } => Some(key.clone()),
            Self::Apply { object, .. } => ObjectKey::of(object),
            _ => None,
        }
    }
}

impl OwningProfile {
    /// Whether this profile is meant.
    pub fn is(&self, profile: &ProfileId) -> bool {
        self.kind == profile.kind() && self.name == profile.path()
    }
}

impl Live {
    /// Reads it from an object, or from its metadata alone.
    pub fn of(object: &Value) -> Self {
        let annotation = |name: &str| object::annotation(object, &format!("projectsveltos.io/{name}"));
        let tier = |name: &str| annotation(name).and_then(|tier| tier.parse().ok()).unwrap_or(100);
        let owner = annotation("owner-name").map(|name| {
            Arc::new(OwningProfile {
                kind: annotation("owner-kind").unwrap_or_default().to_owned(),
                name: name.to_owned(),
                tier: tier("owner-tier"),
                reference: format!(
                    "{} {}/{}",
                    annotation("reference-kind").unwrap_or_default(),
                    annotation("reference-namespace").unwrap_or_default(),
                    annotation("reference-name").unwrap_or_default()
                ),
                reference_tier: tier("reference-tier"),
            })
        });
        Self {
            uid: object::text(object, &["metadata", "uid"]).to_owned(),
            resource_version: object::text(object, &["metadata", "resourceVersion"]).to_owned(),
            hash: marks::content_of(object),
            installed_by: if owner.is_none() { marks::installed_by(object) } else { None },
            owner,
            going: !object::text(object, &["metadata", "deletionTimestamp"]).is_empty(),
            keeps: marks::keeps(object),
            unserved: marks::unserved(object),
            fields: None,
            reload: object::annotation(object, RELOAD).map(Box::from),
        }
    }

    /// What is known of it from now on. Texts that are the same stay where they are.
    pub(crate) fn become_like(&mut self, other: Self) {
        let before = std::mem::replace(self, other);
        if self.uid == before.uid {
            self.uid = before.uid;
        }
        if self.hash == before.hash {
            self.hash = before.hash;
        }
        if self.resource_version == before.resource_version {
            self.resource_version = before.resource_version;
        }
    }

    /// uid and resourceVersion.
    pub fn version(&self) -> Version {
        (self.uid.clone(), self.resource_version.clone())
    }
}

impl Failure {
    /// Makes it.
    pub fn new(class: Class, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after: 0 }
    }

    /// The server asks to be left alone for so long, microseconds.
    #[must_use]
    pub fn after(self, retry_after: i64) -> Self {
        Self { retry_after, ..self }
    }
}
