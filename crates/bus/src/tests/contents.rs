//! The bucket of large bodies: what is stored there, and what counts as being there.

use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::{Capabilities, Incarnation, Shard};

use super::*;
use crate::buckets::contents::{BodyLocation, LARGE};
use crate::codec::Limit;
use crate::kit;
use crate::shard::look::look;
use crate::shard::reader::Reader;

/// A body that compresses well, and its place.
fn body(text: &str) -> (Vec<u8>, BodyLocation) {
    let body = text.repeat(LARGE / text.len() + 1).into_bytes();
    let digest = Digest::of(&[&body]);
    (body, BodyLocation::of(&row("x", None).subject, digest))
}

/// The last sequence of the bucket: how often something was stored there shows in how it grows.
async fn sequence(bus: &Bus) -> u64 {
    let mut bucket = bus.js.get_stream("KV_content").await.unwrap();
    bucket.info().await.unwrap().state.last_sequence
}

#[tokio::test]
async fn a_body_is_stored_once_by_a_process_and_read_by_all() {
    let server = Server::start();
    let (one, other) = (bus(&server).await, bus(&server).await);
    let (body, place) = body("a");
    assert!(other.contents.get(&place, Limit::LARGEST).await.unwrap().is_none());
    let before = sequence(&one).await;
    for _ in 0..3 {
        one.contents.put(&place, &body).await.unwrap();
    }
    assert_eq!(sequence(&one).await, before + 1, "what was stored a short while ago is there");
    assert_eq!(other.contents.get(&place, Limit::LARGEST).await.unwrap().as_deref(), Some(&body[..]));
    assert!(other.contents.mark(&place).await.unwrap());
    assert_eq!(sequence(&one).await, before + 2, "another process does not know that it was stored just now");
}

#[tokio::test]
async fn what_is_not_what_its_digest_says_is_not_there_and_can_be_stored() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (body, place) = body("b");
    for wrong in [&b"?"[..], b"", b"\x00another body", b"\x01no zstd"] {
        bus.js.publish(place.subject(), wrong.to_vec().into()).await.unwrap().await.unwrap();
        assert!(bus.contents.get(&place, Limit::LARGEST).await.unwrap().is_none(), "{wrong:?}");
        assert!(!bus.contents.mark(&place).await.unwrap(), "{wrong:?}");
    }
    bus.contents.put(&place, &body).await.unwrap();
    assert_eq!(bus.contents.get(&place, Limit::LARGEST).await.unwrap().as_deref(), Some(&body[..]));
}

#[tokio::test]
async fn a_body_that_was_stored_in_a_bucket_that_is_gone_is_stored_again() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (body, place) = body("c");
    bus.contents.put(&place, &body).await.unwrap();
    let before = bus.incarnation("KV_content");
    crate::layout::wipe::wipe(&Connection::plain(server.url()), "KV_content").await.unwrap();
    crate::kit::until(|| ![Incarnation::NONE, before].contains(&bus.incarnation("KV_content"))).await;
    bus.contents.put(&place, &body).await.unwrap();
    let other = self::bus(&server).await;
    assert!(other.contents.get(&place, Limit::LARGEST).await.unwrap().is_some());
}

#[tokio::test]
async fn rows_whose_bodies_are_gone_are_named_when_they_are_taken_over() {
    let server = Server::start();
    let bus = bus(&server).await;
    let ((there, kept), (missing, _)) = (body("d"), body("e"));
    bus.contents.put(&kept, &there).await.unwrap();
    let subject = |profile: &str| row(profile, None).subject;
    let digest = |body: &[u8]| Digest::of(&[body]);
    let named = [(subject("x"), digest(&there)), (subject("y"), digest(&missing))].into();
    let missing = ContentRefs::default().adopt(&bus.contents, named).await.unwrap();
    assert_eq!(missing, [subject("y")].into());
}

/// What a reader delivers next: the name of the profile, whether its body could be read, and its sequence.
async fn next(reader: &mut Reader) -> (String, bool, u64) {
    loop {
        let (row, readable) = match reader.next().await.unwrap() {
            ReadEvent::Row(row, _) => (row, true),
            ReadEvent::Unreadable(row, ..) => (row, false),
            _ => continue,
        };
        if let Subject::Desired { profile, .. } = row.subject {
            return (profile.name, readable, row.sequence.get());
        }
    }
}

#[tokio::test]
async fn a_row_whose_body_is_not_there_keeps_nobody_waiting_and_comes_again_with_it() {
    let server = Server::start();
    let bus = bus(&server).await;
    let bodies = ["f", "g"].map(|text| String::from_utf8(body(text).0).unwrap());
    let rows = [row("x", Some(&bodies[0])), row("y", Some(&bodies[1])), row("z", Some("small"))];
    kit::write(&bus, rows).await;
    crate::layout::wipe::wipe(&Connection::plain(server.url()), "KV_content").await.unwrap();
    let other = self::bus(&server).await;
    let mut reader = read(&other, &ReadSpec::all(Table::Desired.stream(Shard::FIRST))).await.unwrap();
    let first = [next(&mut reader).await, next(&mut reader).await, next(&mut reader).await];
    let [(x, false, at), (y, false, _), (z, true, _)] = &first else { panic!("{first:?}") };
    assert_eq!([x, y, z], ["x", "y", "z"]);
    // A later row of one, and the body of the other.
    kit::write(&bus, [row("y", Some("now small"))]).await;
    let (name, readable, _) = next(&mut reader).await;
    assert!(name == "y" && readable);
    for text in ["g", "f"] {
        let (body, place) = body(text);
        other.contents.put(&place, &body).await.unwrap();
    }
    assert_eq!(next(&mut reader).await, ("x".to_owned(), true, *at), "and y does not come again");
    kit::write(&bus, [row("w", Some("the last"))]).await;
    assert_eq!(next(&mut reader).await.0, "w");
}

#[tokio::test]
async fn who_only_looks_waits_a_little_for_bodies_that_are_late() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (large, place) = body("h");
    kit::write(&bus, [row("x", Some(std::str::from_utf8(&large).unwrap()))]).await;
    crate::layout::wipe::wipe(&Connection::plain(server.url()), "KV_content").await.unwrap();
    let other = self::bus(&server).await;
    let spec = ReadSpec::all(Table::Desired.stream(Shard::FIRST));
    let later = async {
        // Once the row has come without its body.
        tokio::time::sleep(Duration::from_millis(300)).await;
        other.contents.put(&place, &large).await.unwrap();
    };
    let (looked, ()) = tokio::join!(look(&other, &spec), later);
    let bodies = looked.unwrap().into_iter().filter(|stored| *stored.row.body == *large);
    assert_eq!(bodies.count(), 1);
}

#[test]
fn bodies_of_different_writers_and_readers_are_in_different_places() {
    let (one, other) = (ClusterRef::sveltos("default", "a"), ClusterRef::sveltos("default", "b"));
    let change = |cluster: &ClusterRef| Subject::Change {
        shard: Shard::FIRST,
        cluster: cluster.clone(),
        viewer: String::new(),
        object: ObjectKey::of(
            &serde_json::json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"}}),
        )
        .unwrap(),
    };
    let (_, same) = body("i");
    let digest = Digest::of(&[b"i"]);
    let rows = [change(&one), change(&other), Capabilities::subject(&one), row("x", None).subject];
    let places: std::collections::BTreeSet<String> =
        rows.iter().map(|row| BodyLocation::of(row, digest).subject()).collect();
    assert_eq!(places.len(), 4, "{places:?}");
    assert!(same.subject().starts_with("$KV.content.desired."));
}
