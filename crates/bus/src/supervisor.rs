//! Which shards this replica works on: follows the membership, begins and ends shards.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use futures::FutureExt as _;
use sluice_protocol::Stop;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::membership::{Lease, Membership};

/// How often ownership is looked at: a fraction of a lease.
const PERIOD: Duration = Duration::from_millis(100);
/// How long a new replica listens before it takes shards, so that it knows the others.
const LISTEN: Duration = Duration::from_millis(500);
/// Pauses before a shard that ended begins again, doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(5);
/// A shard that has worked for so long is well: its next end is its first one.
const WELL: Duration = Duration::from_secs(30);

/// Counts the shards a replica works on, and how often they began again. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Tally {
    shards: Arc<AtomicUsize>,
    restarts: Arc<Mutex<BTreeMap<&'static str, u64>>>,
}

impl Tally {
    /// How many there are now.
    pub fn get(&self) -> usize {
        self.shards.load(Ordering::Relaxed)
    }

    /// How often shards began again since the process began, by reason.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        self.restarts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn restarted(&self, reason: Stop) {
        *self.restarts.lock().unwrap_or_else(PoisonError::into_inner).entry(reason.name()).or_default() += 1;
    }
}

/// Runs the shards that this replica owns. See the module's text.
pub struct Supervisor {
    membership: Membership,
    tally: Tally,
    /// With which everything that runs has begun.
    lease: Lease,
    running: BTreeMap<String, Running>,
    resting: BTreeMap<String, Resting>,
}

struct Running {
    task: JoinHandle<Option<Stop>>,
    began: Instant,
    /// How often in a row it had ended before.
    ends: u32,
}

/// A shard that begins again after a while.
struct Resting {
    until: Instant,
    ends: u32,
}

impl Supervisor {
    /// A supervisor that runs nothing yet.
    pub fn new(membership: Membership, tally: Tally) -> Self {
        let lease = membership.lease();
        Self { lease, membership, tally, running: BTreeMap::new(), resting: BTreeMap::new() }
    }

    /// Until `stop`: runs `work(key, lease)` again and again for every key of `keys()` that this replica owns. What it
    /// returns is why it ended; `None` when it never came to own the key.
    pub async fn run<F, W>(mut self, keys: impl Fn() -> Vec<String>, work: W, stop: CancellationToken)
    where
        W: Fn(String, Lease) -> F,
        F: Future<Output = Option<Stop>> + Send + 'static,
    {
        tokio::select! {
            () = tokio::time::sleep(LISTEN) => {}
            () = stop.cancelled() => return,
        }
        while !stop.is_cancelled() {
            let owned: BTreeSet<String> =
                keys().into_iter().filter(|key| self.membership.owns(key)).collect();
            self.end(&owned);
            self.begin(owned, &work);
            self.tally.shards.store(self.running.len(), Ordering::Relaxed);
            tokio::select! {
                () = tokio::time::sleep(PERIOD) => {}
                () = stop.cancelled() => {}
            }
        }
        for running in self.running.values() {
            running.task.abort();
        }
        self.membership.left().await;
    }

    /// Ends what is not owned any more, or under another lease; notes what has ended by itself.
    fn end(&mut self, owned: &BTreeSet<String>) {
        let lease = self.membership.lease();
        let same = self.lease.is(&lease);
        self.lease = lease;
        let Self { running, resting, tally, .. } = self;
        resting.retain(|key, _| owned.contains(key));
        running.retain(|key, running| {
            if !same || !owned.contains(key) {
                running.task.abort();
                if !same {
                    tally.restarted(Stop::Lease);
                }
                return false;
            }
            let Some(ended) = (&mut running.task).now_or_never() else { return true };
            let reason = ended.unwrap_or(Some(Stop::Failed));
            reason.iter().for_each(|reason| tally.restarted(*reason));
            let was_well = reason.is_none() || running.began.elapsed() > WELL;
            let ends = if was_well { 0 } else { running.ends };
            let until = Instant::now() + pause(ends, crate::bus::random());
            resting.insert(key.clone(), Resting { until, ends: ends + 1 });
            false
        });
    }

    fn begin<F, W>(&mut self, owned: BTreeSet<String>, work: &W)
    where
        W: Fn(String, Lease) -> F,
        F: Future<Output = Option<Stop>> + Send + 'static,
    {
        let now = Instant::now();
        for key in owned {
            if self.running.contains_key(&key) || self.resting.get(&key).is_some_and(|rest| now < rest.until)
            {
                continue;
            }
            let ends = self.resting.remove(&key).map_or(0, |rest| rest.ends);
            let task = tokio::spawn(work(key.clone(), self.lease.clone()));
            self.running.insert(key, Running { task, began: now, ends });
        }
    }
}

/// The pause after so many ends in a row, with a random part so that not all begin at once.
fn pause(ends: u32, random: u64) -> Duration {
    let whole = (FIRST_PAUSE * 2_u32.saturating_pow(ends.min(16))).min(LAST_PAUSE);
    let half = whole / 2;
    half + Duration::from_micros(random % u64::try_from(half.as_micros()).unwrap_or(1).max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_grow_to_a_limit_and_differ() {
        let longest = |ends| pause(ends, u64::MAX / 2);
        for ends in 0..20 {
            assert!(pause(ends, 0) >= FIRST_PAUSE / 2 && longest(ends) <= LAST_PAUSE);
        }
        assert!(pause(3, 0) >= FIRST_PAUSE * 4 && pause(16, 0) >= LAST_PAUSE / 2);
        assert_ne!(pause(4, 1), pause(4, 2));
    }
}
