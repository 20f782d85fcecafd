//! What goes wrong on purpose, per cluster and at run time, from a seeded generator.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{Rng, SeedableRng};
use serde::{Deserialize, Serialize};
use tokio::sync::Notify;

use crate::cluster::Cluster;

/// Knobs that stay as they are set. In HTTP bodies all are optional; a missing one keeps its value.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct FaultSettings {
    /// Every answer waits at least so long.
    pub latency_ms: u64,
    /// And up to so much longer.
    pub jitter_ms: u64,
    /// Probability of an answer 429.
    pub reject_429: f64,
    /// `Retry-After` of the answers 429.
    pub retry_after_seconds: u64,
    /// Probability of an answer `error_code`.
    pub error_rate: f64,
    /// The code of injected errors, 500 to 599.
    pub error_code: u16,
    /// Connections are closed without an answer, watches are cut.
    pub unreachable: bool,
    /// The token of the cluster is no longer accepted.
    pub expire_token: bool,
    /// So many writes are carried out. The answer of the last of them, and all that come later, wait until this is another number,
    /// or none: then nothing waits.
    pub writes_left: Option<u64>,
}

/// The fate of one request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fate {
    /// It is served, after the latency.
    Serve,
    /// Its connection is closed.
    Drop,
    /// It is answered 401.
    Unauthorized,
    /// It is answered 429 with this `Retry-After`.
    TooMany(u64),
    /// It is answered with this code.
    Fail(u16),
}

/// The fault knobs of one cluster and the generator that draws from them.
#[derive(Debug)]
pub struct FaultState {
    drawn: Mutex<(FaultSettings, SmallRng)>,
    /// The knobs were set.
    set: Notify,
}

/// A handle on the faults of one cluster; cheap to clone.
#[derive(Debug, Clone)]
pub struct Faults(Arc<Cluster>);

impl Default for FaultSettings {
    fn default() -> Self {
        Self {
            latency_ms: 0,
            jitter_ms: 0,
            reject_429: 0.0,
            retry_after_seconds: 1,
            error_rate: 0.0,
            error_code: 500,
            unreachable: false,
            expire_token: false,
            writes_left: None,
        }
    }
}

// === impl FaultState ===

impl FaultState {
    /// No faults; the generator is seeded by the name of the cluster.
    pub fn new(cluster: &str) -> Self {
        let seed = cluster.bytes().fold(7_u64, |seed, byte| seed.wrapping_mul(31) ^ u64::from(byte));
        let drawn = Mutex::new((FaultSettings::default(), SmallRng::seed_from_u64(seed)));
        Self { drawn, set: Notify::new() }
    }

    fn lock(&self) -> MutexGuard<'_, (FaultSettings, SmallRng)> {
        self.drawn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    // D-1308: whoever waits for the answer of the n-th write is killed.
    /// Waits until one more write may be carried out.
    pub async fn begin_write(&self) {
        self.when(|settings| match &mut settings.writes_left {
            Some(0) => false,
            Some(left) => {
                *left -= 1;
                true
            }
            None => true,
        })
        .await;
    }

    /// Waits until a write that was carried out may be answered.
    pub async fn end_write(&self) {
        self.when(|settings| settings.writes_left != Some(0)).await;
    }

    /// Waits until this is so, and looks again whenever the knobs are set.
    async fn when(&self, mut is_so: impl FnMut(&mut FaultSettings) -> bool) {
        loop {
            // Before the look, so that nothing is missed in between.
            let set = self.set.notified();
            if is_so(&mut self.lock().0) {
                return;
            }
            set.await;
        }
    }

    /// Draws how long a request waits and what becomes of it.
    pub fn draw(&self) -> (Duration, Fate) {
        let mut state = self.lock();
        let (settings, rng) = &mut *state;
        let jitter = if settings.jitter_ms == 0 { 0 } else { rng.random_range(0..=settings.jitter_ms) };
        let delay = Duration::from_millis(settings.latency_ms.saturating_add(jitter));
        let mut happens =
            |probability: f64| probability > 0.0 && rng.random_bool(probability.clamp(0.0, 1.0));
        let fate = if settings.unreachable {
            Fate::Drop
        } else if settings.expire_token {
            Fate::Unauthorized
        } else if happens(settings.reject_429) {
            Fate::TooMany(settings.retry_after_seconds)
        } else if happens(settings.error_rate) {
            Fate::Fail(settings.error_code)
        } else {
            Fate::Serve
        };
        (delay, fate)
    }
}

// === impl Faults ===

impl Faults {
    /// The faults of a cluster.
    pub fn of(cluster: Arc<Cluster>) -> Self {
        Self(cluster)
    }

    /// The knobs as they are.
    pub fn settings(&self) -> FaultSettings {
        self.0.faults().lock().0.clone()
    }

    /// Sets all knobs.
    pub fn set(&self, settings: FaultSettings) {
        let cut = settings.unreachable;
        self.0.faults().lock().0 = settings;
        self.0.faults().set.notify_waiters();
        if cut {
            self.cut_watches();
        }
    }

    /// Changes some knobs.
    pub fn change(&self, change: impl FnOnce(&mut FaultSettings)) {
        let mut settings = self.settings();
        change(&mut settings);
        self.set(settings);
    }

    /// Starts the generator anew.
    pub fn seed(&self, seed: u64) {
        self.0.faults().lock().1 = SmallRng::seed_from_u64(seed);
    }

    /// Every answer waits for `latency`.
    pub fn latency(&self, latency: Duration) {
        self.change(|settings| settings.latency_ms = u64::try_from(latency.as_millis()).unwrap_or(u64::MAX));
    }

    /// Answers 429 with this probability, telling clients to retry after `retry_after`.
    pub fn reject_429(&self, probability: f64, retry_after: Duration) {
        self.change(|settings| {
            settings.reject_429 = probability;
            settings.retry_after_seconds = retry_after.as_secs();
        });
    }

    /// Answers `code` with this probability.
    pub fn error_rate(&self, probability: f64, code: u16) {
        self.change(|settings| {
            settings.error_rate = probability;
            settings.error_code = code;
        });
    }

    /// Closes connections without an answer, and cuts the watches, until unset.
    pub fn unreachable(&self, unreachable: bool) {
        self.change(|settings| settings.unreachable = unreachable);
    }

    /// Answers 401 until unset.
    pub fn expire_token(&self, expired: bool) {
        self.change(|settings| settings.expire_token = expired);
    }

    /// Carries so many writes out, and lets the answer of the last and all further ones wait; `None` lets all go on.
    pub fn writes_left(&self, left: Option<u64>) {
        self.change(|settings| settings.writes_left = left);
    }

    /// Ends all watches that run now.
    pub fn cut_watches(&self) {
        self.0.cut_watches();
    }

    /// Makes all watches that run now, or come back from before now, end with 410.
    pub fn expire_watches(&self) {
        self.0.expire_watches();
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Poll;

    use super::*;

    fn faults() -> Faults {
        Faults::of(Arc::new(Cluster::new("a", "t")))
    }

    #[test]
    fn no_knob_set_means_no_fault() {
        assert_eq!(faults().0.faults().draw(), (Duration::ZERO, Fate::Serve));
    }

    #[test]
    fn the_same_seed_draws_the_same() {
        let draw = || {
            let faults = faults();
            faults.seed(3);
            faults.error_rate(0.5, 503);
            (0..64).map(|_| faults.0.faults().draw().1).collect::<Vec<_>>()
        };
        assert_eq!(draw(), draw());
        assert!(draw().contains(&Fate::Fail(503)) && draw().contains(&Fate::Serve));
    }

    #[tokio::test]
    async fn the_answer_of_the_last_write_and_all_further_writes_wait() {
        let faults = faults();
        let state = faults.0.faults();
        faults.writes_left(Some(2));
        state.begin_write().await;
        assert_eq!(futures::poll!(pin!(state.end_write())), Poll::Ready(()));
        state.begin_write().await;
        assert_eq!(faults.settings().writes_left, Some(0));
        let (mut answer, mut next) = (pin!(state.end_write()), pin!(state.begin_write()));
        assert_eq!(futures::poll!(answer.as_mut()), Poll::Pending);
        assert_eq!(futures::poll!(next.as_mut()), Poll::Pending);
        faults.writes_left(None);
        assert_eq!(futures::poll!(answer), Poll::Ready(()));
        assert_eq!(futures::poll!(next), Poll::Ready(()));
    }

    #[test]
    fn knobs_are_independent() {
        let faults = faults();
        faults.reject_429(1.0, Duration::from_secs(2));
        faults.latency(Duration::from_millis(5));
        assert_eq!(faults.0.faults().draw(), (Duration::from_millis(5), Fate::TooMany(2)));
        faults.unreachable(true);
        assert_eq!(faults.0.faults().draw().1, Fate::Drop);
        faults.unreachable(false);
        faults.expire_token(true);
        assert_eq!(faults.0.faults().draw().1, Fate::Unauthorized);
    }
}
