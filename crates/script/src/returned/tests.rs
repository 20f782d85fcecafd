#![allow(clippy::unwrap_used)]

use std::time::Duration;

use mlua::Lua;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{Limits, convert};

fn within(bytes: usize) -> Returned {
    Budget.begin(&Limits { steps: u64::MAX, time: Duration::from_secs(3600), memory: 64 << 20 });
    Returned::within(bytes)
}

/// What a table of Lua is as an object, where `given` was there before.
fn read(expression: &str, given: Option<&Value>) -> Result<Value, String> {
    let lua = Lua::new();
    let table: Table = lua.load(format!("return {expression}")).eval().unwrap();
    within(1 << 20).object(&table, given).map_err(|error| error.to_string())
}

#[test]
fn a_number_without_a_fraction_is_an_integer() {
    assert_eq!(
        read("{a = 1, b = -0.0, c = 2^53, d = 1.5}", None),
        Ok(json!({"a": 1, "b": 0, "c": 1_i64 << 53, "d": 1.5}))
    );
}

#[test]
fn a_number_that_is_no_exact_integer_stays_a_double() {
    assert_eq!(read("{a = 2^60, b = 1e300}", None), Ok(json!({"a": (1_i64 << 60) as f64, "b": 1e300})));
}

#[test]
fn a_number_that_is_as_it_was_is_the_one_that_was_given() {
    let given = json!({"a": 9_007_199_254_740_993_i64, "b": 2.0, "c": u64::MAX, "list": [i64::MIN]});
    let back = read("{a = 2^53, b = 2, c = 2^64, list = {-2^63}}", Some(&given));
    assert_eq!(back, Ok(given));
}

#[test]
fn another_number_is_not_the_one_that_was_given() {
    let given = json!({"a": 2.0, "b": 5});
    assert_eq!(read("{a = 3, b = 5.5}", Some(&given)), Ok(json!({"a": 3, "b": 5.5})));
}

#[test]
fn what_stands_elsewhere_is_not_compared() {
    let given = json!({"a": 2.0, "list": [[], 2.0]});
    assert_eq!(read("{b = 2, list = {2, {}}}", Some(&given)), Ok(json!({"b": 2, "list": [2, {}]})));
}

#[test]
fn an_empty_table_is_a_map_unless_a_list_was_given() {
    let given = json!({"list": [1], "map": {"a": 1}, "text": "x"});
    let back = read("{list = {}, map = {}, text = {}, new = {}}", Some(&given));
    assert_eq!(back, Ok(json!({"list": [], "map": {}, "text": {}, "new": {}})));
}

#[test]
fn a_table_with_a_first_element_is_a_list_up_to_its_first_gap() {
    assert_eq!(read("{a = {'x', {y = 1}, {1}}}", None), Ok(json!({"a": ["x", {"y": 1}, [1]]})));
    assert_eq!(read("{a = {1, 2, x = 3}}", None), Ok(json!({"a": [1, 2]})));
}

#[test]
fn text_that_is_none_is_made_one() {
    assert_eq!(
        read("{a = 'x\\255', ['k\\255'] = true}", None),
        Ok(json!({"a": "x\u{fffd}", "k\u{fffd}": true}))
    );
}

#[test]
fn what_is_no_data_is_named() {
    for (expression, why) in [
        ("{a = print}", "resources has a function; return plain data"),
        ("{a = {coroutine.create(print)}}", "resources has a thread; return plain data"),
        ("{[true] = 1}", "a key is a boolean; use texts"),
        ("{a = {[2] = 1}}", "a key is a number; use texts"),
        ("{a = 0/0}", "resources has NaN, which is no number of JSON"),
        ("{a = {-1/0}}", "resources has -inf, which is no number of JSON"),
    ] {
        let error = read(expression, None).unwrap_err();
        assert!(error.contains(why), "{expression}: {error}");
    }
}

#[test]
fn what_is_nested_as_deep_as_an_object_may_be_is_read() {
    let nested = |levels: usize| format!("{}1{}", "{a = ".repeat(levels), "}".repeat(levels));
    assert!(read(&nested(MAX_DEPTH), None).is_ok());
    let error = read(&nested(MAX_DEPTH + 1), None).unwrap_err();
    assert!(error.contains("limit: what the script returns is nested deeper than 130"), "{error}");
}

#[test]
fn all_values_together_are_within_a_limit() {
    let lua = Lua::new();
    let table: Table = lua.load("return {a = string.rep('x', 100)}").eval().unwrap();
    let mut returned = within(3 * (1 + BYTES_EACH + 100));
    for _ in 0..3 {
        returned.object(&table, None).unwrap();
    }
    let error = returned.object(&table, None).unwrap_err().to_string();
    assert!(error.contains("limit: the script returns too much; let it return less"), "{error}");
}

#[test]
fn reading_is_paid_from_the_budget_of_the_script() {
    let lua = Lua::new();
    let table: Table = lua.load("return {a = string.rep('x', 1000000)}").eval().unwrap();
    let mut returned = within(usize::MAX);
    Budget.begin(&Limits { steps: 100_000, ..Limits::default() });
    assert!(returned.object(&table, None).unwrap_err().to_string().contains("limit: "));
}

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-1e300..1e300_f64).prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(5, 40, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            proptest::collection::btree_map(".{0,5}", inner, 0..5).prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn what_a_script_leaves_as_it_is_comes_back_the_same(value in any_value()) {
        let (lua, given) = (Lua::new(), json!({ "a": value }));
        let table = convert::table(&lua, &given).unwrap();
        prop_assert_eq!(within(1 << 20).object(&table, Some(&given)).unwrap(), given);
    }
}
