//! Destinations that get no row, and why.

use std::collections::BTreeSet;

use sluice_api::ClusterRef;

/// So many places of one mistake are named.
pub(crate) const NAMED: usize = 5;

/// Why a destination gets no row.
pub(super) enum Lack {
    /// Something is wrong.
    Wrong(String),
    /// It is not known what the cluster can do.
    Unknown,
}

/// What is said where it is not known what clusters can do.
pub(super) fn waiting(clusters: &BTreeSet<ClusterRef>) -> Option<String> {
    let names: Vec<_> = clusters.iter().take(NAMED).map(ToString::to_string).collect();
    let more = clusters.len().saturating_sub(NAMED);
    let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
    (!names.is_empty()).then(|| {
        format!(
            "charts wait until the agents of {}{rest} have said what these clusters can do; start the agents, or upgrade them",
            names.join(", ")
        )
    })
}
