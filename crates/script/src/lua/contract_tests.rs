//! What the three kinds of scripts are given, what they may return, and the error for everything else.
#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_template::Env;

use super::*;

/// What a script says of an object whose function has this body.
fn says(body: &str) -> Result<Evaluation, String> {
    let script = Script::compile(&format!("function evaluate(o)\n{body}\nend")).unwrap();
    let object = json!({"kind": "Service", "metadata": {"name": "a"}});
    script.evaluate(&object, &Limits::default()).map_err(|error| error.to_string())
}

fn generated(body: &str) -> Result<String, String> {
    let script = Script::compile(&format!("function evaluate(...)\n{body}\nend")).unwrap();
    let resources = json!({"Cluster": {"kind": "SveltosCluster"}, "login": {"data": {"user": "x"}}});
    script.generate(&resources, &Env::default(), &Limits::default()).map_err(|error| error.to_string())
}

/// What a script chooses of Services `a` and `b`, by their names.
fn chosen(body: &str) -> Result<Vec<String>, String> {
    let script = Script::compile(&format!("function evaluate(...)\n{body}\nend")).unwrap();
    let objects =
        ["a", "b"].map(|name| json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}}));
    let objects: Vec<&Value> = objects.iter().collect();
    let chosen = script.choose(&objects, &Limits::default()).map_err(|error| error.to_string())?;
    Ok(chosen
        .iter()
        .map(|object| object["metadata"]["name"].as_str().unwrap_or_default().to_owned())
        .collect())
}

#[test]
fn a_verdict_without_an_answer_is_no() {
    assert_eq!(says("return {}"), Ok(Evaluation::default()));
    assert_eq!(says("return { message = 'x' }"), Ok(Evaluation { matching: false, message: "x".into() }));
    assert_eq!(says("return { matching = nil }"), Ok(Evaluation::default()));
}

#[test]
fn only_true_and_false_are_answers() {
    for (value, kind) in [("1", "number"), ("'true'", "string"), ("{}", "table"), ("print", "function")] {
        let why = format!("matching is a {kind}; it must be true or false");
        assert_eq!(says(&format!("return {{ matching = {value} }}")), Err(why));
    }
}

#[test]
fn a_message_that_is_no_text_is_none() {
    for value in ["{}", "true", "print"] {
        let says = says(&format!("return {{ matching = true, message = {value} }}"));
        assert_eq!(says, Ok(Evaluation { matching: true, message: String::new() }), "{value}");
    }
}

#[test]
fn what_else_is_in_a_verdict_is_nobodys_affair() {
    assert!(says("return { matching = true, other = print, [1] = {} }").unwrap().matching);
}

#[test]
fn an_answer_that_only_a_metatable_gives_is_none() {
    assert!(!says("return setmetatable({}, { __index = function() return true end })").unwrap().matching);
}

#[test]
fn of_several_results_the_first_counts() {
    assert!(says("return { matching = true }, { matching = false }").unwrap().matching);
}

#[test]
fn what_is_no_table_is_no_verdict() {
    for result in ["", "return nil", "return true", "return 'matching'", "return print"] {
        let why = "lua script output is not a lua table; return { matching = true } or { matching = false }";
        assert_eq!(says(result), Err(why.to_owned()), "{result}");
    }
}

#[test]
fn a_script_without_its_function_says_how_it_begins() {
    let why = "the script does not define a function evaluate; begin it with: function evaluate()";
    assert_eq!(Script::compile("return 1").unwrap_err().to_string(), why);
    for source in [
        "-- evaluate",
        "evaluate = 1",
        "local function evaluate() end",
        "function Evaluate() end -- evaluate",
    ] {
        let script = Script::compile(source).unwrap();
        let (limits, env) = (Limits::default(), Env::default());
        assert_eq!(script.evaluate(&json!({}), &limits).unwrap_err().to_string(), why, "{source}");
        assert_eq!(script.generate(&json!({}), &env, &limits).unwrap_err().to_string(), why, "{source}");
        assert_eq!(script.choose(&[], &limits).unwrap_err().to_string(), why, "{source}");
    }
}

#[test]
fn the_function_may_be_given_as_any_value_is() {
    for source in [
        "evaluate = function() return { matching = true } end",
        "local function f() return { matching = true } end evaluate = f",
    ] {
        let says = Script::compile(source).unwrap().evaluate(&json!({}), &Limits::default());
        assert!(says.unwrap().matching, "{source}");
    }
}

#[test]
fn an_error_has_the_line_where_it_was_raised() {
    assert_eq!(says("error('no')"), Err("evaluate:2: no".into()));
    assert_eq!(says("\nerror('no', 0)"), Err("no".into()), "unless it says so");
    assert_eq!(says("assert(false, 'no')"), Err("evaluate:2: no".into()));
    assert_eq!(says("local x = nil\nreturn x.y"), Err("evaluate:3: attempt to index nil with 'y'".into()));
    assert_eq!(
        says("return 1 + {}"),
        Err("evaluate:2: attempt to perform arithmetic (add) on number and table".into())
    );
}

#[test]
fn of_an_error_the_first_line_is_told() {
    assert_eq!(says("error('one\\ntwo', 0)"), Err("one".into()));
}

#[test]
fn an_error_before_the_function_is_told_too() {
    let script = Script::compile("local x = nil\nx.y = 1\nfunction evaluate() end").unwrap();
    let error = script.evaluate(&json!({}), &Limits::default()).unwrap_err().to_string();
    assert_eq!(error, "evaluate:2: attempt to index nil with 'y'");
}

#[test]
fn what_a_script_catches_is_its_own_affair() {
    assert!(says("return { matching = not pcall(error, 'no') }").unwrap().matching);
    assert_eq!(says("return { message = select(2, pcall(error, 'no')) }").unwrap().message, "no");
}

#[test]
fn a_script_that_does_not_compile_is_refused_with_its_line() {
    for (source, line) in
        [("function evaluate(\nend", 2), ("function evaluate()\n\n  x = = 1\nend", 3), ("evaluate = 'a", 1)]
    {
        let error = Script::compile(source).unwrap_err().to_string();
        assert!(error.starts_with(&format!("evaluate:{line}:")), "{error}");
    }
}

#[test]
fn the_object_is_a_global_and_the_argument() {
    assert!(says("return { matching = obj == o and o.kind == 'Service' }").unwrap().matching);
}

#[test]
fn content_sees_its_resources_also_before_the_function() {
    let script = Script::compile(
        "local user = resources.login.data.user function evaluate() return { resources = user } end",
    )
    .unwrap();
    let made =
        script.generate(&json!({"login": {"data": {"user": "x"}}}), &Env::default(), &Limits::default());
    assert_eq!(made.unwrap(), "x");
    assert_eq!(
        generated("return { resources = tostring(#{...}) .. resources.Cluster.kind }"),
        Ok("0SveltosCluster".into())
    );
}

#[test]
fn content_is_a_text() {
    assert_eq!(generated("return { resources = '' }"), Ok(String::new()));
    assert_eq!(generated("return { resources = 'a\\255' }"), Ok("a\u{fffd}".into()));
    for (value, kind) in [("nil", "nil"), ("1", "number"), ("{}", "table"), ("false", "boolean")] {
        let why = format!("resources is a {kind}; return {{ resources = <YAML text> }}");
        assert_eq!(generated(&format!("return {{ resources = {value} }}")), Err(why));
    }
    let why = "lua script output is not a lua table; return { resources = <YAML text> }";
    assert_eq!(generated("return 'a: b'"), Err(why.into()));
}

#[test]
fn the_objects_to_choose_from_are_a_global_and_the_argument() {
    assert_eq!(chosen("return { resources = (...) }"), Ok(vec!["a".into(), "b".into()]));
    assert_eq!(chosen("return { resources = resources }"), Ok(vec!["a".into(), "b".into()]));
}

#[test]
fn an_object_may_be_chosen_more_than_once_and_up_to_the_first_gap() {
    assert_eq!(
        chosen("return { resources = {resources[2], resources[2]} }"),
        Ok(vec!["b".into(), "b".into()])
    );
    assert_eq!(chosen("return { resources = {resources[1], nil, resources[2]} }"), Ok(vec!["a".into()]));
}

#[test]
fn what_is_no_list_of_objects_is_no_choice() {
    let list = "; return a list of objects, filled by table.insert";
    for (value, why) in [
        ("'a'", "resources is a string"),
        ("true", "resources is a boolean"),
        ("{a = {}}", "resources is no list"),
        ("{[2] = {}}", "resources is no list"),
        ("{'a'}", "resources has a string"),
        ("{{}, 1}", "resources has a number"),
    ] {
        assert_eq!(
            chosen(&format!("return {{ resources = {value} }}")),
            Err(format!("{why}{list}")),
            "{value}"
        );
    }
    let why = "lua script output is not a lua table; return { resources = <list> }";
    assert_eq!(chosen("return nil"), Err(why.into()));
}

#[test]
fn an_object_that_was_given_another_name_is_a_new_one() {
    let script = Script::compile(
        "function evaluate() local o = resources[1] o.metadata.name = 'new' return { resources = {o} } end",
    )
    .unwrap();
    let object = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "a"}, "list": [], "large": u64::MAX});
    let chosen = script.choose(&[&object], &Limits::default()).unwrap();
    let expected = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "new"}, "list": {}, "large": 1.844_674_407_370_955_2e19});
    assert_eq!(chosen, [expected], "what it was formerly is not known of it");
}

#[test]
fn equal_scripts_are_compiled_to_the_same() {
    let of = |source: &str| Script::compile(source).unwrap().id;
    assert_eq!(of("function evaluate() end"), of("function evaluate() end"));
    assert_ne!(of("function evaluate() end"), of("function evaluate() end "));
}

/// What ends a script under these limits.
fn ends(body: &str, limits: &Limits) -> String {
    let script = Script::compile(&format!("function evaluate()\n{body}\nend")).unwrap();
    script.evaluate(&json!({}), limits).unwrap_err().to_string()
}

#[test]
fn steps_end_a_loop_whatever_it_catches() {
    let few = Limits { steps: 10_000, time: Duration::from_secs(3600), ..Limits::default() };
    for body in [
        "for i = 1, 1e9 do end",
        "while true do pcall(function() for i = 1, 1e9 do end end) end",
        "local function f() f() end f()",
    ] {
        assert!(
            ends(body, &few).contains(OVER_BUDGET) || ends(body, &few).contains("stack overflow"),
            "{body}"
        );
    }
}

#[test]
fn as_many_steps_as_are_allowed_may_be_done() {
    let few = Limits { steps: 10_000, time: Duration::from_secs(3600), ..Limits::default() };
    let script =
        Script::compile("function evaluate() for i = 1, 5000 do end return { matching = true } end").unwrap();
    for _ in 0..5 {
        assert!(script.evaluate(&json!({}), &few).unwrap().matching, "each evaluation has all of them");
    }
}

#[test]
fn memory_ends_a_script_and_the_next_one_has_all_of_it() {
    let small = Limits { memory: 2 << 20, time: Duration::from_secs(3600), ..Limits::default() };
    for _ in 0..3 {
        let error = ends("local t = {} for i = 1, 1e7 do t[i] = {i} end", &small);
        assert!(error.contains("not enough memory"), "{error}");
    }
    let script =
        Script::compile("function evaluate() return { matching = #string.rep('x', 1000000) == 1e6 } end")
            .unwrap();
    assert!(script.evaluate(&json!({}), &small).unwrap().matching);
}

/// Whether a script ends at a limit, and not by itself.
fn is_limited(body: &str, limits: &Limits) -> bool {
    let script = Script::compile(&format!("function evaluate()\n{body}\nend")).unwrap();
    script.evaluate(&json!({}), limits).unwrap_err().is_limit()
}

#[test]
fn a_limit_is_one_whatever_a_script_says() {
    let small = Limits { steps: 200_000, memory: 4 << 20, time: Duration::from_secs(3600) };
    for body in [
        "while true do end",
        "pcall(function() while true do end end)",
        "table.sort(table.create(100000, 1))",
        "local ok, why = pcall(table.sort, table.create(100000, 1)) error(why, 0)",
        "local t = {} for i = 1, 1e7 do t[i] = {i} end",
        "require('strings').Repeat('a', 1e15)",
        "require('json').decode(string.rep('a', 2097153))",
        "coroutine.wrap(function() while true do end end)()",
    ] {
        assert!(is_limited(body, &small), "{body}");
    }
    for body in [
        "error('limit: x')",
        "error('limit: the call would take too long; give it less at once')",
        "error('the script ran for too long')",
        "pcall(table.sort, table.create(100000, 1)) error('own')",
        "pcall(table.sort, table.create(100000, 1)) return nothing.x",
        "return 1",
    ] {
        assert!(!is_limited(body, &small), "{body}");
    }
    assert!(!Script::compile("function evaluate() return {").unwrap_err().is_limit());
}

#[test]
fn what_is_too_much_to_take_or_to_give_is_a_limit() {
    let deep = (0..140).fold(json!(1), |inner, _| json!([inner]));
    let script = Script::compile("function evaluate() return { matching = true } end").unwrap();
    assert!(script.evaluate(&deep, &Limits::default()).unwrap_err().is_limit());
    let doubled =
        "local one = {a = 1} for _ = 1, 60 do one = {l = one, r = one} end return {resources = {one}}";
    let script = Script::compile(&format!("function evaluate() {doubled} end")).unwrap();
    assert!(script.choose(&[], &Limits::default()).unwrap_err().is_limit());
    let kept = Script::compile("function evaluate() return {resources = {1}} end").unwrap();
    assert!(!kept.choose(&[], &Limits::default()).unwrap_err().is_limit());
}

#[test]
fn a_call_that_no_budget_pays_may_be_caught_and_is_a_limit_where_it_is_not() {
    let body = "table.sort(table.create(400000, 1))";
    assert_eq!(
        ends(body, &Limits::default()),
        "evaluate:2: limit: the call would take too long; give it less at once"
    );
    assert!(says(&format!("return {{ matching = not pcall(function() {body} end) }}")).unwrap().matching);
}

#[test]
fn a_call_that_is_small_enough_is_done() {
    for body in [
        "local t = {3, 1, 2} table.sort(t) return { message = table.concat(t, ',') }",
        "local t = {1, 2, 3} table.sort(t, function(a, b) return a > b end) return { message = table.concat(table.move(t, 3, 3, 1), ',') }",
        "return { message = (string.gsub('a-b', '%-', ',')) }",
        "local all = {} for word in string.gmatch('a b', '%a') do table.insert(all, word) end return { message = table.concat(all, ',') }",
        "return { message = string.format('%s,%d', 'a', 2) }",
        "return { message = string.rep('a', 2, ',') }",
    ] {
        let says = says(body).unwrap_or_else(|error| panic!("{body}: {error}"));
        assert!(
            ["1,2,3", "1,2,1", "a,b", "a,2", "aa"].contains(&says.message.as_str()),
            "{body}: {}",
            says.message
        );
    }
}

#[test]
fn functions_of_the_engine_raise_their_own_errors() {
    for (call, why) in [
        ("string.rep()", "missing argument #1 to 'rep'"),
        ("table.concat({{}})", "invalid value (table) at index 1 in table for 'concat'"),
        ("table.sort({1, 'a'})", "attempt to compare"),
        ("string.find('a', '[')", "malformed pattern"),
        ("string.format('%d', 'x')", "invalid argument #2 to 'format'"),
        ("tonumber('1', 99)", "base out of range"),
    ] {
        let error = says(call).unwrap_err();
        assert!(error.contains(why), "{call}: {error}");
    }
}

#[test]
fn a_function_of_the_engine_is_paid_in_whatever_way_it_is_called() {
    let few = Limits { steps: 3_000, time: Duration::from_secs(3600), ..Limits::default() };
    for call in [
        "string.rep('a', 30000)",
        "('a'):rep(30000)",
        "local f = string.rep f('a', 30000)",
        "getmetatable('').__index.rep('a', 30000)",
        "setmetatable({}, { __index = string }).rep('a', 30000)",
        "coroutine.wrap(string.rep)('a', 30000)",
        "string.gsub('a', 'a', function() return string.rep('a', 30000) end)",
        "table.sort({2, 1}, function() return string.rep('a', 30000) == 'a' end)",
        "return tostring(setmetatable({}, { __tostring = function() return ('a'):rep(30000) end }))",
    ] {
        let error = ends(call, &few);
        assert!(error.contains("limit: the call would take too long"), "{call}: {error}");
    }
}

#[test]
fn what_a_call_did_not_need_is_there_for_the_next_one() {
    let few = Limits { steps: 10_000, time: Duration::from_secs(3600), ..Limits::default() };
    let source = "function evaluate()
        local text = string.rep('a', 1000)
        for _ = 1, 1000 do string.find('b' .. text, 'b') end
        return { matching = true }
    end";
    assert!(Script::compile(source).unwrap().evaluate(&json!({}), &few).unwrap().matching);
}
