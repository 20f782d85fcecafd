//! A cluster that deployers reach no more, from some time on for ever: nobody hears what becomes of what it should have.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::coverage::Fault;
use crate::management::CLUSTERS;
use crate::world::{STEP, World};

/// Which cluster, and since when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Unreached {
    cluster: &'static str,
    since: i64,
}

impl Unreached {
    /// That of a schedule, if it has one: from the beginning, or amid the faults. It draws by itself: other schedules are as they would
    /// be without it.
    pub(crate) fn of(seed: u64, faults_until: i64) -> Option<Self> {
        let mut random = SmallRng::seed_from_u64(seed.rotate_left(16));
        random.random_bool(0.15).then(|| {
            let cluster = CLUSTERS[random.random_range(0..CLUSTERS.len())];
            let amid = random.random_range(1..faults_until) * STEP;
            Self { cluster, since: if random.random_bool(0.5) { STEP } else { amid } }
        })
    }
}

impl World {
    /// Deployers lose a cluster for ever, when it is time.
    pub(crate) fn lose_way(&mut self) {
        if let Some(Unreached { cluster, .. }) = self.unreached.filter(|one| one.since == self.now) {
            self.happened(Fault::Unreached, || cluster.to_owned());
        }
    }

    /// Whether deployers do not reach this cluster.
    pub(crate) fn is_unreached(&self, name: &str) -> bool {
        self.unreached.is_some_and(|one| one.cluster == name && one.since <= self.now)
    }

    /// Whether a server answers its deployer.
    pub(crate) fn answers(&self, name: &str) -> bool {
        let is_there = self.clusters.get(name).is_some_and(|server| server.away_until <= self.now);
        is_there && !self.is_unreached(name)
    }
}
