//! Which life of each stream this is: a stream that was deleted and made again holds nothing of before, and one that has
//! lost rows which it had acknowledged is not what its readers and writers take it for.
//!
//! The server is asked once in a while, and at once when it says that something has changed. Missing streams are made
//! again. A stream of which acknowledged rows are missing gets another *epoch*, a row in the bucket `sluice`, and
//! everybody takes it for another stream from then on.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::jetstream::stream::Info;
use futures::{FutureExt as _, StreamExt as _};
use sluice_protocol::{Epoch, Incarnation, Role, Sequence};
use sluice_tasks::{End, Once, Tasks};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::connection::health::ConnectionHealth;
use crate::error::BusError;
use crate::layout::audit::{self, Teller};
use crate::layout::ledger::Ledger;
use crate::layout::losses;
use crate::layout::streams::Streams;
use crate::layout::{BusOptions, CONFIG, lay_out};

// D-1408: no polling in the path of an event.
/// How often the server is asked.
const PERIOD: Duration = Duration::from_secs(2);
/// Changes within this time are one.
const TOGETHER: Duration = Duration::from_millis(100);
// D-0308: a missing or shorter stream is believed after six seconds.
/// For so long a stream must be missing, or shorter than it was, before that is believed: a server that comes back may say so for a
/// moment, and says at the same time that much has changed, so that it is asked often.
const BELIEVE: Duration = Duration::from_secs(6);

/// What is known of each stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Incarnations(BTreeMap<String, Known>);

/// What is known of one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Known {
    /// When it was made, nanoseconds since 1970.
    created: u64,
    epoch: Epoch,
    replicas: usize,
    leader: String,
}

impl Incarnations {
    // D-0114: every stream has an incarnation.
    /// The incarnation of a stream, none while it does not exist.
    pub(crate) fn get(&self, stream: &str) -> Incarnation {
        self.0.get(stream).map_or(Incarnation::NONE, |known| Incarnation::of(known.created, known.epoch))
    }

    /// Whether it has lost rows that it had acknowledged.
    pub(crate) fn has_lost(&self, stream: &str) -> bool {
        self.0.get(stream).is_some_and(|known| known.epoch > Epoch::FIRST)
    }

    /// Whether it has more than one replica.
    pub(crate) fn is_replicated(&self, stream: &str) -> bool {
        self.0.get(stream).is_some_and(|known| known.replicas > 1)
    }
}

/// Follows the streams of a bus.
pub(crate) struct Follower {
    pub(crate) js: async_nats::jetstream::Context,
    pub(crate) layout: BusOptions,
    pub(crate) health: ConnectionHealth,
    pub(crate) ledger: Ledger,
    tasks: Tasks,
    sender: watch::Sender<Incarnations>,
    /// Number of the newest row of the bucket with the epochs, when they were read.
    epochs_at: Option<Sequence>,
    epochs: BTreeMap<String, Epoch>,
    /// The highest last sequence that was seen of each stream, and whether it is lower.
    highest: BTreeMap<String, (Sequence, Doubt)>,
    /// Whether streams are missing.
    missing: Doubt,
}

/// What was seen at every look since then, and may be true.
#[derive(Debug, Default)]
struct Doubt {
    since: Option<Instant>,
    believed: bool,
}

impl Doubt {
    /// It is seen now, or not any more; whether it is believed from now on.
    fn see(&mut self, seen: bool, now: Instant) -> bool {
        if !seen {
            *self = Self::default();
            return false;
        }
        let since = *self.since.get_or_insert(now);
        now - since >= BELIEVE && !std::mem::replace(&mut self.believed, true)
    }
}

impl Follower {
    /// Asks once, then goes on by itself.
    ///
    /// # Errors
    /// When the server does not answer the first time.
    pub(crate) async fn start(
        js: async_nats::jetstream::Context,
        layout: BusOptions,
        health: ConnectionHealth,
        ledger: Ledger,
        tasks: &Tasks,
    ) -> Result<watch::Receiver<Incarnations>, BusError> {
        let (sender, receiver) = watch::channel(Incarnations::default());
        let mut follower = Self {
            js,
            layout,
            health,
            ledger,
            tasks: tasks.clone(),
            sender,
            epochs_at: None,
            epochs: BTreeMap::new(),
            highest: BTreeMap::new(),
            missing: Doubt::default(),
        };
        follower.look().await?;
        tasks.spawn(Once::Incarnations, follower.run());
        Ok(receiver)
    }

    /// Until nobody wants to know.
    async fn run(mut self) -> End {
        let mut connection = self.health.watch();
        let mut news = self.js.client().subscribe("$JS.EVENT.ADVISORY.STREAM.>").await.ok();
        while !self.sender.is_closed() {
            let reconnected = tokio::select! {
                () = tokio::time::sleep(PERIOD) => false,
                () = next(&mut news) => false,
                () = connection.lost() => true,
            };
            tokio::time::sleep(TOGETHER).await;
            // One look answers them all.
            while news.as_mut().is_some_and(|news| news.next().now_or_never().flatten().is_some()) {}
            if reconnected {
                self.audit_all();
            }
            if let Err(error) = self.look().await {
                tracing::debug!(%error, "the streams are not known now");
            }
        }
        End::Done
    }

    /// Looks at all streams, once.
    async fn look(&mut self) -> Result<(), BusError> {
        let streams = Streams::ask(&self.js).await?;
        if let Some(info) = streams.found.get(&format!("KV_{CONFIG}")) {
            // Somebody may have changed it: what is made again is as the rest.
            self.layout.replicas = info.config.num_replicas;
        }
        self.make_missing(&streams).await;
        self.read_epochs(&streams).await;
        let before = self.sender.borrow().clone();
        let mut now = before.clone();
        now.0.retain(|name, _| streams.has(name) || !self.missing.believed);
        for (name, info) in &streams.found {
            let known = self.known(name, info);
            let former = before.0.get(name);
            if former.is_some_and(|former| (former.created, former.epoch) != (known.created, known.epoch)) {
                self.ledger.forget(name);
                self.highest.remove(name);
            } else if former.is_some_and(|former| former.leader != known.leader) {
                self.audit(name, known.epoch);
            }
            self.compare(name, Sequence::new(info.state.last_sequence), known.epoch);
            now.0.insert(name.clone(), known);
        }
        self.sender.send_if_modified(|known| std::mem::replace(known, now.clone()) != now);
        Ok(())
    }

    fn known(&self, name: &str, info: &Info) -> Known {
        let leader = info.cluster.as_ref().and_then(|cluster| cluster.leader.clone());
        Known {
            created: u64::try_from(info.created.unix_timestamp_nanos()).unwrap_or(0),
            epoch: self.epochs.get(name).copied().unwrap_or_default(),
            replicas: info.config.num_replicas,
            leader: leader.unwrap_or_default(),
        }
    }

    async fn make_missing(&mut self, streams: &Streams) {
        let missing = self.layout.stream_names().into_iter().any(|name| !streams.has(&name));
        self.missing.see(missing, Instant::now());
        if !missing {
            return;
        }
        tracing::warn!("streams are missing; making them again");
        if let Err(error) = lay_out(&self.js, &self.layout).await {
            tracing::warn!(%error, "streams cannot be made");
        }
    }

    /// A stream that is shorter than it was has lost rows.
    fn compare(&mut self, name: &str, last: Sequence, epoch: Epoch) {
        let (highest, lower) = self.highest.entry(name.to_owned()).or_default();
        let is_lower = last < *highest;
        *highest = last.max(*highest);
        if !lower.see(is_lower, Instant::now()) {
            return;
        }
        tracing::warn!(
            stream = name,
            was = highest.get(),
            is = last.get(),
            "the stream is shorter than it was"
        );
        // Who writes to it says so; others may not have the right to.
        if !self.ledger.entries(name).is_empty() {
            self.tasks
                .spawn(Once::Audit, audit::tell(self.js.clone(), name.to_owned(), epoch, self.teller()));
        }
    }

    async fn read_epochs(&mut self, streams: &Streams) {
        let Some(bucket) = streams.found.get(&format!("KV_{CONFIG}")) else { return };
        let newest = Sequence::new(bucket.state.last_sequence);
        if self.epochs_at == Some(newest) {
            return;
        }
        match self.believed_epochs(&streams.names).await {
            // What is to be believed later is looked at again.
            Ok((epochs, true)) => self.epochs = epochs,
            Ok((epochs, false)) => (self.epochs, self.epochs_at) = (epochs, Some(newest)),
            Err(error) => tracing::debug!(%error, "the epochs of streams cannot be read"),
        }
    }

    /// The epochs of the streams, and whether some will be raised later. A renderer decides about what agents say.
    async fn believed_epochs(&self, streams: &[String]) -> Result<(BTreeMap<String, Epoch>, bool), BusError> {
        let later = self.layout.connection.role == Role::Renderer && losses::believe(&self.js).await?;
        Ok((audit::read_epochs(&self.js, streams).await?, later))
    }

    fn teller(&self) -> Teller {
        Teller::of(&self.layout.connection.role)
    }

    fn audit_all(&self) {
        let known = self.sender.borrow();
        known.0.iter().for_each(|(name, known)| self.audit(name, known.epoch));
    }

    fn audit(&self, name: &str, epoch: Epoch) {
        let entries = self.ledger.entries(name);
        if !entries.is_empty() {
            self.tasks.spawn(
                Once::Audit,
                audit::audit(self.js.clone(), name.to_owned(), entries, epoch, self.teller()),
            );
        }
    }
}

/// The next thing that the server says by itself; never, when it says nothing.
async fn next(news: &mut Option<async_nats::Subscriber>) {
    if let Some(news) = news
        && news.next().await.is_some()
    {
        return;
    }
    std::future::pending().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_says_for_a_moment_is_not_believed_however_often_it_is_asked() {
        let (mut doubt, begin) = (Doubt::default(), Instant::now());
        let after = |millis| begin + Duration::from_millis(millis);
        assert!(!(0..50).any(|look| doubt.see(true, after(look * 100))));
        assert!(!doubt.see(false, after(5_000)) && !doubt.see(true, after(7_000)));
        let believed = [8_000, 12_999, 13_000, 15_000].map(|at| doubt.see(true, after(at)));
        assert_eq!((believed, doubt.believed), ([false, false, true, false], true), "it is said once");
    }

    #[test]
    fn a_stream_is_another_one_when_it_was_made_anew_or_has_lost_rows() {
        let of = |created: u64, epoch: u64, replicas: usize| {
            let known = Known { created, epoch: Epoch::new(epoch), replicas, leader: String::new() };
            Incarnations([("S".to_owned(), known)].into())
        };
        let (first, shortened, made_anew) = (of(1_700, 0, 1), of(1_700, 1, 1), of(9_000, 0, 3));
        let lives = [&first, &shortened, &made_anew].map(|life| life.get("S"));
        assert!(lives.is_sorted() && lives[0] != lives[1] && lives[1] != lives[2], "{lives:?}");
        assert!(!first.has_lost("S") && shortened.has_lost("S"));
        assert!(!first.is_replicated("S") && made_anew.is_replicated("S"));
        assert_eq!(
            (first.get("T"), first.has_lost("T"), first.is_replicated("T")),
            (Incarnation::NONE, false, false)
        );
    }
}
