//! What becomes of one row where a bus is sealed: without a server.

#![allow(clippy::unwrap_used)]

use sluice_api::{ClusterRef, ProfileId};
use sluice_protocol::{Sequence, Shard};

use super::*;
use crate::seal::envelope::Identity;
use crate::seal::keys::name;
use crate::seal::recipients::missing;

const STREAM: &str = "DESIRED-00";
const FENCE: &str = "desired.00.owner.00";

/// Keys with these numbers, and one for digests.
fn ring(numbers: &[u32]) -> Keyring {
    let identities = numbers.iter().map(|number| (name(*number), Identity::generate()));
    Keyring::read(&identities.chain([("digest".to_owned(), vec![7; 32])]).collect()).unwrap()
}

/// A process of this role with these keys, which knows of no reader yet.
fn sealing(role: Role, ring: Keyring) -> Sealing {
    Sealing(Some(Arc::new(Shared {
        role,
        store: None,
        keys: Mutex::new(Arc::new(ring)),
        feed: Feed::new(),
        changed: watch::Sender::new(0),
        lacking: Notify::new(),
        writers: Mutex::default(),
        told: Mutex::default(),
    })))
}

/// From now on rows are sealed for these keys of a stage.
fn tell(writer: &Sealing, stage: &str, keys: &Keyring) {
    let entries = missing(&Entries::new(), keys, 1);
    writer.0.as_ref().unwrap().feed.put(stage.to_owned(), (stage.to_owned(), entries));
}

/// Who writes for a reader that has the keys with these numbers.
fn pair(numbers: &[u32]) -> (Sealing, Sealing) {
    let (writer, keys) = (sealing(Role::Renderer, ring(&[1])), ring(numbers));
    tell(&writer, "deployer", &keys);
    (writer, sealing(Role::Deployer(None), keys))
}

fn row(profile: &str, body: &[u8]) -> (Subject, Head) {
    let (cluster, profile) = (ClusterRef::sveltos("a", "b"), ProfileId::cluster(profile));
    let head = Head { digest: Digest::of(&[body]), time: 1, ..Head::default() };
    (Subject::Desired { shard: Shard::FIRST, cluster, origin: Shard::FIRST, profile }, head)
}

fn sealed(writer: &Sealing, profile: &str, body: &[u8]) -> SealedRow {
    let (subject, head) = row(profile, body);
    writer.seal(FENCE, (&subject, &head), body).unwrap().unwrap()
}

/// What a reader makes of it as the row of a profile with the digest of a body.
fn opened(reader: &Sealing, sealed: &SealedRow, profile: &str, body: &[u8]) -> Result<Arc<[u8]>, String> {
    let (subject, head) = row(profile, body);
    let row = Row { subject, head, body: [].into(), sequence: Sequence::new(1) };
    let (name, content) = match &sealed.apart {
        Some((name, content)) => (Some(*name), &content[..]),
        None => (None, &[][..]),
    };
    reader.open(STREAM, &row, &sealed.payload, (name, content))
}

#[test]
fn a_sealed_row_says_so_in_its_first_byte_and_names_who_may_read_it() {
    let (writer, reader) = pair(&[1, 2]);
    let sealed = sealed(&writer, "x", b"secret");
    assert_eq!((sealed.payload[0], sealed.apart.is_some()), (codec::SEALED, false));
    let newest = reader.0.as_ref().unwrap().keys().identities[&2].id;
    assert_eq!(sealed.ids, newest.to_string());
    assert_eq!(&*opened(&reader, &sealed, "x", b"secret").unwrap(), b"secret");
}

#[test]
fn what_is_empty_holds_no_secret() {
    let (writer, _) = pair(&[1]);
    let (subject, head) = row("x", b"");
    assert!(writer.seal(FENCE, (&subject, &head), b"").unwrap().is_none());
}

#[test]
fn a_bus_that_is_not_sealed_seals_nothing_and_says_whose_key_a_sealed_row_lacks() {
    let plain = Sealing::default();
    let (subject, head) = row("x", b"secret");
    assert!(plain.seal(FENCE, (&subject, &head), b"secret").unwrap().is_none());
    assert!(!plain.is_on() && plain.digest_key().is_none());
    let error = opened(&plain, &sealed(&pair(&[1]).0, "x", b"secret"), "x", b"secret").unwrap_err();
    assert!(error.contains("of which deployer has none here"), "{error}");
}

#[test]
fn without_its_readers_key_a_row_waits_and_it_is_said_who_lacks_it() {
    let writer = sealing(Role::Renderer, ring(&[1]));
    let (subject, head) = row("x", b"secret");
    tell(&writer, "inspect", &ring(&[1]));
    let error = writer.seal(FENCE, (&subject, &head), b"secret").err().unwrap();
    assert!(matches!(error, BusError::Request { .. }), "it is tried again");
    let error = error.to_string();
    assert!(error.contains("no deployer has said") && error.contains("--bus-keys"), "{error}");
    assert!(!error.contains("secret"));
}

#[test]
fn who_answers_others_reads_a_row_too_where_it_is_there() {
    let (writer, reader) = pair(&[1]);
    let inspect = ring(&[1]);
    tell(&writer, "inspect", &inspect);
    let row = sealed(&writer, "x", b"secret");
    for one in [&reader, &sealing(Role::Inspect, inspect)] {
        assert_eq!(&*opened(one, &row, "x", b"secret").unwrap(), b"secret");
    }
    assert_eq!(row.ids.split(',').count(), 2);
}

#[test]
fn a_row_is_what_its_subject_and_digest_say_or_it_is_refused() {
    let (writer, reader) = pair(&[1]);
    let row = sealed(&writer, "x", b"secret");
    for (profile, body) in [("y", &b"secret"[..]), ("x", b"other")] {
        let error = opened(&reader, &row, profile, body).unwrap_err();
        assert!(error.contains("not what its writer sealed"), "{error}");
    }
}

#[test]
fn a_large_body_is_apart_and_equal_ones_are_one() {
    let (writer, reader) = pair(&[1]);
    let body = vec![b'a'; LARGE + 1];
    let [first, second] = ["x", "y"].map(|profile| sealed(&writer, profile, &body));
    assert_eq!(first.apart.as_ref().unwrap().0, second.apart.as_ref().unwrap().0);
    assert_ne!(first.payload, second.payload, "the key is wrapped for each row");
    for (row, profile) in [(&first, "x"), (&second, "y")] {
        assert_eq!(&*opened(&reader, row, profile, &body).unwrap(), &body[..]);
    }
    assert!(sealed(&writer, "x", &body[..LARGE]).apart.is_none());
}

#[test]
fn a_large_body_is_not_read_by_the_key_of_another_row() {
    let (writer, reader) = pair(&[1]);
    let [first, second] = [b'a', b'b'].map(|byte| vec![byte; LARGE + 1]);
    let mixed = SealedRow { apart: sealed(&writer, "x", &second).apart, ..sealed(&writer, "x", &first) };
    assert!(opened(&reader, &mixed, "x", &first).is_err());
}

#[test]
fn a_row_for_others_is_noted_and_its_key_is_looked_for() {
    let (writer, _) = pair(&[1]);
    let stranger = sealing(Role::Deployer(None), ring(&[1]));
    let row = sealed(&writer, "x", b"secret");
    let error = opened(&stranger, &row, "x", b"secret").unwrap_err();
    assert!(error.contains(&row.ids) && error.contains("--bus-keys"), "{error}");
    assert!(stranger.0.as_ref().unwrap().writers().is_locked());
}

#[test]
fn a_row_that_was_cut_is_refused_and_locks_nothing() {
    let (writer, reader) = pair(&[1]);
    let whole = sealed(&writer, "x", b"secret");
    for length in [0, 1, 2, whole.payload.len() - 1] {
        let cut = SealedRow { payload: whole.payload.slice(..length), apart: None, ids: String::new() };
        assert!(opened(&reader, &cut, "x", b"secret").is_err(), "{length}");
    }
    assert!(!reader.0.as_ref().unwrap().writers().is_locked());
}

#[test]
fn rows_that_a_successor_finds_are_stale_where_their_reader_has_another_key() {
    let (writer, _) = pair(&[1]);
    let shared = writer.0.clone().unwrap();
    let current = ids_of(&shared.recipients(Table::Desired, &None).unwrap());
    let former = vec![ring(&[1]).identities[&1].id];
    let [good, old] = ["x", "y"].map(|profile| row(profile, b"").0);
    let found = || vec![(good.clone(), current.clone()), (old.clone(), former.clone())];
    assert_eq!(writer.stale(FENCE, found()), std::slice::from_ref(&old));
    // Who watches looks again, once: recipients may have changed before anybody knew of these rows.
    assert_eq!(*shared.changed.borrow(), 1);
    writer.stale(FENCE, found());
    assert_eq!(*shared.changed.borrow(), 1);
}

#[test]
fn nobody_is_said_to_read_what_holds_no_secret() {
    let (writer, _) = pair(&[1]);
    let error = writer.0.as_ref().unwrap().recipients(Table::Status, &None).unwrap_err();
    assert!(error.contains("nobody reads status"), "{error}");
}
