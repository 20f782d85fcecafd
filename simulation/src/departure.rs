//! A cluster that is deregistered and does not come again: what it holds stays as it is, and nothing is said of it in the end.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use sluice_protocol::Table;

use crate::management::CLUSTERS;
use crate::world::{STEP, World, cluster_ref};

/// Which cluster, and when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Departure {
    pub(crate) cluster: usize,
    pub(crate) at: i64,
}

impl Departure {
    /// That of a schedule, if it has one: amid the faults, or when they end. It draws by itself: other schedules are as they would
    /// be without it.
    pub(crate) fn of(seed: u64, faults_until: i64) -> Option<Self> {
        let mut random = SmallRng::seed_from_u64(seed.rotate_left(32));
        random.random_bool(0.25).then(|| {
            let cluster = random.random_range(0..CLUSTERS.len());
            let amid = random.random_range(faults_until / 2..faults_until) * STEP;
            Self { cluster, at: if random.random_bool(0.7) { amid } else { faults_until * STEP } }
        })
    }
}

/// No row is of a cluster that has departed, nor is there an interest row of it. Where the bus lost the tombstone of an agent that
/// has left, the row that is there again has nobody to take it away; no EventSource is left that would look at it.
///
/// # Errors
/// What is left.
pub(crate) fn compare(world: &World) -> Result<(), String> {
    let Some(name) = world.departed() else { return Ok(()) };
    let gone = cluster_ref(name);
    if let Some(row) = world.store.present_interest(&gone) {
        return Err(format!("{name} has departed, and its interest row {} is there", row.revision));
    }
    for (table, shard) in world.store.keys() {
        for (_, stored) in world.store.stream(table, shard).rows() {
            let subject = &stored.value.subject;
            let is_back =
                table == Table::Changes && world.store.is_older((table, shard), &subject.to_string());
            if subject.cluster() == Some(&gone) && !stored.value.head.tombstone && !is_back {
                return Err(format!("{name} has departed, and {subject} is there"));
            }
        }
    }
    Ok(())
}
