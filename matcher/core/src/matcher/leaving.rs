//! A cluster that is no longer registered: what was reported of it goes, and then what was known of it.
//!
//! Two things are told, in any order: the interest row says that the cluster is gone, and its agent has taken away what it had in
//! this shard. After both, nothing more comes, and the cluster can be forgotten: its interest row goes as well.

// D-0505: when a cluster leaves, each owner takes back its own rows, in one order.

use sluice_api::ClusterRef;
use sluice_protocol::interest::Interest;
use sluice_protocol::{Body, Publish, Step};

use super::ahead::ON_ITS_WAY;
use super::{Effect, Matcher};

impl Matcher {
    /// The agent has taken its completeness row of this shard away, after everything else that it had there.
    pub(super) fn agent_left(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        self.announced.remove(cluster);
        let live = self.clusters.entry(cluster.clone()).or_default();
        (live.left, live.complete) = (true, None);
        self.leave(cluster, step);
    }

    /// Takes back what was said of a cluster that is gone, and forgets it once its agent has left.
    pub(super) fn leave(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let Some(live) = self.clusters.get(cluster).filter(|_| self.started) else { return };
        let (left, gone) = (live.left, live.gone);
        // The agent took the interest row away last, while nobody was here.
        let has_gone = left && live.revision.is_none() && self.caught_up;
        if !gone && !has_gone {
            return;
        }
        step.part_with(cluster);
        for (object, source) in self.reported.of_cluster(cluster, |_, _| true) {
            self.withdraw(cluster, &object, &source, 0, step);
        }
        // Whether or not this owner knows of one: where there is none, none is published.
        step.publish(Publish::new(self.completeness(cluster), Body::Tombstone, 0).after_all().parting());
        if left {
            self.remember(cluster, step.now);
            self.clusters.remove(cluster);
            self.reported.forget(cluster);
        } else if let Some(live) = self.clusters.get_mut(cluster) {
            // A newer row that has not come is missed all the same: the cluster may be registered again.
            live.told = None;
        }
    }

    /// The interest row that its agent has left for may still be on its way, also where a former one has said that the cluster is gone:
    /// it is not missed when it goes.
    fn remember(&mut self, cluster: &ClusterRef, now: i64) {
        self.departed.retain(|_, until| *until >= now);
        self.departed.insert(cluster.clone(), now + ON_ITS_WAY);
    }

    /// An interest row came: the agent may have left for it a moment ago.
    pub(super) fn recall(&mut self, cluster: &ClusterRef, row: &Interest, now: i64) {
        if self.departed.remove(cluster).is_some_and(|until| until >= now) && row.gone {
            self.clusters.entry(cluster.clone()).or_default().left = true;
        }
    }
}
