//! What somebody else changes is put right, where the profile wants that.

// D-1056: drift is that our entry in managedFields is not what our last apply has left.

use std::collections::{BTreeMap, BTreeSet};
use std::num::NonZeroU64;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::DriftExclusion;
use sluice_api::{ObjectKey, object};
use sluice_protocol::rows::Desired;

use super::replies::Fault;
use super::{Ended, Job, JobContext};
use crate::drift::{Sight, Writer};
use crate::drift_event::Drifted;
use crate::order::Lane;
use crate::prepare::Prepared;
use crate::request::Live;

/// The mode in which drift is put right.
const MODE: &str = "ContinuousWithDriftDetection";
/// Annotation of an object that others may change as they like.
const IGNORE: &str = "projectsveltos.io/driftDetectionIgnore";
/// What is put right so often within a minute is somebody else's as well.
const MOST: usize = 5;
const MINUTE: i64 = 60_000_000;
/// Minutes for which an object rests at most.
const LONGEST: i64 = 10;

/// What is known of the fields that are ours.
#[derive(Debug, Default)]
pub(super) struct Drift {
    is_on: bool,
    /// What tells the fields that our last apply has left; nothing where the server has not said it.
    fields: BTreeMap<Arc<ObjectKey>, Option<NonZeroU64>>,
    /// What somebody else has changed, and who.
    drifted: BTreeMap<ObjectKey, Option<Writer>>,
    fights: BTreeMap<ObjectKey, Fight>,
    /// What was shown and could not be compared, the newest of each object; nothing where it has gone, with its uid.
    later: BTreeMap<ObjectKey, Shown>,
    /// Objects that were put right, or are left alone, since this was asked last.
    told: Vec<(ObjectKey, Drifted)>,
    exclusions: Vec<DriftExclusion>,
    /// Objects that say that drift is none of them.
    ignored: BTreeSet<ObjectKey>,
}

/// What a watch shows of one object.
#[derive(Debug)]
pub(crate) enum Shown {
    There(Box<Sight>),
    Gone(String),
}

/// An object that is put right again and again.
#[derive(Debug, Default)]
struct Fight {
    /// When it was put right, within a minute.
    times: Vec<i64>,
    /// How often it has rested.
    rests: i64,
    until: i64,
}

// === impl Drift ===

impl Drift {
    /// Whether an object is to be applied although it says that it has the content that is wanted.
    fn needs(&self, key: &ObjectKey, now: i64) -> bool {
        self.is_on
            && !self.rests(key, now)
            && (self.drifted.contains_key(key) || !self.fields.contains_key(key))
    }

    fn rests(&self, key: &ObjectKey, now: i64) -> bool {
        self.fights.get(key).is_some_and(|fight| fight.until > now)
    }

    /// Somebody else has changed an object.
    fn note(&mut self, key: &ObjectKey, by: Option<Writer>, now: i64) {
        if let Some(fight) = self.fights.get_mut(key)
            && fight.goes_on(now)
        {
            let why = left_alone(key, by.as_ref(), fight.rests);
            self.told.push((key.clone(), Drifted::LeftAlone(why)));
        }
        self.drifted.insert(key.clone(), by);
    }

    /// It was put right.
    fn right(&mut self, key: &ObjectKey, now: i64) {
        if let Some(by) = self.drifted.remove(key) {
            let by = by.as_ref().map(Writer::text);
            self.told.push((key.clone(), Drifted::Righted { by }));
            self.fights.entry(key.clone()).or_default().times.push(now);
        }
    }
}

// === impl Fight ===

impl Fight {
    /// It was changed again: whether that is too often, so that it rests from now on.
    fn goes_on(&mut self, now: i64) -> bool {
        self.times.retain(|at| now - at < MINUTE);
        if now - self.until > LONGEST * MINUTE {
            self.rests = 0;
        }
        let is_too_often = self.times.len() >= MOST;
        if is_too_often {
            self.rests = (self.rests + 1).min(LONGEST);
            self.until = now + self.rests * MINUTE;
            self.times.clear();
        }
        is_too_often
    }
}

impl Job {
    /// A run begins: whether drift is put right, and what is known of that.
    pub(super) fn line_up_drift(&mut self, desired: Option<&Desired>) {
        let mode = desired.and_then(|desired| desired.spec.get("syncMode")).and_then(Value::as_str);
        let is_on = mode == Some(MODE) && desired.is_some_and(|desired| !desired.dry_run);
        if let Some(desired) = desired {
            self.drift.exclusions = DriftExclusion::all(&desired.spec).unwrap_or_default();
        }
        if !is_on {
            let exclusions = std::mem::take(&mut self.drift.exclusions);
            self.drift = Drift { exclusions, ..Drift::default() };
            return;
        }
        if !std::mem::replace(&mut self.drift.is_on, true)
            && let Some(held) = self.inventory()
        {
            let known = held.objects.iter().zip(&held.fields);
            let known = known.filter(|(_, fields)| fields.is_some());
            self.drift.fields = known.map(|(key, fields)| (key.clone(), *fields)).collect();
        }
    }

    /// What the inventory says of these objects.
    pub(super) fn fields_of<'k>(
        &self,
        objects: impl Iterator<Item = &'k Arc<ObjectKey>>,
    ) -> Vec<Option<NonZeroU64>> {
        if !self.drift.is_on {
            return Vec::new();
        }
        objects.map(|key| self.drift.fields.get(key).copied().flatten()).collect()
    }

    /// Whether the objects of its inventory are to be watched.
    pub(crate) fn watches_drift(&self) -> bool {
        self.drift.is_on
    }

    /// Fields of an object that are left to who owns them, where the object exists.
    pub(super) fn excluded_of(&self, one: &Prepared) -> Vec<String> {
        // Of charts they are left alone in every mode.
        if !self.drift.is_on && one.turn.lane != Lane::Charts {
            return Vec::new();
        }
        self.all_excluded_of(one)
    }

    /// The same in a dry run: in every mode.
    pub(super) fn all_excluded_of(&self, one: &Prepared) -> Vec<String> {
        let all = self.drift.exclusions.iter().filter(|exclusion| exclusion.is_for(&one.object));
        all.flat_map(|exclusion| exclusion.paths.iter().cloned()).collect()
    }

    /// Whether somebody else has changed an object so that it must be applied. One that is changed again and again is left alone for
    /// a while, and told.
    pub(super) fn has_drifted(&mut self, key: &ObjectKey, context: &JobContext<'_>) -> bool {
        if !self.drift.is_on {
            return false;
        }
        let Some(one) = self.run.objects.get(key) else { return false };
        if object::annotation(&one.object, IGNORE).is_some() {
            self.drift.ignored.insert(key.clone());
            return false;
        }
        self.drift.ignored.remove(key);
        if let Some(fight) = self.drift.fights.get(key).filter(|fight| fight.until > context.now) {
            let by = self.drift.drifted.get(key).and_then(Option::as_ref);
            let text = left_alone(key, by, fight.rests);
            let until = fight.until;
            self.run.errors.insert(key.to_string(), Fault::of_fight(text));
            self.wake_at(until);
        }
        self.drift.needs(key, context.now)
    }

    /// Whether an object that somebody else deletes again and again is left alone for a while.
    pub(super) fn is_left_alone(&self, key: &ObjectKey, context: &JobContext<'_>) -> bool {
        self.drift.rests(key, context.now) && !context.live.contains_key(key)
    }

    /// An object was applied: this is what our fields are.
    pub(super) fn note_fields(&mut self, key: &ObjectKey, live: &Live, now: i64) {
        if self.drift.is_on {
            self.drift.fields.insert(self.shared(key), live.fields);
            self.drift.right(key, now);
        }
    }

    /// Objects that were put right, or are left alone, since this was asked last.
    pub(crate) fn take_drifted(&mut self) -> Vec<(ObjectKey, Drifted)> {
        std::mem::take(&mut self.drift.told)
    }

    /// What was shown and could not be compared.
    pub(crate) fn take_later(&mut self) -> BTreeMap<ObjectKey, Shown> {
        if self.is_at_work() { BTreeMap::new() } else { std::mem::take(&mut self.drift.later) }
    }

    /// A watch shows one of its objects, or has shown it while it could not be compared.
    pub(crate) fn sees(&mut self, key: ObjectKey, shown: Shown, context: &mut JobContext<'_>) -> Ended {
        let has = self.inventory().is_some_and(|held| held.objects.contains(&key));
        if !self.drift.is_on || !has {
            return Ended::NotYet;
        }
        let Some(known) = context.live.get(&key).filter(|_| !self.is_at_work()) else {
            // It is compared when the object is known, and nothing is done to it.
            self.drift.later.insert(key, shown);
            return Ended::NotYet;
        };
        let is_ignored = self.drift.ignored.contains(&key);
        let by = match shown {
            Shown::Gone(uid) if uid != known.uid => return Ended::NotYet,
            Shown::Gone(_) => {
                context.live.remove(&key);
                if is_ignored {
                    return Ended::NotYet;
                }
                None
            }
            Shown::There(sight) => {
                let Sight { live, by, .. } = *sight;
                if live.uid == known.uid && is_older(&live, known) {
                    return Ended::NotYet;
                }
                // What the server has not said when it was applied is said here.
                let ours = self.drift.fields.get_mut(&key).and_then(|ours| {
                    *ours = ours.or(live.fields);
                    *ours
                });
                let is_same = live.uid == known.uid
                    && live.fields.is_some()
                    && live.fields == ours
                    && (&live.hash, &live.owner, live.going) == (&known.hash, &known.owner, known.going);
                // Later calls are made against what is there now.
                let unserved = known.unserved.clone();
                context.live.update(&key, Live { fields: None, unserved, ..live });
                if is_same || is_ignored {
                    return Ended::NotYet;
                }
                by
            }
        };
        self.drift.note(&key, by, context.now);
        self.begin(context)
    }
}

/// Why an object rests, as it is told.
fn left_alone(key: &ObjectKey, by: Option<&Writer>, minutes: i64) -> String {
    let by = by.map_or_else(|| "somebody else".to_owned(), Writer::text);
    format!(
        "{key} was put right {MOST} times within a minute, and changed again by {by}: it is left alone for {minutes} min; let \
         one of the two have these fields, by spec.driftExclusions"
    )
}

/// Whether it was seen at an earlier version than the one that is known.
fn is_older(seen: &Live, known: &Live) -> bool {
    let version = |live: &Live| live.resource_version.parse::<u64>().ok();
    version(seen).zip(version(known)).is_some_and(|(seen, known)| seen < known)
}
