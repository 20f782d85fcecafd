//! Rows that do not go out yet.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::{ClusterRef, ProfileId};
use sluice_protocol::Meta;

use crate::planning::rollouts::NewRow;
use crate::planning::row_ledger::Place;
use crate::rendering::row::DestinationRow;

/// What does not go out, and what the rows say that do.
#[derive(Default)]
pub(super) struct HeldBack {
    /// What is there stays.
    pub(super) places: Vec<Place>,
    /// Of clusters whose rows say more than their cause.
    pub(super) metas: BTreeMap<ClusterRef, Meta>,
}

// === impl HeldBack ===

impl HeldBack {
    /// Of these rows those go out, and what is for the management cluster; the others are taken out.
    pub(super) fn of(profile: &ProfileId, rows: &mut Vec<DestinationRow>, go: &[NewRow]) -> Self {
        let goes: BTreeSet<&ClusterRef> = go.iter().map(|((cluster, _), ..)| cluster).collect();
        let waits = |cluster: &ClusterRef| !cluster.is_management() && !goes.contains(cluster);
        let waiting = rows.iter().map(|(cluster, _)| cluster).filter(|cluster| waits(cluster));
        let places = waiting.map(|cluster| (cluster.clone(), profile.clone())).collect();
        rows.retain(|(cluster, _)| !waits(cluster));
        let staged = go.iter().filter_map(|((cluster, _), _, staged)| Some((cluster, staged.clone()?)));
        Self {
            places,
            metas: staged.map(|(cluster, staged)| (cluster.clone(), Meta::Staged(staged))).collect(),
        }
    }
}
