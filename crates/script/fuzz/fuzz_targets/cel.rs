//! Any rule and any object: yes, no or why neither, soon. What takes longer is found by libFuzzer's `-timeout=5`.
//!
//! An input is the object as a line of JSON, and the rule.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use sluice_script::Limits;
use sluice_script::cel::Rule;

fuzz_target!(|text: &str| {
    let (object, source) = text.split_once('\n').unwrap_or(("", text));
    let object = serde_json::from_str(object).unwrap_or(Value::Null);
    let limits = Limits { steps: 100_000, time: Duration::from_millis(50), memory: 8 << 20 };
    match Rule::compile(source) {
        Ok(rule) => match rule.holds(&object, &limits) {
            Ok(_) => {}
            Err(error) => assert!(!error.to_string().contains('\n')),
        },
        Err(error) => assert!(!error.to_string().contains('\n')),
    }
});
