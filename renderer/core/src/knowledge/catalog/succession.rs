//! Who takes over from a profile on a cluster.

// D-0928: a predecessor goes when its successors are there.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::prerequisites;
use sluice_api::{ClusterRef, ProfileId, object};

use super::Catalog;

impl Catalog {
    /// A profile is like this now, or gone: from whom it takes over. Of one that cannot be read otherwise, too.
    pub(super) fn note_transitions(&mut self, id: &ProfileId, object: &Value, gone: bool) {
        let names = object::at(object, &["spec", "transitionFrom"]);
        let from = prerequisites(id, names.filter(|_| !gone && !id.is_role_request()));
        self.moved.extend(self.transitions.change(id, &from));
    }

    /// Those that take over from a profile on this cluster, as far as they are for it. Of one that cannot be read, or of which it is not
    /// known where it goes, nobody can say that it is not: a mistake withdraws nothing.
    pub(crate) fn successors(&self, cluster: &ClusterRef, profile: &ProfileId) -> BTreeSet<ProfileId> {
        let mut all = self.transitions.successors(profile);
        all.retain(|successor| self.takes_over(successor, cluster));
        all
    }

    fn takes_over(&self, id: &ProfileId, cluster: &ClusterRef) -> bool {
        let clusters = self.fleet.clusters();
        if !cluster.is_management() && !clusters.contains_key(cluster) {
            return false;
        }
        let profile = match self.profiles.get(id).map(Arc::as_ref) {
            None => return false,
            Some(Err(_)) => return true,
            // It is left as it is, so that nobody can wait for it.
            Some(Ok(profile)) if profile.paused => return false,
            Some(Ok(profile)) => profile,
        };
        let is_for = match clusters.get(cluster) {
            Some(cluster) => self.is_for(profile, cluster),
            // What is for the management cluster goes there as soon as there is any other destination.
            None => clusters.values().any(|cluster| self.is_for(profile, cluster)),
        };
        let is_there = !cluster.is_management() || profile.common.is_partly_local();
        is_there && (is_for || self.unsure(profile).is_some())
    }
}
