//! How much of each cluster's sets is known: absence is a reason to remove only in a complete set.

use std::collections::HashMap;

use sluice_api::ClusterRef;
use sluice_protocol::interest::{Complete, Interest};

/// Interest rows and completeness rows of this shard's clusters.
pub(crate) struct Completeness {
    shards: u16,
    incarnation: u64,
    interests: HashMap<ClusterRef, Interest>,
    rows: HashMap<ClusterRef, HashMap<u16, u64>>,
}

impl Completeness {
    /// Nothing is known. `incarnation` is that of the `reports` stream.
    pub(crate) fn new(shards: u16, incarnation: u64) -> Self {
        Self { shards, incarnation, interests: HashMap::new(), rows: HashMap::new() }
    }

    /// Takes an interest row as it is in the bucket.
    pub(crate) fn set_interest(&mut self, cluster: &ClusterRef, row: Interest) {
        let older = self.interests.get(cluster).is_some_and(|known| known.revision > row.revision);
        if !older {
            self.interests.insert(cluster.clone(), row);
        }
    }

    /// The interest row of a cluster.
    pub(crate) fn interest(&self, cluster: &ClusterRef) -> Option<&Interest> {
        self.interests.get(cluster)
    }

    /// Every cluster with an interest row.
    pub(crate) fn clusters(&self) -> impl Iterator<Item = &ClusterRef> {
        self.interests.keys()
    }

    /// A matcher says that its shard of a cluster is complete; whether that is news of this incarnation.
    pub(crate) fn completed(&mut self, cluster: &ClusterRef, origin: u16, meta: &str) -> bool {
        let Ok(complete) = serde_json::from_str::<Complete>(meta) else { return false };
        if complete.incarnation != self.incarnation {
            return false;
        }
        let before = self.rows.entry(cluster.clone()).or_default().insert(origin, complete.revision);
        before != Some(complete.revision)
    }

    /// Whether every matcher has reported all matches of `source` as it is now.
    pub(crate) fn is_complete(&self, cluster: &ClusterRef, source: &str) -> bool {
        let Some(source) = self.interests.get(cluster).and_then(|row| row.source(source)) else {
            return false;
        };
        let Some(rows) = self.rows.get(cluster) else { return false };
        (0..self.shards).all(|shard| rows.get(&shard).is_some_and(|&revision| revision >= source.changed))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_protocol::interest::Source;

    use super::*;

    #[test]
    fn a_set_is_complete_when_all_matchers_say_so_for_its_present_form() {
        let cluster = ClusterRef::sveltos("a", "b");
        let row = |revision, changed| Interest {
            revision,
            sources: vec![Source { name: "s".into(), changed, manifest: json!({}) }],
        };
        let meta =
            |incarnation, revision| serde_json::to_string(&Complete { incarnation, revision }).unwrap();
        let mut known = Completeness::new(2, 7);
        assert!(known.completed(&cluster, 0, &meta(7, 5)) && !known.completed(&cluster, 1, &meta(8, 5)));
        known.set_interest(&cluster, row(5, 5));
        assert!(!known.is_complete(&cluster, "s"));
        assert!(known.completed(&cluster, 1, &meta(7, 5)) && known.is_complete(&cluster, "s"));
        known.set_interest(&cluster, row(6, 5));
        assert!(known.is_complete(&cluster, "s"), "another source changed");
        known.set_interest(&cluster, row(7, 7));
        assert!(!known.is_complete(&cluster, "s"));
        known.set_interest(&cluster, row(6, 5));
        assert!(!known.is_complete(&cluster, "s"), "an older row changes nothing");
    }
}
