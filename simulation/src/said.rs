//! What deployers say of a profile on a cluster, and whether they have had the time to.

use sluice_protocol::rows::Status;
use sluice_protocol::{Shard, Subject, Table};

use crate::checks::LATE;
use crate::world::{World, cluster_ref};

impl World {
    /// Whether everybody has known a cluster, and worked on it, for long.
    pub(crate) fn is_served(&self, name: &str) -> bool {
        let long_ago = self.now - LATE;
        let is_known = self.management.registered_since(name).is_some_and(|since| since <= long_ago);
        let is_left_alone = self.management.paused_since(name, long_ago).is_some();
        is_known && !is_left_alone && !self.is_unreached(name) && !self.is_refusing(name)
    }

    /// Whether a status row of a profile of no namespace on a cluster has such an error.
    pub(crate) fn says(&self, name: &str, of: &str, is_it: impl Fn(&str) -> bool) -> bool {
        let of_cluster = cluster_ref(name);
        let is_about = |subject: &Subject| {
            matches!(subject, Subject::Status { cluster, profile, .. }
                if *cluster == of_cluster && profile.namespace.is_empty() && profile.name == of)
        };
        let rows = self.store.stream(Table::Status, Shard::FIRST).rows().map(|(_, stored)| &stored.value);
        let said = rows.filter(|row| !row.head.tombstone && is_about(&row.subject));
        let mut said = said.filter_map(|row| serde_json::from_slice::<Status>(&row.body).ok());
        said.any(|status| status.errors.iter().any(|error| is_it(error)))
    }
}
