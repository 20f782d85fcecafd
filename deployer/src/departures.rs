//! Registrations that are kept until the add-ons of their clusters are withdrawn: those of a shard, by the owner of the shard.
//!
//! ```text
//! registrations, what is left in clusters ─► Departures ─► what is due ─► finalizer put, or taken
//! ```

// D-0515: a registration may ask for its add-ons to be withdrawn before it goes.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use jiff::Timestamp;
use sluice_api::ClusterRef;
use sluice_bus::{Lease, now_micros};
use sluice_deployer_core::{Departing, Departures, Finalizing, Left, LetGo};
use sluice_protocol::subject::cluster_shard;
use sluice_protocol::{About, Fault, Problem, Shard};
use sluice_runtime::{Access, Reporter};
use sluice_tasks::End;
use tokio::sync::mpsc;

use crate::shard::{Outside, Shared};

mod finalizer;

/// Finalizers that are written at the same time.
const AT_ONCE: usize = 4;
/// A clock may be set: what is due later is looked at again after this time.
const LOOK_AGAIN: Duration = Duration::from_secs(30);
/// How long it is told what stays in a cluster that has gone, microseconds.
const TOLD_FOR: i64 = 3_600_000_000;

/// Whether a finalizer was put or taken, or why that could not be.
type Ended = (Finalizing, Result<bool, String>);

/// The clusters of a shard.
struct Keeper {
    shared: Shared,
    outside: Outside,
    shard: Shard,
    reporter: Reporter,
    departures: Departures,
    /// Of clusters that have gone it is told until then what stays there.
    told: BTreeMap<ClusterRef, i64>,
}

/// Puts and takes the finalizers of this shard's registrations, for as long as `lease` is held. `lefts` says what is left on clusters
/// that leave.
pub(crate) async fn follow(
    (shared, outside): (Shared, Outside),
    shard: Shard,
    mut lefts: mpsc::UnboundedReceiver<(ClusterRef, Left)>,
    lease: Lease,
    reporter: Reporter,
) -> End {
    let mut accesses = shared.feed.subscribe();
    let (departures, told) = (Departures::default(), BTreeMap::new());
    let mut keeper = Keeper { shared, outside, shard, reporter, departures, told };
    let (mut running, mut waiting) = (FuturesUnordered::new(), Vec::new());
    // What is left is told once, and may be told before the registration.
    let mut early = BTreeMap::new();
    loop {
        tokio::select! {
            access = accesses.recv() => match access {
                Some(access) => keeper.access(access, &mut early),
                None => return End::Early,
            },
            left = lefts.recv() => match left {
                Some((cluster, left)) => keeper.left(cluster, left, &mut early),
                None => return End::Done,
            },
            Some(ended) = running.next(), if !running.is_empty() => keeper.ended(ended),
            () = until(keeper.next()) => keeper.forget(),
        }
        waiting.extend(keeper.departures.take_due(now_micros()));
        while running.len() < AT_ONCE
            && let Some(one) = waiting.pop()
        {
            running.push(keeper.write(one, lease.clone()));
        }
    }
}

/// Waits until this time, or until it is to be looked at again; without one for ever.
async fn until(time: Option<i64>) {
    match time.map(|at| u64::try_from(at.saturating_sub(now_micros())).unwrap_or(0)) {
        Some(micros) => tokio::time::sleep(Duration::from_micros(micros).min(LOOK_AGAIN)).await,
        None => std::future::pending().await,
    }
}

// === impl Keeper ===

impl Keeper {
    fn next(&self) -> Option<i64> {
        self.departures.next().into_iter().chain(self.told.values().min().copied()).min()
    }

    fn access(&mut self, access: Access, early: &mut BTreeMap<ClusterRef, Left>) {
        let cluster = access.cluster;
        if cluster_shard(&cluster, self.shared.context.bus.shards()) != self.shard {
            return;
        }
        let on_delete = access.farewell.filter(|_| access.kubeconfig.is_some());
        let is_deleted = on_delete.as_ref().is_some_and(|said| said.deleted_at.is_some());
        let unreachable = access.kubeconfig.as_ref().and_then(|text| text.as_ref().err().cloned());
        let departing =
            on_delete.map(|on_delete| Departing { on_delete, unreachable, paused: access.paused });
        self.departures.set(&cluster, departing, now_micros());
        if access.kubeconfig.is_none() {
            early.remove(&cluster);
        }
        if self.departures.until(&cluster).is_some()
            && let Some(left) = early.remove(&cluster)
        {
            self.departures.left(&cluster, left);
        }
        match self.departures.until(&cluster) {
            Some(until) => self.tell(&cluster, Some(leaves(until))),
            // What stays in a cluster that has gone is told until there is one of its name again.
            None if self.told.contains_key(&cluster) && (access.kubeconfig.is_none() || is_deleted) => {}
            None => {
                self.told.remove(&cluster);
                self.tell(&cluster, None);
            }
        }
    }

    fn left(&mut self, cluster: ClusterRef, left: Left, early: &mut BTreeMap<ClusterRef, Left>) {
        match self.departures.until(&cluster) {
            Some(_) => self.departures.left(&cluster, left),
            None => drop(early.insert(cluster, left)),
        }
    }

    fn write(&self, one: Finalizing, lease: Lease) -> impl Future<Output = Ended> + use<> {
        let management = self.outside.management.client();
        async move {
            let ended = finalizer::write(&management, &one, || lease.is_held()).await;
            (one, ended)
        }
    }

    fn ended(&mut self, (one, ended): Ended) {
        let now = now_micros();
        self.departures.ended(&one.cluster, ended.is_ok(), now);
        match (ended, one.why) {
            (Err(error), _) => self.tell(&one.cluster, Some(Fault::new(error))),
            (Ok(true), Some(LetGo::Stays(text))) => {
                tracing::warn!(cluster = %one.cluster, "a cluster was let go before all was withdrawn from it");
                self.told.insert(one.cluster.clone(), now.saturating_add(TOLD_FOR));
                self.tell(&one.cluster, Some(Fault::new(text)));
            }
            // What was wrong with it is so no more; the registration says the rest before long.
            (Ok(_), _) if self.told.contains_key(&one.cluster) => {}
            (Ok(_), _) => self.tell(&one.cluster, None),
        }
    }

    /// What was told for long enough is told no longer.
    fn forget(&mut self) {
        let now = now_micros();
        for (cluster, _) in self.told.extract_if(.., |_, until| *until <= now).collect::<Vec<_>>() {
            self.tell(&cluster, None);
        }
    }

    fn tell(&self, cluster: &ClusterRef, fault: Option<Fault>) {
        self.reporter.problem(match fault {
            Some(fault) => Problem::open("deployer", cluster, About::Registration, fault),
            None => Problem::resolved("deployer", cluster, About::Registration),
        });
    }
}

/// That a registration is kept, and until when.
fn leaves(until: i64) -> Fault {
    let until = Timestamp::from_second(until.div_euclid(1_000_000)).unwrap_or_default();
    Fault::note(format!(
        "is deregistered once its add-ons are withdrawn, or at {until} at the latest; take the annotation \
         sluice.dev/withdraw-on-delete off, and it goes at once"
    ))
}
