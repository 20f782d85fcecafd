//! Any Lua and any object: a verdict, a text or an error, soon. What takes longer is found by libFuzzer's `-timeout=5`.
//!
//! Leaks are looked for with `-rss_limit_mb` only, and `-detect_leaks=0`: the Lua library keeps a pointer to the end of an
//! allocation for every script that is kept, and LeakSanitizer takes that for none.
//!
//! An input is the object as a line of JSON, and the script.
#![no_main]

use std::time::Duration;

use libfuzzer_sys::fuzz_target;
use serde_json::Value;
use sluice_script::{Limits, Script};
use sluice_template::Env;

fuzz_target!(|text: &str| {
    let (object, source) = text.split_once('\n').unwrap_or(("", text));
    let object = serde_json::from_str(object).unwrap_or(Value::Null);
    let limits = Limits { steps: 100_000, time: Duration::from_millis(50), memory: 8 << 20 };
    for source in [source.to_owned(), format!("function evaluate()\n{source}\nend")] {
        let script = match Script::compile(&source) {
            Ok(script) => script,
            Err(error) => {
                assert!(!error.to_string().contains('\n'));
                continue;
            }
        };
        if let Err(error) = script.evaluate(&object, &limits) {
            assert!(!error.to_string().contains('\n'));
        }
        if let Err(error) = script.choose(&[&object, &object], &limits) {
            assert!(!error.to_string().contains('\n'));
        }
        if let Err(error) = script.generate(&object, &Env::default(), &limits) {
            assert!(!error.to_string().contains('\n'));
        }
    }
});
