//! Every function that a script finds, with the largest arguments that fit.
#![allow(clippy::unwrap_used)]

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use super::*;
use crate::budget::{Budget, CLOCK};
use crate::prices::{PRICES, Priced};

/// Functions of which one call takes about the same whatever it is given, or goes through its arguments on the stack, which has room for
/// some thousands, or once through memory that is there.
const SHORT: &str = "assert error gcinfo getAnnotation getLabel getResource getmetatable ipairs next pairs pcall print rawequal rawget rawlen \
    rawset require setmetatable tostring type typeof xpcall \
    coroutine.close coroutine.create coroutine.isyieldable coroutine.resume coroutine.running coroutine.status coroutine.wrap coroutine.yield \
    os.clock os.difftime os.time string.len table.freeze table.getn table.isfrozen utf8.codes";

/// Values that are large in one way or another. `T` is a text, `B` one with many commas, `N` one of digits, `L` a list, `S` a list that
/// has one long text many times, `M` a map, `D` a list of tables, `U` a text that differs
/// from `T` at its end, `E` a map that has become empty.
const LARGE: &str = "
    T = string.rep('a', 8e6)
    U = T .. 'b'
    B = string.rep('ab,', 1e6)
    N = string.rep('7', 4e6)
    L = table.create(4e5, 1) for i = 1, 1e5 do L[i] = (i * 7919) % 1e5 end
    S = {} for i = 1, 3e4 do S[i] = T end S[1] = U
    M = {} for i = 1, 1e5 do M['k' .. i] = i end
    D = {} for i = 1, 3e4 do D[i] = {} end
    E = {} for i = 1, 1e5 do E['k' .. i] = i end for key in pairs(E) do E[key] = nil end
    json, strings, runes, sprig = require('json'), require('strings'), require('runes'), require('sprig')";

/// Arguments that are worst for a function, where those for all are not.
const WORST: [(&str, &[&str]); 48] = [
    (
        "table.sort",
        &[
            "table.clone(L)",
            "S",
            "table.clone(L), math.max",
            "D, rawequal",
            "table.clone(L), function(a, b) return a > b end",
        ],
    ),
    ("table.insert", &["L, 1, 1", "table.clone(L), 1, 1", "D, D"]),
    ("table.remove", &["L, 1", "table.clone(L), 1", "table.clone(L)"]),
    ("table.concat", &["S", "L, T", "S, T", "L, ',', 1, 2e9", "L"]),
    ("table.find", &["L, 2", "D, setmetatable({}, {__eq = rawequal})"]),
    ("table.move", &["L, 1, 1e6, 2", "{}, 1, 2e9, 2, {}", "L, 1, 1e6, 1, M"]),
    ("table.create", &["1e6, 1", "4e6", "1e9"]),
    ("table.unpack", &["L", "L, 1, 7000"]),
    ("unpack", &["L", "L, 1, 7000"]),
    ("table.pack", &["table.unpack(L, 1, 7000)"]),
    ("table.foreach", &["M, math.max", "L, type"]),
    ("table.foreachi", &["L, math.max", "L, type"]),
    ("select", &["-1, table.unpack(L, 1, 7000)"]),
    ("string.rep", &["'a', 3e7", "T, 3", "'a', 1e9", "T, 2e9"]),
    ("string.byte", &["T, 1, -1", "T, 1, 7000"]),
    ("string.char", &["table.unpack(L, 1e5 + 1, 1e5 + 7000)"]),
    ("string.format", &["'%s%s', T, T", "'%q', T", "string.rep('%.99f', 7000), table.unpack(L, 1, 7000)"]),
    (
        "string.find",
        &[
            "T, 'ab', 1, true",
            "T, string.rep('a', 1e5) .. 'b', 1, true",
            "T, 'a*b'",
            "T, '[' .. string.rep('b', 1e5) .. 'a]*b'",
            "T, '()a*[' ",
            "T, '%b()'",
            "string.rep('(', 4e6), '%b()'",
        ],
    ),
    ("string.match", &["T, 'a-b'", "T, '[' .. string.rep('b', 1e5) .. 'a]*b'", "T, '()a*'", "T, '(a*)%1b'"]),
    (
        "string.gsub",
        &["T, 'a', T", "T, '.', 'bb'", "T, '[' .. string.rep('b', 1e5) .. 'a]*c', ''", "T, '.', math.max"],
    ),
    ("string.reverse", &["T"]),
    ("string.upper", &["T"]),
    ("string.lower", &["T"]),
    ("string.sub", &["T, 2", "T"]),
    ("table.clone", &["L", "M"]),
    ("table.clear", &["L", "M"]),
    ("table.maxn", &["L", "M"]),
    ("utf8.len", &["T"]),
    ("string.gmatch", &["T, 'b'", "T, '[' .. string.rep('b', 1e5) .. 'a]*c'", "T, 'a*b'"]),
    ("string.split", &["B, ','", "T, ''", "T, string.rep('a', 1e5) .. 'b'", "B"]),
    ("string.pack", &["'c2000000000', ''", "'c30000000', ''", "'ss', T, T", "'zz', T, T"]),
    ("string.packsize", &["string.rep('b', 1e6)", "T"]),
    ("string.unpack", &["'z', T .. '\\0'", "string.rep('b', 7000), T", "'c8000000', T"]),
    ("utf8.char", &["table.unpack(L, 1e5 + 1, 1e5 + 7000)"]),
    ("utf8.codepoint", &["T, 1, -1", "T, 1, 7000"]),
    ("utf8.offset", &["T, 1e7", "T, -1e7"]),
    ("os.date", &["string.rep('%c', 1e6)", "T"]),
    ("tonumber", &["N", "N, 7", "T"]),
    (
        "json.decode",
        &[
            "'[' .. string.rep('[],', 6e5) .. '1]'",
            "'\"' .. string.rep('a', 2e6) .. '\"'",
            "string.rep('[', 2e6)",
        ],
    ),
    ("json.fromYAML", &["string.rep('- []\\n', 2e5)", "string.rep('[', 2e6)", "string.rep('a: b\\n', 2e5)"]),
    ("json.encode", &["L", "M", "S", "T", "D"]),
    ("json.toYAML", &["L", "M", "S", "T", "D"]),
    ("strings.Repeat", &["'a', 3e7", "T, 3"]),
    ("strings.Replace", &["T, 'a', 'bb', 1e9", "T, '', 'bb', 1e9", "T, string.rep('a', 1e5) .. 'b', '', -1"]),
    ("strings.Join", &["S, ''", "S, T"]),
    ("strings.Map", &["math.abs, T", "function(c) return c end, T"]),
    ("runes.runestring", &["table.unpack(L, 1, 7000)"]),
    ("sprig.regexMatch", &["'(a|b)*a(a|b){1,200}c', string.rep('ab', 5e5)", "'a*b', T"]),
];

/// What the language does itself in one step, and what makes a step long.
const LANGUAGE: [&str; 20] = [
    "local x = T .. 'b'",
    "local x = T < U",
    "local x = T .. T .. T .. T",
    "next(E)",
    "for _ in pairs(E) do end",
    "local x = {table.unpack(L, 1, 7000)} x[7001] = 1",
    "local x = setmetatable({}, {__concat = string.rep}) .. 1e9",
    "error(T)",
    "assert(false, T)",
    "local x = string.rep(T, 5)",
    "local x = table.create(1e6)",
    "local function f() pcall(f) end f()",
    "local function f() return f() + 1 end f()",
    "xpcall(error, function(e) error(e) end, T)",
    "coroutine.wrap(function(...) coroutine.yield(...) end)(table.unpack(L, 1, 7000))",
    "for i = 1, 1000 do E['x' .. i] = i end for i = 1, 1000 do E['x' .. i] = nil end",
    "local x = {} for i = 1, 1000 do x[T .. i] = i end",
    "local x = setmetatable({}, {__lt = rawequal}) local l = table.create(1e5, x) table.sort(l)",
    "print(T, U)",
    "local f = string.gmatch(T, '()a*') for i = 1, 1e6 do f() end",
];

/// What fits most functions of modules.
const ANY: [&str; 8] = ["T", "T, T", "T, 'b'", "L", "M", "3, T", "T, 'a', T, -1", "'b', T"];

/// Functions that make secrets: one call takes what it takes, is not counted as the script's time, and few are possible.
const SLOW: [&str; 5] =
    ["sprig.bcrypt", "sprig.derivePassword", "sprig.encryptAES", "sprig.genPrivateKey", "sprig.htpasswd"];

/// What the functions are given that are not `SHORT`.
fn calls() -> Vec<String> {
    let functions = with_sandbox(&Limits::default(), Sandbox::functions_of_scripts).unwrap();
    let mut calls: Vec<String> = LANGUAGE.map(str::to_owned).into();
    for name in functions.iter().filter(|name| !is_short(name) && !SLOW.contains(&name.as_str())) {
        let worst = WORST.iter().find(|(function, _)| function == name).map(|(_, worst)| *worst);
        let any = if is_priced(name) { &[][..] } else { &ANY[..] };
        calls.extend(any.iter().chain(worst.into_iter().flatten()).map(|arguments| call(name, arguments)));
    }
    // It leaves nothing for others.
    calls.sort_by_key(|call| call.contains("table.clear"));
    calls
}

fn call(name: &str, arguments: &str) -> String {
    match name {
        "string.gmatch" => format!("for _ in string.gmatch({arguments}) do end"),
        name => format!("return {name}({arguments})"),
    }
}

fn patient() -> Limits {
    Limits { steps: u64::MAX, time: Duration::from_secs(3600), ..Limits::default() }
}

fn is_short(name: &str) -> bool {
    SHORT.split_whitespace().any(|short| short == name)
        || name.starts_with("math.")
        || name.starts_with("bit32.")
}

fn is_priced(name: &str) -> bool {
    let is = |priced: &Priced| {
        let name = name.strip_prefix(priced.table).map(|rest| rest.trim_start_matches('.'));
        name.is_some_and(|name| name.as_bytes() == priced.name.to_bytes())
    };
    PRICES.iter().any(is)
}

/// A state of which scripts have the large values, and functions that do the calls.
fn prepared(calls: &[String]) -> (Sandbox, Vec<Function>) {
    let sandbox = Sandbox::new(patient()).unwrap();
    let (lua, environment) = sandbox.begin(None).unwrap();
    let load = |text: &str| {
        let chunk = lua.load(text).set_name(NAME).set_environment(environment.clone());
        chunk.into_function().unwrap()
    };
    load(LARGE).call::<()>(()).unwrap();
    let functions = calls.iter().map(|call| load(call)).collect();
    (sandbox, functions)
}

/// A clock that stands still while others have the processor, so that nothing depends on what else the machine does.
fn own_time() -> Instant {
    static BEGAN: LazyLock<Instant> = LazyLock::new(Instant::now);
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap();
    *BEGAN + Duration::from_nanos(text.split_whitespace().next().unwrap().parse().unwrap())
}

#[test]
fn every_function_of_the_library_is_priced_or_short() {
    let functions = with_sandbox(&Limits::default(), Sandbox::functions_of_scripts).unwrap();
    let of_modules = |name: &str| {
        let path = ["json.", "strings.", "runes.", "sprig.", "base64Encode", "base64Decode"];
        path.iter().any(|module| name.starts_with(module))
    };
    let unknown = |name: &&String| !is_short(name) && !is_priced(name) && !of_modules(name);
    assert_eq!(functions.iter().filter(unknown).collect::<Vec<_>>(), Vec::<&String>::new());
    let there = |name: &str| functions.iter().any(|function| function == name);
    assert_eq!(SHORT.split_whitespace().filter(|name| !there(name)).collect::<Vec<_>>(), Vec::<&str>::new());
    for (name, _) in WORST {
        assert!(there(name), "{name}");
    }
    for name in functions.iter().filter(|name| is_priced(name)) {
        let worst = WORST.iter().any(|(function, _)| function == name);
        assert!(worst, "{name} needs the arguments that are worst for it");
    }
}

#[test]
fn what_takes_long_is_refused_before_it_runs() {
    let few = Limits { steps: 3_000, time: Duration::from_secs(3600), ..Limits::default() };
    for (name, arguments) in WORST.iter().filter(|(name, _)| is_priced(name)) {
        // Arguments that are paid for themselves say nothing of the function.
        let plain = arguments.iter().filter(|arguments| !arguments.contains("table."));
        let calls: Vec<String> = plain.map(|arguments| call(name, arguments)).collect();
        let (_sandbox, functions) = prepared(&calls);
        let refused = functions.iter().any(|function| {
            Budget.begin(&few);
            function.call::<()>(()).is_err_and(|error| error.to_string().contains("limit: the call"))
        });
        assert!(refused || calls.is_empty(), "{name}");
    }
}

#[test]
fn no_function_is_over_its_time() {
    let limits = Limits { time: Duration::from_millis(5), ..Limits::default() };
    CLOCK.set(own_time);
    let mut calls = calls();
    calls.push("local call = ... while true do pcall(call) end".to_owned());
    let (_sandbox, mut functions) = prepared(&calls);
    let again_and_again = functions.pop().unwrap();
    let mut late = Vec::new();
    for (call, function) in calls.iter().zip(functions) {
        Budget.begin(&limits);
        let begun = own_time();
        let error = again_and_again.call::<()>(function).unwrap_err().to_string();
        let beyond = (own_time() - begun).saturating_sub(limits.time);
        if beyond > Duration::from_millis(100) || !(error.contains(OVER_BUDGET) || error.contains("memory")) {
            late.push(format!("{call}: {beyond:?} beyond the limit; {error}"));
        }
    }
    assert_eq!(late, Vec::<String>::new());
}
