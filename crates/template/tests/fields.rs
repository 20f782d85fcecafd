//! Some fields of a document are what all of it has under these names, and it fails where all of it does.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use serde_json::Value;
use sluice_template::{Integers, TextError, fields_from_yaml, from_yaml};

const WANTED: [&str; 2] = ["kind", "metadata"];

fn some(text: &str) -> Result<Value, TextError> {
    fields_from_yaml(text, |key| WANTED.iter().any(|wanted| key == wanted.as_bytes()))
}

/// The same, from all that the document has.
fn some_of_all(text: &str) -> Result<Value, TextError> {
    let mut all = from_yaml(text, Integers::Kept)?;
    if let Some(map) = all.as_object_mut() {
        map.retain(|key, _| WANTED.contains(&key.as_str()));
    }
    Ok(all)
}

#[test]
fn only_what_is_wanted_is_there() {
    let text = "kind: Job\nspec: {a: [1, b]}\nmetadata:\n  name: x\n";
    assert_eq!(some(text).unwrap(), serde_json::json!({"kind": "Job", "metadata": {"name": "x"}}));
}

#[test]
fn what_is_wrong_elsewhere_is_said() {
    for wrong in ["spec: {a: .inf}", "spec: [*x]", "? [a]\n: b", "null: a", "spec: !!int a", "spec: {\n"] {
        let text = format!("kind: Job\n{wrong}\n");
        let error = some(&text).unwrap_err();
        assert_eq!(Err(error), from_yaml(&text, Integers::Kept), "{text}");
    }
}

/// Texts that are nearly documents.
fn any_text() -> impl Strategy<Value = String> {
    let entry = prop_oneof![
        Just("kind: "),
        Just("metadata: "),
        Just("spec: "),
        Just("a: "),
        Just("<<: "),
        Just("1: "),
        Just("null: "),
        Just("- "),
        Just("? "),
    ];
    let value = prop_oneof![
        Just("x"),
        Just("7"),
        Just(".inf"),
        Just("-.nan"),
        Just("&m "),
        Just("*m"),
        Just("{a: .inf, b: *m}"),
        Just("{kind: y}"),
        Just("[1, [2]]"),
        Just("'q'"),
        Just("\"\\x41\""),
        Just("!!int "),
        Just("!!float 3"),
        Just("|\n   text\n"),
        Just("two words # no"),
        Just("18446744073709551615"),
        Just(""),
        Just("{"),
    ];
    let line = (0..3usize, entry, value)
        .prop_map(|(indent, entry, value)| format!("{}{entry}{value}\n", "  ".repeat(indent)));
    proptest::collection::vec(line, 0..7).prop_map(|lines| lines.concat())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn some_fields_are_those_of_the_whole(text in any_text()) {
        prop_assert_eq!(some(&text), some_of_all(&text), "{}", text);
    }
}
