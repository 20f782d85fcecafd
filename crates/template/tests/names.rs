//! No function is missing: the names of sprig 3.3.0 as its function maps list them, and those that Sveltos adds.
#![allow(clippy::unwrap_used)]

use sluice_template::{Options, Program, Stage};

/// What Sveltos adds to sprig, in both stages.
const SVELTOS: &str = "toYaml fromYaml fromYamlArray toJson fromJson fromJsonArray toToml fromToml getResource copy \
                       getField removeField setField chainRemoveField chainSetField";

fn exists(name: &str, options: &Options) -> bool {
    let compiled = Program::compile("t", &format!("{{{{ {name} }}}}"), options);
    !compiled.is_err_and(|error| error.to_string().contains("not defined"))
}

#[test]
fn every_function_of_sprig_and_sveltos_exists_in_both_stages() {
    let sprig = include_str!("names/sprig-3.3.0.txt").lines();
    let all: Vec<&str> = sprig.chain(SVELTOS.split_whitespace()).collect();
    assert!(all.len() > 220, "{}", all.len());
    for stage in [Stage::Event, Stage::Deploy] {
        let options = Options { stage, ..Options::default() };
        let missing: Vec<_> = all.iter().filter(|name| !exists(name, &options)).collect();
        assert!(missing.is_empty(), "{stage:?}: {missing:?}");
        assert!(!exists("noSuchFunction", &options));
    }
}

#[test]
fn the_extras_exist_where_they_are_asked_for() {
    let options = Options { extras: true, ..Options::default() };
    for name in ["required", "include", "tpl", "lookup", "fromYamlDocuments"] {
        assert!(exists(name, &options) && !exists(name, &Options::default()), "{name}");
    }
}
