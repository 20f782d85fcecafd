#![allow(clippy::unwrap_used)]

use std::time::Duration;

use proptest::prelude::*;
use serde::Deserialize;
use serde_json::json;

use super::*;

#[derive(Deserialize)]
struct Cases {
    resource: Json,
    cases: Vec<Case>,
}

/// An expression; what cel-go 0.26 says of it with this object: a type and a value, `error` where it has none, `invalid` where it
/// does not compile; and what this crate says where it differs: nearly always, because cel-go looks at types when it compiles.
#[derive(Deserialize)]
#[serde(untagged)]
enum Case {
    Same([String; 2]),
    Differs([String; 3]),
}

impl Case {
    fn of(&self) -> (&str, &str) {
        match self {
            Self::Same([source, expected]) | Self::Differs([source, _, expected]) => (source, expected),
        }
    }
}

/// What this crate says of an expression, in the same words.
fn said(source: &str, resource: &Json) -> String {
    let Ok(rule) = Rule::compile(source) else { return "invalid".to_owned() };
    let result = match Evaluation::new(resource, Budget::new(&Limits::default())).eval(&rule.0) {
        Ok(Value::Bool(value)) => format!("bool {value}"),
        Ok(Value::Int(value)) => format!("int {value}"),
        Ok(Value::Uint(value)) => format!("uint {value}"),
        Ok(Value::Double(value)) => format!("double {value}"),
        Ok(Value::Text(value)) => format!("string {}", &*value),
        Ok(other) => other.type_name().to_owned(),
        Err(Fault::Data(_)) => "error".to_owned(),
        Err(Fault::Limit(text)) => text,
    };
    result.trim_end().to_owned()
}

#[test]
fn every_expression_is_what_cel_go_says() {
    let Cases { resource, cases } = serde_json::from_str(include_str!("cases.json")).unwrap();
    assert!(cases.len() > 400);
    let mut wrong = Vec::new();
    for (source, expected) in cases.iter().map(Case::of) {
        let said = said(source, &resource);
        if said != expected.trim_end() {
            wrong.push(format!("{source}\n    here: {said}\n    expected: {expected}"));
        }
    }
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

fn holds(source: &str, resource: &Json) -> Result<bool, Unanswered> {
    Rule::compile(source).unwrap().holds(resource, &Limits::default())
}

fn undecided(source: &str) -> String {
    match holds(source, &json!({"a": 1, "b": {"c": "x"}})) {
        Err(Unanswered::Undecided(text)) => text,
        other => panic!("{source}: {other:?}"),
    }
}

#[test]
fn what_has_no_value_says_why() {
    assert_eq!(undecided("resource.b.d == 1"), "no such key: d");
    assert_eq!(undecided("resource.a.d == 1"), "no such key: d: it is looked for in a int");
    assert_eq!(undecided("resource.b['d'] == 1"), "no such key: d");
    assert_eq!(undecided("resource.a + resource.b.c == 1"), "no such overload: int + string");
    assert_eq!(undecided("resource.a"), "the rule gives a int; it must give true or false");
    assert_eq!(undecided("[1][4] == 1"), "index out of bounds: 4");
}

#[test]
fn what_does_not_compile_says_where() {
    let error = |source: &str| Rule::compile(source).unwrap_err().to_string();
    assert_eq!(error("obj.a == 1"), "1:1: \"obj\" is not known; the object is the variable resource");
    assert_eq!(error("resource.a ==\n  "), "2:3: the end stands where an expression is expected");
    assert_eq!(error("true true"), "1:6: \"true\" follows where the rule could end");
    assert_eq!(error("contains(resource.a, 'x')"), "1:1: contains is called as value.contains(…)");
    assert_eq!(error("resource.a.lower()"), "1:12: there is no function lower");
    assert_eq!(error("'é' + 'x"), "1:7: a text is not closed; end it with '");
    assert_eq!(error("'\\\n'"), "1:1: \\\\n is no escape sequence; write \\\\ for a backslash");
    assert_eq!(error("resource.a.matches('(')"), "1:12: \"(\" is no pattern: unclosed group");
    assert_eq!(error("has(resource)"), "1:1: has(…) asks for a field: write has(resource.field)");
}

/// Rules that would take for ever or need all memory.
fn hostile() -> Vec<String> {
    let thousand = format!("[{}]", vec!["1"; 1000].join(","));
    let loops = (0..8).fold("true".to_owned(), |body, level| format!("{thousand}.all(x{level}, {body})"));
    // Each doubles a text.
    let doubled = (0..40).fold("size(x39) > 0".to_owned(), |body, level| {
        let from = if level == 39 { "'aaaaaaaa'".to_owned() } else { format!("x{}", 38 - level) };
        format!("[{from}].exists(x{}, [x{0} + x{0}].exists(x{0}, {body}))", 39 - level)
    });
    let lists = (0..30).fold("true".to_owned(), |body, level| {
        let from = if level == 29 { "[1, 2]".to_owned() } else { format!("y{}", 28 - level) };
        format!("[{from} + {from}].exists(y{}, {body})", 29 - level)
    });
    vec![loops, doubled, lists]
}

#[test]
fn a_rule_that_needs_too_much_is_ended() {
    let limits = Limits { steps: 2_000_000, time: Duration::from_secs(60), memory: 8 << 20 };
    for source in hostile() {
        let held = Rule::compile(&source).unwrap().holds(&json!({}), &limits);
        assert!(
            matches!(&held, Err(Unanswered::Limit(text)) if text.starts_with("limit: ")),
            "{held:?}: {source:.80}"
        );
    }
    let limits = Limits { time: Duration::ZERO, ..Limits::default() };
    let held = Rule::compile(&hostile()[0]).unwrap().holds(&json!({}), &limits);
    assert!(matches!(held, Err(Unanswered::Limit(_))), "{held:?}");
    assert!(holds("true || 1 == 2", &json!({})).unwrap());
}

#[test]
fn a_limit_is_not_excused_by_what_decides_otherwise() {
    let limits = Limits { steps: 100, ..Limits::default() };
    let source = format!("{}.all(x, x > 0) || true", format_args!("[{}]", vec!["1"; 1000].join(",")));
    assert!(matches!(Rule::compile(&source).unwrap().holds(&json!({}), &limits), Err(Unanswered::Limit(_))));
}

/// Deep in every way that the language has.
fn deep(count: usize) -> Vec<String> {
    let around = |open: &str, close: &str| format!("{}1{}", open.repeat(count), close.repeat(count));
    vec![
        around("(", ")"),
        around("[", "]"),
        around("{1:", "}"),
        around("size(", ")"),
        format!("{}true", "!".repeat(count)),
        format!("{}1", "- ".repeat(count)),
        format!("1{}", " + 1".repeat(count)),
        format!("1{}", " == 1".repeat(count)),
        format!("resource{}", ".a".repeat(count)),
        format!("resource{}", "[0]".repeat(count)),
        format!("'a'{}", ".size()".repeat(count)),
        format!("{}true", "true ? true : ".repeat(count)),
        format!("{}true{}", "[1].all(x, ".repeat(count), ")".repeat(count)),
        format!("{}true{}", "true && (false || ".repeat(count), ")".repeat(count)),
    ]
}

#[test]
fn depth_is_limited_on_a_small_stack() {
    let small = std::thread::Builder::new().stack_size(512 << 10);
    let run = small.spawn(|| {
        for source in deep(90).into_iter().chain(deep(45)) {
            if let Ok(rule) = Rule::compile(&source) {
                drop(rule.holds(&json!({"a": 1}), &Limits::default()));
            }
        }
        for source in deep(5_000) {
            let error = Rule::compile(&source).unwrap_err().to_string();
            assert!(error.contains("nests deeper") || error.contains("longer than"), "{error}");
        }
    });
    run.unwrap().join().unwrap();
    let long = format!("true{}", " && true".repeat(5_000));
    assert!(holds(&long, &json!({})).unwrap(), "a long chain does not nest");
}

/// What rules are made of, in any order.
fn words() -> impl Strategy<Value = String> {
    let word = prop::sample::select(vec![
        "resource",
        ".a",
        ".b",
        "[0]",
        "['a']",
        "(",
        ")",
        "[",
        "]",
        "{",
        "}",
        ",",
        ":",
        "?",
        "!",
        "-",
        "+",
        "*",
        "/",
        "%",
        "&&",
        "||",
        "==",
        "!=",
        "<",
        ">=",
        " in ",
        "true",
        "null",
        "1",
        "2u",
        "1.5",
        "'x'",
        "b'y'",
        "\"",
        "has(",
        ".all(x, ",
        ".map(x, ",
        ".exists_one(x, ",
        "x",
        ".size()",
        "size(",
        "int(",
        "string(",
        "timestamp(",
        "duration(",
        "'1h'",
        "'2026-01-01T00:00:00Z'",
        ".getHours(",
        ".matches('",
        ".contains(",
        "\\",
        "é",
        "//",
        "\n",
    ]);
    prop::collection::vec(word, 0..25).prop_map(|words| words.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_compiled_or_refused(source in "\\PC{0,60}") {
        drop(Rule::compile(&source));
    }

    #[test]
    fn any_rule_has_an_answer_or_none(source in words()) {
        if let Ok(rule) = Rule::compile(&source) {
            drop(rule.holds(&json!({"a": {"a": "x", "b": [1, {"a": null}]}, "b": ["x", 1.5]}), &Limits::default()));
        }
    }
}
