//! What commands do whose output nobody reads, or that cannot be written.

#![allow(clippy::unwrap_used)]

use std::fs::File;
use std::process::{Command, Output, Stdio};

fn reference_to(output: impl Into<Stdio>) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_sluice"));
    command.arg("reference").stdout(output).stderr(Stdio::piped()).output().unwrap()
}

#[test]
fn a_reader_that_has_seen_enough_is_no_error() {
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = reference_to(writer);
    assert!(output.status.success(), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
}

#[test]
fn a_full_disk_is_told() {
    let output = reference_to(File::create("/dev/full").unwrap());
    assert_eq!(output.status.code(), Some(1));
    let told = String::from_utf8(output.stderr).unwrap();
    assert!(told.starts_with("sluice: the output cannot be written: "), "{told}");
}
