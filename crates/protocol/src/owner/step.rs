//! What a core makes of one input.

use crate::row::Publish;

/// What follows from one input.
#[derive(Debug)]
pub struct Step<E> {
    /// Now, microseconds since 1970.
    pub now: i64,
    pub(super) publishes: Vec<Publish>,
    effects: Vec<E>,
    wake: Option<i64>,
}

impl<E> Step<E> {
    /// An empty step at `now`.
    pub fn at(now: i64) -> Self {
        Self { now, publishes: Vec::new(), effects: Vec::new(), wake: None }
    }

    /// This row should exist.
    pub fn publish(&mut self, row: Publish) {
        self.publishes.push(row);
    }

    /// This should be done.
    pub fn effect(&mut self, effect: E) {
        self.effects.push(effect);
    }

    /// The core wants a tick at `time`; the earliest asked for wins.
    pub fn wake_at(&mut self, time: i64) {
        self.wake = Some(self.wake.map_or(time, |wake| wake.min(time)));
    }

    /// Takes it apart: rows, effects, wake-up time.
    pub fn into_parts(self) -> (Vec<Publish>, Vec<E>, Option<i64>) {
        (self.publishes, self.effects, self.wake)
    }
}
