//! Rows as messages: a head in headers, a body with a format byte in front.

#[cfg(test)]
mod tests;

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
pub(crate) const ROW_FORMAT: u16 = 5;

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
