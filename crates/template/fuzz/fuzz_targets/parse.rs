//! Any text compiles or is refused with a position.
#![no_main]

use libfuzzer_sys::fuzz_target;
use sluice_template::{Options, Program};

fuzz_target!(|text: &str| {
    if let Err(error) = Program::compile("t", text, &Options::default()) {
        assert!(error.line() >= 1 && !error.to_string().is_empty());
    }
});
