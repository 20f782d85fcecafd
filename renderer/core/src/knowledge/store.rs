//! Everything that one renderer knows.

use sluice_protocol::Incarnation;

use crate::knowledge::catalog::Catalog;
use crate::knowledge::choices::Choices;
use crate::knowledge::completeness::Completeness;
use crate::knowledge::sets::Sets;

/// Everything that one renderer knows.
pub(crate) struct Knowledge {
    /// The management cluster.
    pub(crate) catalog: Catalog,
    /// What matches which EventSource, by cluster.
    pub(crate) sets: Sets,
    /// What scripts have chosen of it.
    pub(crate) choices: Choices,
    /// How much of it is known.
    pub(crate) completeness: Completeness,
    /// The time at which a cause is looked at, microseconds since 1970.
    pub(crate) now: i64,
}

// === impl Knowledge ===

impl Knowledge {
    /// Nothing is known. `incarnation` is that of the `reports` stream.
    pub(crate) fn new(shards: u16, incarnation: Incarnation) -> Self {
        Self {
            catalog: Catalog::default(),
            sets: Sets::default(),
            choices: Choices::default(),
            completeness: Completeness::new(shards, incarnation),
            now: 0,
        }
    }
}
