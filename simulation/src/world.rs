//! Everything outside the replicas.

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use sluice_api::ClusterRef;

use crate::api_server::ApiServer;
use crate::checks::History;
use crate::management::Management;
use crate::store::Store;

/// One step of the schedule, microseconds.
pub(crate) const STEP: i64 = 10_000;

/// How long tombstones live in the simulation: short, so that they expire unread.
pub(crate) const TOMBSTONE_TTL: i64 = 150 * STEP;

/// See the module's text. Time is in microseconds.
pub(crate) struct World {
    pub(crate) random: SmallRng,
    pub(crate) now: i64,
    pub(crate) store: Store,
    pub(crate) management: Management,
    pub(crate) clusters: BTreeMap<String, ApiServer>,
    pub(crate) history: History,
    /// Who should own each role; replicas learn of it later.
    pub(crate) owners: BTreeMap<String, usize>,
    /// Whether every step is told on standard error.
    pub(crate) trace: bool,
    /// The first thing that must not have happened.
    pub(crate) violation: Option<String>,
}

impl World {
    /// Tells what happens, when asked to.
    pub(crate) fn tell(&self, what: impl FnOnce() -> String) {
        if self.trace {
            eprintln!("{:>6} {}", self.now / STEP, what());
        }
    }
}

/// The identity of a simulated cluster.
pub(crate) fn cluster_ref(name: &str) -> ClusterRef {
    ClusterRef::sveltos("default", name)
}
