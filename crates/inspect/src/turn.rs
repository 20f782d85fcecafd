//! Whose turn in a rollout has not come.

// D-0932: whose turn has not come is told by the renderer.

use sluice_api::ClusterRef;
use sluice_protocol::ProblemRow;

/// What goes to few clusters at a time, where the turn of this one has not come.
pub(crate) fn not_come<'p>(
    problems: &'p [ProblemRow],
    cluster: &ClusterRef,
) -> impl Iterator<Item = &'p ProblemRow> {
    problems.iter().filter(|problem| problem.waiting.contains(cluster))
}
