//! Giving a stage another key while everything works on, and sealing a bus that was made without.

// D-1207: keys change while everything works on.

use std::time::Duration;

use sluice_protocol::{Shard, Table};

use crate::bus::Bus;
use crate::clock::now_micros;
use crate::connection::Connection;
use crate::error::BusError;
use crate::layout::{SEALED, seal_setting, setting};
use crate::seal::envelope::{Identity, KeyId};
use crate::seal::keys::{KeyStore, Keyring, name};
use crate::seal::recipients::{self, Entries, tables_of};
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::read as read_rows;

/// Pause between two looks at what is still sealed with a former key.
const LOOK: Duration = Duration::from_secs(2);
/// For so long a writer may not have heard of a new key yet.
const SETTLE: Duration = Duration::from_secs(5);
/// How often somebody else may write the same entry in between.
const TRIES: usize = 5;

/// The stages that rows are sealed for.
pub const SEALED_FOR: [&str; 4] = ["matcher", "renderer", "deployer", "inspect"];

/// What became of a rotation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rotation {
    /// What rows call the new key.
    pub key: String,
    /// Former keys that nothing is sealed with any more: they are gone.
    pub gone: Vec<String>,
    /// Rows that are still sealed with former keys.
    pub rows: usize,
}

/// Seals a bus that was made without: from the next start of each process on, which need keys then.
///
/// # Errors
/// When the server does not answer.
pub async fn seal(connection: &Connection) -> Result<(), BusError> {
    let js = connection.jetstream("sluice-seal").await?;
    let named = || "write that the bus is sealed".to_owned();
    let sent = js.publish(setting(SEALED), seal_setting(true).to_string().into()).await;
    sent.map_err(BusError::request(named()))?.await.map_err(BusError::request(named())).map(drop)
}

/// Makes a new key for a stage, and says so to all who write for it. Its former keys stay until no row is sealed with them: that
/// is waited for as long as `patience` says.
///
/// # Errors
/// When the bus, or where the keys are, cannot be used. Whatever was done is taken up by the next call.
pub async fn rotate(
    bus: &Bus,
    store: &dyn KeyStore,
    stage: &str,
    patience: Duration,
) -> Result<Rotation, BusError> {
    let ring = ring_of(store, stage).await?;
    // Above those that are known of, too: they may be lost.
    let (known, _) = recipients::read(bus, stage).await?;
    let numbers = ring.identities.keys().copied().chain(known.iter().map(|entry| entry.number));
    let number = numbers.max().unwrap_or(0) + 1;
    store.add(stage, &name(number), Identity::generate()).await.map_err(BusError::Unsuitable)?;
    let ring = ring_of(store, stage).await?;
    let key = ring.identities.get(&number).map(|identity| identity.id.to_string()).unwrap_or_default();
    change(bus, stage, |entries| entries.extend(recipients::missing(entries, &ring, now_micros()))).await?;
    let retired = retire(bus, store, stage, patience).await?;
    Ok(Rotation { key, ..retired })
}

/// Takes former keys of a stage away that no row is sealed with.
///
/// # Errors
/// As [`rotate`].
pub async fn retire(
    bus: &Bus,
    store: &dyn KeyStore,
    stage: &str,
    patience: Duration,
) -> Result<Rotation, BusError> {
    let ring = ring_of(store, stage).await?;
    let newest = ring.identities.keys().max().copied().unwrap_or(0);
    let former: Vec<(u32, KeyId)> = ring
        .identities
        .iter()
        .filter(|(number, _)| **number < newest)
        .map(|(number, one)| (*number, one.id))
        .collect();
    let (begun, mut rows) = (tokio::time::Instant::now(), 0);
    while !former.is_empty() {
        rows = sealed_with(bus, stage, &former).await?;
        let waited = begun.elapsed();
        if (rows == 0 && waited >= SETTLE) || (rows > 0 && waited >= patience) {
            break;
        }
        tokio::time::sleep(LOOK).await;
    }
    let mut gone = Vec::new();
    if rows == 0 {
        change(bus, stage, |entries| entries.retain(|entry| entry.number >= newest)).await?;
        for (number, id) in former {
            store.remove(stage, &name(number)).await.map_err(BusError::Unsuitable)?;
            gone.push(id.to_string());
        }
    }
    let key = ring.identities.get(&newest).map(|identity| identity.id.to_string()).unwrap_or_default();
    Ok(Rotation { key, gone, rows })
}

/// What the store has of a stage now.
async fn ring_of(store: &dyn KeyStore, stage: &str) -> Result<Keyring, BusError> {
    Keyring::read(&store.load(stage).await.map_err(BusError::Unsuitable)?).map_err(BusError::Unsuitable)
}

/// Changes the entry of a stage; again, when somebody else was faster.
async fn change(bus: &Bus, stage: &str, how: impl Fn(&mut Entries)) -> Result<(), BusError> {
    let mut tries = 0;
    loop {
        let (mut entries, sequence) = recipients::read(bus, stage).await?;
        let before = entries.clone();
        how(&mut entries);
        if entries == before {
            return Ok(());
        }
        tries += 1;
        match recipients::write(bus, stage, &entries, sequence).await {
            Err(error) if tries < TRIES => tracing::debug!(%error, "the entry is written once more"),
            written => return written,
        }
    }
}

/// How many rows are sealed with one of these keys.
async fn sealed_with(bus: &Bus, stage: &str, keys: &[(u32, KeyId)]) -> Result<usize, BusError> {
    let mut count = 0;
    for table in tables_of(stage) {
        for stream in Shard::all(bus.shards()).map(|shard| Table::stream(table, shard)) {
            let spec = ReadSpec { heads_only: true, ..ReadSpec::all(stream.clone()) };
            let mut reader = read_rows(bus, &spec).await?;
            if reader.all().await.is_none() {
                let source = "the stream is another one now; ask again".into();
                return Err(BusError::Request { what: format!("read the heads of {stream}"), source });
            }
            let sealed = reader.take_sealed();
            count += sealed.iter().filter(|(_, ids)| keys.iter().any(|(_, key)| ids.contains(key))).count();
        }
    }
    Ok(count)
}
