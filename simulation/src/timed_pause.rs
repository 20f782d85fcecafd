//! A pause of a cluster that ends by itself: until then nothing is written there, and from then on all goes on, although nobody
//! writes anything into the management cluster.

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};

use crate::coverage::Fault;
use crate::management::{Addon, CLUSTERS};
use crate::schedule::Schedule;
use crate::world::STEP;

/// Of which cluster, since when, and until when.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TimedPause {
    cluster: usize,
    since: i64,
    until: i64,
    /// When all contents are edited: it has them after the pause.
    edited_at: i64,
    /// When deployers and renderers crash while it lasts, if they do.
    crash_at: Option<i64>,
}

impl TimedPause {
    /// That of a schedule, if it has one: it ends amid the faults, or after them. It draws by itself: other schedules are as they would
    /// be without it.
    pub(crate) fn of(seed: u64) -> Option<Self> {
        let mut random = SmallRng::seed_from_u64(!seed.rotate_left(24));
        random.random_bool(0.2).then(|| {
            let cluster = random.random_range(0..CLUSTERS.len());
            let since = random.random_range(300..1400);
            let until = since + random.random_range(700..1200);
            let edited_at = random.random_range(since + 1..until) * STEP;
            let crash_at = random.random_bool(0.5).then(|| random.random_range(since + 1..until) * STEP);
            Self { cluster, since: since * STEP, until: until * STEP, edited_at, crash_at }
        })
    }
}

/// It begins, lasts and ends, each when it is time.
pub(crate) fn pass(schedule: &mut Schedule) {
    let Schedule { world, replicas, .. } = schedule;
    let Some(TimedPause { cluster, since, until, edited_at, crash_at }) = world.timed_pause else { return };
    let (now, name) = (world.now, CLUSTERS[cluster]);
    if now == since && world.management.pause_until(cluster, until, now) {
        world.happened(Fault::PausedUntil, || format!("{name} until step {}", until / STEP));
    }
    if !world.management.is_paused_until(cluster, until) {
        return;
    }
    if now == edited_at {
        for addon in Addon::ALL {
            world.management.edit_content(addon, now);
            world.happened(Fault::ContentEdited, || addon.name().to_owned());
        }
        world.note_reasons();
    }
    if crash_at == Some(now) {
        let works_there = |name: &str| name.starts_with("deployer") || name.starts_with("renderer");
        for victim in replicas.iter_mut().filter(|replica| works_there(replica.name())) {
            victim.crash();
            world.happened(Fault::Crash, || victim.name().to_owned());
        }
    }
    if now == until {
        world.happened(Fault::WentOn, || name.to_owned());
    }
}
