//! The streams and buckets that the pipeline needs: making what is missing, and bringing older layouts up to date.

pub(crate) mod admin;
pub(crate) mod audit;
pub(crate) mod consumers;
pub(crate) mod history;
pub(crate) mod incarnation_watch;
pub(crate) mod incarnations;
pub(crate) mod ledger;
pub(crate) mod losses;
pub(crate) mod streams;
#[cfg(test)]
mod tests;
pub(crate) mod wipe;

use std::time::Duration;

use async_nats::jetstream::Context;
use async_nats::jetstream::ErrorCode;
use async_nats::jetstream::context::CreateStreamErrorKind;
use async_nats::jetstream::stream::{
    Config, DirectGetErrorKind, DiscardPolicy, RetentionPolicy, StorageType,
};
use sluice_protocol::{Shard, Table, subject};

use crate::clock::now_micros;
use crate::connection::Connection;
use crate::error::BusError;
use crate::layout::streams::Streams;
use crate::seal::BusKeys;

/// The oldest server with everything that is used: atomic batches came with it.
const OLDEST_SERVER: (u64, u64) = (2, 12);
/// The small tables, as KV buckets; each is a stream `KV_<bucket>`.
pub(crate) const BUCKETS: [&str; 4] = [CONFIG, INTEREST, PROBLEMS, CONTENT];
pub(crate) const CONFIG: &str = "sluice";
pub(crate) const INTEREST: &str = "interest";
pub(crate) const PROBLEMS: &str = "problems";
/// How long a problem lives at most that nobody says again.
pub(crate) const PROBLEM_AGE: Duration = Duration::from_secs(600);
pub(crate) const CONTENT: &str = "content";
/// Settings of the whole bus in the bucket `sluice`.
pub(crate) const SHARDS: &str = "shards";
pub(crate) const REPLICAS: &str = "replicas";
/// Whether Secrets are sealed.
pub(crate) const SEALED: &str = "sealed";
/// Stream of the journal.
pub(crate) const JOURNAL: &str = "JOURNAL";
/// Stream that CloudEvents are sent to.
pub(crate) const CLOUD_EVENTS: &str = "CLOUDEVENTS";

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
    /// How long tombstones live, and large bodies that no row names. Only counts when the bus is new.
    pub tombstone_ttl: Duration,
    /// Where the private keys are with which Secrets are sealed and read. A new bus is sealed when there are any.
    pub keys: BusKeys,
}

impl BusOptions {
    /// What every stream should be, the buckets first.
    pub(crate) fn configs(&self) -> Vec<Config> {
        let mut configs: Vec<Config> = BUCKETS.iter().map(|bucket| bucket_config(bucket, self)).collect();
        for table in [Table::Changes, Table::Reports, Table::Desired] {
            for shard in Shard::all(self.shards) {
                let subjects = vec![format!("{}.{shard:02}.>", table.name())];
                configs.push(table_config(table.stream(shard), subjects, self));
            }
        }
        let status = vec![format!("{}.>", Table::Status.name())];
        configs.push(table_config(Table::Status.stream(Shard::FIRST), status, self));
        configs.push(journal_config(self));
        configs.push(cloud_events_config(self));
        configs
    }

    /// The name of every stream.
    pub(crate) fn stream_names(&self) -> Vec<String> {
        self.configs().into_iter().map(|config| config.name).collect()
    }
}

pub(crate) fn check_version(version: &str) -> Result<(), BusError> {
    let mut parts = version.split(['.', '-']).map_while(|part| part.parse::<u64>().ok());
    let found = (parts.next().unwrap_or(0), parts.next().unwrap_or(0));
    if found >= OLDEST_SERVER {
        return Ok(());
    }
    let (major, minor) = OLDEST_SERVER;
    Err(BusError::Unsuitable(format!(
        "nats-server {version} is too old: groups of rows need atomic batches; run {major}.{minor} or newer"
    )))
}

/// Makes what is missing; the numbers of shards and replicas are those of the first layout, or of who changed them since, and
/// tombstones live as long as large bodies do: who takes that for longer than the bucket does would mark them too late.
///
/// # Errors
/// When the server does not answer, which may heal, or a stream is another one than the pipeline needs.
pub(crate) async fn lay_out(js: &Context, options: &BusOptions) -> Result<BusOptions, BusError> {
    ensure(js, &Streams::ask(js).await?, bucket_config(CONFIG, options)).await?;
    let sealed = is_sealed(js, options).await?;
    let shards = fixed(js, SHARDS, options.shards.into()).await?;
    let replicas = fixed(js, REPLICAS, options.replicas as u64).await?;
    let shards = u16::try_from(shards)
        .map_err(|_| BusError::Unsuitable(format!("bucket {CONFIG}: {shards} shards are too many")))?;
    let mut layout =
        BusOptions { shards, replicas: usize::try_from(replicas).unwrap_or(1), ..options.clone() };
    layout.keys.sealed = sealed;
    let mut streams = Streams::ask(js).await?;
    for config in layout.configs() {
        ensure(js, &streams, config).await?;
    }
    let bodies = bucket_config(CONTENT, &layout);
    if !streams.has(&bodies.name) {
        // Whoever was fastest has made it.
        streams = Streams::ask(js).await?;
    }
    layout.tombstone_ttl = age_of_bodies(&streams, &bodies)?;
    Ok(layout)
}

/// What a bus says of itself that is sealed, or is not.
pub(crate) fn seal_setting(sealed: bool) -> u64 {
    if sealed { 2 } else { 1 }
}

/// Whether a bus is sealed: who makes it says so before anything else.
async fn is_sealed(js: &Context, options: &BusOptions) -> Result<bool, BusError> {
    let found = match stored(js, SHARDS).await? {
        None => Some(fixed(js, SEALED, seal_setting(options.keys.wants())).await?),
        Some(_) => stored(js, SEALED).await?,
    };
    Ok(found == Some(seal_setting(true)))
}

/// How long the bucket keeps bodies; what is `wanted` where that is for ever.
///
/// # Errors
/// When the bucket has no leader now.
fn age_of_bodies(streams: &Streams, wanted: &Config) -> Result<Duration, BusError> {
    let name = &wanted.name;
    let Some(info) = streams.found.get(name) else {
        let source = "it has no leader now".into();
        return Err(BusError::Request { what: format!("read how long stream {name} keeps bodies"), source });
    };
    let found = Some(info.config.max_age).filter(|age| !age.is_zero());
    if found.is_some_and(|found| found != wanted.max_age) {
        let (kept, wanted) = (info.config.max_age, wanted.max_age);
        tracing::info!(?kept, ?wanted, "tombstones and bodies live as long as this bus was made for");
    }
    Ok(found.unwrap_or(wanted.max_age))
}

// D-0101: a stream holds the latest row of every key.
fn table_config(name: String, subjects: Vec<String>, options: &BusOptions) -> Config {
    Config {
        name,
        subjects,
        // D-1407: no work-queue and no interest retention.
        retention: RetentionPolicy::Limits,
        storage: StorageType::File,
        max_messages_per_subject: 1,
        allow_direct: true,
        allow_message_ttl: true,
        allow_atomic_publish: true,
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
    let max_age = match bucket {
        // What nobody marks as used goes with its age.
        CONTENT => options.tombstone_ttl,
        // So does what nobody says again, also where who wrote it did not say so.
        PROBLEMS => PROBLEM_AGE,
        _ => Duration::ZERO,
    };
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

/// Everybody may send here, and no agent may be there: so it is a log, and what counts of it is in `changes` soon.
fn cloud_events_config(options: &BusOptions) -> Config {
    Config {
        name: CLOUD_EVENTS.into(),
        subjects: vec![format!("{}.>", subject::CLOUD_EVENTS)],
        storage: StorageType::File,
        max_age: Duration::from_secs(7 * 24 * 3600),
        max_bytes: 256 << 20,
        num_replicas: options.replicas,
        allow_direct: true,
        max_messages_per_subject: -1,
        first_sequence: u64::try_from(now_micros()).ok(),
        ..Config::default()
    }
}

/// Makes the stream where it is missing, and checks that it is what was asked for.
async fn ensure(js: &Context, streams: &Streams, wanted: Config) -> Result<(), BusError> {
    let name = wanted.name.clone();
    if let Some(info) = streams.found.get(&name) {
        return adapt(js, &info.config, &wanted).await;
    }
    if streams.has(&name) {
        // It has no leader now; who finds it otherwise than it should be says so later.
        return Ok(());
    }
    let named = format!("make stream {name}");
    match js.create_stream(wanted.clone()).await {
        Ok(made) => adapt(js, &made.cached_info().config, &wanted).await,
        // Somebody else was faster: its first sequence is another one.
        Err(error) if is_name_in_use(&error.kind()) => Ok(()),
        Err(error) => Err(BusError::Request { what: named, source: error.to_string().into() }),
    }
}

fn is_name_in_use(kind: &CreateStreamErrorKind) -> bool {
    matches!(kind, CreateStreamErrorKind::JetStream(error) if error.error_code() == ErrorCode::STREAM_NAME_EXIST)
}

/// The first field in which a stream is another one than it must be.
pub(crate) fn difference(found: &Config, wanted: &Config) -> Option<&'static str> {
    let same = [
        ("max_msgs_per_subject", found.max_messages_per_subject == wanted.max_messages_per_subject),
        ("allow_msg_ttl", found.allow_message_ttl == wanted.allow_message_ttl),
        ("allow_direct", found.allow_direct == wanted.allow_direct),
        ("subjects", found.subjects == wanted.subjects),
        ("retention", found.retention == wanted.retention),
    ];
    same.iter().find(|(_, same)| !same).map(|(field, _)| *field)
}

/// Checks that a stream is what was asked for; what an older layout lacks is added.
async fn adapt(js: &Context, found: &Config, wanted: &Config) -> Result<(), BusError> {
    let name = &wanted.name;
    if let Some(field) = difference(found, wanted) {
        return Err(BusError::Unsuitable(format!(
            "stream {name} has another {field} than it needs; the server dropped it, or the stream belongs to something else. Use a server of its own, or delete the stream"
        )));
    }
    let lacks_batches = wanted.allow_atomic_publish && !found.allow_atomic_publish;
    // Bodies live as long as the bus was made for: of their age everybody takes what is there.
    let lacks_age = !wanted.max_age.is_zero() && found.max_age.is_zero() && name != "KV_content";
    if !lacks_batches && !lacks_age {
        return Ok(());
    }
    tracing::info!(stream = name, lacks_batches, lacks_age, "the stream gets what this version needs of it");
    let allow_atomic_publish = found.allow_atomic_publish || lacks_batches;
    let max_age = if lacks_age { wanted.max_age } else { found.max_age };
    let updated = Config { allow_atomic_publish, max_age, ..found.clone() };
    js.update_stream(updated).await.map_err(BusError::request(format!("update stream {name}"))).map(drop)
}

/// A number that whoever comes first has fixed.
async fn fixed(js: &Context, what: &str, wanted: u64) -> Result<u64, BusError> {
    if let Some(stored) = stored(js, what).await? {
        return Ok(stored);
    }
    let mut headers = async_nats::HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", "0");
    let sent = js.publish_with_headers(setting(what), headers, wanted.to_string().into()).await;
    let named = || format!("write the number of {what}");
    match sent.map_err(BusError::request(named()))?.await {
        Ok(_) => Ok(wanted),
        // Somebody else was faster.
        Err(error) => match stored(js, what).await? {
            Some(stored) => Ok(stored),
            None => Err(BusError::Request { what: named(), source: error.into() }),
        },
    }
}

/// A number in the bucket `sluice`, once there is one.
pub(crate) async fn stored(js: &Context, what: &str) -> Result<Option<u64>, BusError> {
    let named = || format!("read the number of {what}");
    let stream = js.get_stream_no_info(format!("KV_{CONFIG}")).await.map_err(BusError::request(named()))?;
    let text = match stream.direct_get_last_for_subject(setting(what)).await {
        Ok(message) => String::from_utf8_lossy(&message.payload).into_owned(),
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(BusError::Request { what: named(), source: error.into() }),
    };
    let number = text.parse().ok().filter(|&number: &u64| number > 0);
    number.map(Some).ok_or_else(|| {
        BusError::Unsuitable(format!("bucket {CONFIG}: {what} is {text:?}, not a number; delete the key"))
    })
}

/// Subject of a setting of the whole bus.
pub(crate) fn setting(what: &str) -> String {
    format!("$KV.{CONFIG}.{what}")
}
