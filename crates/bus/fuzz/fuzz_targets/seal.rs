//! Whatever is taken for a sealed row is refused, unless it is one, and nothing of it is read past its end.
//!
//! An input is the payload of a sealed row behind its format byte. Half of them are tried as they are; of the others the bytes say
//! how a row is changed that was really sealed.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;

/// The file itself: the bus shows it to nobody, and fuzzing needs nothing else of it.
#[path = "../../src/seal/envelope.rs"]
#[allow(dead_code)]
mod envelope;

use envelope::Identity;

const CONTEXT: &[u8] = b"desired.00.a\0digest\0";
const PLAIN: &[u8] = b"what a Secret holds";

/// A reader, and what is sealed for it.
static SEALED: LazyLock<(Identity, Vec<u8>)> = LazyLock::new(|| {
    let identity = Identity::read(&Identity::generate()).expect("what is made is read");
    let sealed = envelope::encrypt(PLAIN, CONTEXT).expect("it is small");
    let mut bytes = Vec::new();
    sealed.wrap(&[identity.recipient()], CONTEXT, &mut bytes).expect("one recipient");
    bytes.extend_from_slice(&sealed.content);
    (identity, bytes)
});

fn open(identity: &Identity, bytes: &[u8]) -> Option<Vec<u8>> {
    let (wraps, content) = envelope::split(bytes).ok()?;
    envelope::open((wraps, CONTEXT), (content, CONTEXT), |_| Some(identity)).ok()
}

fuzz_target!(|input: &[u8]| {
    let (identity, sealed) = &*SEALED;
    assert_eq!(open(identity, input), None);
    let mut changed = sealed.clone();
    for pair in input.chunks_exact(2) {
        let at = usize::from(pair[0]) % changed.len();
        changed[at] ^= pair[1];
    }
    let expected = (changed == *sealed).then(|| PLAIN.to_vec());
    // The id of a key only says which key to try.
    let same_key = changed.iter().zip(sealed).enumerate().all(|(at, (one, other))| (1..9).contains(&at) || one == other);
    let opened = open(identity, &changed);
    assert!(opened == expected || (same_key && opened.as_deref() == Some(PLAIN)));
});
