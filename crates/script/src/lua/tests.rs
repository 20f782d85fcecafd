#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;

fn run(source: &str, object: Value) -> Result<Verdict, Error> {
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
    assert_eq!(verdict, Verdict { matching: true, message: "2.5".into() });
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
fn nothing_of_the_process_can_be_reached() {
    for name in [
        "io",
        "require",
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
