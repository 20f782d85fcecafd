#![allow(clippy::unwrap_used)]

use serde_json::json;

use super::*;
use crate::Script;

fn unknown(body: &str) -> Vec<String> {
    unknown_functions(body).into_iter().map(|unknown| format!("{}:{}", unknown.line, unknown.name)).collect()
}

#[test]
fn what_nobody_defines_is_unknown() {
    let source = "local s = require('strings')
local function mine(a) return a() end
function evaluate(given)
  -- missing(1)
  local text = [[ missing(2) ]] .. \"missing(3)\"
  base65Encode('x') os.exit() s.Splitt('a', ',')
  local j = require \"json\"
  return { matching = mine(given) == s.Split('a', ','), message = tostring(j.decoded '1') .. string.reverse('a') }
end";
    assert_eq!(unknown(source), ["6:base65Encode", "6:os.exit", "6:s.Splitt", "8:j.decoded"]);
}

#[test]
fn what_a_script_gives_or_asks_for_is_its_own_affair() {
    for source in [
        "hs = {} hs.f = function() end function evaluate() hs.f() return hs end",
        "function evaluate(o) for _, f in ipairs(o.x) do f() end return {} end",
        "function evaluate() if later then later() end return {} end",
        "function evaluate() return { matching = obj.metadata ~= nil and obj:f() } end",
        "a, b = 1, function() end function evaluate() b() local x, y = f end",
        "local t = {} function t.inner() end function t:method() end function evaluate() t.inner() t:method() end",
        "function evaluate() _G.x = print x() end",
        "local s = require('strings') s = {} function evaluate() s.Anything() end",
        "local decode = require('json').decode function evaluate() decode('1') end",
        "function evaluate() local f: number = 1 local g = print g(#{1}) return (g)(1) end",
    ] {
        assert_eq!(unknown(source), Vec::<String>::new(), "{source}");
    }
}

#[test]
fn an_error_names_what_was_called() {
    let error = |source: &str| {
        Script::compile(source).unwrap().evaluate(&json!({}), &Limits::default()).unwrap_err().to_string()
    };
    assert_eq!(
        error("function evaluate()\n  return { message = base65Encode('x') }\nend"),
        "evaluate:2: attempt to call a nil value: base65Encode is not defined"
    );
    assert_eq!(
        error(
            "local s = require('strings')\nfunction evaluate()\n  return s.Splitt(string.rep('a', 1), ',')\nend"
        ),
        "evaluate:3: attempt to call a nil value: s.Splitt is not defined"
    );
    assert_eq!(
        error("function evaluate(o)\n  return o.call(1)\nend"),
        "evaluate:2: attempt to call a nil value: o.call is not defined"
    );
}

#[test]
fn a_call_has_brackets_or_one_text_or_table() {
    for call in [
        "missing()",
        "missing 'x'",
        "missing [[x]]",
        "missing {1}",
        "missing ()",
        "x = {missing()}",
        "return missing(1)",
    ] {
        assert_eq!(unknown(call), ["1:missing"], "{call}");
    }
    for other in
        ["missing = 1", "local x = missing", "return missing", "x = missing + 1", "if missing then end"]
    {
        assert_eq!(unknown(other), Vec::<String>::new(), "{other}");
    }
}

#[test]
fn each_call_is_told_in_the_order_of_the_text() {
    assert_eq!(unknown("b()\na.x()\nb()"), ["1:b", "2:a.x", "3:b"]);
    assert_eq!(unknown("a(b(c()))"), ["1:a", "1:b", "1:c"]);
}

#[test]
fn methods_and_what_an_expression_gives_have_no_name() {
    for source in ["return ('x'):missing()", "obj.list[1]()", "(missing)()", "obj:missing()", "f()()"] {
        let found = unknown(&format!("local function f() end {source}"));
        assert!(!found.iter().any(|name| name.contains("missing")), "{source}: {found:?}");
    }
}

#[test]
fn a_name_that_is_given_anywhere_counts_everywhere() {
    for given in [
        "local f = 1",
        "local a, f = 1, 2",
        "f = function() end",
        "function f() end",
        "local function f() end",
        "for f in pairs({}) do end",
        "for a, f in pairs({}) do end",
        "function g(f) end",
        "local g = function(a, f, ...) end",
        "a, f = 1, 2",
        "function f.x() end",
        "f.x = 1",
    ] {
        assert_eq!(unknown(&format!("f()\n{given}")), Vec::<String>::new(), "{given}");
    }
}

#[test]
fn the_functions_of_modules_are_known_under_the_name_that_a_script_gives_them() {
    assert_eq!(unknown("local x = require('json') x.encode({}) x.enc({})"), ["1:x.enc"]);
    assert_eq!(unknown("x = require 'runes' x.isletter(1) x.is(1)"), ["1:x.is"]);
    assert_eq!(unknown("json.encode({})"), ["1:json.encode"], "without asking for it");
    assert_eq!(
        unknown("local x = require('mine') x.f()"),
        Vec::<String>::new(),
        "asking for it is the error"
    );
    assert_eq!(unknown("require('json').enc({})"), Vec::<String>::new(), "an expression has no name");
}

#[test]
fn what_no_longer_is_a_module_for_sure_is_not_looked_into() {
    assert_eq!(unknown("local x = require('json') if obj then x = obj end x.enc({})"), Vec::<String>::new());
}

#[test]
fn names_of_the_library_are_looked_up_to_their_last_part() {
    assert_eq!(
        unknown("string.upper('a') string.up('a') table.insert.x()"),
        ["1:string.up", "1:table.insert.x"]
    );
    assert_eq!(
        unknown("io.open('a') os.execute('a') loadstring('a') load('a')"),
        ["1:io.open", "1:os.execute", "1:loadstring", "1:load"]
    );
}

/// What becomes of an error of the engine at the second line of this source.
fn explained_at_2(source: &str) -> String {
    explained(source, "evaluate:2: attempt to call a nil value".to_owned())
}

#[test]
fn of_two_calls_on_a_line_that_may_be_meant_both_are_named() {
    assert_eq!(
        explained_at_2("\nfirst() second()"),
        "evaluate:2: attempt to call a nil value: first or second is not defined"
    );
    assert_eq!(
        explained_at_2("\nfirst() first()"),
        "evaluate:2: attempt to call a nil value: first is not defined"
    );
}

#[test]
fn a_call_on_another_line_or_of_what_is_there_is_not_meant() {
    let plain = "evaluate:2: attempt to call a nil value";
    for source in ["first()\nlocal x = 1", "local f\nf()", "\ntostring(1)", "\nobj:f()", ""] {
        assert_eq!(explained_at_2(source), plain, "{source}");
    }
}

#[test]
fn other_errors_stay_as_they_are() {
    for error in
        ["evaluate:2: no", "attempt to call a nil value", "evaluate:x: attempt to call a nil value", ""]
    {
        assert_eq!(explained("\nfirst()", error.to_owned()), error);
    }
}

#[test]
fn a_script_that_ends_where_a_name_should_follow_is_read() {
    assert!(unknown_functions("''a,").is_empty());
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_without_a_panic(source in "[a-z.:,=(){}'\"\\[\\] \n]{0,60}|\\PC{0,40}") {
        for Unknown { line, name } in unknown_functions(&source) {
            proptest::prop_assert!(line <= source.matches('\n').count() + 1);
            proptest::prop_assert!(source.contains(name.split('.').next().unwrap()), "{}", name);
        }
        drop(explained(&source, "evaluate:1: attempt to call a nil value".to_owned()));
    }
}
