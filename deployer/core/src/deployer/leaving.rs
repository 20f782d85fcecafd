//! What is left on clusters whose registrations wait for that.

// D-0515: a registration may ask for its add-ons to be withdrawn before it goes.

use std::collections::BTreeMap;

use sluice_api::ClusterRef;
use sluice_protocol::Step;

use super::Deployer;
use crate::departures::Left;
use crate::messages::Effect;

/// The clusters that leave, and what was told of each last.
#[derive(Debug, Default)]
pub(super) struct Leaving(BTreeMap<ClusterRef, Option<Left>>);

impl Deployer {
    /// A cluster leaves.
    pub(super) fn leaves(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        self.leaving.0.entry(cluster.clone()).or_default();
        self.tell_left(cluster, step);
    }

    /// It has left.
    pub(super) fn has_left(&mut self, cluster: &ClusterRef) {
        self.leaving.0.remove(cluster);
    }

    /// Says what is left on a cluster that leaves. Before all rows and inventories were read, nobody knows.
    pub(super) fn tell_left(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        if !self.leaving.0.contains_key(cluster) || !self.caught_up || !self.is_all_said() {
            return;
        }
        let Some(known) = self.clusters.get(cluster).filter(|known| known.is_open()) else { return };
        let there = known.jobs.iter().filter(|(_, job)| job.is_wanted() || job.inventory().is_some());
        let left = Some(there.map(|(profile, _)| profile.clone()).collect::<Left>());
        if let Some(told) = self.leaving.0.get_mut(cluster)
            && *told != left
        {
            step.effect(Effect::Left(cluster.clone(), left.clone().unwrap_or_default()));
            *told = left;
        }
    }
}
