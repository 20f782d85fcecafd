//! Claiming fence rows, and publishing under them.

use async_nats::HeaderMap;
use async_nats::jetstream::context::{PublishAckFuture, PublishErrorKind};
use sluice_api::Digest;
use sluice_protocol::{Body, Head, Publish, Subject};

use crate::codec;
use crate::contents::LARGE;
use crate::error::BusError;
use crate::layout::Bus;

const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
const EXPECTED_SUBJECT: &str = "Nats-Expected-Last-Subject-Sequence-Subject";
const TTL: &str = "Nats-TTL";

/// Tries to claim a fence row this often while others do the same.
const ATTEMPTS: usize = 4;

/// Replaces a fence row; its new sequence is the proof of ownership.
pub(crate) async fn claim(bus: &Bus, stream: &str, subject: &Subject) -> Result<u64, BusError> {
    let subject = subject.to_string();
    let mut seen = 0;
    for _ in 0..ATTEMPTS {
        let mut headers = HeaderMap::new();
        headers.insert(EXPECTED, seen.to_string());
        let named = || format!("claim {subject}");
        let ack = bus.js.publish_with_headers(subject.clone(), headers, bytes::Bytes::new()).await;
        match ack.map_err(BusError::request(named()))?.await {
            Ok(ack) => return Ok(ack.sequence),
            Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => {
                let table = bus.js.get_stream_no_info(stream).await.map_err(BusError::request(named()))?;
                seen =
                    table.direct_get_last_for_subject(&subject).await.map_or(0, |message| message.sequence);
            }
            Err(error) => return Err(BusError::Request { what: named(), source: error.into() }),
        }
    }
    Err(BusError::Request {
        what: format!("claim {subject}"),
        source: "others claim it at the same time".into(),
    })
}

/// Demands that `sequence` is still the last one of the fence row.
pub(crate) fn fence(headers: &mut HeaderMap, sequence: u64, subject: &str) {
    headers.insert(EXPECTED, sequence.to_string());
    headers.insert(EXPECTED_SUBJECT, subject);
}

/// Sends a row that the server accepts only while `fence` is the last sequence of the fence row; with the name of its
/// body, when that is large and stored apart.
pub(crate) async fn publish(
    bus: &Bus,
    row: &Publish,
    head: &Head,
    fence: (u64, &str),
) -> Result<(PublishAckFuture, Option<Digest>), BusError> {
    let mut headers = codec::headers(head);
    self::fence(&mut headers, fence.0, fence.1);
    let mut content = None;
    let body = match &row.body {
        Body::Value(bytes) if bytes.len() > LARGE => {
            let digest = Digest::of(&[bytes]);
            bus.contents.put(digest, bytes).await?;
            headers.insert(codec::CONTENT, digest.to_string());
            content = Some(digest);
            bytes::Bytes::new()
        }
        Body::Value(bytes) => codec::encode(bytes),
        Body::Tombstone => {
            headers.insert(TTL, format!("{}s", bus.tombstone_ttl.as_secs().max(1)));
            bytes::Bytes::new()
        }
    };
    let subject = row.subject.to_string();
    let sent = bus.js.publish_with_headers(subject.clone(), headers, body).await;
    Ok((sent.map_err(BusError::request(subject))?, content))
}
