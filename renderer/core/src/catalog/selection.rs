//! Which clusters cluster sets select, and references to clusters and sets that are not there.
//!
//! A reference to what is not there is a mistake, and a mistake withdraws nothing: as long as there is one, it is not known whom it
//! selects besides. Who is selected without it is selected all the same.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::model::{Cluster, ClusterSet, ClusterSetId};
use sluice_api::{ClusterRef, few};

use super::Catalog;

/// What each cluster set selects.
pub(crate) type Selections = BTreeMap<ClusterSetId, Selection>;

/// What is said behind a reference to what is not there.
pub(crate) const NOTHING_WITHDRAWN: &str = "nothing is withdrawn until then";

/// What a cluster set selects.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Selection {
    clusters: BTreeSet<ClusterRef>,
    /// Why it is not known whether it selects others too.
    unsure: Option<String>,
}

impl Catalog {
    /// What the cluster sets select now.
    pub(crate) fn selections(&self) -> &Arc<Selections> {
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
            Arc::new(self.sets.iter().map(|(id, held)| (id.clone(), select(&held.set))).collect())
        })
    }

    /// Whether one of these sets selects the cluster.
    pub(crate) fn is_in(&self, sets: &[ClusterSetId], cluster: &Cluster) -> bool {
        let selections = self.selections();
        sets.iter()
            .filter_map(|id| selections.get(id))
            .any(|selection| selection.clusters.contains(&cluster.id))
    }

    /// Which of these sets do not exist, cannot be read, or name clusters that are not registered; `field` is the list of them.
    pub(crate) fn unsure(&self, sets: &[ClusterSetId], field: &str) -> Option<String> {
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
    pub(crate) fn missing(&self, clusters: &[ClusterRef], field: &str) -> Option<String> {
        let missing = clusters.iter().enumerate().filter(|(_, id)| !self.clusters.contains_key(id));
        named(missing.map(|(at, id)| not_registered(&format!("{field}[{at}]"), id)))
    }
}

/// What is said of a reference to a cluster that is not registered.
pub(crate) fn not_registered(field: &str, id: &ClusterRef) -> String {
    format!("{field}: {id} is not registered; register it, or correct the reference; {NOTHING_WITHDRAWN}")
}

fn named(wrong: impl Iterator<Item = String>) -> Option<String> {
    Some(few("; ", wrong)).filter(|text| !text.is_empty())
}
