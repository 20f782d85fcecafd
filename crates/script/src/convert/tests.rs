#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn nested(levels: usize) -> Value {
    (0..levels)
        .fold(json!(1), |inner, level| if level % 2 == 0 { json!([inner]) } else { json!({"a": inner}) })
}

/// What an expression over the object `o` gives, as text.
fn shown(object: &Value, expression: &str) -> String {
    let lua = Lua::new();
    lua.globals().set("o", table(&lua, object).unwrap()).unwrap();
    lua.load(format!("return tostring({expression})")).eval().unwrap()
}

#[test]
fn what_is_too_deep_is_an_error_on_any_stack() {
    let run = || {
        let lua = Lua::new();
        let error = table(&lua, &nested(MAX_DEPTH + 1)).unwrap_err().to_string();
        (table(&lua, &nested(MAX_DEPTH)).is_ok(), error)
    };
    let done = std::thread::Builder::new().stack_size(256 << 10).spawn(run).unwrap().join();
    let (fits, error) = done.unwrap();
    assert!(fits && error.contains("nested deeper than 130"), "{error}");
}

#[test]
fn each_type_is_the_type_of_lua() {
    let object = json!({"text": "a", "flag": false, "whole": 7, "half": 0.5, "list": [], "map": {}});
    for (field, kind) in [
        ("text", "string"),
        ("flag", "boolean"),
        ("whole", "number"),
        ("half", "number"),
        ("list", "table"),
        ("map", "table"),
    ] {
        assert_eq!(shown(&object, &format!("type(o.{field})")), kind, "{field}");
    }
}

#[test]
fn a_field_that_is_null_is_not_there() {
    let object = json!({"a": null, "b": {"c": null}});
    assert_eq!(shown(&object, "type(o.a) .. type(o.b.c) .. tostring(next(o.b))"), "nilnilnil");
}

#[test]
fn an_element_that_is_null_leaves_no_gap() {
    assert_eq!(shown(&json!({"a": [null, 1, null, 2, null]}), "#o.a .. o.a[1] .. o.a[2]"), "212");
}

#[test]
fn elements_of_every_type_arrive_in_their_order() {
    let object = json!({"a": [1, "x", true, [2, [3]], {"b": 4}]});
    assert_eq!(
        shown(&object, "o.a[1] .. o.a[2] .. tostring(o.a[3]) .. o.a[4][2][1] .. o.a[5].b"),
        "1xtrue34"
    );
}

#[test]
fn whole_numbers_are_exact_up_to_two_to_the_power_of_53() {
    let object = json!({"a": 1_i64 << 53, "b": -(1_i64 << 53), "c": i64::MAX, "d": u64::MAX});
    assert_eq!(shown(&object, "o.a == 2^53 and o.b == -2^53 and o.c == 2^63 and o.d == 2^64"), "true");
}

#[test]
fn a_fraction_arrives_as_it_is() {
    assert_eq!(
        shown(&json!({"a": 0.1, "b": -1.5e-9, "c": 1e300}), "o.a == 0.1 and o.b == -1.5e-9 and o.c == 1e300"),
        "true"
    );
}

#[test]
fn any_text_is_a_key_and_a_value() {
    let object = json!({"": "empty", "a.b/c": "dots", "é\u{0}": "\u{0}é", "1": "one"});
    assert_eq!(shown(&object, "o[''] .. o['a.b/c'] .. o['1']"), "emptydotsone");
    assert_eq!(shown(&object, "#o['é\\0'] .. tostring(o[1])"), "3nil", "a text is no number");
}

#[test]
fn a_long_text_arrives_whole() {
    let text = "é".repeat(1 << 20);
    assert_eq!(shown(&json!({ "a": text }), "#o.a"), (2 << 20).to_string());
}

#[test]
fn a_wide_object_arrives_whole() {
    let list: Vec<usize> = (1..=100_000).collect();
    assert_eq!(shown(&json!({ "a": list }), "#o.a .. ' ' .. o.a[100000]"), "100000 100000");
}

#[test]
fn what_does_not_fit_into_the_memory_is_an_error() {
    let lua = Lua::new();
    lua.set_memory_limit(lua.used_memory() + 10_000).unwrap();
    let error = table(&lua, &json!({ "a": "x".repeat(100_000) })).unwrap_err();
    assert!(matches!(error, mlua::Error::MemoryError(_)), "{error}");
    assert!(table(&lua, &json!({"a": 1})).is_ok());
}
