//! Which shards this replica works on: follows the membership, begins and ends shards.

use std::collections::{BTreeMap, BTreeSet};
use std::future::Future;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use sluice_protocol::Stop;
use sluice_tasks::{End, Group, Once, Rests, Tasks};
use tokio::sync::oneshot;

use crate::membership::{Lease, Membership};

/// How often ownership is looked at: a fraction of a lease.
const PERIOD: Duration = Duration::from_millis(100);
/// How long a new replica listens before it takes shards, so that it knows the others.
const LISTEN: Duration = Duration::from_millis(500);

/// Counts the shards a replica works on, and how often they restarted. Cheap to clone.
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

    /// How often shards restarted since the process began, by reason.
    pub fn restarts(&self) -> BTreeMap<&'static str, u64> {
        self.restarts.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn restarted(&self, reason: Stop) {
        *self.restarts.lock().unwrap_or_else(PoisonError::into_inner).entry(reason.name()).or_default() += 1;
    }
}

/// Runs the shards that this replica owns: begins one when the membership gives it, ends it when it is taken.
pub struct Supervisor {
    tasks: Tasks,
    membership: Membership,
    tally: Tally,
    running: BTreeMap<String, Running>,
    resting: BTreeMap<String, Resting>,
}

struct Running {
    /// Its task, which ends when this is dropped.
    _task: Group,
    /// With which it began.
    lease: Lease,
    /// Why it ended; closed without a reason when it panicked.
    ended: oneshot::Receiver<Option<Stop>>,
    began: Instant,
    rests: Rests,
}

/// A shard that restarts after a while.
struct Resting {
    until: Instant,
    rests: Rests,
}

impl Supervisor {
    /// A supervisor that runs nothing yet. Its shards are among the `tasks` of the process.
    pub fn new(tasks: &Tasks, membership: Membership, tally: Tally) -> Self {
        Self { tasks: tasks.clone(), membership, tally, running: BTreeMap::new(), resting: BTreeMap::new() }
    }

    /// Until the process is stopped: runs `work(key, lease)` again and again for every key of `keys()` that this replica
    /// owns. What it returns is why it ended; `None` when it never came to own the key.
    pub async fn run<F, W>(mut self, keys: impl Fn() -> Vec<String>, work: W)
    where
        W: Fn(String, Lease) -> F,
        F: Future<Output = Option<Stop>> + Send + 'static,
    {
        let stop = self.tasks.stop().clone();
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
        self.running.clear();
        self.membership.left().await;
    }

    /// Ends what is not owned any more, or under another lease; notes what has ended by itself.
    fn end(&mut self, owned: &BTreeSet<String>) {
        let Self { running, resting, tally, .. } = self;
        resting.retain(|key, _| owned.contains(key));
        running.retain(|key, running| {
            let lapsed = !running.lease.is_current();
            if lapsed || !owned.contains(key) {
                if lapsed && owned.contains(key) {
                    tally.restarted(Stop::Lease);
                }
                return false;
            }
            let reason = match running.ended.try_recv() {
                Ok(reason) => reason,
                Err(oneshot::error::TryRecvError::Empty) => return true,
                Err(oneshot::error::TryRecvError::Closed) => Some(Stop::Failed),
            };
            reason.iter().for_each(|reason| tally.restarted(*reason));
            let mut rests = if reason.is_none() { Rests::default() } else { running.rests };
            let until = Instant::now() + rests.after(running.began.elapsed());
            resting.insert(key.clone(), Resting { until, rests });
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
            let rests = self.resting.remove(&key).map(|rest| rest.rests).unwrap_or_default();
            let (tell, ended) = oneshot::channel();
            let lease = self.membership.lease(&key);
            let (task, work) = (self.tasks.group(&key), work(key.clone(), lease.clone()));
            task.spawn(Once::Shard, async move {
                if tell.send(work.await).is_err() {
                    tracing::trace!("the shard is not owned any more");
                }
                End::Done
            });
            self.running.insert(key, Running { _task: task, lease, ended, began: now, rests });
        }
    }
}
