//! Any text is read by every codec, and what was read is printed again.
#![no_main]

use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sluice_template::{Data, Env, Limits, Options, Program};

static PROGRAM: LazyLock<Program> = LazyLock::new(|| {
    let text = "{{ $y := fromYaml .t }}{{ toYaml $y }}{{ toJson $y }}{{ toToml $y }}{{ copy $y }}\
                {{ fromJson .t | toYaml }}{{ fromToml .t | toYaml }}{{ fromYamlArray .t | toJson }}\
                {{ regexMatch .t .t }}{{ toDate .t .t }}{{ duration .t }}";
    Program::compile("t", text, &Options::default()).expect("the template is well-formed")
});

fuzz_target!(|text: &str| {
    let dot = Data::Map(vec![("t", Data::Str(text))]);
    let limits = Limits { steps: 300_000, memory_bytes: 8 << 20, ..Limits::default() };
    PROGRAM.render(&dot, &Env::default(), &limits).ok();
});
