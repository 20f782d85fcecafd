//! Which shards this replica works on: follows the membership, begins and ends shards.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::membership::{Lease, Membership};

/// How often ownership is looked at: a fraction of what a membership row lives.
const PERIOD: Duration = Duration::from_millis(100);
/// Pause before a shard that ended begins again.
const AGAIN: Duration = Duration::from_millis(100);
/// How long a new replica listens before it takes shards, so that it knows the others.
const LISTEN: Duration = Duration::from_millis(300);

/// Counts the shards a replica works on.
#[derive(Clone, Debug, Default)]
pub struct Tally(Arc<AtomicUsize>);

impl Tally {
    /// How many there are now.
    pub fn get(&self) -> usize {
        self.0.load(Ordering::Relaxed)
    }
}

/// Runs the shards that this replica owns. See the module's text.
pub struct Supervisor {
    membership: Membership,
    tally: Tally,
    /// With which everything that runs has begun.
    lease: Lease,
    running: BTreeMap<String, JoinHandle<()>>,
}

impl Supervisor {
    /// A supervisor that runs nothing yet.
    pub fn new(membership: Membership, tally: Tally) -> Self {
        Self { lease: membership.lease(), membership, tally, running: BTreeMap::new() }
    }

    /// Until `stop`: runs `work(key, lease)` again and again for every key of `keys()` that this replica owns.
    pub async fn run<F, W>(mut self, keys: impl Fn() -> Vec<String>, work: W, stop: CancellationToken)
    where
        W: Fn(String, Lease) -> F,
        F: Future<Output = ()> + Send + 'static,
    {
        tokio::select! {
            () = tokio::time::sleep(LISTEN) => {}
            () = stop.cancelled() => return,
        }
        while !stop.is_cancelled() {
            let lease = self.membership.lease();
            let same = self.lease.is(&lease);
            self.lease = lease.clone();
            let owned: BTreeSet<String> =
                keys().into_iter().filter(|key| self.membership.owns(key)).collect();
            self.running.retain(|key, task| {
                let keep = same && owned.contains(key) && !task.is_finished();
                if !keep {
                    task.abort();
                }
                keep
            });
            for key in owned {
                self.running.entry(key.clone()).or_insert_with(|| {
                    let shard = work(key, lease.clone());
                    tokio::spawn(async move {
                        shard.await;
                        tokio::time::sleep(AGAIN).await;
                    })
                });
            }
            self.tally.0.store(self.running.len(), Ordering::Relaxed);
            tokio::select! {
                () = tokio::time::sleep(PERIOD) => {}
                () = stop.cancelled() => {}
            }
        }
        for task in self.running.values() {
            task.abort();
        }
        self.membership.left().await;
    }
}
