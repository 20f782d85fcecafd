//! The bucket of large bodies: what is stored there, and what counts as being there.

use super::*;
use crate::buckets::contents::LARGE;

/// A body that compresses well, and its digest.
fn body(text: &str) -> (Vec<u8>, Digest) {
    let body = text.repeat(LARGE / text.len() + 1).into_bytes();
    let digest = Digest::of(&[&body]);
    (body, digest)
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
    let (body, digest) = body("a");
    assert!(other.contents.get(digest).await.unwrap().is_none());
    let before = sequence(&one).await;
    for _ in 0..3 {
        one.contents.put(digest, &body).await.unwrap();
    }
    assert_eq!(sequence(&one).await, before + 1, "what was stored a short while ago is there");
    assert_eq!(other.contents.get(digest).await.unwrap().as_deref(), Some(&body[..]));
    assert!(other.contents.mark(digest).await.unwrap());
    assert_eq!(sequence(&one).await, before + 2, "another process does not know that it was stored just now");
}

#[tokio::test]
async fn what_is_not_what_its_digest_says_is_not_there_and_can_be_stored() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (body, digest) = body("b");
    for wrong in [&b"?"[..], b"", b"\x00another body", b"\x01no zstd"] {
        let subject = format!("$KV.content.{digest}");
        bus.js.publish(subject, wrong.to_vec().into()).await.unwrap().await.unwrap();
        assert!(bus.contents.get(digest).await.unwrap().is_none(), "{wrong:?}");
        assert!(!bus.contents.mark(digest).await.unwrap(), "{wrong:?}");
    }
    bus.contents.put(digest, &body).await.unwrap();
    assert_eq!(bus.contents.get(digest).await.unwrap().as_deref(), Some(&body[..]));
}

#[tokio::test]
async fn a_body_that_was_stored_in_a_bucket_that_is_gone_is_stored_again() {
    let server = Server::start();
    let bus = bus(&server).await;
    let (body, digest) = body("c");
    bus.contents.put(digest, &body).await.unwrap();
    let before = bus.incarnation("KV_content");
    crate::layout::wipe::wipe(&Connection::plain(server.url()), "KV_content").await.unwrap();
    crate::kit::until(|| ![0, before].contains(&bus.incarnation("KV_content"))).await;
    bus.contents.put(digest, &body).await.unwrap();
    let other = self::bus(&server).await;
    assert!(other.contents.get(digest).await.unwrap().is_some());
}

#[tokio::test]
async fn rows_whose_bodies_are_gone_are_named_when_they_are_taken_over() {
    let server = Server::start();
    let bus = bus(&server).await;
    let ((there, kept), (_, lost)) = (body("d"), body("e"));
    bus.contents.put(kept, &there).await.unwrap();
    let subject = |profile: &str| row(profile, None).subject;
    let named = [(subject("x"), kept), (subject("y"), lost)].into();
    let missing = ContentRefs::default().adopt(&bus.contents, named).await.unwrap();
    assert_eq!(missing, [subject("y")].into());
}
