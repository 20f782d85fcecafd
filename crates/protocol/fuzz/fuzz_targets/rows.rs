//! What an agent writes beside objects is read, or it is not: views, meta data, problems, journal lines, and objects as keys.
//!
//! An input is the kind of what follows, one byte, and a text.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_api::ObjectKey;
use sluice_protocol::ProblemRow;
use sluice_protocol::{JournalEntry, Meta, View};

fuzz_target!(|input: &[u8]| {
    let Some((kind, text)) = input.split_first() else { return };
    let Ok(text) = std::str::from_utf8(text) else { return };
    match kind % 5 {
        0 => {
            let view = View::parse(text);
            assert_eq!(View::parse(&view.to_string()), view);
        }
        1 => {
            let meta = Meta::parse(text);
            assert_eq!(Meta::parse(&meta.to_string()), meta);
        }
        2 => drop(serde_json::from_str::<ProblemRow>(text)),
        3 => drop(serde_json::from_str::<JournalEntry>(text)),
        _ => {
            let object: Option<serde_json::Value> = serde_json::from_str(text).ok();
            if let Some(key) = object.as_ref().and_then(ObjectKey::of) {
                assert!(!key.to_string().is_empty());
            }
        }
    }
});
