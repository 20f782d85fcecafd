//! The contract keeps what `proto/sluice.binpb` promises.
#![allow(clippy::unwrap_used)]

use sluice_proto::DESCRIPTORS;
use sluice_proto::contract::{broken, promises};

const PROMISED: &[u8] = include_bytes!("../sluice.binpb");

#[test]
fn nothing_that_clients_rely_on_is_gone_or_has_another_form() {
    let broken = broken(&promises(PROMISED).unwrap(), &promises(DESCRIPTORS).unwrap());
    assert!(broken.is_empty(), "clients rely on what is no more:\n{}", broken.join("\n"));
}

/// Else what is added today could be renumbered tomorrow.
#[test]
fn what_was_added_is_promised_too() {
    assert!(
        promises(PROMISED).unwrap() == promises(DESCRIPTORS).unwrap(),
        "the contract has grown: `make proto` writes proto/sluice.binpb anew"
    );
}
