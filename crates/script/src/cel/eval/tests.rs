#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::Limits;
use crate::cel::parse::parse;

/// What an expression over an object is: printed as the expression that would make it, or why it has no value.
fn value(source: &str) -> Result<String, String> {
    let resource = json!({
        "kind": "Service", "n": 3, "half": 0.5, "none": null, "list": [1, 2, 3], "map": {"a": 1, "b": 2}, "on": true,
    });
    within(source, &resource, &Limits::default())
}

fn within(source: &str, resource: &Json, limits: &Limits) -> Result<String, String> {
    let expr = parse(source).unwrap_or_else(|wrong| panic!("{source}: {wrong}"));
    match Evaluation::new(resource, Budget::new(limits)).eval(&expr) {
        Ok(value) => Ok(printed(&value)),
        Err(Fault::Data(text)) => Err(text),
        Err(Fault::Limit(text)) => Err(text),
    }
}

fn printed(value: &Value<'_>) -> String {
    let all = |items: Vec<String>| items.join(", ");
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(value) => value.to_string(),
        Value::Int(value) => value.to_string(),
        Value::Uint(value) => format!("{value}u"),
        Value::Double(value) => format!("{value:?}"),
        Value::Text(text) => format!("'{}'", &**text),
        Value::Bytes(bytes) => format!("{:?}", &**bytes),
        Value::List(list) => format!("[{}]", all(list.iter().map(|item| printed(&item)).collect())),
        Value::Map(map) => {
            let entry =
                |(key, value): (Value<'_>, Value<'_>)| format!("{}: {}", printed(&key), printed(&value));
            format!("{{{}}}", all(map.entries().into_iter().map(entry).collect()))
        }
        Value::Timestamp(moment) => moment.to_string(),
        Value::Duration(duration) => format!("{duration:?}"),
        Value::Type(name) => (*name).to_owned(),
    }
}

fn assert_values(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(value(source).as_deref(), Ok(*expected), "{source}");
    }
}

fn assert_faults(cases: &[(&str, &str)]) {
    for (source, expected) in cases {
        assert_eq!(value(source), Err((*expected).to_owned()), "{source}");
    }
}

#[test]
fn the_object_is_lent_as_it_is() {
    assert_values(&[
        ("resource.list", "[1, 2, 3]"),
        ("resource.map", "{'a': 1, 'b': 2}"),
        ("resource.none", "null"),
        ("resource.half", "0.5"),
    ]);
}

#[test]
fn macros_over_a_map_see_its_keys() {
    assert_values(&[
        ("resource.map.map(k, resource.map[k] * 10)", "[10, 20]"),
        ("resource.map.filter(k, k > 'a')", "['b']"),
        ("{2: 'x', 1: 'y'}.map(k, k)", "[2, 1]"),
        ("resource.map.exists_one(k, resource.map[k] == 2)", "true"),
    ]);
}

#[test]
fn a_map_with_a_condition_makes_less() {
    assert_values(&[("resource.list.map(x, x != 2, x * x)", "[1, 9]"), ("[].map(x, x)", "[]")]);
}

#[test]
fn a_macro_sees_the_variables_of_those_around_it() {
    assert_values(&[
        ("[1, 2].map(x, [10, 20].map(y, x * y))", "[[10, 20], [20, 40]]"),
        ("[1, 2].map(x, [3].map(x, x))", "[[3], [3]]"),
        ("[[5], [2, 3]].filter(x, x.exists(y, y == size(x)))", "[[2, 3]]"),
    ]);
}

#[test]
fn what_decides_excuses_a_fault_on_either_side() {
    assert_values(&[
        ("resource.gone.x == 1 || resource.on", "true"),
        ("resource.on || resource.gone.x == 1", "true"),
        ("resource.gone.x == 1 && !resource.on", "false"),
        ("1 && false", "false"),
        ("[0, 1].exists(x, 1 / x == 1)", "true"),
        ("[0, 2].all(x, 1 / x == 1)", "false"),
    ]);
}

#[test]
fn where_nothing_decides_the_first_fault_is_told() {
    assert_faults(&[
        ("1 / 0 == 1 || resource.gone", "division by zero"),
        ("resource.gone && 1 / 0 == 1", "no such key: gone"),
        ("1 || false", "no such overload: int with ||"),
        ("true && 'a'", "no such overload: string with &&"),
        ("[0, 0].exists(x, 1 / x == 1)", "division by zero"),
        ("[1].all(x, x)", "the condition of a macro is a int; it must be true or false"),
    ]);
}

#[test]
fn macros_that_count_or_make_excuse_no_fault() {
    assert_faults(&[
        ("[1, 0].exists_one(x, 1 / x == 1)", "division by zero"),
        ("[1, 0].map(x, 1 / x)", "division by zero"),
        ("[1, 0].filter(x, 1 / x == 1)", "division by zero"),
        ("[1, 0].map(x, 1 / x == 1, x)", "division by zero"),
        ("[1].map(x, x, x)", "the condition of a macro is a int; it must be true or false"),
    ]);
}

#[test]
fn only_the_side_that_is_chosen_is_looked_at() {
    assert_values(&[("resource.on ? 1 : 1 / 0", "1"), ("!resource.on ? 1 / 0 : 2", "2")]);
    assert_faults(&[
        ("resource.n ? 1 : 2", "no such overload: int ? … : …"),
        ("resource.gone ? 1 : 2", "no such key: gone"),
    ]);
}

#[test]
fn an_index_is_a_whole_number_within_the_list() {
    assert_values(&[("resource.list[2]", "3"), ("resource.list[0u]", "1"), ("resource.list[1.0]", "2")]);
    assert_faults(&[
        ("resource.list[3]", "index out of bounds: 3"),
        ("resource.list[-1]", "index out of bounds: -1"),
        ("resource.list[0.5]", "no such overload: list[double]"),
        ("resource.list['a']", "no such overload: list[string]"),
        ("resource.kind[0]", "no such overload: string[int]"),
        ("[1][18446744073709551615u]", "no such overload: list[uint]"),
    ]);
}

#[test]
fn a_key_that_is_missing_is_told() {
    assert_faults(&[
        ("resource.map.c", "no such key: c"),
        ("resource.map['c']", "no such key: c"),
        ("{1: 2}[3u]", "no such key: 3"),
        ("{1: 2}[true]", "no such key: true"),
        ("{1: 2}[[1]]", "no such key: list"),
        ("resource.kind.x", "no such key: x: it is looked for in a string"),
        ("resource.none.x", "no such key: x: it is looked for in a null_type"),
    ]);
}

#[test]
fn a_long_key_is_told_in_short() {
    let long = "é".repeat(100);
    assert_eq!(value(&format!("{{}}['{long}']")), Err(format!("no such key: {}", "é".repeat(60))));
}

#[test]
fn of_equal_keys_the_last_counts_where_the_first_stands() {
    assert_values(&[
        ("{'a': 1, 'b': 2, 'a': 3}", "{'a': 3, 'b': 2}"),
        ("{1: 'x', 1u: 'y', 1.0: 'z'}", "{1: 'z'}"),
    ]);
}

#[test]
fn lists_are_asked_for_values_and_maps_for_keys() {
    assert_values(&[
        ("2 in resource.list", "true"),
        ("2.0 in resource.list", "true"),
        ("'2' in resource.list", "false"),
        ("'a' in resource.map", "true"),
        ("1 in resource.map", "false"),
        ("[1] in [[1]]", "true"),
    ]);
    assert_faults(&[("'S' in resource.kind", "no such overload: string in string")]);
}

#[test]
fn the_macro_has_asks_only_for_the_last_field() {
    assert_values(&[
        ("has(resource.none)", "true"),
        ("has(resource.gone)", "false"),
        ("has(resource.kind.x)", "false"),
    ]);
    assert_faults(&[
        ("has(resource.gone.x)", "no such key: gone"),
        ("has(resource.list.x)", "no such key: x: it is looked for in a list"),
    ]);
}

#[test]
fn whole_numbers_do_not_wrap_around() {
    assert_faults(&[
        ("9223372036854775807 + 1", "integer overflow"),
        ("-9223372036854775808 - 1", "integer overflow"),
        ("4611686018427387904 * 2", "integer overflow"),
        ("-9223372036854775808 / -1", "integer overflow"),
        ("-(-9223372036854775808)", "integer overflow"),
        ("0u - 1u", "unsigned integer overflow"),
        ("18446744073709551615u * 2u", "unsigned integer overflow"),
        ("1 % 0", "modulus by zero"),
        ("1u / 0u", "division by zero"),
    ]);
    assert_values(&[("1.0 / 0.0", "inf"), ("-7 / 2", "-3"), ("-7 % 2", "-1"), ("7u % 4u", "3u")]);
}

#[test]
fn types_are_not_mixed_in_arithmetic() {
    assert_faults(&[
        ("1 + 1.0", "no such overload: int + double"),
        ("1u * 1", "no such overload: uint * int"),
        ("1.5 % 1.0", "no such overload: double % double"),
        ("'a' - 'a'", "no such overload: string - string"),
        ("[1] + 1", "no such overload: list + int"),
        ("-'a'", "no such overload: -string"),
        ("!1", "no such overload: !int"),
        ("-1u", "no such overload: -uint"),
    ]);
}

#[test]
fn texts_bytes_and_lists_are_joined() {
    assert_values(&[
        ("'a' + resource.kind", "'aService'"),
        ("b'a' + b'\\xff'", "[97, 255]"),
        ("resource.list + ['x']", "[1, 2, 3, 'x']"),
    ]);
}

#[test]
fn functions_refuse_what_they_are_not_for() {
    assert_faults(&[
        ("size(1)", "no such overload: size(int)"),
        ("resource.n.matches('a')", "no such overload: int.matches(string)"),
        ("resource.n.contains('a')", "no such overload: int.Contains(string)"),
        ("'a'.startsWith(resource.n)", "no such overload: string.StartsWith(int)"),
        ("resource.n.getHours()", "no such overload: int.getHours()"),
        ("duration('1h').getHours('UTC')", "no such overload: google.protobuf.Duration.getHours()"),
        ("'a'.matches(resource.kind + '(')", "\"Service(\" is no pattern: unclosed group"),
    ]);
}

#[test]
fn conversions_refuse_what_they_cannot_read() {
    assert_faults(&[
        ("int('4.2')", "\"4.2\" is no int"),
        ("int(' 1')", "\" 1\" is no int"),
        ("int(1e19)", "integer overflow"),
        ("int(true)", "no such overload: int(bool)"),
        ("uint('+5')", "\"+5\" is no uint"),
        ("uint(-1)", "unsigned integer overflow"),
        ("double('x')", "\"x\" is no double"),
        ("bool('yes')", "\"yes\" is no bool"),
        ("bool(1)", "no such overload: bool(int)"),
        ("string(b'\\xff')", "the bytes are not UTF-8"),
        ("string(null)", "no such overload: string(null_type)"),
        ("bytes(1)", "no such overload: bytes(int)"),
        ("duration(1)", "no such overload: duration(int)"),
        ("timestamp(1.5)", "no such overload: timestamp(double)"),
    ]);
}

#[test]
fn what_has_the_type_already_stays_as_it_is() {
    assert_values(&[
        ("int(1)", "1"),
        ("uint(1u)", "1u"),
        ("double(0.5)", "0.5"),
        ("bool(false)", "false"),
        ("string('a')", "'a'"),
        ("bytes(b'a')", "[97]"),
        ("dyn([1])", "[1]"),
        ("timestamp(timestamp(0))", "1970-01-01T00:00:00Z"),
        ("duration(duration('1s')) == duration('1s')", "true"),
        ("type(type(1))", "type"),
    ]);
}

#[test]
fn doubles_are_written_as_go_writes_them() {
    for (double, expected) in [
        ("0.1", "0.1"),
        ("100000.0", "100000"),
        ("1000000.0", "1e+06"),
        ("0.0001", "0.0001"),
        ("0.00001", "1e-05"),
        ("1.5e300", "1.5e+300"),
        ("-2.5e-10", "-2.5e-10"),
        ("-0.0", "-0"),
    ] {
        assert_eq!(value(&format!("string({double})")), Ok(format!("'{expected}'")));
    }
}

#[test]
fn each_part_of_an_evaluation_is_paid() {
    let few = Limits { steps: 20_000, memory: 100_000, ..Limits::default() };
    let resource = json!({"long": "x".repeat(1 << 20), "much": vec![1; 30_000]});
    for source in [
        "resource.much.all(x, x == 1)",
        "resource.much.map(x, x).size() > 0",
        "resource.much + resource.much == []",
        "resource.long + resource.long == ''",
        "resource.long.size() > 0",
        "resource.long.contains('y')",
        "resource.long.matches('y')",
        "'a'.matches('a' + '')",
        "bytes(resource.long + 'a') == b''",
        "2 in resource.much",
    ] {
        let told = within(source, &resource, &few).unwrap_err();
        assert!(told.starts_with("limit: "), "{source}: {told}");
    }
}

#[test]
fn a_text_of_more_than_a_mebibyte_is_not_searched_for_a_pattern() {
    let resource = json!({"most": "x".repeat(1 << 20), "more": "x".repeat((1 << 20) + 1)});
    assert_eq!(within("resource.most.matches('y')", &resource, &Limits::default()), Ok("false".into()));
    let told = within("resource.more.matches('y')", &resource, &Limits::default());
    assert_eq!(told, Err("limit: a text of more than 1048576 bytes is not searched for a pattern".into()));
}
