//! YAML as `sigs.k8s.io/yaml` reads it: the words and numbers of YAML 1.1, documents, lists, anchors, and lines.

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::yaml::{MAX_DEPTH, documents, located};

/// The one document of a text.
fn one(text: &str) -> Value {
    let mut all = documents(text).unwrap();
    assert_eq!(all.len(), 1, "{text}");
    all.remove(0)
}

/// What stands behind a key.
fn scalar(text: &str) -> Value {
    one(&format!("a: {text}\n"))["a"].clone()
}

fn refused(text: &str) -> String {
    documents(text).unwrap_err().to_string()
}

#[test]
fn words_of_yaml_1_1_are_true_and_false() {
    for word in ["true", "True", "TRUE", "yes", "Yes", "YES", "on", "On", "ON", "y", "Y"] {
        assert_eq!(scalar(word), json!(true), "{word}");
    }
    for word in ["false", "False", "FALSE", "no", "No", "NO", "off", "Off", "OFF", "n", "N"] {
        assert_eq!(scalar(word), json!(false), "{word}");
    }
}

#[test]
fn quoted_words_are_texts() {
    for word in ["'yes'", "\"on\"", "'true'", "'null'", "\"~\"", "'1'", "\"0x1f\"", "!!str 5", "!!str true"] {
        assert!(scalar(word).is_string(), "{word}: {}", scalar(word));
    }
}

#[test]
fn words_of_other_spelling_are_texts() {
    for word in ["maybe", "yes!", "None", "nil", "yeah", "1a", "0x", "1.2.3.4"] {
        assert_eq!(scalar(word), json!(word), "{word}");
    }
}

#[test]
fn nothing_has_many_spellings() {
    for word in ["", "~", "null", "Null", "NULL"] {
        assert_eq!(scalar(word), Value::Null, "{word:?}");
    }
}

#[test]
fn whole_numbers_have_many_spellings() {
    for (text, number) in [
        ("12", 12_i64),
        ("-12", -12),
        ("+12", 12),
        ("0", 0),
        ("0x1F", 31),
        ("0o14", 12),
        ("0644", 420),
        ("0b101", 5),
        ("1_000", 1000),
        ("-0x1f", -31),
        ("-0644", -420),
        ("!!int '5'", 5),
        ("9223372036854775807", i64::MAX),
        ("-9223372036854775808", i64::MIN),
    ] {
        assert_eq!(scalar(text), json!(number), "{text}");
    }
}

#[test]
fn the_largest_unsigned_number_stays_whole() {
    assert_eq!(scalar("18446744073709551615"), json!(u64::MAX));
}

#[test]
fn fractions_are_numbers_and_versions_are_texts() {
    assert_eq!(scalar("1.5"), json!(1.5));
    assert_eq!(scalar("-0.25"), json!(-0.25));
    assert_eq!(scalar(".5"), json!(0.5));
    assert_eq!(scalar("0.1e-2"), json!(0.001));
    assert_eq!(scalar("1.2.3"), json!("1.2.3"));
    assert_eq!(scalar("v1"), json!("v1"));
}

#[test]
fn a_number_without_a_fraction_is_whole_however_it_is_written() {
    for (text, number) in
        [("1.0", 1), ("1e3", 1_000), ("5.", 5), ("-0.0", 0), ("08", 8), ("!!float 2", 2), ("-12e03", -12_000)]
    {
        assert_eq!(scalar(text), json!(number), "{text}");
    }
    assert_eq!(scalar("1e19"), json!(1e19), "it is too large to be exact");
}

#[test]
fn moments_are_texts() {
    for moment in ["2024-01-02", "2024-01-02T03:04:05Z"] {
        assert_eq!(scalar(moment), json!(moment));
    }
}

#[test]
fn numbers_of_another_base_that_are_none_are_texts() {
    for text in ["0o8", "0b2", "0xg", "1:30", "1__0"] {
        assert_eq!(scalar(text), json!(text), "{text}");
    }
}

#[test]
fn a_number_without_end_stays_a_number() {
    assert_eq!(scalar("18446744073709551616"), json!(18_446_744_073_709_551_616.0));
}

#[test]
fn bytes_are_their_text() {
    assert_eq!(scalar("!!binary aGk="), json!("hi"));
}

#[test]
fn escapes_of_a_quoted_text_are_read() {
    assert_eq!(scalar(r#""\x41\u00e9\n""#), json!("A\u{e9}\n"));
    assert_eq!(scalar("'it''s'"), json!("it's"));
}

#[test]
fn a_tag_of_somebody_else_is_passed_over() {
    assert_eq!(scalar("!custom {b: 1}"), json!({"b": 1}));
}

#[test]
fn a_number_that_json_does_not_have_is_refused() {
    for text in [".inf", "-.inf", ".nan", "1e400"] {
        assert!(refused(&format!("a: {text}\n")).contains("finite"), "{text}");
    }
}

#[test]
fn keys_are_texts_whatever_they_look_like() {
    assert_eq!(one("1: a\ntrue: b\n1.5: c\n~: d\n"), json!({"1": "a", "true": "b", "1.5": "c", "null": "d"}));
}

#[test]
fn a_key_that_is_a_list_is_refused() {
    assert!(refused("? [a, b]\n: c\n").contains("a key must be a plain value"));
}

#[test]
fn of_a_key_that_is_there_twice_the_last_counts() {
    assert_eq!(one("a: 1\nb: 2\na: 3\n"), json!({"a": 3, "b": 2}));
}

#[test]
fn an_anchor_is_repeated_by_its_aliases() {
    assert_eq!(
        one("a: &x {k: [1]}\nb: *x\nc: *x\n"),
        json!({"a": {"k": [1]}, "b": {"k": [1]}, "c": {"k": [1]}})
    );
}

#[test]
fn an_alias_of_nothing_is_refused() {
    assert!(documents("a: *nobody\n").is_err());
}

#[test]
fn a_merged_map_gives_way_to_what_is_written_beside_it() {
    let text = "base: &base {a: 1, b: 2}\nall:\n  <<: *base\n  b: 3\n";
    assert_eq!(one(text)["all"], json!({"a": 1, "b": 3}));
}

#[test]
fn of_several_merged_maps_the_first_counts() {
    let text = "- &x {a: 1}\n- &y {a: 2, b: 2}\n- {<<: [*x, *y]}\n";
    assert_eq!(one(text)[2], json!({"a": 1, "b": 2}));
}

#[test]
fn a_block_keeps_its_line_breaks_and_a_folded_one_does_not() {
    assert_eq!(scalar("|\n  x\n  y\n"), json!("x\ny\n"));
    assert_eq!(scalar("|-\n  x\n  y\n"), json!("x\ny"));
    assert_eq!(scalar("|+\n  x\n\n"), json!("x\n\n\n"));
    assert_eq!(scalar(">\n  x\n  y\n"), json!("x y\n"));
}

#[test]
fn what_looks_like_a_document_within_a_block_is_text() {
    assert_eq!(one("a: |\n  ---\n  b: 1\n")["a"], json!("---\nb: 1\n"));
}

#[test]
fn a_line_break_of_windows_is_one() {
    assert_eq!(one("a: 1\r\nb:\r\n- x\r\n"), json!({"a": 1, "b": ["x"]}));
}

#[test]
fn documents_come_in_their_order_and_empty_ones_do_not_count() {
    let text = "---\n---\na: 1\n...\n---\n# nothing\n---\nb: 2\n---\nnull\n";
    assert_eq!(documents(text).unwrap(), [json!({"a": 1}), json!({"b": 2})]);
}

#[test]
fn a_text_of_comments_alone_has_no_documents() {
    assert_eq!(documents("# a\n# b\n").unwrap(), Vec::<Value>::new());
}

#[test]
fn json_is_read_as_it_is() {
    assert_eq!(one("  {\"a\": [1, 1.5, null, \"x\\u0041\"]}"), json!({"a": [1, 1.5, null, "xA"]}));
}

#[test]
fn what_begins_like_json_may_be_yaml() {
    assert_eq!(one("{a: yes, b: [x]}"), json!({"a": true, "b": ["x"]}));
}

#[test]
fn several_objects_in_json_are_documents() {
    assert_eq!(documents("{\"a\": 1}\n---\n{\"b\": 2}\n").unwrap(), [json!({"a": 1}), json!({"b": 2})]);
}

#[test]
fn lists_of_any_kind_are_their_items() {
    for kind in ["List", "ConfigMapList"] {
        let text = format!("apiVersion: v1\nkind: {kind}\nitems:\n- kind: A\n-\n- kind: B\n");
        assert_eq!(documents(&text).unwrap(), [json!({"kind": "A"}), json!({"kind": "B"})], "{kind}");
    }
}

#[test]
fn lists_in_lists_are_their_items_too() {
    let text = "kind: List\nitems:\n- kind: List\n  items: [{kind: A}]\n- kind: B\n";
    assert_eq!(documents(text).unwrap(), [json!({"kind": "A"}), json!({"kind": "B"})]);
}

#[test]
fn an_empty_list_is_nothing() {
    assert_eq!(documents("kind: List\nitems: []\n").unwrap(), Vec::<Value>::new());
}

#[test]
fn an_object_whose_kind_ends_like_a_list_is_one_without_items() {
    let object = json!({"kind": "AllowList", "spec": {"items": ["a"]}});
    assert_eq!(one(&object.to_string()), object);
    let other = json!({"kind": "AllowList", "items": {"a": 1}});
    assert_eq!(one(&other.to_string()), other);
}

#[test]
fn an_error_is_one_line_with_the_line_of_the_text() {
    for (text, line) in [("a: 1\nb: [1\nc: 2\n", "line 3"), ("a: 1\n\tb: 2\n", "line 1"), ("a: 'x\n", "line")]
    {
        let error = refused(text);
        assert!(error.contains(line) && !error.contains('\n'), "{text:?}: {error}");
    }
}

#[test]
fn what_yaml_keeps_for_itself_is_no_plain_text() {
    for text in ["@x", "`x", "%x"] {
        let error = refused(&format!("a: {text}\n"));
        assert!(error.starts_with("line 1 column 4: "), "{text}: {error}");
    }
}

#[test]
fn two_values_of_one_line_are_refused() {
    assert!(documents("{\"a\": 1} {\"b\": 2}").is_err());
    assert!(refused("a: b: c\n").contains("not allowed"));
}

#[test]
fn one_bad_document_refuses_the_text() {
    assert!(documents("a: 1\n---\nb: [\n").is_err());
}

#[test]
fn aliases_that_repeat_each_other_run_into_a_limit_that_is_named() {
    let mut text = String::from("x0: &x0 [1,1,1,1,1,1,1,1,1,1]\n");
    for i in 1..9 {
        let inner = vec![format!("*x{}", i - 1); 10].join(",");
        text.push_str(&format!("x{i}: &x{i} [{inner}]\n"));
    }
    assert!(documents(&text).is_err());
}

#[test]
fn as_deep_as_allowed_is_read_and_deeper_is_refused() {
    let nested = |levels: usize| "[".repeat(levels) + &"]".repeat(levels);
    assert!(documents(&nested(MAX_DEPTH)).is_ok());
    assert!(refused(&nested(MAX_DEPTH + 1)).contains("MAX_DEPTH of sluice-api"));
}

#[test]
fn a_field_of_json_has_its_line() {
    let objects =
        located("{\n  \"kind\": \"A\",\n  \"spec\": {\n    \"a\": [\n      1,\n      2\n    ]\n  }\n}\n")
            .unwrap();
    let line = |path: &str| objects[0].1.of(path);
    assert_eq!((line("kind"), line("spec.a[1]")), (Some(2), Some(6)));
}

#[test]
fn lines_count_through_all_documents() {
    let objects = located("a: 1\n---\n# comment\n---\nb:\n  c: 2\n").unwrap();
    assert_eq!(objects.len(), 2);
    assert_eq!(objects[1].1.of("b.c"), Some(6));
}

#[test]
fn of_a_key_with_dots_the_longest_that_fits_is_meant() {
    let objects = located("metadata:\n  annotations:\n    a: 1\n    a.b/c: 2\n").unwrap();
    assert_eq!(objects[0].1.of("metadata.annotations.a.b/c"), Some(4));
    assert_eq!(objects[0].1.of("metadata.annotations.a"), Some(3));
}

/// What JSON can hold, and YAML with it.
fn anything() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        "[ -~]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-z.]{1,4}", inner, 0..4).prop_map(|map| json!(map)),
        ]
    })
}

proptest! {
    #[test]
    fn json_is_yaml(value in anything()) {
        // A list first, so that it is no JSON at first sight.
        prop_assert_eq!(one(&format!("[{value}]")), json!([value]));
    }

    #[test]
    fn both_ways_of_reading_read_the_same(text in "([a-c]: ([a-c]|1|yes)?\n|- x\n|---\n|kind: List\n|items:\n){0,8}") {
        match (documents(&text), located(&text)) {
            (Ok(values), Ok(found)) => {
                let objects: Vec<Value> = found.into_iter().map(|(object, _)| object).collect();
                prop_assert_eq!(objects, values);
            }
            (values, found) => prop_assert_eq!(values.err(), found.err()),
        }
    }

    #[test]
    fn every_field_is_in_a_line_of_the_text(keys in proptest::collection::btree_set("k[a-z]{1,5}", 1..6)) {
        let text: String = keys.iter().map(|key| format!("# about it\n{key}: 1\n")).collect();
        let (_, lines) = located(&text).unwrap().remove(0);
        for (index, key) in keys.iter().enumerate() {
            prop_assert_eq!(lines.of(key), Some(2 * index as u64 + 2));
        }
    }
}
