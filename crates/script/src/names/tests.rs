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
