//! Connecting, and making every stream and bucket as the pipeline needs them.

use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use sluice_protocol::Table;
use tokio::sync::{Semaphore, SemaphorePermit, watch};

use crate::clock::now_micros;
use crate::connection::{Connection, jetstream};
use crate::contents::Contents;
use crate::error::BusError;
use crate::incarnations::{self, Incarnations};
use crate::pulse::Pulse;

/// The oldest server with everything that is used: per-message time to live came with 2.11, the last of its
/// repairs with 2.12.
const OLDEST_SERVER: (u64, u64) = (2, 12);
/// Parts of tables that are read to their end at the same time.
const READS_AT_ONCE: usize = 64;
/// The small tables, as KV buckets; each is a stream `KV_<bucket>`.
pub(crate) const BUCKETS: [&str; 5] = [CONFIG, MEMBERS, INTEREST, PROBLEMS, CONTENT];
pub(crate) const CONFIG: &str = "sluice";
pub(crate) const MEMBERS: &str = "members";
pub(crate) const INTEREST: &str = "interest";
pub(crate) const PROBLEMS: &str = "problems";
pub(crate) const CONTENT: &str = "content";
/// Stream of the journal.
pub(crate) const JOURNAL: &str = "JOURNAL";

/// How to reach the bus, and how it is laid out where it is made for the first time.
#[derive(Clone, Debug)]
pub struct BusOptions {
    /// Where it is, and who we are.
    pub connection: Connection,
    /// Name of the connection, for the server's operator.
    pub name: String,
    /// Shards of each table. Only counts when the bus is new.
    pub shards: u16,
    /// Copies of each stream. Only counts when the bus is new.
    pub replicas: usize,
    /// How long tombstones live, and large bodies that no row names.
    pub tombstone_ttl: Duration,
}

/// A connection to a bus that is laid out as the pipeline needs it. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Bus {
    pub(crate) js: Context,
    pub(crate) shards: u16,
    pub(crate) tombstone_ttl: Duration,
    pub(crate) incarnations: watch::Receiver<Incarnations>,
    pub(crate) contents: Contents,
    pub(crate) pulse: Pulse,
    options: Arc<BusOptions>,
    turns: Arc<Semaphore>,
}

impl Bus {
    /// Connects, waits for the server where it is not there yet, and makes what is missing.
    ///
    /// # Errors
    /// When the server is too old, has no JetStream, or holds streams of another layout.
    pub async fn connect(options: &BusOptions) -> Result<Self, BusError> {
        let client = options.connection.client(&options.name).await?;
        check_version(&client.server_info().version)?;
        let (js, pulse) = (jetstream(client), Pulse::new());
        let shards = loop {
            match lay_out(&js, options).await {
                Ok(shards) => break shards,
                Err(BusError::Unsuitable(reason)) => return Err(BusError::Unsuitable(reason)),
                Err(error) => {
                    tracing::warn!(%error, "the bus cannot be laid out yet");
                    tokio::time::sleep(Duration::from_millis(500)).await;
                }
            }
        };
        let layout = BusOptions { shards, ..options.clone() };
        let incarnations = incarnations::follow(js.clone(), layout, pulse.clone()).await?;
        let contents = Contents::new(js.clone(), options.tombstone_ttl, incarnations.clone());
        let turns = Arc::new(Semaphore::new(READS_AT_ONCE));
        let (options, tombstone_ttl) = (Arc::new(options.clone()), options.tombstone_ttl);
        Ok(Self { js, shards, tombstone_ttl, incarnations, contents, pulse, options, turns })
    }

    /// The same bus over another connection, which lives in the runtime that calls this.
    pub(crate) async fn beside(&self) -> Result<Self, BusError> {
        Ok(Self { js: self.options.connection.jetstream(&self.options.name).await?, ..self.clone() })
    }

    /// Waits for the turn to read a part of a table to its end: thousands at once only take memory from each other.
    pub(crate) async fn turn(&self) -> Option<SemaphorePermit<'_>> {
        self.turns.acquire().await.ok()
    }

    /// Number of shards of each table.
    pub fn shards(&self) -> u16 {
        self.shards
    }

    /// How long tombstones live.
    pub fn tombstone_ttl(&self) -> Duration {
        self.tombstone_ttl
    }

    /// The present incarnation of a stream, 0 while it does not exist.
    pub fn incarnation(&self, stream: &str) -> u64 {
        self.incarnations.borrow().get(stream)
    }

    /// The present incarnations of all streams of a table.
    pub fn incarnations_of(&self, table: Table) -> Vec<u64> {
        (0..self.shards).map(|shard| self.incarnation(&table.stream(shard))).collect()
    }
}

fn check_version(version: &str) -> Result<(), BusError> {
    let mut parts = version.split(['.', '-']).map_while(|part| part.parse::<u64>().ok());
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found >= OLDEST_SERVER {
        return Ok(());
    }
    let (major, minor) = OLDEST_SERVER;
    Err(BusError::Unsuitable(format!(
        "nats-server {version} is too old: tombstones need per-message time to live; run {major}.{minor} or newer"
    )))
}

/// Makes what is missing; the number of shards is that of the first layout.
pub(crate) async fn lay_out(js: &Context, options: &BusOptions) -> Result<u16, BusError> {
    for bucket in BUCKETS {
        ensure(js, bucket_config(bucket, options)).await?;
    }
    let shards = stored_shards(js, options.shards).await?;
    for table in [Table::Changes, Table::Reports, Table::Desired] {
        for shard in 0..shards {
            let subjects = vec![format!("{}.{shard:02}.>", table.name())];
            ensure(js, table_config(table.stream(shard), subjects, options)).await?;
        }
    }
    ensure(js, table_config(Table::Status.stream(0), vec![format!("{}.>", Table::Status.name())], options))
        .await?;
    ensure(js, journal_config(options)).await?;
    Ok(shards)
}

fn table_config(name: String, subjects: Vec<String>, options: &BusOptions) -> Config {
    Config {
        name,
        subjects,
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        max_messages_per_subject: 1,
        allow_direct: true,
        allow_message_ttl: true,
        num_replicas: options.replicas,
        // A fence of a stream's former life must never be by chance one of this life.
        first_sequence: u64::try_from(now_micros()).ok(),
        // Rows are idempotent by digest and fence; the server need not remember message ids.
        duplicate_window: Duration::from_millis(100),
        ..Config::default()
    }
}

fn bucket_config(bucket: &str, options: &BusOptions) -> Config {
    let config = table_config(format!("KV_{bucket}"), vec![format!("$KV.{bucket}.>")], options);
    // What nobody marks as used goes with its age.
    let max_age = if bucket == CONTENT { options.tombstone_ttl } else { Duration::ZERO };
    // Followers hear of a problem that nobody says any more.
    let subject_delete_marker_ttl = (bucket == PROBLEMS).then_some(Duration::from_secs(60));
    Config { subject_delete_marker_ttl, deny_delete: true, discard: DiscardPolicy::New, max_age, ..config }
}

fn journal_config(options: &BusOptions) -> Config {
    Config {
        name: JOURNAL.into(),
        subjects: vec!["journal.>".into()],
        storage: StorageType::File,
        max_age: Duration::from_secs(24 * 3600),
        max_bytes: 256 << 20,
        num_replicas: options.replicas,
        no_ack: true,
        max_messages_per_subject: -1,
        ..Config::default()
    }
}

/// Makes the stream where it is missing, and checks that it is what was asked for.
async fn ensure(js: &Context, config: Config) -> Result<(), BusError> {
    let name = config.name.clone();
    let stream = js.get_or_create_stream(config.clone()).await;
    let found = match &stream {
        Ok(stream) => &stream.cached_info().config,
        Err(error) if error.to_string().contains("already in use") => return Ok(()),
        Err(error) => {
            return Err(BusError::Request {
                what: format!("make stream {name}"),
                source: error.to_string().into(),
            });
        }
    };
    let different = [
        ("max_msgs_per_subject", found.max_messages_per_subject == config.max_messages_per_subject),
        ("allow_msg_ttl", found.allow_message_ttl == config.allow_message_ttl),
        ("allow_direct", found.allow_direct == config.allow_direct),
        ("subjects", found.subjects == config.subjects),
        ("retention", found.retention == config.retention),
    ];
    match different.iter().find(|(_, same)| !same) {
        None => Ok(()),
        Some((field, _)) => Err(BusError::Unsuitable(format!(
            "stream {name} has another {field} than it needs; the server dropped it, or the stream belongs to something else. Use a server of its own, or delete the stream"
        ))),
    }
}

/// The number of shards is fixed by whoever comes first.
async fn stored_shards(js: &Context, wanted: u16) -> Result<u16, BusError> {
    let subject = format!("$KV.{CONFIG}.shards");
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
    let sent = js.publish_with_headers(subject.clone(), headers, wanted.to_string().into()).await;
    if let Ok(ack) = sent
        && ack.await.is_ok()
    {
        return Ok(wanted);
    }
    let stream =
        js.get_stream_no_info(format!("KV_{CONFIG}")).await.map_err(BusError::request("read the layout"))?;
    let stored = stream
        .direct_get_last_for_subject(subject)
        .await
        .map_err(BusError::request("read the number of shards"))?;
    let text = String::from_utf8_lossy(&stored.payload).into_owned();
    let shards = text.parse().ok().filter(|&shards: &u16| shards > 0);
    shards.ok_or_else(|| {
        BusError::Unsuitable(format!("bucket {CONFIG}: shards is {text:?}, not a number; delete the key"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_servers_are_refused_with_a_reason() {
        assert!(
            check_version("2.15.1").is_ok()
                && check_version("2.12.0-RC.1").is_ok()
                && check_version("3.0.0").is_ok()
        );
        let error = check_version("2.9.10").expect_err("too old").to_string();
        assert!(error.contains("2.9.10 is too old") && error.contains("2.12"));
        assert!(check_version("").is_err());
    }
}
