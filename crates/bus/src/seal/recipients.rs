//! Who rows are sealed for: entries `recipients.<stage>` of the bucket `sluice`, which each stage writes for itself and everybody
//! follows.

use async_nats::HeaderMap;
use async_nats::jetstream::stream::DirectGetErrorKind;
use serde::{Deserialize, Serialize};
use sluice_protocol::Table;

use crate::buckets::feed::Feed;
use crate::buckets::follow::Follower;
use crate::bus::Bus;
use crate::error::BusError;
use crate::layout::{CONFIG, setting};
use crate::seal::envelope::{KeyId, Recipient};
use crate::seal::keys::Keyring;
use crate::shard::reader::ReadEvent;

/// Begin of the names of these entries.
const PREFIX: &str = "recipients.";
/// Where an entry is written only if it is still this one.
const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";

/// A public key of a stage, as its entry has it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Entry {
    /// Of the identity; the highest is the newest.
    pub(crate) number: u32,
    /// What rows call it.
    pub(crate) id: String,
    /// In hexadecimal digits.
    pub(crate) public: String,
    /// When it was published, microseconds since 1970.
    pub(crate) since: i64,
}

/// All keys of a stage, the newest last.
pub(crate) type Entries = Vec<Entry>;

/// Subject of a stage's entry.
pub(crate) fn subject(stage: &str) -> String {
    setting(&format!("{PREFIX}{stage}"))
}

/// Filter of all entries.
pub(crate) fn filter() -> String {
    setting(&format!("{PREFIX}>"))
}

/// Which stages read the rows of a table: one that must, and those that may not be there.
pub(crate) fn readers(table: Table) -> Option<(&'static str, &'static [&'static str])> {
    match table {
        Table::Changes => Some(("matcher", &["inspect"])),
        Table::Reports => Some(("renderer", &["inspect"])),
        Table::Desired => Some(("deployer", &["inspect"])),
        Table::Status => None,
    }
}

/// The tables whose rows are sealed for a stage.
pub(crate) fn tables_of(stage: &str) -> Vec<Table> {
    let reads =
        |table: &Table| readers(*table).is_some_and(|(one, others)| one == stage || others.contains(&stage));
    [Table::Changes, Table::Reports, Table::Desired].into_iter().filter(reads).collect()
}

/// Follows the entries; one that is lost is there without a key, so that its stage hears of it.
pub(crate) struct Recipients;

impl Follower for Recipients {
    type Key = String;
    type Value = (String, Entries);
    /// Not everybody may ask where the bucket ends, and nothing is concluded from absence.
    const ESTIMATED: bool = true;

    fn take(feed: &Feed<String, (String, Entries)>, event: ReadEvent) -> Option<String> {
        let ReadEvent::Entry(subject, head, body, _) = event else { return None };
        let stage = subject.strip_prefix(&setting(PREFIX))?.to_owned();
        let read = if head.tombstone { None } else { serde_json::from_slice::<Entries>(&body).ok() };
        feed.put(stage.clone(), (stage.clone(), read.unwrap_or_default()));
        Some(stage)
    }

    fn lost(feed: &Feed<String, (String, Entries)>, stage: &String) {
        feed.put(stage.clone(), (stage.clone(), Entries::new()));
    }
}

/// The newest key of an entry.
pub(crate) fn newest(entries: &Entries) -> Option<Recipient> {
    let newest = entries.iter().max_by_key(|entry| entry.number)?;
    match Recipient::parse(&newest.public) {
        Ok(recipient) if recipient.id.to_string() == newest.id => Some(recipient),
        _ => None,
    }
}

/// An entry as it is, and its sequence; 0 where there is none.
pub(crate) async fn read(bus: &Bus, stage: &str) -> Result<(Entries, u64), BusError> {
    let named = || format!("read who rows are sealed for of {stage}");
    let bucket =
        bus.js.get_stream_no_info(format!("KV_{CONFIG}")).await.map_err(BusError::request(named()))?;
    match bucket.direct_get_last_for_subject(subject(stage)).await {
        Ok(message) => Ok((serde_json::from_slice(&message.payload).unwrap_or_default(), message.sequence)),
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok((Entries::new(), 0)),
        Err(error) => Err(BusError::Request { what: named(), source: error.into() }),
    }
}

/// Replaces an entry that has this sequence.
pub(crate) async fn write(bus: &Bus, stage: &str, entries: &Entries, sequence: u64) -> Result<(), BusError> {
    let named = || format!("write who rows are sealed for of {stage}");
    let mut headers = HeaderMap::new();
    headers.insert(EXPECTED, sequence.to_string());
    let body = serde_json::to_vec(entries).map_err(BusError::request(named()))?;
    let sent = bus.js.publish_with_headers(subject(stage), headers, body.into()).await;
    sent.map_err(BusError::request(named()))?.await.map_err(BusError::request(named())).map(drop)
}

/// What an entry lacks of these keys: those that are newer than all that it has.
pub(crate) fn missing(entries: &Entries, keys: &Keyring, now: i64) -> Entries {
    let newest = entries.iter().map(|entry| entry.number).max().unwrap_or(0);
    let newer = keys.identities.iter().filter(|(number, _)| **number > newest);
    let entry = |(number, identity): (&u32, &super::envelope::Identity)| Entry {
        number: *number,
        id: identity.id.to_string(),
        public: identity.recipient().text(),
        since: now,
    };
    newer.map(entry).collect()
}

/// Ids that a row names, as its header has them.
pub(crate) fn ids(header: &str) -> Vec<KeyId> {
    header.split(',').filter_map(|id| id.parse().ok()).collect()
}
