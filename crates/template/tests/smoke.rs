//! A short smoke of the fuzz targets: their corpus, whole and damaged, with a fixed seed.
#![allow(clippy::unwrap_used)]

#[expect(dead_code, reason = "the differential fuzz uses the rest")]
mod generate;

mod common;

use std::path::PathBuf;

use rand::{SeedableRng, rngs::StdRng};
use serde_json::json;
use sluice_template::{Data, Env, Limits, MissingKey, Options, Program};

fn corpus(target: &str) -> Vec<String> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(target);
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    files.sort();
    files.iter().filter_map(|f| std::fs::read_to_string(f).ok()).collect()
}

/// Every text, and twenty damaged forms of it.
fn damaged(texts: Vec<String>) -> impl Iterator<Item = String> {
    let mut random = StdRng::seed_from_u64(7);
    texts.into_iter().flat_map(move |text| {
        let mut forms = vec![text.clone()];
        for _ in 0..20 {
            let last = forms.last().cloned().unwrap_or_default();
            let base = if forms.len() % 4 == 0 { text.clone() } else { last };
            forms.push(generate::values::damage(&mut random, &base));
        }
        forms
    })
}

#[test]
fn templates_compile_and_render_or_fail() {
    let object = json!({"metadata": {"name": "web"}, "spec": {"ports": [{"port": 80}]}, "l": [1, "a", null]});
    let options = Options { missing_key: MissingKey::Default, extras: true, ..Options::default() };
    let limits = Limits { steps: 100_000, memory_bytes: 4 << 20, ..Limits::default() };
    let (mut rendered, mut refused) = (0, 0);
    for text in damaged(corpus("parse").into_iter().chain(corpus("render")).collect()) {
        match Program::compile("t", &text, &options) {
            Ok(program) => {
                let dot = Data::Map(vec![("Resource", Data::Json(&object)), ("s", Data::Str("text"))]);
                rendered += 1;
                if let Err(error) = program.render(&dot, &Env::default(), &limits) {
                    assert!(error.line() >= 1);
                }
            }
            Err(error) => {
                refused += 1;
                assert!(error.to_string().starts_with("template: t:"));
            }
        }
    }
    assert!(rendered > 100 && refused > 100, "{rendered} rendered, {refused} refused");
}

#[test]
fn codecs_read_and_print_anything() {
    let text = "{{ $y := fromYaml .t }}{{ toYaml $y }}{{ toToml $y }}{{ copy $y }}{{ fromJson .t | toYaml }}\
                {{ fromToml .t | toYaml }}{{ regexMatch .t .t }}{{ toDate .t .t }}";
    let program = Program::compile("t", text, &Options::default()).unwrap();
    let limits = Limits { steps: 300_000, ..Limits::default() };
    let mut printed = 0;
    for text in damaged(corpus("codecs")) {
        let dot = Data::Map(vec![("t", Data::Str(&text))]);
        printed += usize::from(program.render(&dot, &Env::default(), &limits).is_ok());
    }
    assert!(printed > 100, "{printed}");
}
