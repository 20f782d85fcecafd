//! Who rows are sealed for: entries `recipients.<stage>` of the bucket `sluice`, which each stage writes for itself and everybody
//! follows.

use async_nats::HeaderMap;
use async_nats::jetstream::stream::DirectGetErrorKind;
use serde::{Deserialize, Serialize};
use sluice_protocol::{Role, Sequence, Table};

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
/// Begin of the names of stages that are in one cluster, among those for which rows are sealed.
pub(crate) const INSIDE: &str = "deployer.";
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
    // Who is in a cluster reads what others of its stage read.
    let stage = if stage.starts_with(INSIDE) { Role::Deployer(None).name() } else { stage };
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
pub(crate) async fn read(bus: &Bus, stage: &str) -> Result<(Entries, Sequence), BusError> {
    let named = || format!("read who rows are sealed for of {stage}");
    let bucket =
        bus.js.get_stream_no_info(format!("KV_{CONFIG}")).await.map_err(BusError::request(named()))?;
    match bucket.direct_get_last_for_subject(subject(stage)).await {
        Ok(message) => Ok((
            serde_json::from_slice(&message.payload).unwrap_or_default(),
            Sequence::new(message.sequence),
        )),
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok((Entries::new(), Sequence::NONE)),
        Err(error) => Err(BusError::Request { what: named(), source: error.into() }),
    }
}

/// Replaces an entry that has this sequence.
pub(crate) async fn write(
    bus: &Bus,
    stage: &str,
    entries: &Entries,
    sequence: Sequence,
) -> Result<(), BusError> {
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

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use sluice_protocol::Head;

    use super::*;
    use crate::seal::envelope::Identity;
    use crate::seal::keys::name;

    /// Keys with these numbers.
    fn ring(numbers: &[u32]) -> Keyring {
        let kept = numbers.iter().map(|number| (name(*number), Identity::generate())).collect();
        Keyring::read(&kept).unwrap()
    }

    fn entries(ring: &Keyring) -> Entries {
        missing(&Entries::new(), ring, 7)
    }

    #[test]
    fn a_stage_says_all_keys_that_nobody_knows() {
        let keys = ring(&[1, 2]);
        let said = entries(&keys);
        assert_eq!(
            said.iter().map(|entry| (entry.number, entry.since)).collect::<Vec<_>>(),
            [(1, 7), (2, 7)]
        );
        assert_eq!(said[1].id, keys.identities[&2].id.to_string());
        assert_eq!(said[1].public, keys.identities[&2].recipient().text());
    }

    #[test]
    fn a_key_that_was_taken_back_is_not_said_again() {
        let keys = ring(&[1, 2, 3]);
        let known = entries(&keys).split_off(1);
        assert!(
            missing(&known[..1].to_vec(), &ring(&[1, 2]), 7).is_empty(),
            "one that is older than what is said"
        );
        let more = missing(&known[..1].to_vec(), &keys, 9);
        assert_eq!(more.iter().map(|entry| entry.number).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn rows_are_sealed_for_the_key_with_the_highest_number_wherever_it_stands() {
        let keys = ring(&[1, 2, 10]);
        let mut said = entries(&keys);
        said.rotate_right(1);
        assert_eq!(newest(&said).unwrap().id, keys.identities[&10].id);
        assert_eq!(newest(&Entries::new()), None);
    }

    /// Else a row would wait for a key that its reader cannot know by the id.
    #[test]
    fn an_entry_whose_id_is_not_of_its_key_is_nobodys() {
        let (mut said, other) = (entries(&ring(&[1])), entries(&ring(&[1])));
        said[0].id.clone_from(&other[0].id);
        assert_eq!(newest(&said), None);
        said[0].public = "no key".into();
        assert_eq!(newest(&said), None);
    }

    #[test]
    fn the_ids_of_a_row_are_read_back_and_what_is_none_is_left_out() {
        let all: Vec<KeyId> = ring(&[1, 2]).identities.values().map(|identity| identity.id).collect();
        let header = crate::seal::envelope::list(&all);
        assert_eq!(ids(&header), all);
        assert_eq!(ids(&format!("x,{header},,00")), all);
        assert!(ids("").is_empty());
    }

    #[test]
    fn rows_are_sealed_for_the_stage_that_comes_next_and_for_who_answers_others() {
        let read: Vec<Vec<Table>> = ["matcher", "renderer", "deployer", "people"].map(tables_of).into();
        assert_eq!(read, [vec![Table::Changes], vec![Table::Reports], vec![Table::Desired], vec![]]);
        assert_eq!(tables_of("inspect"), [Table::Changes, Table::Reports, Table::Desired]);
        assert!(readers(Table::Status).is_none(), "no Secret is in a status");
    }

    fn entry(stage: &str, body: &[u8], tombstone: bool) -> ReadEvent {
        let head = Head { tombstone, ..Head::default() };
        ReadEvent::Entry(subject(stage), head, body.into(), Sequence::new(1))
    }

    #[test]
    fn an_entry_that_is_gone_or_cannot_be_read_leaves_its_stage_without_a_key() {
        let feed = Feed::new();
        let said = entries(&ring(&[1]));
        let text = serde_json::to_vec(&said).unwrap();
        for (body, tombstone) in [(&b"?"[..], false), (&text[..], true)] {
            assert_eq!(Recipients::take(&feed, entry("matcher", &text, false)).as_deref(), Some("matcher"));
            assert_eq!(feed.get(&"matcher".to_owned()).unwrap().1, said);
            Recipients::take(&feed, entry("matcher", body, tombstone));
            assert!(feed.get(&"matcher".to_owned()).unwrap().1.is_empty());
        }
    }
}
