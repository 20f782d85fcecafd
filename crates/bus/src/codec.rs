//! Rows as messages: a head in headers, a body with a format byte in front.

use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

use async_nats::HeaderMap;
use bytes::Bytes;
use sluice_api::Digest;
use sluice_protocol::{Head, Meta, Table, View};
use zstd::bulk::Compressor;

// D-0115: a change of format has a number.
/// Counts the changes of what rows look like: grows when this version writes rows that one before it cannot read. While
/// versions are mixed, only replicas of the newest format own shards.
pub(crate) const ROW_FORMAT: u16 = 4;

/// Bodies above this are compressed.
const COMPRESS_ABOVE: usize = 4096;
/// Nothing above this is compressed to less than one part of so many: a few bytes must not cost their reader megabytes.
const MOST: usize = 256;
const MOST_ABOVE: usize = 64 << 10;
/// No body may become larger than this when it is decompressed.
const MAX_BODY: usize = 64 << 20;
// D-0113: sizes are limited before anything is unpacked.
/// Nor one that an agent sends, whose cluster may be anybody's. No API server has an object that large.
const MAX_CHANGE: usize = 8 << 20;
const LEVEL: i32 = 1;

const PLAIN: u8 = 0;
const ZSTD: u8 = 1;
/// The body, packed in one of the other ways, sealed for some: see `seal`.
pub(crate) const SEALED: u8 = 2;

const DIGEST: &str = "Sluice-Digest";
const TIME: &str = "Sluice-Time";
const VIEW: &str = "Sluice-View";
const META: &str = "Sluice-Meta";
const TOMBSTONE: &str = "Sluice-Tombstone";
/// Names the body in the `content` bucket; the message itself has none.
pub(crate) const CONTENT: &str = "Sluice-Content";
/// The keys that a row is sealed for.
pub(crate) const SEALED_FOR: &str = "Sluice-Sealed-For";

/// How large a body may become when it is decompressed, bytes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limit {
    bytes: usize,
    /// How many times as large as its message.
    times: usize,
}

impl Limit {
    /// For who trusts the writer with memory.
    pub(crate) const LARGEST: Self = Self { bytes: MAX_BODY, times: usize::MAX };

    /// Why a body of this many bytes must not be sent; nothing when it may.
    pub(crate) fn refuse(self, bytes: usize) -> Option<String> {
        (bytes > self.bytes).then(|| {
            format!("{bytes} bytes are more than the {} that a row may have; split the object", self.bytes)
        })
    }
}

impl From<Table> for Limit {
    fn from(table: Table) -> Self {
        match table {
            Table::Changes => Self { bytes: MAX_CHANGE, times: MOST },
            _ => Self::LARGEST,
        }
    }
}

/// A message is not a row.
#[derive(Debug, thiserror::Error)]
pub(crate) enum CodecError {
    #[error("unknown format {0}; it was written by a newer version")]
    Format(u8),
    #[error("the body cannot be decompressed: {0}")]
    Compression(#[from] std::io::Error),
    #[error("the body would become {0}, and may have {1} bytes")]
    Size(String, usize),
}

// D-0108: the body is JSON behind one format byte.
/// The message of a body.
pub(crate) fn encode(body: &[u8]) -> Bytes {
    if body.is_empty() {
        return Bytes::new();
    }
    let (format, body) = match (body.len() > COMPRESS_ABOVE).then(|| compress(body)) {
        Some(Ok(small)) if body.len() <= MOST_ABOVE.max(small.len() * MOST) => (ZSTD, Cow::Owned(small)),
        _ => (PLAIN, Cow::Borrowed(body)),
    };
    let mut out = Vec::with_capacity(body.len() + 1);
    out.push(format);
    out.extend_from_slice(&body);
    out.into()
}

/// With a compressor of this thread's own: making one costs more than its use.
fn compress(body: &[u8]) -> std::io::Result<Vec<u8>> {
    thread_local! {
        static COMPRESSOR: RefCell<Option<Compressor<'static>>> = const { RefCell::new(None) };
    }
    COMPRESSOR.with_borrow_mut(|kept| match kept {
        Some(compressor) => compressor.compress(body),
        None => kept.insert(Compressor::new(LEVEL)?).compress(body),
    })
}

/// The body of a message, which may not be larger than the limit.
pub(crate) fn decode(message: &[u8], limit: Limit) -> Result<Arc<[u8]>, CodecError> {
    match message.split_first() {
        None => Ok(Arc::from([])),
        Some((&PLAIN, body)) if body.len() > limit.bytes => {
            Err(CodecError::Size(format!("{} bytes", body.len()), limit.bytes))
        }
        Some((&PLAIN, body)) => Ok(body.into()),
        Some((&ZSTD, body)) => Ok(zstd::bulk::decompress(body, size(body, limit)?)?.into()),
        Some((&format, _)) => Err(CodecError::Format(format)),
    }
}

/// Room for a body: what its frame says, as every frame of [`encode`] does. It is looked at before anything is unpacked.
fn size(frame: &[u8], Limit { bytes, times }: Limit) -> Result<usize, CodecError> {
    let said = zstd::zstd_safe::get_frame_content_size(frame).ok().flatten();
    let said = said.and_then(|size| usize::try_from(size).ok());
    let limit = bytes.min(frame.len().saturating_mul(times).max(MOST_ABOVE));
    match said {
        Some(size) if size <= limit => Ok(size),
        Some(size) => Err(CodecError::Size(format!("{size} bytes"), limit)),
        None => Err(CodecError::Size("as large as it likes".to_owned(), limit)),
    }
}

// D-0107: the head travels in headers.
/// The headers of a head.
pub(crate) fn headers(head: &Head) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(TIME, head.time.to_string());
    if head.tombstone {
        headers.insert(TOMBSTONE, "1");
    } else {
        headers.insert(DIGEST, head.digest.to_string());
    }
    let view = head.view.to_string();
    if !view.is_empty() {
        headers.insert(VIEW, one_line(&view));
    }
    let meta = head.meta.to_string();
    if !meta.is_empty() {
        headers.insert(META, one_line(&meta));
    }
    headers
}

/// The body's name in the `content` bucket, when it is not in the message.
pub(crate) fn content(headers: Option<&HeaderMap>) -> Option<Digest> {
    headers.and_then(|headers| headers.get(CONTENT)).and_then(|value| value.as_str().parse().ok())
}

/// The keys that a row is sealed for, as its header has them.
pub(crate) fn sealed_for(headers: Option<&HeaderMap>) -> Option<&str> {
    headers.and_then(|headers| headers.get(SEALED_FOR)).map(|value| value.as_str())
}

/// Header values are one line; JSON without line breaks always is.
fn one_line(text: &str) -> String {
    text.replace(['\r', '\n'], " ")
}

/// The head of a message. What is missing is as if it were empty.
pub(crate) fn head(headers: Option<&HeaderMap>) -> Head {
    let get = |name: &str| headers.and_then(|headers| headers.get(name)).map_or("", |value| value.as_str());
    // Markers that the server itself writes when a message expires are tombstones as well.
    let tombstone = !get(TOMBSTONE).is_empty()
        || !get("Nats-Marker-Reason").is_empty()
        || !get("KV-Operation").is_empty();
    Head {
        digest: get(DIGEST).parse().unwrap_or_default(),
        time: get(TIME).parse().unwrap_or(0),
        view: View::parse(get(VIEW)),
        meta: Meta::parse(get(META)),
        tombstone,
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use proptest::prelude::*;

    #[test]
    fn heads_are_read_back() {
        let value = Head {
            digest: Digest::of(&[b"x"]),
            time: 5,
            view: View::parse("a=1 b c=2"),
            meta: Meta::Unknown(r#"{"a":"é"}"#.into()),
            tombstone: false,
        };
        let gone = Head { time: 7, tombstone: true, ..Head::default() };
        for expected in [value, gone] {
            assert_eq!(head(Some(&headers(&expected))), expected);
        }
        assert_eq!(head(None), Head::default());
    }

    #[test]
    fn large_bodies_are_smaller_on_the_wire() {
        let body = "kind: Service\n".repeat(1000);
        let message = encode(body.as_bytes());
        assert!(message.len() < body.len() / 10);
        assert_eq!(&*decode(&message, Limit::LARGEST).unwrap(), body.as_bytes());
        assert_eq!(size(&message[1..], Limit::LARGEST).unwrap(), body.len());
    }

    #[test]
    fn no_frame_makes_more_than_the_limit() {
        let mut message = vec![ZSTD];
        message.extend(zstd::bulk::compress(&vec![0; MAX_BODY + 1], LEVEL).unwrap());
        assert!(message.len() < MAX_BODY / 1000);
        assert!(matches!(decode(&message, Limit::LARGEST), Err(CodecError::Size(..))));
        // One that does not say how large it is, and one that says less than it is.
        let unsaid = {
            let mut encoder = zstd::stream::Encoder::new(vec![ZSTD], LEVEL).unwrap();
            std::io::Write::write_all(&mut encoder, &vec![0; MAX_BODY]).unwrap();
            encoder.finish().unwrap()
        };
        assert!(matches!(decode(&unsaid, Limit::LARGEST), Err(CodecError::Size(..))));
        let noise: Vec<u8> =
            (0..200_000_u32).flat_map(|n| n.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let mut lies = encode(&noise).to_vec();
        assert_eq!(lies[0], ZSTD);
        let said = size(&lies[1..], Limit::LARGEST).unwrap();
        let at =
            lies.windows(4).position(|bytes| bytes == u32::try_from(said).unwrap().to_le_bytes()).unwrap();
        lies[at..at + 4].copy_from_slice(&1_000_u32.to_le_bytes());
        assert!(decode(&lies, Limit::LARGEST).is_err());
    }

    #[test]
    fn what_would_become_far_larger_is_sent_as_it_is() {
        let body = vec![b' '; 1 << 20];
        let message = encode(&body);
        assert_eq!((message[0], message.len()), (PLAIN, body.len() + 1));
        assert_eq!(&*decode(&message, Limit::from(Table::Changes)).unwrap(), &body[..]);
        let mut bomb = vec![ZSTD];
        bomb.extend(zstd::bulk::compress(&body, LEVEL).unwrap());
        assert!(decode(&bomb, Limit::from(Table::Changes)).is_err());
    }

    #[test]
    fn what_an_agent_sends_makes_no_more_than_an_object_may_have() {
        let message = |bytes| encode(&vec![b' '; bytes]);
        let (changes, desired) = (Limit::from(Table::Changes), Limit::from(Table::Desired));
        assert_eq!(decode(&message(MAX_CHANGE), changes).unwrap().len(), MAX_CHANGE);
        assert!(decode(&message(MAX_CHANGE + 1), changes).is_err());
        assert!(decode(&message(MAX_CHANGE + 1), desired).is_ok());
        assert!(changes.refuse(MAX_CHANGE).is_none() && changes.refuse(MAX_CHANGE + 1).is_some());
    }

    const NAMES: &str = "Sluice-(Digest|Time|View|Meta|Tombstone|Content)|KV-Operation";

    /// Values that are nearly right, and others. A message's headers are lines.
    fn any_value() -> impl Strategy<Value = String> {
        prop_oneof![
            "[ -~]{0,20}",
            "[0-9a-f]{31,33}|[+-]?[0-9]{0,21}",
            "([a-z=/:]{0,4}=[0-9]{1,20} ){0,3}",
            r#"\{"(profile|event|incarnation|selectors)":("ClusterProfile p"|7|\[[0-9]{0,12}\]|null|\[{0,300})\}"#,
            any::<String>().prop_map(|text| one_line(&text)),
        ]
    }

    fn any_headers() -> impl Strategy<Value = HeaderMap> {
        proptest::collection::vec((NAMES, any_value()), 0..8).prop_map(|lines| {
            let mut headers = HeaderMap::new();
            lines.iter().for_each(|(name, value)| headers.append(name.as_str(), value.as_str()));
            headers
        })
    }

    proptest! {
        #[test]
        fn bodies_are_read_back(body in proptest::collection::vec(any::<u8>(), 0..6000)) {
            prop_assert_eq!(&*decode(&encode(&body), Limit::LARGEST).unwrap(), &body[..]);
        }

        #[test]
        fn no_message_panics(message in proptest::collection::vec(any::<u8>(), 0..300)) {
            prop_assert!(decode(&message, Limit::LARGEST).is_ok() || !message.is_empty());
        }

        #[test]
        fn no_damaged_frame_panics(
            text in "[a-c]{1,9}",
            at in any::<prop::sample::Index>(),
            with in any::<[u8; 4]>(),
            keep in any::<prop::sample::Index>(),
        ) {
            let mut message = encode(text.repeat(5000).as_bytes()).to_vec();
            let at = at.index(message.len());
            message.iter_mut().skip(at).zip(with).for_each(|(old, new)| *old = new);
            message.truncate(keep.index(message.len()) + 1);
            if let Ok(body) = decode(&message, Limit::LARGEST) {
                prop_assert!(body.len() <= MAX_BODY);
            }
        }

        #[test]
        fn the_head_of_any_headers_is_read_back(hostile in any_headers()) {
            let read = head(Some(&hostile));
            let digest = if read.tombstone { Digest::default() } else { read.digest };
            prop_assert_eq!(head(Some(&headers(&read))), Head { digest, ..read });
            prop_assert!(content(Some(&hostile)).is_none() || hostile.get(CONTENT).is_some());
        }
    }
}
