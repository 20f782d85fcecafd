//! The user's profile and the one that it depends on need each other for a while. Nothing of either is withdrawn because of that, it is
//! told, and when the one does not need the other any more all is as it should be.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::coverage::Fault;
use crate::fight::Fight;
use crate::management::{Addon, CLUSTERS};
use crate::manifests::BASE;
use crate::schedule::STEPS;
use crate::world::{STEP, World};

/// When it is opened that lasts until after the faults: it has been told by then.
const LAST: i64 = 2_700;
/// What it has kept waiting is tried again after ten seconds, and after ten more what has waited for that: the schedule ends later.
const LATER: i64 = 1_000;
/// How it is told.
const TOLD: &str = "is a circle, of which none can be the first";

/// Since when, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Circle {
    since: i64,
    until: i64,
    /// Whether everybody has had the time to see it when it is opened.
    is_told: bool,
}

impl Circle {
    /// That of a schedule, if it has one: it is opened amid the faults, or after them. It draws by itself: other schedules are as they
    /// would be without it.
    pub(crate) fn of(seed: u64, faults_until: i64) -> Option<Self> {
        let mut random = SmallRng::seed_from_u64(!seed.rotate_left(40));
        random.random_bool(0.2).then(|| {
            let since = random.random_range(1..faults_until - 1);
            let amid = random.random_range(since + 1..faults_until);
            let is_told = random.random_bool(0.6);
            Self { since: since * STEP, until: if is_told { LAST } else { amid } * STEP, is_told }
        })
    }
}

impl World {
    /// When the schedule ends.
    pub(crate) fn end(&self) -> i64 {
        let later = if self.circle.is_some() { LATER } else { 0 };
        self.fight.as_ref().map_or((STEPS + later) * STEP, |_| Fight::end())
    }

    /// They begin to need each other, or do not any more, when it is time.
    pub(crate) fn pass_circle(&mut self) {
        let Some(Circle { since, until, is_told }) = self.circle else { return };
        if self.now == since {
            self.management.set_circle(true, self.now);
            self.happened(Fault::Circle, String::new);
        }
        if self.now == until {
            for name in CLUSTERS {
                if is_told && self.has_circle(name) {
                    self.check_told(name);
                }
            }
            self.management.set_circle(false, self.now);
            self.happened(Fault::CircleOpened, String::new);
        }
    }

    /// Whether something may still wait because there was a circle.
    pub(crate) fn may_wait_for_circle(&self) -> bool {
        self.circle.is_some_and(|circle| self.now < circle.until + 2 * LATER * STEP)
    }

    fn check_told(&mut self, name: &str) {
        if self.tells_circle(name) {
            return self.happened(Fault::CircleTold, || name.to_owned());
        }
        let violation = format!("{name}: nobody says that two profiles depend on each other");
        self.violation.get_or_insert(violation);
    }

    /// Whether both are for a cluster, and its deployer has had the time to say so.
    fn has_circle(&self, name: &str) -> bool {
        let management = &self.management;
        management.has_profile() && management.profile_selects(name) && self.is_served(name)
    }

    /// Whether a status row of the user's profile on a cluster, or of the one that it depends on, says so.
    fn tells_circle(&self, name: &str) -> bool {
        [Addon::Own.name(), BASE].iter().any(|profile| self.says(name, profile, |error| error.contains(TOLD)))
    }
}
