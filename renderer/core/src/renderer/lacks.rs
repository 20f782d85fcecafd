//! Destinations that get no row, and why.

use std::collections::BTreeSet;

use sluice_api::{ClusterRef, few};

/// Why a destination gets no row.
pub(super) enum Lack {
    /// Something is wrong.
    Wrong(String),
    /// It is not known what the cluster can do.
    Unknown,
}

/// What is said where it is not known what clusters can do.
pub(super) fn waiting(clusters: &BTreeSet<ClusterRef>) -> Option<String> {
    (!clusters.is_empty()).then(|| {
        format!(
            "charts wait until the agents of {} have said what these clusters can do; start the agents, or upgrade them",
            few(", ", clusters)
        )
    })
}
