#![allow(clippy::unwrap_used)]

use std::time::Instant;

use proptest::prelude::*;
use serde_json::json;
use sluice_template::Env;

use super::*;

fn run(source: &str, object: Value) -> Result<Evaluation, Error> {
    Script::compile(source)?.evaluate(&object, &Limits::default())
}

fn fails(source: &str) -> String {
    run(source, json!({"metadata": {}})).unwrap_err().to_string()
}

const LABELS: &str = r#"
function evaluate()
  hs = {}
  hs.matching = false
  hs.message = ""
  if obj.metadata.labels ~= nil then
    for key, value in pairs(obj.metadata.labels) do
      if key == "sveltos" then
        if value == "fv" then
          hs.matching = true
        end
      end
    end
  end
  return hs
end"#;

const PORTS: &str = r#"
function evaluate()
  hs = {}
  hs.matching = false
  if obj.spec.ports ~= nil then
    for _,p in pairs(obj.spec.ports) do
      if p.port == 443 or p.port == 8443 then
        hs.matching = true
      end
    end
  end
  return hs
end"#;

#[test]
fn the_classic_scripts_decide() {
    for (source, object, expected) in [
        (LABELS, json!({"metadata": {"labels": {"sveltos": "fv"}}}), true),
        (LABELS, json!({"metadata": {"labels": {"sveltos": "x"}}}), false),
        (LABELS, json!({"metadata": {"labels": null}}), false),
        (PORTS, json!({"spec": {"ports": [{"port": 80}, {"port": 8443}]}}), true),
        (PORTS, json!({"spec": {"ports": [{"port": 80}]}}), false),
        (PORTS, json!({"spec": {}}), false),
    ] {
        assert_eq!(run(source, object.clone()).unwrap().matching, expected, "{object}");
    }
}

#[test]
fn the_object_is_also_the_argument_and_lists_are_whole() {
    let source = "function evaluate(o) return { matching = #o.n == 4 and o.n[1] == 1 and o.n[4][1] == 'x', message = tostring(o.n[2]) } end";
    let verdict = run(source, json!({"n": [1, 2.5, true, ["x"]]})).unwrap();
    assert_eq!(verdict, Evaluation { matching: true, message: "2.5".into() });
}

#[test]
fn helpers_are_there() {
    let source = "function evaluate() return { matching = getLabel(obj, 'a') == 'b' and getAnnotation(obj, 'a') == nil } end";
    assert!(run(source, json!({"metadata": {"labels": {"a": "b"}}})).unwrap().matching);
}

#[test]
fn errors_say_line_and_reason() {
    assert!(fails("function evaluate()\n  return {\nend").starts_with("evaluate:3: Expected"));
    assert!(
        fails("function evaluate()\n  return obj.status.x\nend")
            .contains("evaluate:2: attempt to index nil with 'x'")
    );
    assert!(fails("function evaluate() return 1 end").contains("not a lua table"));
    assert!(fails("function evaluate() return { matching = 'yes' } end").contains("matching is a string"));
    assert!(fails("-- evaluate").contains("does not define"));
    assert!(fails("x = 1").contains("does not define"));
}

#[test]
fn every_escape_is_stopped() {
    let quick = Limits { time: Duration::from_millis(20), ..Limits::default() };
    for body in [
        "while true do end",
        "while true do pcall(function() while true do end end) end",
        "xpcall(function() error('x') end, function() while true do end end) while true do end",
        "coroutine.wrap(function() while true do end end)()",
        "return string.find(string.rep('a', 30), string.rep('a*', 30) .. 'b')",
        "local s = 'x' while true do s = s .. s end",
        "local t = {} while true do t[#t + 1] = string.rep('x', 1000) .. #t end",
        "return string.rep('x', 1e9)",
        "local function f() return 1 + f() end return f()",
    ] {
        let script = Script::compile(&format!("function evaluate() {body} end")).unwrap();
        assert!(script.evaluate(&json!({}), &quick).is_err(), "{body}");
    }
    assert!(run(LABELS, json!({"metadata": {"labels": {"sveltos": "fv"}}})).unwrap().matching);
}

#[test]
fn no_single_call_outlives_the_limits() {
    for body in [
        "table.move({}, 1, 2000000000, 2, {})",
        "local t = table.create(500000, 1) for _ = 1, 100 do table.sort(t) end",
        "string.match(string.rep('a', 1000000), '[' .. string.rep('b', 100000) .. ']*')",
        "string.pack('c30000000c30000000', '', '')",
        "string.rep('a', 2000000):find(string.rep('a', 1000000) .. 'b', 1, true)",
        "string.find(string.rep('a', 2000000), string.rep('a', 1000000) .. 'b')",
        "string.split(string.rep('a', 2000000), string.rep('a', 1000000) .. 'b')",
    ] {
        let script = Script::compile(&format!("function evaluate() {body} end")).unwrap();
        let error = script.evaluate(&json!({}), &Limits::default()).unwrap_err().to_string();
        assert!(error.starts_with("evaluate:1: limit: "), "{error}");
    }
    let source = "function evaluate()
        local first, last = ('a.b'):find('.', 1, true)
        local moved = table.move({ 1, 2, 3 }, 2, 3, 1)
        return { matching = first == 2 and last == 2 and moved[1] == 2, message = table.concat(('a,b'):split(','), ' ') .. #('ab'):split('') .. ('x1'):find('%d') }
    end";
    assert_eq!(run(source, json!({})).unwrap(), Evaluation { matching: true, message: "a b22".into() });
    assert!(
        run("function evaluate() return { message = table.concat(('a,b'):split(), ' ') } end", json!({}))
            .is_ok()
    );
}

#[test]
fn nothing_of_the_process_can_be_reached() {
    for name in [
        "io",
        "load",
        "loadstring",
        "dofile",
        "package",
        "debug.getregistry",
        "os.execute",
        "os.getenv",
        "collectgarbage",
        "getfenv",
    ] {
        let source = format!("function evaluate() return {{ matching = {name} == nil }} end");
        let gone =
            run(&source, json!({})).is_ok_and(|verdict| verdict.matching) || run(&source, json!({})).is_err();
        assert!(gone, "{name}");
    }
}

#[test]
fn one_evaluation_leaves_nothing_to_the_next() {
    let first = "function evaluate() leak = 1 return { matching = true } end";
    let second = "function evaluate() return { matching = leak == nil and string.format ~= nil } end";
    run(first, json!({})).unwrap();
    assert!(run(second, json!({})).unwrap().matching);
    assert!(run("function evaluate() string.format = nil return {} end", json!({})).is_err());
    assert!(run("function evaluate() getmetatable('').__index = {} return {} end", json!({})).is_err());
    assert!(run(second, json!({})).unwrap().matching);
}

#[test]
fn objects_that_are_too_deep_are_refused_and_not_followed() {
    let mut object = json!(1);
    for _ in 0..1000 {
        object = json!([object]);
    }
    let error = run("function evaluate() return { matching = false } end", object).unwrap_err().to_string();
    assert!(error.contains("nested deeper than 130 (MAX_DEPTH of sluice-script)"), "{error}");
}

/// Parts of the language and of what a script finds, so that some of the texts mean something.
const WORDS: &str = "function evaluate end return while true do if then for in pairs obj nil local x = == .. # ( ) { } [ ] , 'a' \
    1e308 -1 string.rep string.format table.concat table.create pcall coroutine.wrap setmetatable resources matching";

fn any_source() -> impl Strategy<Value = String> {
    let words =
        proptest::collection::vec(prop::sample::select(WORDS.split_whitespace().collect::<Vec<_>>()), 0..40);
    let words = words.prop_map(|words| words.join(" "));
    prop_oneof![any::<String>(), words].prop_flat_map(|text| {
        let inside = format!("function evaluate()\n{text}\nend");
        let after = format!("{text} function evaluate() return obj end");
        prop::sample::select(vec![text, inside, after])
    })
}

fn any_object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        any::<String>().prop_map(Value::from),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            proptest::collection::btree_map("[a-z]{0,9}|.{0,3}", inner, 0..6)
                .prop_map(|map| map.into_iter().collect()),
        ]
    })
}

proptest! {
    #[test]
    fn any_text_over_any_object_ends_with_a_verdict_or_one_line(source in any_source(), object in any_object()) {
        let limits = Limits { steps: 10_000, time: Duration::from_millis(20), memory: 8 << 20 };
        let begun = Instant::now();
        let asked = Script::compile(&source).and_then(|script| {
            script.generate(&object, &Env::default(), &limits).ok();
            script.evaluate(&object, &limits)
        });
        if let Err(error) = asked {
            prop_assert!(!error.to_string().contains('\n'), "{error}");
        }
        prop_assert!(begun.elapsed() < Duration::from_secs(10), "{:?}", begun.elapsed());
    }
}
