#![allow(clippy::unwrap_used)]

use serde_json::{Value as Json, json};
use sluice_template::Env;

use super::*;
use crate::Script;

/// What an expression is to a script, as text; `begins` comes before its function.
fn shown_after(begins: &str, expression: &str) -> Result<String, String> {
    let source = format!("{begins}\nfunction evaluate() return {{ message = tostring({expression}) }} end");
    let verdict = Script::compile(&source).unwrap().evaluate(&json!({"a": {"b": 1}}), &Limits::default());
    verdict.map(|verdict| verdict.message).map_err(|error| error.to_string())
}

fn shown(expression: &str) -> String {
    shown_after("", expression).unwrap()
}

fn fails(statement: &str) -> String {
    shown_after("", &format!("(function() {statement} end)()")).unwrap_err()
}

fn made(source: &str, seed: u8) -> String {
    let env = Env::new(0, [seed; 32]);
    Script::compile(source).unwrap().generate(&Json::Null, &env, &Limits::default()).unwrap()
}

#[test]
fn the_plain_library_is_there() {
    for name in [
        "assert",
        "error",
        "getmetatable",
        "ipairs",
        "next",
        "pairs",
        "pcall",
        "print",
        "rawequal",
        "rawget",
        "rawset",
        "require",
        "select",
        "setmetatable",
        "tonumber",
        "tostring",
        "type",
        "unpack",
        "xpcall",
        "string.gsub",
        "table.sort",
        "math.floor",
        "coroutine.wrap",
        "utf8.char",
        "bit32.band",
        "os.time",
        "os.date",
        "os.clock",
        "os.difftime",
        "getLabel",
        "getAnnotation",
        "getResource",
        "base64Encode",
        "base64Decode",
    ] {
        assert_eq!(shown(&format!("type({name})")), "function", "{name}");
    }
}

#[test]
fn what_reaches_outside_or_loads_code_is_not_there() {
    for name in [
        "io",
        "load",
        "loadstring",
        "loadfile",
        "dofile",
        "package",
        "module",
        "collectgarbage",
        "getfenv",
        "setfenv",
        "newproxy",
        "os.execute",
        "os.getenv",
        "os.exit",
        "os.remove",
        "os.rename",
        "os.tmpname",
        "string.dump",
        "debug",
        "ffi",
        "jit",
    ] {
        assert_eq!(shown(&format!("type({name})")), "nil", "{name}");
    }
}

#[test]
fn of_the_clock_there_is_no_more_than_the_time() {
    let expression = "(function() local all = {} for name in pairs(os) do table.insert(all, name) end table.sort(all) return table.concat(all, ' ') end)()";
    assert_eq!(shown(expression), "clock date difftime time");
}

#[test]
fn a_module_is_no_global_before_and_after_it_is_asked_for() {
    assert_eq!(shown("type(json)"), "nil");
    assert_eq!(shown("type(require('json')) .. type(json)"), "tablenil");
    assert_eq!(shown("require('strings') == require('strings')"), "true");
}

#[test]
fn there_are_four_modules_and_no_others() {
    for name in ["os", "io", "./json", "json.decode", "", "JSON"] {
        let error = fails(&format!("require('{name}')"));
        assert!(error.contains("there are json, strings, runes, sprig"), "{name}: {error}");
    }
    assert!(fails("require({})").contains("require: an argument is a table; it must be a string"));
}

#[test]
fn nothing_of_the_library_can_be_changed() {
    for statement in [
        "string.upper = nil",
        "string.mine = 1",
        "_G.print = nil",
        "_G.mine = 1",
        "rawset(math, 'pi', 3)",
        "rawset(_G, 'mine', 1)",
        "table.insert(utf8, 1)",
        "table.clear(os)",
        "setmetatable(string, {})",
        "setmetatable(_G, {})",
        "getmetatable('').__index = nil",
        "require('json').mine = 1",
        "rawset(require('strings'), 'Split', nil)",
        "setmetatable(require('sprig'), {})",
    ] {
        let error = fails(statement);
        assert!(error.contains("readonly") || error.contains("protected metatable"), "{statement}: {error}");
    }
    assert_eq!(shown("('a'):upper() .. math.floor(math.pi) .. type(mine)"), "A3nil");
}

#[test]
fn a_script_may_call_something_of_its_own_as_the_library_is_called_and_only_for_itself() {
    let mine =
        "string = {upper = function() return 'mine' end} function tostring() return string.upper() end";
    assert_eq!(shown_after(mine, "1").unwrap(), "mine");
    assert_eq!(shown("string.lower('A')"), "a");
}

#[test]
fn globals_of_one_evaluation_are_not_there_in_the_next_of_the_same_script() {
    let source = "function evaluate() local before = count count = 1 return { matching = before == nil } end";
    let script = Script::compile(source).unwrap();
    for _ in 0..3 {
        assert!(script.evaluate(&json!({}), &Limits::default()).unwrap().matching);
    }
}

#[test]
fn what_stands_before_the_function_runs_at_each_evaluation() {
    let source =
        "local seen = {} function evaluate() seen[#seen + 1] = 1 return { message = tostring(#seen) } end";
    let script = Script::compile(source).unwrap();
    for _ in 0..3 {
        assert_eq!(script.evaluate(&json!({}), &Limits::default()).unwrap().message, "1");
    }
}

#[test]
fn an_evaluation_that_failed_leaves_nothing_either() {
    let script = Script::compile("leak = 1 function evaluate() leak = 2 error('no') end").unwrap();
    script.evaluate(&json!({}), &Limits::default()).unwrap_err();
    assert_eq!(shown("type(leak)"), "nil");
}

#[test]
fn what_a_script_does_to_the_object_is_gone_with_it() {
    let object = json!({"a": {"b": 1}});
    let source = "function evaluate(o) local before = o.a.b o.a = nil o.c = 1 return { message = tostring(before) .. tostring(o.a) } end";
    let script = Script::compile(source).unwrap();
    for _ in 0..2 {
        assert_eq!(script.evaluate(&object, &Limits::default()).unwrap().message, "1nil");
    }
    assert_eq!(object, json!({"a": {"b": 1}}));
}

#[test]
fn the_object_is_not_there_before_the_function_is_called() {
    assert_eq!(shown_after("early = obj", "early == nil and obj.a.b"), Ok("1".into()));
}

#[test]
fn the_library_of_the_environment_cannot_be_reached_by_its_metatable() {
    assert_eq!(shown("getmetatable('a').__index == string"), "true");
    assert!(fails("getmetatable('a').__index.upper = nil").contains("readonly"));
}

#[test]
fn helpers_take_objects_without_labels_and_no_object_at_all() {
    for object in ["nil", "{}", "{metadata = {}}", "{metadata = {labels = {}, annotations = {}}}"] {
        assert_eq!(
            shown(&format!("tostring(getLabel({object}, 'a')) .. tostring(getAnnotation({object}, 'a'))")),
            "nilnil"
        );
    }
    let object = "{metadata = {labels = {a = 'l'}, annotations = {a = 'n'}}}";
    assert_eq!(shown(&format!("getLabel({object}, 'a') .. getAnnotation({object}, 'a')")), "ln");
    assert_eq!(shown("tostring(getResource({x = 1}, 'x')) .. tostring(getResource({}, 'x'))"), "1nil");
}

#[test]
fn what_one_script_seeds_another_does_not_draw_from() {
    let drawn = "(math.random(1, 1000000))";
    let first = shown(drawn);
    shown_after("math.randomseed(7) math.random()", "1").unwrap();
    assert_eq!(shown(drawn), first);
    assert_ne!(shown_after("math.randomseed(7)", drawn), Ok(first));
}

#[test]
fn content_draws_what_follows_from_its_seed() {
    let source =
        "function evaluate() return { resources = math.random(1, 1e9) .. ' ' .. math.random(1, 1e9) } end";
    let first = made(source, 1);
    assert_eq!(made(source, 1), first);
    assert_ne!(made(source, 2), first);
    let (one, other) = first.split_once(' ').unwrap();
    assert_ne!(one, other);
}

#[test]
fn a_state_serves_its_own_limits_only() {
    let sandbox = Sandbox::new(Limits::default()).unwrap();
    assert!(sandbox.fits(&Limits::default()));
    assert!(!sandbox.fits(&Limits { steps: 1, ..Limits::default() }));
    assert!(!sandbox.fits(&Limits { memory: 1 << 20, ..Limits::default() }));
}

#[test]
fn a_state_with_many_scripts_is_followed_by_another() {
    let mut sandbox = Sandbox::new(Limits::default()).unwrap();
    let nothing = sandbox.lua.create_function(|_, ()| Ok(())).unwrap();
    for number in 0..MAX_FUNCTIONS {
        assert!(sandbox.fits(&Limits::default()), "{number}");
        sandbox.functions.insert(Digest::of(&[number.to_string().as_bytes()]), nothing.clone());
    }
    assert!(!sandbox.fits(&Limits::default()));
}

#[test]
fn the_library_and_its_modules_are_asked_for_by_path() {
    let sandbox = Sandbox::new(Limits::default()).unwrap();
    let has = |module: Option<&str>, path: &[&str]| sandbox.has(module, path).unwrap();
    assert!(has(None, &["os", "time"]) && has(None, &["tostring"]) && has(Some("json"), &["decode"]));
    assert!(!has(None, &["os", "exit"]) && !has(None, &["json"]) && !has(Some("json"), &["decoded"]));
    assert!(!has(None, &["tostring", "x"]), "a function has no fields");
    assert!(has(Some("json"), &[]), "the module itself");
}
