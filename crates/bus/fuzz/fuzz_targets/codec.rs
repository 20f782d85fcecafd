//! Any headers are a head that is read back, and any body is read within its limit or refused.
//!
//! An input is the headers as lines, an empty line, and the body.
#![no_main]

use async_nats::header::{HeaderMap, HeaderName, HeaderValue};
use libfuzzer_sys::fuzz_target;
use sluice_api::Digest;
use sluice_protocol::{Head, Table};

/// The file itself: the bus shows its codec to nobody, and fuzzing needs nothing else of it.
#[path = "../../src/codec.rs"]
mod codec;

/// The limits of the codec, once more: they hold also when somebody changes them there by mistake.
const MAX_BODY: usize = 64 << 20;
const MAX_CHANGE: usize = 8 << 20;

fuzz_target!(|input: &[u8]| {
    let border = input.windows(2).position(|pair| pair == b"\n\n").unwrap_or(input.len());
    let (lines, body) = input.split_at(border);
    let mut headers = HeaderMap::new();
    for line in String::from_utf8_lossy(lines).lines() {
        let (name, value) = line.split_once(": ").unwrap_or((line, ""));
        if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), value.parse::<HeaderValue>()) {
            headers.append(name, value);
        }
    }
    let read = codec::head(Some(&headers));
    let digest = if read.tombstone { Digest::default() } else { read.digest };
    assert_eq!(codec::head(Some(&codec::headers(&read))), Head { digest, ..read });
    assert!(codec::content(Some(&headers)).is_none() || headers.get(codec::CONTENT).is_some());

    let body = body.get(2..).unwrap_or_default();
    for (limit, most) in [(codec::Limit::LARGEST, MAX_BODY), (Table::Changes.into(), MAX_CHANGE)] {
        if let Ok(read) = codec::decode(body, limit) {
            assert!(read.len() <= most);
            assert_eq!(codec::decode(&codec::encode(&read), limit).expect("what is written is read"), read);
        }
    }
});
