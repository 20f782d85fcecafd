//! A connection to a bus that is laid out as the pipeline needs it.

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use async_nats::jetstream::Context;
use sluice_protocol::{Incarnation, Role, Shard, Table};
use sluice_tasks::{Kept, Tasks};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, SemaphorePermit, watch};

use crate::buckets::contents::Contents;
use crate::connection::credentials::Credentials;
use crate::connection::health::ConnectionHealth;
use crate::connection::{Connection, jetstream};
use crate::error::BusError;
use crate::layout::consumers::Consumers;
use crate::layout::incarnations::{Follower, Incarnations};
use crate::layout::ledger::Ledger;
use crate::layout::{BusOptions, check_version, lay_out};
use crate::seal::Sealing;
use crate::shard::heads::HeadReader;

/// Parts of tables that are read to their end at the same time.
const READS_AT_ONCE: usize = 64;
/// Atomic batches of this process in one stream at the same time: the server allows 50 of all together.
const BATCHES_AT_ONCE: usize = 8;
// D-0317: large groups take turns, and patience begins with the turn.
/// Rows of this process in batches at the same time: some milliseconds of work for servers, or a second for slow ones. More would
/// only be answered later, and so late in the end that nobody waits for it any more.
const ROWS_AT_ONCE: u32 = 2048;
/// Pause before a bus is laid out once more.
const AGAIN: Duration = Duration::from_millis(500);

/// What readers, writers and buckets need of a bus: one connection, and the tables as they are now. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Bus {
    pub(crate) js: Context,
    pub(crate) shards: u16,
    pub(crate) tombstone_ttl: Duration,
    pub(crate) incarnations: watch::Receiver<Incarnations>,
    pub(crate) contents: Contents,
    pub(crate) health: ConnectionHealth,
    pub(crate) ledger: Ledger,
    pub(crate) consumers: Consumers,
    pub(crate) tasks: Tasks,
    pub(crate) sealing: Sealing,
    /// Different for every connection to a bus.
    pub(crate) session: u64,
    options: Arc<BusOptions>,
    pub(crate) head_reader: HeadReader,
    turns: Arc<Semaphore>,
    batches: Arc<Mutex<HashMap<String, Arc<Semaphore>>>>,
    batched_rows: Arc<Semaphore>,
    /// Streams of which it was noticed that they are replicated, before the server was asked.
    replicated: Arc<Mutex<HashSet<String>>>,
}

/// A batch may be sent until this is dropped.
#[derive(Debug)]
pub(crate) struct BatchTurn {
    _batch: OwnedSemaphorePermit,
    _rows: OwnedSemaphorePermit,
}

impl Bus {
    /// Connects, waits for the server where it is not there yet, and makes what is missing. What it does by itself is
    /// among the `tasks` of the process.
    ///
    /// # Errors
    /// When the server is too old, has no JetStream, or holds streams of another layout.
    pub async fn connect(options: &BusOptions, tasks: &Tasks) -> Result<Self, BusError> {
        let (health, ledger) = (ConnectionHealth::new(), Ledger::default());
        let client = options.connection.watched(&options.name, &health).await?;
        check_version(&client.server_info().version)?;
        let (echo, asked) = (health.clone(), client.clone());
        tasks.keep(Kept::Echo, move || echo.clone().follow(asked.clone()));
        let js = jetstream(client);
        let (layout, incarnations) = loop {
            match prepare(&js, options, &health, &ledger, tasks).await {
                Ok(prepared) => break prepared,
                Err(BusError::Unsuitable(reason)) => return Err(BusError::Unsuitable(reason)),
                Err(error) => {
                    tracing::info!(%error, "the bus cannot be laid out yet");
                    tokio::time::sleep(AGAIN).await;
                }
            }
        };
        let mut bus = Self {
            contents: Contents::new(js.clone(), layout.tombstone_ttl, incarnations.clone()),
            consumers: Consumers::start(js.clone(), tasks),
            tasks: tasks.clone(),
            js,
            shards: layout.shards,
            tombstone_ttl: layout.tombstone_ttl,
            incarnations,
            health,
            ledger,
            session: random(),
            options: Arc::new(options.clone()),
            head_reader: HeadReader::start(tasks),
            turns: Arc::new(Semaphore::new(READS_AT_ONCE)),
            batches: Arc::default(),
            batched_rows: Arc::new(Semaphore::new(ROWS_AT_ONCE as usize)),
            replicated: Arc::default(),
            sealing: Sealing::default(),
        };
        bus.sealing = Sealing::start(&bus, &layout).await?;
        Ok(bus)
    }

    /// Whether rows of tables are shown to who we are: with accounts, people have no right to them, and are not answered.
    pub fn shows_tables(&self) -> bool {
        let Connection { role, credentials, .. } = &self.options.connection;
        *role != Role::People || matches!(credentials, Credentials::None)
    }

    /// Who we are.
    pub(crate) fn role(&self) -> &Role {
        &self.options.connection.role
    }

    /// Whether who we are may be told the subjects of all rows. Who serves one cluster alone may not, and so cannot ask for a stream
    /// by its name.
    pub(crate) fn may_list_subjects(&self) -> bool {
        self.options.connection.role.only().is_none()
    }

    /// A connection to each server of the bus.
    pub(crate) fn to_each_server(&self) -> Vec<Connection> {
        self.options.connection.to_each()
    }

    /// Waits for the turn to read a part of a table to its end: thousands at once only take memory from each other.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }

    /// Waits for the turn to send an atomic batch of so many rows to a stream.
    pub(crate) async fn batch_turn(&self, stream: &str, rows: usize) -> Option<BatchTurn> {
        let turns = {
            let mut batches = self.batches.lock().unwrap_or_else(PoisonError::into_inner);
            let new = || Arc::new(Semaphore::new(BATCHES_AT_ONCE));
            batches.entry(stream.to_owned()).or_insert_with(new).clone()
        };
        let rows = u32::try_from(rows).unwrap_or(ROWS_AT_ONCE).min(ROWS_AT_ONCE);
        let batch = turns.acquire_owned().await.ok()?;
        Some(BatchTurn {
            _batch: batch,
            _rows: self.batched_rows.clone().acquire_many_owned(rows).await.ok()?,
        })
    }

    /// Whether a stream has more than one replica.
    pub(crate) fn is_replicated(&self, stream: &str) -> bool {
        self.incarnations.borrow().is_replicated(stream)
            || self.replicated.lock().unwrap_or_else(PoisonError::into_inner).contains(stream)
    }

    /// The server treats a stream as a replicated one.
    pub(crate) fn note_replicated(&self, stream: &str) {
        self.replicated.lock().unwrap_or_else(PoisonError::into_inner).insert(stream.to_owned());
    }

    /// Whether what Secrets hold is sealed on it.
    pub fn is_sealed(&self) -> bool {
        self.sealing.is_on()
    }

    /// Number of shards of each table.
    pub fn shards(&self) -> u16 {
        self.shards
    }

    /// How long tombstones live.
    pub fn tombstone_ttl(&self) -> Duration {
        self.tombstone_ttl
    }

    /// How many readers of this process the server keeps.
    pub fn consumers(&self) -> usize {
        self.consumers.count()
    }

    /// The present incarnation of a stream, 0 while it does not exist.
    pub fn incarnation(&self, stream: &str) -> Incarnation {
        self.incarnations.borrow().get(stream)
    }

    /// Whether a stream has lost rows that it had acknowledged, so that sequences are given again.
    pub(crate) fn has_lost(&self, stream: &str) -> bool {
        self.incarnations.borrow().has_lost(stream)
    }

    /// The present incarnations of all streams of a table.
    pub fn incarnations_of(&self, table: Table) -> Vec<Incarnation> {
        Shard::all(self.shards).map(|shard| self.incarnation(&table.stream(shard))).collect()
    }
}

/// A number that no other process has.
pub(crate) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}

async fn prepare(
    js: &Context,
    options: &BusOptions,
    health: &ConnectionHealth,
    ledger: &Ledger,
    tasks: &Tasks,
) -> Result<(BusOptions, watch::Receiver<Incarnations>), BusError> {
    let layout = lay_out(js, options).await?;
    let incarnations =
        Follower::start(js.clone(), layout.clone(), health.clone(), ledger.clone(), tasks).await?;
    Ok((layout, incarnations))
}
