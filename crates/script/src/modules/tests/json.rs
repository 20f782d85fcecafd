//! What `require "json"` gives.

use proptest::prelude::*;
use serde_json::{Value, json};
use sluice_template::Env;

use super::{assert_fails, assert_shown};
use crate::{Limits, Script};

/// What is wrong with an argument, where that is the second result and the first one is nil.
fn assert_refused(cases: &[(&str, &str)]) {
    for (expression, why) in cases {
        assert_shown(&[(
            &format!(
                "(function() local made, why = {expression} return tostring(made) .. ' ' .. tostring(why) end)()"
            ),
            &format!("nil {why}"),
        )]);
    }
}

#[test]
fn numbers_are_written_as_go_writes_them() {
    assert_shown(&[
        ("json.encode(1), json.encode(-1.5), json.encode(0.1)", "1 -1.5 0.1"),
        (
            "json.encode(2^53), json.encode(2^54), json.encode(-2^53)",
            "9007199254740992 18014398509481984 -9007199254740992",
        ),
        ("json.encode(1e20), json.encode(1e21), json.encode(1e-7)", "100000000000000000000 1e+21 1e-7"),
    ]);
}

#[test]
fn texts_are_written_as_go_writes_them() {
    assert_shown(&[
        (r#"json.encode('<a href="x">&')"#, r#""\u003ca href=\"x\"\u003e\u0026""#),
        (r"json.encode('\1\t\n\\')", r#""\u0001\t\n\\""#),
        ("json.encode('é\u{2028}')", r#""é\u2028""#),
        (r"json.encode('a\255b')", "\"a\u{fffd}b\""),
    ]);
}

#[test]
fn what_is_nothing_or_true_is_written_as_such() {
    assert_shown(&[("json.encode(nil), json.encode(false), json.encode({})", "null false []")]);
}

#[test]
fn fields_are_written_in_their_order() {
    assert_shown(&[("json.encode({b = 1, a = 2, B = 3, ['10'] = 4})", r#"{"10":4,"B":3,"a":2,"b":1}"#)]);
}

#[test]
fn a_table_may_be_there_more_than_once() {
    assert_shown(&[("(function() local one = {1} return json.encode({one, one}) end)()", "[[1],[1]]")]);
}

#[test]
fn keys_are_texts_or_those_of_a_list_without_gaps() {
    let keys = "cannot encode mixed or invalid key types";
    assert_refused(&[
        ("json.encode({[true] = 1})", keys),
        ("json.encode({a = {1, b = 2}})", keys),
        ("json.encode({[0] = 1})", "cannot encode sparse array"),
        ("json.encode({[1.5] = 1})", "cannot encode sparse array"),
        ("json.encode({1, [3] = 2})", "cannot encode sparse array"),
    ]);
}

#[test]
fn what_json_does_not_have_is_refused_wherever_it_stands() {
    assert_refused(&[
        ("json.encode({a = {print}})", "cannot encode function to JSON"),
        ("json.encode(coroutine.create(print))", "cannot encode thread to JSON"),
        ("json.encode(0/0)", "json: unsupported value: NaN"),
        ("json.toYAML({a = {print}})", "cannot encode function to JSON"),
    ]);
}

#[test]
fn tables_nest_as_deep_as_objects_may() {
    let nested =
        |levels: u32| format!("(function() local t = 1 for _ = 1, {levels} do t = {{t}} end return t end)()");
    let written = format!("{}1{}", "[".repeat(130), "]".repeat(130));
    assert_shown(&[(&format!("json.encode({})", nested(130)), &written)]);
    let why = "cannot encode recursively nested tables to JSON";
    assert_refused(&[(&format!("json.encode({})", nested(131)), why)]);
}

#[test]
fn any_value_of_json_is_read_but_null_which_is_left_out() {
    assert_shown(&[
        (r#"json.decode('"a\\u00e9\\n"')"#, "aé\n"),
        ("json.decode('[true, [], {}, -1.5e3]')", "[true,[],[],-1500]"),
        ("tostring(json.decode('null')), json.decode('[1, null, 2]')", "nil [1,2]"),
        (r#"#json.decode('[]'), tostring(json.decode('{"a": null}').a)"#, "0 nil"),
        ("json.decode('12345678901234567890') == 12345678901234567890", "true"),
    ]);
}

#[test]
fn what_is_no_json_is_refused_in_the_words_of_go() {
    assert_refused(&[
        ("json.decode('')", "unexpected end of JSON input"),
        ("json.decode('[1,]')", "invalid character ']' looking for beginning of value"),
        (r#"json.decode('{"a" 1}')"#, "invalid character '1' after object key"),
        ("json.decode('nul!')", "invalid character '!' in literal null (expecting 'l')"),
    ]);
}

#[test]
fn yaml_is_read_and_written_in_the_form_of_kubernetes() {
    assert_shown(&[
        ("json.fromYAML('a: {b: [x, 1.5, true]}').a.b", r#"["x",1.5,true]"#),
        ("json.fromYAML('- 1\\n- \"1\"')", r#"[1,"1"]"#),
        (
            "json.toYAML({}), json.toYAML('on'), json.toYAML({b = '1', a = {{c = ''}}})",
            "[]\n \"on\"\n a:\n- c: \"\"\nb: \"1\"\n",
        ),
    ]);
    assert_shown(&[(
        "tostring(json.fromYAML('a: [')), type(select(2, json.fromYAML('a: [')))",
        "nil string",
    )]);
}

#[test]
fn what_is_written_as_yaml_is_read_again() {
    let value = "{a = {1, 2.5, 'no', '1', ''}, ['b: c'] = {d = '\\n x', e = '- y'}}";
    let expression = format!("json.encode(json.fromYAML(json.toYAML({value}))) == json.encode({value})");
    assert_shown(&[(&expression, "true")]);
}

#[test]
fn a_text_that_is_too_long_is_not_read() {
    for function in ["decode", "fromYAML"] {
        assert_fails(
            &format!("json.{function}(string.rep(' ', 2 * 1024 * 1024 + 1))"),
            &format!("json.{function}: limit: the text has more than 2097152 bytes; decode less at once"),
        );
    }
}

#[test]
fn only_texts_are_read() {
    assert_fails("json.decode({})", "json.decode: an argument is a table; it must be a string");
    assert_fails("json.fromYAML()", "json.fromYAML: an argument is a nil; it must be a string");
    assert_shown(&[("json.decode(12)", "12")]);
}

/// What Lua tells apart as JSON does: nothing is null, and nothing is empty, which may be a list or a map.
fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        (-(1_i64 << 53)..=1 << 53).prop_map(Value::from),
        (-1e300..1e300_f64).prop_map(|number| if number.fract() == 0.0 { json!(0.5) } else { json!(number) }),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 1..5).prop_map(Value::from),
            proptest::collection::btree_map(".{0,5}|[0-9]{1,2}", inner, 1..5)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

/// What a script makes of the resource `x`.
fn made(body: &str, value: &Value) -> Value {
    let script = Script::compile(&format!(
        "local json = require('json') function evaluate() return {{ resources = {body} }} end"
    ));
    let text = script.unwrap().generate(&json!({ "x": value }), &Env::default(), &Limits::default()).unwrap();
    serde_json::from_str(&text).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    #[test]
    fn what_goes_into_lua_comes_back_the_same(value in any_value()) {
        prop_assert_eq!(&made("json.encode(resources.x)", &value), &value);
        prop_assert_eq!(&made("json.encode(json.decode(json.encode(resources.x)))", &value), &value);
    }
}
