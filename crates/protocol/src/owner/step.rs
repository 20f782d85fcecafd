//! What a core makes of one input.

use sluice_api::{ClusterRef, Digest, DigestKey};

use crate::row::Publish;
use crate::subject::Subject;

/// What time it is, microseconds.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// Since 1970. It follows a clock that is set forward.
    pub wall: i64,
    // D-1007: how long to wait is told by a clock that nobody sets.
    /// Of a clock that nobody sets: for how long to wait where less would not be safe.
    pub steady: i64,
}

/// What follows from one input.
#[derive(Debug)]
pub struct Step<E> {
    /// Now, microseconds since 1970.
    pub now: i64,
    /// Now by the clock that nobody sets, see [`Now::steady`].
    pub steady: i64,
    pub(super) publishes: Vec<Publish>,
    pub(super) parted: Vec<ClusterRef>,
    pub(super) left: Vec<Subject>,
    effects: Vec<E>,
    pub(super) after_all: Vec<E>,
    /// How often it wants to hear that everything is stored.
    pub(super) hears: usize,
    wake: Option<i64>,
    /// What digests of secret rows are made with.
    key: Option<DigestKey>,
}

impl From<i64> for Now {
    /// Both clocks say the same.
    fn from(now: i64) -> Self {
        Self { wall: now, steady: now }
    }
}

impl<E> Step<E> {
    /// An empty step at `now`.
    pub fn at(now: impl Into<Now>) -> Self {
        let Now { wall, steady } = now.into();
        Self {
            now: wall,
            steady,
            publishes: Vec::new(),
            parted: Vec::new(),
            left: Vec::new(),
            effects: Vec::new(),
            after_all: Vec::new(),
            hears: 0,
            wake: None,
            key: None,
        }
    }

    /// With what digests of secret rows are made.
    pub(super) fn with_key(mut self, key: Option<&DigestKey>) -> Self {
        self.key = key.cloned();
        self
    }

    /// The digest that this row will have in the table.
    pub fn digest(&self, row: &Publish) -> Digest {
        row.head_by(self.key.as_ref()).digest
    }

    /// This row should exist.
    pub fn publish(&mut self, row: Publish) {
        self.publishes.push(row);
    }

    /// The cluster has gone for good: rows of it that a former owner made from newer knowledge than this one has go too, before
    /// anything of this step. What the core wanted in their place was left to wait, and the core need not know of it any more.
    pub fn part_with(&mut self, cluster: &ClusterRef) {
        self.parted.push(cluster.clone());
    }

    /// Nobody can tell what this row should be, which stays as the table has it: what was wanted of it before the end of the input had
    /// been seen does not count, since a row that was replaced long ago may have led to it.
    pub fn leave(&mut self, subject: Subject) {
        self.left.push(subject);
    }

    /// This should be done.
    pub fn effect(&mut self, effect: E) {
        self.effects.push(effect);
    }

    /// This should be done once the server has everything that was published before, and in this step.
    pub fn effect_after_all(&mut self, effect: E) {
        self.after_all.push(effect);
    }

    /// The core wants to hear when the server has everything that was published before, and in this step: once for each time that it
    /// says so.
    pub fn hear_when_stored(&mut self) {
        self.hears += 1;
    }

    /// How often it wants to hear that.
    pub fn hears(&self) -> usize {
        self.hears
    }

    /// The core wants a tick at `time`; the earliest asked for wins.
    pub fn wake_at(&mut self, time: i64) {
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }

    /// The same at a time of the clock that nobody sets. The tick may come before it.
    pub fn wake_at_steady(&mut self, time: i64) {
        self.wake_at(self.now.saturating_add(time.saturating_sub(self.steady)));
    }

    /// Takes it apart: rows, effects, wake-up time. What waits for the rows is among the effects.
    pub fn into_parts(mut self) -> (Vec<Publish>, Vec<E>, Option<i64>) {
        self.effects.append(&mut self.after_all);
        (self.publishes, self.effects, self.wake)
    }
}
