//! The registered clusters, the sets that select among them, and whom triggers and profiles select.
//!
//! A reference to what is not there is a mistake, and a mistake withdraws nothing: as long as there is one, it is not known whom it
//! selects besides. Who is selected without it is selected all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::cluster::Cluster;
use super::cluster_set::{ClusterSet, ClusterSetId};
use super::profile::Profile;
use super::trigger::Trigger;
use crate::cluster::ClusterRef;
use crate::error::FieldError;
use crate::few::few;
use crate::object;

/// What each cluster set selects.
pub type Selections = BTreeMap<ClusterSetId, Selection>;

/// What is said behind a reference to what is not there.
pub const NOTHING_WITHDRAWN: &str = "nothing is withdrawn until then";

/// The registered clusters, and the cluster sets.
#[derive(Debug, Default)]
pub struct Fleet {
    clusters: BTreeMap<ClusterRef, Arc<Cluster>>,
    /// Those that leave: nobody counts them as registered, and what they hold goes.
    leaving: BTreeSet<ClusterRef>,
    sets: BTreeMap<ClusterSetId, KnownSet>,
    /// What they select, once somebody has asked.
    selections: OnceLock<Arc<Selections>>,
}

/// A cluster set, with its status as it is.
#[derive(Clone, Debug, PartialEq)]
pub struct KnownSet {
    /// The set, or why it cannot be read.
    pub set: Result<ClusterSet, FieldError>,
    /// What it says of itself.
    pub status: Value,
}

/// What a cluster set selects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Selection {
    clusters: BTreeSet<ClusterRef>,
    /// Why it is not known whether it selects others too.
    unsure: Option<String>,
}

/// What a change of an object is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FleetChange {
    /// A registration has come, changed or gone.
    Cluster(ClusterRef),
    /// A cluster has gone away or come back: only sets look at that.
    Connection,
    /// A cluster set has come, changed or gone.
    Set(ClusterSetId),
    /// Nothing that matters.
    Nothing,
}

// === impl Fleet ===

impl Fleet {
    /// Takes an object as it is, or as it was when it went; objects of other kinds are nothing.
    pub fn put(&mut self, object: &Arc<Value>, gone: bool) -> FleetChange {
        let is_deleted = gone || !object::text(object, &["metadata", "deletionTimestamp"]).is_empty();
        let change = match object::text(object, &["kind"]) {
            "ClusterSet" | "Set" => self.put_set(object, is_deleted),
            _ => self.put_cluster(object, is_deleted, gone),
        };
        if change != FleetChange::Nothing {
            self.selections.take();
        }
        change
    }

    fn put_set(&mut self, object: &Value, gone: bool) -> FleetChange {
        let id = ClusterSetId {
            namespace: object::namespace(object).to_owned(),
            name: object::name(object).to_owned(),
        };
        let status = || object.get("status").cloned().unwrap_or_default();
        let known = (!gone).then(|| KnownSet { set: ClusterSet::read(object), status: status() });
        let is_same = self.sets.get(&id) == known.as_ref();
        match known {
            _ if is_same => return FleetChange::Nothing,
            Some(known) => drop(self.sets.insert(id.clone(), known)),
            None => drop(self.sets.remove(&id)),
        }
        FleetChange::Set(id)
    }

    fn put_cluster(&mut self, object: &Arc<Value>, is_deleted: bool, gone: bool) -> FleetChange {
        let Some(cluster) = Cluster::read(object) else { return FleetChange::Nothing };
        let is_leaving = !gone && cluster.is_leaving();
        let gone = is_deleted || !cluster.is_registered();
        let id = cluster.id.clone();
        match is_leaving {
            true => drop(self.leaving.insert(id.clone())),
            false => drop(self.leaving.remove(&id)),
        }
        let (is_down, new) = (cluster.is_down(), (!gone).then(|| Arc::new(cluster)));
        let old = match new {
            Some(cluster) => self.clusters.insert(id.clone(), cluster),
            None => self.clusters.remove(&id),
        };
        match old {
            None if gone => FleetChange::Nothing,
            Some(old) if !gone && same_registration(&old.object, object) => {
                if old.is_down() == is_down {
                    FleetChange::Nothing
                } else {
                    FleetChange::Connection
                }
            }
            _ => FleetChange::Cluster(id),
        }
    }

    /// The registered clusters.
    pub fn clusters(&self) -> &BTreeMap<ClusterRef, Arc<Cluster>> {
        &self.clusters
    }

    /// Whether a cluster leaves: it does not count as registered, and what it holds is withdrawn while its registration is still there.
    pub fn is_leaving(&self, cluster: &ClusterRef) -> bool {
        self.leaving.contains(cluster)
    }

    /// The cluster sets, each with its status as it is.
    pub fn sets(&self) -> &BTreeMap<ClusterSetId, KnownSet> {
        &self.sets
    }

    /// What the cluster sets select now.
    pub fn selections(&self) -> &Arc<Selections> {
        self.selections.get_or_init(|| {
            let select = |set: &Result<ClusterSet, _>| match set {
                Ok(set) => {
                    let matching = set.matching(self.clusters.values().map(Arc::as_ref));
                    Selection {
                        clusters: set.select(&matching),
                        unsure: self.missing(&set.clusters, "spec.clusterRefs"),
                    }
                }
                Err(error) => Selection { unsure: Some(format!("{error}")), ..Selection::default() },
            };
            Arc::new(self.sets.iter().map(|(id, known)| (id.clone(), select(&known.set))).collect())
        })
    }

    /// Whether one of these sets selects the cluster.
    pub fn is_in(&self, sets: &[ClusterSetId], cluster: &Cluster) -> bool {
        let selections = self.selections();
        sets.iter()
            .filter_map(|id| selections.get(id))
            .any(|selection| selection.clusters.contains(&cluster.id))
    }

    /// Which of these sets do not exist, cannot be read, or name clusters that are not registered; `field` is the list of them.
    pub fn unsure(&self, sets: &[ClusterSetId], field: &str) -> Option<String> {
        let selections = self.selections();
        let wrong = sets.iter().enumerate().filter_map(|(at, id)| match selections.get(id) {
            None => Some(format!(
                "{field}[{at}]: {id} does not exist; create it, or correct the name; {NOTHING_WITHDRAWN}"
            )),
            Some(selection) => Some(format!("{field}[{at}]: {id}: {}", selection.unsure.as_ref()?)),
        });
        named(wrong)
    }

    /// Which of these clusters are not registered; `field` is the list of them.
    pub fn missing(&self, clusters: &[ClusterRef], field: &str) -> Option<String> {
        let missing = clusters.iter().enumerate().filter(|(_, id)| !self.clusters.contains_key(id));
        named(missing.map(|(at, id)| not_registered(&format!("{field}[{at}]"), id)))
    }
}

// === impl Trigger ===

impl Trigger {
    /// Whether events of `cluster` count for it.
    ///
    /// # Errors
    /// What [`Trigger::unsure`] says, where nothing selects the cluster.
    pub fn selects(&self, cluster: &Cluster, fleet: &Fleet) -> Result<bool, String> {
        if self.is_for(cluster, fleet) {
            return Ok(true);
        }
        self.unsure(fleet).map_or(Ok(false), Err)
    }

    /// Whether events of `cluster` count for it. Where it is [`Trigger::unsure`], those of others may count too.
    pub fn is_for(&self, cluster: &Cluster, fleet: &Fleet) -> bool {
        self.source_selector.selects(cluster.labels()) || fleet.is_in(&self.source_sets, cluster)
    }

    /// Why it is not known whether events of further clusters count for it.
    pub fn unsure(&self, fleet: &Fleet) -> Option<String> {
        fleet.unsure(&self.source_sets, "spec.clusterSetRefs")
    }
}

// === impl Profile ===

impl Profile {
    /// Whether it is for `cluster`. Where it is [`Profile::unsure`], it may be for others too.
    pub fn is_for(&self, cluster: &Cluster, fleet: &Fleet) -> bool {
        let own = self.id.namespace.is_empty() || self.id.namespace == cluster.id.namespace;
        let by_label = self.selector.selects(cluster.labels());
        own && (by_label || self.clusters.contains(&cluster.id) || fleet.is_in(&self.sets, cluster))
    }

    /// Why it is not known whether it is for further clusters.
    pub fn unsure(&self, fleet: &Fleet) -> Option<String> {
        let clusters = fleet.missing(&self.clusters, "spec.clusterRefs");
        let both: Vec<String> =
            clusters.into_iter().chain(fleet.unsure(&self.sets, "spec.setRefs")).collect();
        (!both.is_empty()).then(|| both.join("; "))
    }
}

/// What is said of a reference to a cluster that is not registered.
pub fn not_registered(field: &str, id: &ClusterRef) -> String {
    format!("{field}: {id} is not registered; register it, or correct the reference; {NOTHING_WITHDRAWN}")
}

/// Heartbeats change the status of a registration; they are no reason to render anything.
fn same_registration(a: &Value, b: &Value) -> bool {
    let meta = |value: &Value, field: &str| object::at(value, &["metadata", field]).cloned();
    a.get("spec") == b.get("spec")
        && meta(a, "labels") == meta(b, "labels")
        && meta(a, "annotations") == meta(b, "annotations")
}

fn named(wrong: impl Iterator<Item = String>) -> Option<String> {
    Some(few("; ", wrong)).filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn registration(name: &str, env: &str, connection: &str) -> Arc<Value> {
        Arc::new(json!({"kind": "SveltosCluster", "spec": {}, "status": {"connectionStatus": connection},
            "metadata": {"namespace": "n", "name": name, "labels": {"env": env}}}))
    }

    fn set(name: &str, spec: Value) -> Arc<Value> {
        Arc::new(json!({"kind": "ClusterSet", "metadata": {"name": name}, "spec": spec}))
    }

    fn profile(spec: Value) -> Profile {
        Profile::read(&json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec})).unwrap()
    }

    #[test]
    fn a_change_is_told_by_who_looks_at_it() {
        let (mut fleet, id) = (Fleet::default(), ClusterRef::sveltos("n", "a"));
        assert_eq!(fleet.put(&registration("a", "fv", "Healthy"), false), FleetChange::Cluster(id.clone()));
        assert_eq!(fleet.put(&registration("a", "fv", "Healthy"), false), FleetChange::Nothing);
        assert_eq!(fleet.put(&registration("a", "fv", "Down"), false), FleetChange::Connection);
        let one = set("s", json!({"clusterSelector": {"matchLabels": {"env": "fv"}}}));
        let of_set = ClusterSetId { namespace: String::new(), name: "s".into() };
        assert_eq!(fleet.put(&one, false), FleetChange::Set(of_set.clone()));
        assert_eq!(fleet.put(&one, false), FleetChange::Nothing);
        assert_eq!(fleet.put(&one, true), FleetChange::Set(of_set));
        assert_eq!(fleet.put(&one, true), FleetChange::Nothing);
        assert_eq!(fleet.put(&registration("a", "fv", "Down"), true), FleetChange::Cluster(id));
        assert_eq!(fleet.put(&registration("a", "fv", "Down"), true), FleetChange::Nothing);
    }

    #[test]
    fn a_cluster_that_leaves_is_not_registered_until_it_has_gone() {
        let (mut fleet, id) = (Fleet::default(), ClusterRef::sveltos("n", "a"));
        let mut object = Value::clone(&registration("a", "fv", ""));
        fleet.put(&Arc::new(object.clone()), false);
        object["metadata"]["deletionTimestamp"] = json!("1970-01-01T00:00:02Z");
        object["metadata"]["finalizers"] = json!(["example.com/other"]);
        assert_eq!(fleet.put(&Arc::new(object.clone()), false), FleetChange::Cluster(id.clone()));
        assert!(!fleet.clusters().contains_key(&id) && !fleet.is_leaving(&id), "somebody else keeps it");
        object["metadata"]["finalizers"] = json!(["sluice.dev/withdraw"]);
        fleet.put(&Arc::new(object.clone()), false);
        assert!(!fleet.clusters().contains_key(&id) && fleet.is_leaving(&id));
        fleet.put(&Arc::new(object), true);
        assert!(!fleet.is_leaving(&id));
        fleet.put(&registration("a", "fv", ""), false);
        assert!(fleet.clusters().contains_key(&id) && !fleet.is_leaving(&id));
    }

    #[test]
    fn what_sets_select_follows_every_change() {
        let mut fleet = Fleet::default();
        fleet.put(&set("s", json!({"clusterSelector": {"matchLabels": {"env": "fv"}}})), false);
        let profile = profile(json!({"setRefs": ["s"]}));
        let is_for = |fleet: &Fleet| {
            let those = fleet.clusters().values().filter(|cluster| profile.is_for(cluster, fleet));
            those.map(|cluster| cluster.id.name.clone()).collect::<Vec<_>>()
        };
        assert!(is_for(&fleet).is_empty());
        for (name, env) in [("a", "fv"), ("b", "other"), ("c", "fv")] {
            fleet.put(&registration(name, env, ""), false);
        }
        assert_eq!(is_for(&fleet), ["a", "c"]);
        fleet.put(&registration("a", "fv", "Down"), false);
        assert_eq!(is_for(&fleet), ["c"]);
    }

    #[test]
    fn what_refers_to_what_is_not_there_is_not_sure() {
        let mut fleet = Fleet::default();
        fleet.put(&registration("a", "fv", ""), false);
        let named = json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "namespace": "n", "name": "x"});
        let wrong = profile(json!({"clusterRefs": [named], "setRefs": ["none"]})).unsure(&fleet).unwrap();
        assert_eq!(
            wrong,
            "spec.clusterRefs[0]: sveltos:n/x is not registered; register it, or correct the reference; nothing is withdrawn until \
             then; spec.setRefs[0]: ClusterSet none does not exist; create it, or correct the name; nothing is withdrawn until then"
        );
        assert_eq!(profile(json!({"clusterSelector": {"matchLabels": {"env": "fv"}}})).unsure(&fleet), None);
    }
}
