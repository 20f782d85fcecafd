//! Any template that compiles renders or fails within its budgets.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use serde_json::{Value, json};
use sluice_template::{Data, Env, Limits, MissingKey, Options, Program};

static OBJECT: LazyLock<Value> = LazyLock::new(|| {
    json!({
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "shop", "labels": {"app": "x", "n": "no"}, "uid": "u"},
        "spec": {"ports": [{"port": 80, "name": "http"}, {"port": 443}], "ratio": 1.5, "big": 1e21, "none": null},
        "list": [1, "a", true, null, 2.5, {"k": "v"}, [1, 2]],
    })
});

fuzz_target!(|text: &str| {
    let options = Options { missing_key: MissingKey::Default, extras: true, ..Options::default() };
    let Ok(program) = Program::compile("t", text, &options) else { return };
    let dot = Data::Map(vec![("Resource", Data::Json(&OBJECT)), ("s", Data::Str("text"))]);
    let limits = Limits { steps: 100_000, memory_bytes: 4 << 20, ..Limits::default() };
    if let Ok(output) = program.render(&dot, &Env::default(), &limits) {
        assert!(output.len() <= limits.output_bytes * 3);
    }
});
