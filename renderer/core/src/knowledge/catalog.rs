//! The management cluster as this renderer sees it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::model::{
    Attention, Cluster, ClusterSetId, Dependents, Fleet, FleetChange, Profile, Transitions, Trigger,
    prerequisites,
};
use sluice_api::{ClusterRef, FieldError, ObjectKey, ProfileId, ServiceAccount, TriggerId, object};
use sluice_protocol::rows::Cause;
use sluice_protocol::{Revision, View};

use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::chart_request::{ChartRequest, ChartState};
use crate::knowledge::rights::Rights;

pub use self::additions::Resource;
pub(crate) use self::additions::content_key;

mod additions;
mod references;
mod succession;

// D-0907: what templates read is not part of the view.
/// The kinds a renderer has to know.
pub const KINDS: [&str; 12] = [
    "EventSource",
    "EventTrigger",
    "EventBasedAddOn",
    "SveltosCluster",
    "Cluster",
    "ClusterProfile",
    "Profile",
    "RoleRequest",
    "ClusterSet",
    "Set",
    "ConfigMap",
    "Secret",
];

/// A ConfigMap or Secret: kind, namespace, name.
pub(crate) type ContentKey = (String, String, String);

/// What messages call a ConfigMap or Secret.
pub(crate) fn described((kind, namespace, name): &ContentKey) -> String {
    format!("{kind} {namespace}/{name}")
}

/// One change of an object of the management cluster.
#[derive(Clone, Debug)]
pub enum Change {
    /// It exists like this.
    Upsert(Arc<Value>),
    /// It is gone; the last state that was seen, with the resourceVersion of its deletion.
    Delete(Arc<Value>),
    /// All that there was of a kind at this version has been told: the newest of its objects may be gone.
    Listed(String, Revision),
}

/// What a change is about.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Touched {
    Source(String),
    Trigger(TriggerId),
    Cluster(ClusterRef),
    /// A cluster has gone away or come back: only sets look at that.
    Connection,
    Set(ClusterSetId),
    Profile(ProfileId),
    /// The content, and the object before and after.
    Content(ContentKey, Option<Arc<Value>>, Option<Arc<Value>>),
    Nothing,
}

/// A trigger, or why it cannot be read.
pub(crate) type ReadTrigger = Arc<Result<Trigger, FieldError>>;

/// Everything that decides about add-ons.
#[derive(Default)]
pub(crate) struct Catalog {
    /// EventSources: kind, name, spec and whose they are, as they go into interest rows.
    pub(crate) sources: BTreeMap<String, Arc<Value>>,
    pub(crate) triggers: BTreeMap<TriggerId, ReadTrigger>,
    /// Clusters and cluster sets.
    pub(crate) fleet: Fleet,
    pub(crate) profiles: BTreeMap<ProfileId, Arc<Result<Profile, FieldError>>>,
    /// Which of them depend on others.
    dependents: Dependents,
    /// Which of them take over from others.
    pub(crate) transitions: Transitions,
    /// Profiles whose clusters may be others since that was last asked, or who may be in a circle.
    moved: BTreeSet<ProfileId>,
    content: HashMap<ContentKey, Arc<Value>>,
    /// Objects that templates read by an identifier.
    resources: HashMap<ObjectKey, Resource>,
    /// Charts that have been asked for.
    charts: HashMap<ChartRequest, ChartState>,
    /// What tenants may read, as far as it has been asked.
    pub(crate) rights: Rights,
    /// What clusters can do.
    capabilities: HashMap<ClusterRef, Arc<ClusterCapabilities>>,
    /// What generators of this shard make, and for which cause.
    generated: BTreeMap<ContentKey, (Cause, Arc<Value>)>,
    /// The same, by cause: most causes have no generator.
    made_by: HashMap<Cause, Vec<ContentKey>>,
    view: View,
    /// Up to which version everything of a kind was there when it was listed.
    listed: View,
    version: u64,
}

// === impl Catalog ===

impl Catalog {
    /// Versions count since this restore of the management cluster. Before any change.
    pub(crate) fn set_restored(&mut self, restored: Revision) {
        (self.view, self.listed) = (View::since(restored), View::since(restored));
    }

    /// Takes a change; what it is about, or `Nothing` when nothing that matters differs.
    pub(crate) fn apply(&mut self, change: &Change) -> Touched {
        let touched = self.put(change);
        self.version += u64::from(touched != Touched::Nothing);
        self.note_tenants(&touched);
        touched
    }

    /// The trigger that a change is of, as it is before the change.
    pub(crate) fn trigger_of(&self, change: &Change) -> Option<ReadTrigger> {
        let (Change::Upsert(object) | Change::Delete(object)) = change else { return None };
        let id = TriggerId::new(object::text(object, &["kind"]), object::name(object));
        self.triggers.get(&id).cloned()
    }

    /// What profiles depend on goes only where it selects clusters itself. Before any change.
    pub(crate) fn without_dependents(&mut self) {
        self.dependents = Dependents::off();
    }

    /// Profiles whose clusters may be others since this was asked last, because others depend on them, and those that may be in a circle,
    /// or not any more.
    pub(crate) fn take_moved(&mut self) -> BTreeSet<ProfileId> {
        std::mem::take(&mut self.moved)
    }

    /// All profiles that others depend on.
    pub(crate) fn prerequisites(&self) -> Vec<ProfileId> {
        self.dependents.prerequisites().cloned().collect()
    }

    /// Whether a profile is for a cluster.
    pub(crate) fn is_for(&self, profile: &Profile, cluster: &Cluster) -> bool {
        self.dependents.is_for(profile, (cluster, &self.fleet), |id| self.readable(id))
    }

    /// Why it is not known whether a profile is for further clusters.
    pub(crate) fn unsure(&self, profile: &Profile) -> Option<String> {
        self.dependents.unsure(profile, &self.fleet, |id| self.readable(id))
    }

    fn readable(&self, id: &ProfileId) -> Option<&Profile> {
        self.profiles.get(id)?.as_ref().as_ref().ok()
    }

    /// Grows with every change that matters.
    pub(crate) fn version(&self) -> u64 {
        self.version
    }

    fn put(&mut self, change: &Change) -> Touched {
        let (object, has_gone) = match change {
            Change::Upsert(object) => (object, false),
            Change::Delete(object) => (object, true),
            Change::Listed(kind, version) => {
                self.listed.note(kind, *version);
                return Touched::Nothing;
            }
        };
        let kind = object::text(object, &["kind"]);
        self.view.note(kind, Revision::new(object::resource_version(object)));
        let gone = has_gone || !object::text(object, &["metadata", "deletionTimestamp"]).is_empty();
        let name = object::name(object).to_owned();
        match kind {
            "EventSource" => {
                let mut manifest =
                    json!({"kind": "EventSource", "metadata": {"name": name}, "spec": object.get("spec")});
                if let Some(labels) = ServiceAccount::watching_labels(object) {
                    manifest["metadata"]["labels"] = labels;
                }
                let changed = replace(&mut self.sources, &name, (!gone).then(|| Arc::new(manifest)));
                if changed { Touched::Source(name) } else { Touched::Nothing }
            }
            "EventTrigger" | "EventBasedAddOn" => {
                let id = TriggerId::new(kind, &name);
                let read = (!gone).then(|| Arc::new(Trigger::read(object)));
                if replace(&mut self.triggers, &id, read) { Touched::Trigger(id) } else { Touched::Nothing }
            }
            "ClusterProfile" | "Profile" | "RoleRequest" => {
                let id = ProfileId::of_object(kind, object::namespace(object), &name);
                let read = (!gone).then(|| Arc::new(Profile::read(object)));
                if !replace(&mut self.profiles, &id, read) {
                    return Touched::Nothing;
                }
                let needs = prerequisites(&id, object::at(object, &["spec", "dependsOn"]).filter(|_| !gone));
                self.moved.extend(self.dependents.change(&id, &needs));
                self.note_transitions(&id, object, gone);
                Touched::Profile(id)
            }
            "ConfigMap" | "Secret" => {
                let key = (kind.to_owned(), object::namespace(object).to_owned(), name);
                self.put_content(key, (!gone).then(|| object.clone()))
            }
            _ => self.put_fleet(object, has_gone),
        }
    }

    fn put_content(&mut self, key: ContentKey, object: Option<Arc<Value>>) -> Touched {
        let old = match &object {
            Some(object) => self.content.insert(key.clone(), object.clone()),
            None => self.content.remove(&key),
        };
        if Attention::default().sees(old.as_deref(), object.as_deref()) {
            Touched::Content(key, old, object)
        } else {
            Touched::Nothing
        }
    }

    /// A registration that is being deleted may still say what becomes of its cluster.
    fn put_fleet(&mut self, object: &Arc<Value>, has_gone: bool) -> Touched {
        match self.fleet.put(object, has_gone) {
            FleetChange::Cluster(cluster) => Touched::Cluster(cluster),
            FleetChange::Connection => Touched::Connection,
            FleetChange::Set(id) => Touched::Set(id),
            FleetChange::Nothing => Touched::Nothing,
        }
    }

    /// The newest versions that were seen, by kind: what rows are made from. Not that of a list: it is newer than every
    /// object, and who has watched for longer has seen as much without it.
    pub(crate) fn view(&self) -> &View {
        &self.view
    }

    /// How new everything is that is known: the newest object of a list may be gone again.
    pub(crate) fn knowledge(&self) -> View {
        let mut knowledge = self.view.clone();
        knowledge.merge(&self.listed);
        knowledge
    }
}

/// Inserts or removes; whether anything changed.
fn replace<K: Ord + Clone, V: PartialEq>(map: &mut BTreeMap<K, V>, key: &K, value: Option<V>) -> bool {
    match value {
        None => map.remove(key).is_some(),
        Some(value) if map.get(key) == Some(&value) => false,
        Some(value) => {
            map.insert(key.clone(), value);
            true
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluice_protocol::Revision;

    #[test]
    fn a_list_makes_knowledge_newer_and_not_what_rows_are_made_from() {
        let mut catalog = Catalog::default();
        let object = json!({"kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "5"}});
        catalog.apply(&Change::Upsert(Arc::new(object)));
        assert_eq!(
            catalog.apply(&Change::Listed("ConfigMap".to_owned(), Revision::new(90))),
            Touched::Nothing
        );
        assert_eq!(
            (catalog.view().version("ConfigMap"), catalog.knowledge().version("ConfigMap")),
            (Revision::new(5), Revision::new(90))
        );
    }

    #[test]
    fn what_is_seen_after_a_restore_is_newer_than_all_before() {
        let mut catalog = Catalog::default();
        catalog.set_restored(Revision::new(7));
        let object = json!({"kind": "ConfigMap", "metadata": {"name": "a", "resourceVersion": "5"}});
        catalog.apply(&Change::Upsert(Arc::new(object)));
        catalog.apply(&Change::Listed("Secret".to_owned(), Revision::new(6)));
        assert_eq!(catalog.knowledge().to_string(), "ConfigMap=5 Secret=6 restored=7");
        assert!(catalog.view().covers(&View::parse("ConfigMap=90")));
    }
}
