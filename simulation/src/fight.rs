//! Somebody else changes what the user's profile has deployed on a cluster as often as it is put right. That is done five times; then it
//! rests for a minute, which is told with the name of who changes it. Long after that one has stopped it is right.

use std::collections::BTreeMap;

use rand::rngs::SmallRng;
use rand::{Rng as _, SeedableRng as _};
use serde_json::Value;
use sluice_api::{ObjectKey, object};
use sluice_renderer_core::Change;

use crate::api_server::Written;
use crate::api_server::others::CONTENDER;
use crate::checks::LATE;
use crate::coverage::Fault;
use crate::management::{Addon, CLUSTERS};
use crate::world::{STEP, World};

/// Who changes it stops long after the faults: it rests by then, and that is told.
const UNTIL: i64 = 3_400 * STEP;
/// It rests for a minute, and no more than once here. So long after that it is right.
const END: i64 = UNTIL + 60_000_000 + LATE;
/// A deployer puts it right so often within a minute.
const MOST: u32 = 5;
/// How it is told that it rests.
const TOLD: &str = "it is left alone for 1 min";

/// On which cluster, since when, and how it goes.
#[derive(Debug)]
pub(crate) struct Fight {
    cluster: &'static str,
    since: i64,
    /// How often each deployer, in each of its lives, has put it right.
    righted: BTreeMap<(usize, usize, u64), u32>,
    /// Since when it is not right.
    wrong_since: Option<i64>,
    /// When something last happened because of which a deployer may count anew: the profile, or the cluster, was another one.
    disturbed_at: i64,
    /// As far as that is known of the management cluster, and of the way to the cluster.
    seen: (usize, u64),
}

impl Fight {
    /// That of a schedule, if it has one. It draws by itself: other schedules are as they would be without it.
    pub(crate) fn of(seed: u64) -> Option<Self> {
        let mut random = SmallRng::seed_from_u64(!seed.rotate_left(56));
        random.random_bool(0.15).then(|| Self {
            cluster: CLUSTERS[random.random_range(0..CLUSTERS.len())],
            since: random.random_range(100..2_500) * STEP,
            righted: BTreeMap::new(),
            wrong_since: None,
            disturbed_at: 0,
            seen: (0, 0),
        })
    }

    /// When the schedule ends.
    pub(crate) fn end() -> i64 {
        END
    }
}

impl World {
    /// Whether the fight is on this cluster, and has begun: whoever else changes something there now would be named in the place of the
    /// other one.
    pub(crate) fn is_fought_over(&self, cluster: &str) -> bool {
        self.fight.as_ref().is_some_and(|fight| fight.cluster == cluster && fight.since <= self.now)
    }

    /// The other one changes it, or stops, when it is time.
    pub(crate) fn pass_fight(&mut self) {
        let Some(mut fight) = self.fight.take() else { return };
        self.note_disturbance(&mut fight);
        let (now, name) = (self.now, fight.cluster);
        if (fight.since..UNTIL).contains(&now)
            && self.random.random_bool(0.1)
            && let Some(key) = self.clusters.get_mut(name).and_then(|server| server.contend())
        {
            self.happened(Fault::Contended, || format!("{name} {key}"));
        }
        let is_wrong = self.clusters.get(name).is_some_and(|server| server.is_contended());
        fight.wrong_since = fight.wrong_since.filter(|_| is_wrong).or(is_wrong.then_some(now));
        let rests = fight.wrong_since.is_some_and(|since| now - since > LATE) && !self.may_wait_for_circle();
        if now == UNTIL && rests && self.is_served(name) {
            let names_both = |error: &str| error.contains(TOLD) && error.contains(CONTENDER);
            if self.says(name, Addon::Own.name(), names_both) {
                self.happened(Fault::LeftAlone, || name.to_owned());
            } else {
                let violation =
                    format!("{name}: own is changed by somebody else for long, and nobody says so");
                self.violation.get_or_insert(violation);
            }
        }
        self.fight = Some(fight);
    }

    /// What each deployer has counted is forgotten as long as it may count anew.
    fn note_disturbance(&self, fight: &mut Fight) {
        let (management, now) = (&self.management, self.now);
        let changed = management.log[fight.seen.0..].iter().any(|(_, change)| match change {
            Change::Upsert(object) | Change::Delete(object) => object::text(object, &["kind"]) != "ConfigMap",
            Change::Listed(..) => false,
        });
        let way = self.clusters.get(fight.cluster).map_or(0, |server| server.way);
        let seen = (management.log.len(), way);
        if changed || fight.seen.1 != way || self.history.is_excused() || management.rival {
            fight.disturbed_at = now;
        }
        fight.seen = seen;
        if now - fight.disturbed_at.max(self.history.wiped_at) < LATE {
            fight.righted.clear();
        }
    }

    /// A deployer was told that it has written this: whether it has put it right too often.
    pub(crate) fn note_righted(&mut self, cluster: &str, who: (usize, usize, u64), written: &Written) {
        let Some(fight) = self.fight.as_mut().filter(|fight| fight.cluster == cluster) else { return };
        let Written { key, old: Some(old), new: Some(new) } = written else { return };
        if !is_put_right(key, old, new) {
            return;
        }
        let times = fight.righted.entry(who).or_default();
        *times += 1;
        // When the other one has stopped it is put right after its rest.
        if *times > MOST && self.now < UNTIL {
            let violation = format!("{cluster}: {key} is put right {times} times within a minute");
            self.violation.get_or_insert(violation);
        }
        self.happened(Fault::PutRight, || cluster.to_owned());
    }
}

/// Whether nothing but what the other one has changed is changed: also when the profile has another tier an object is written.
fn is_put_right(key: &ObjectKey, old: &Value, new: &Value) -> bool {
    let mut data = old["data"].clone();
    let was_wrong = data.as_object_mut().and_then(|data| data.remove("theirs")).is_some();
    let annotations = |object: &Value| object["metadata"]["annotations"].clone();
    key.name == Addon::Own.name() && was_wrong && data == new["data"] && annotations(old) == annotations(new)
}
