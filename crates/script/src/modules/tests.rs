#![allow(clippy::unwrap_used)]

use serde_json::json;
use sluice_template::Env;

use crate::{Limits, Script, unknown_functions};

mod json;
mod runes;
mod sprig;
mod strings;

/// What an expression of Lua gives, as text.
fn shown(expression: &str) -> Result<String, String> {
    let source = format!(
        "local json, strings, runes, sprig = require('json'), require('strings'), require('runes'), require('sprig')
         local function show(...)
           local all = {{}}
           for _, one in ipairs({{...}}) do
             table.insert(all, type(one) == 'table' and json.encode(one) or tostring(one))
           end
           return table.concat(all, ' ')
         end
         function evaluate() return {{ resources = show({expression}) }} end"
    );
    let script = Script::compile(&source).unwrap();
    script.generate(&json!({}), &Env::new(0, [7; 32]), &Limits::default()).map_err(|error| error.to_string())
}

/// That a call ends the script with an error which says so, after the line.
fn assert_fails(expression: &str, why: &str) {
    let error = shown(expression).unwrap_err();
    assert!(error.contains(why), "{expression}: {error}");
}

fn assert_shown(cases: &[(&str, &str)]) {
    for (expression, expected) in cases {
        assert_eq!(shown(expression).as_deref(), Ok(*expected), "{expression}");
    }
}

#[test]
fn base64_takes_and_gives_bytes() {
    assert_shown(&[
        ("base64Encode('hello')", "aGVsbG8="),
        ("base64Decode('aGVsbG8=')", "hello"),
        ("#base64Decode('/wD+')", "3"),
        ("base64Encode(base64Decode('/wD+'))", "/wD+"),
        ("select(2, base64Encode(''))", "provided string is empty"),
        ("select(2, base64Decode('a!=='))", "decoding failed: illegal base64 data at input byte 1"),
    ]);
}

#[test]
fn json_and_yaml_go_in_and_out() {
    assert_shown(&[
        (r#"json.encode({b = {1, 2.5, 'x'}, a = {}, c = true})"#, r#"{"a":[],"b":[1,2.5,"x"],"c":true}"#),
        (r#"json.decode('{"a": [1, {"b": null}], "c": "d"}')"#, r#"{"a":[1,[]],"c":"d"}"#),
        ("json.decode('7')", "7"),
        ("select(2, json.decode('{'))", "unexpected end of JSON input"),
        ("json.toYAML({a = {x = {1, 2}}, b = 'no'})", "a:\n  x:\n  - 1\n  - 2\nb: \"no\"\n"),
        ("json.fromYAML('a: [1, yes]\\nb: {c: d}')", r#"{"a":[1,true],"b":{"c":"d"}}"#),
        ("select(2, json.encode({1, a = 2}))", "cannot encode mixed or invalid key types"),
        ("select(2, json.encode({[2] = 1}))", "cannot encode sparse array"),
        ("select(2, json.encode(print))", "cannot encode function to JSON"),
        (
            "select(2, json.encode((function() local t = {} t.t = t return t end)()))",
            "cannot encode recursively nested tables to JSON",
        ),
    ]);
}

#[test]
fn strings_are_those_of_go() {
    assert_shown(&[
        (
            "strings.Split('a,b,c', ','), strings.Split('ab', ''), strings.Split('', ',')",
            r#"["a","b","c"] ["a","b"] [""]"#,
        ),
        (
            "strings.SplitN('a,b,c', ',', 2), strings.SplitAfter('a,b', ','), strings.SplitN('a', ',', 0)",
            r#"["a","b,c"] ["a,","b"]"#,
        ),
        (
            "strings.Fields('  a b\tc '), strings.FieldsFunc('a1b22c', function(r) return r < 64 end)",
            r#"["a","b","c"] ["a","b","c"]"#,
        ),
        (
            "strings.Cut('a=b=c', '='), strings.CutPrefix('ab', 'a'), strings.CutSuffix('ab', 'x')",
            r#"{"after":"b=c","before":"a","found":true} {"after":"b","found":true} {"before":"ab","found":false}"#,
        ),
        (
            "strings.Index('chicken', 'ken'), strings.Index('a', 'b'), strings.LastIndex('go gopher', 'go')",
            "4 -1 3",
        ),
        (
            "strings.IndexAny('golang', 'gy'), strings.IndexByte('abc', 98), strings.IndexFunc('ab1', function(r) return r < 64 end)",
            "0 1 2",
        ),
        ("strings.Count('cheese', 'e'), strings.Count('five', '')", "3 5"),
        (
            "strings.EqualFold('Go', 'GO'), strings.HasPrefix('abc', 'ab'), strings.HasSuffix('abc', 'ab')",
            "true true false",
        ),
        ("strings.Compare('a', 'b'), strings.Compare('b', 'b'), strings.Compare('c', 'b')", "-1 0 1"),
        (
            "strings.Join({'a', 1, 'b'}, '-'), strings.Repeat('ab', 3), strings.Replace('aaa', 'a', 'b', 2)",
            "a-b ababab bba",
        ),
        (
            "strings.ReplaceAll('aaa', 'a', 'b'), strings.Title('hello big_world-x'), strings.ToUpper('aß'), strings.ToLower('ÀB')",
            "bbb Hello Big_world-X Aß àb",
        ),
        (
            "strings.Trim('xxaxx', 'x'), strings.TrimLeft('xxa', 'x'), strings.TrimRight('axx', 'x'), strings.TrimSpace(' a ')",
            "a a a a",
        ),
        (
            "strings.TrimPrefix('abc', 'a'), strings.TrimSuffix('abc', 'c'), strings.TrimFunc('1a1', function(r) return r < 64 end)",
            "bc ab a",
        ),
        (
            "strings.Map(function(r) if r == 97 then return 98 end if r == 120 then return -1 end return r end, 'axc')",
            "bc",
        ),
        (
            "strings.Contains('abc', 'b'), strings.ContainsAny('abc', 'xc'), strings.ContainsRune('abc', 97), strings.ContainsFunc('a', function() return false end)",
            "true true true false",
        ),
    ]);
}

#[test]
fn runes_are_characters() {
    assert_shown(&[
        (
            "runes.runecount('añb'), runes.runeat('añb', 2), runes.runeindex('añb', 241), runes.reverserunes('añb')",
            "3 241 2 bña",
        ),
        (
            "runes.runeslice('añ'), runes.runestring(97, 241), runes.runesplit('a,b', 44), runes.runerange('abcd', 2, 4)",
            r#"[97,241] añ ["a","b"] bc"#,
        ),
        (
            "runes.runetobytes({241}), runes.bytestorune({195, 177}), runes.bytetostring({97, 98}), runes.stringtobytes('ab')",
            "[195,177] 241 ab [97,98]",
        ),
        (
            "runes.isletter(97), runes.isdigit(97), runes.isspace(32), runes.isupper(65), runes.ispunct(33), runes.iscontrol(10)",
            "true false true true true true",
        ),
        (
            "runes.toupper(97), runes.tolower(65), runes.totitle(454), runes.runewidth(241), runes.validrune(-1), runes.isvalidutf8('a')",
            "65 97 453 2 false true",
        ),
    ]);
}

#[test]
fn every_class_of_characters_can_be_asked_for() {
    let all = "(function()
        local asked = 0
        for name, is in pairs(runes) do
            if strings.HasPrefix(name, 'is') and name ~= 'isvalidutf8' and name ~= 'isinrange' then
                asked = asked + (is(1) and 1 or 1)
            end
        end
        return asked
    end)()";
    assert_shown(&[(all, "13")]);
}

#[test]
fn sprig_is_that_of_templates() {
    assert_shown(&[
        (
            "sprig.trunc(2, 'abc'), sprig.abbrev(5, 'hello world'), sprig.indent(2, 'a'), sprig.snakecase('FirstName')",
            "ab he...   a first_name",
        ),
        (
            "sprig.b64enc('hello'), sprig.b64dec('aGVsbG8='), sprig.sha256sum('a')",
            "aGVsbG8= hello ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
        ),
        ("select(2, sprig.b64dec('!'))", "b64dec: illegal base64 data at input byte 0"),
        (
            "sprig.regexMatch('^a', 'abc'), sprig.regexFindAll('[0-9]', 'a1b2', -1), sprig.regexReplaceAll('b+', 'abbc', 'x')",
            r#"true ["1","2"] axc"#,
        ),
        (
            "sprig.coalesce(nil, '', 0, 'x'), sprig.empty({}), sprig.ternary('a', 'b', true), sprig.plural('one', 'many', 2)",
            "x true a many",
        ),
        (
            "sprig.uniq({1, 1, 'a', 'a'}), sprig.compact({0, 'a', ''}), sprig.sortAlpha({'b', 'a'}), sprig.all({1, 0}), sprig.any({0, 1})",
            r#"[1,"a"] ["a"] ["a","b"] false true"#,
        ),
        (
            "sprig.quote({'a', 1}), sprig.squote({'a'}), sprig.cat('a', 1, 'b'), sprig.seq({1, 3})",
            "\"a\" \"1\" 'a' a 1 b 1 2 3",
        ),
        (
            "sprig.substr(1, 30, 'abc'), sprig.wrapWith(5, 'hello world', '|'), sprig.round(1.256, 2), sprig.toDecimal('777')",
            "bc hello|world 1.26 511",
        ),
        (
            "sprig.semverCompare('>=1.2', '1.3.0'), sprig.duration(95), sprig.durationRound('2h10m5s'), sprig.base('/a/b.c')",
            "true 1m35s 2h b.c",
        ),
        (
            "sprig.urlParse('https://u@h:1/p?q=1').host, sprig.randInt(1, 2), sprig.decryptAES('k', sprig.encryptAES('k', 'text'))",
            "h:1 1 text",
        ),
    ]);
    let error = shown("sprig.trunc({}, 'a')").unwrap_err();
    assert!(error.contains("sprig.trunc: an argument is a table; it must be a number"), "{error}");
}

#[test]
fn every_module_has_what_the_original_has() {
    for (module, count) in [("json", 4), ("strings", 45), ("runes", 33), ("sprig", 68)] {
        let counted = shown(&format!(
            "(function() local n = 0 for _ in pairs({module}) do n = n + 1 end return n end)()"
        ));
        assert_eq!(counted, Ok(count.to_string()), "{module}");
    }
    let all = "local s = require('sprig') function evaluate() s.wrapWith(1, 'a', 'b') end";
    assert_eq!(unknown_functions(all), []);
}

#[test]
fn errors_have_the_line_and_the_function() {
    let error = |body: &str| {
        let script = Script::compile(&format!("function evaluate()\n{body}\nend")).unwrap();
        script.evaluate(&json!({}), &Limits::default()).unwrap_err().to_string()
    };
    assert_eq!(
        error("require('os')"),
        "evaluate:2: require: there is no module \"os\"; there are json, strings, runes, sprig"
    );
    assert_eq!(
        error("require('strings').Split('a')"),
        "evaluate:2: strings.Split: an argument is a nil; it must be a string"
    );
    assert_eq!(
        error("base64Encode()"),
        "evaluate:2: base64Encode: an argument is a nil; it must be a string"
    );
    assert!(
        error("return { message = require('sprig').randInt(1, 5) }").contains("only content can do that")
    );
}

#[test]
fn modules_keep_within_the_limits() {
    let quick = Limits { memory: 8 << 20, ..Limits::default() };
    for body in [
        "while true do s.Index(string.rep('a', 1000000), 'b') end",
        "s.Repeat('x', 1e9)",
        "s.ReplaceAll(string.rep('a', 1000000), 'a', string.rep('b', 1000))",
        "local t, x = {}, string.rep('a', 1000000) for _ = 1, 1000 do table.insert(t, x) end while true do s.Join(t, x) end",
        "local t = {} for _ = 1, 60 do t = {t, t} end require('json').encode(t)",
        "while true do require('sprig').nindent(1000, string.rep('a\\n', 10000)) end",
        "require('json').decode(string.rep('[', 3000000))",
        "while true do pcall(s.Repeat, 'x', 1000000) end",
    ] {
        let script =
            Script::compile(&format!("local s = require('strings') function evaluate() {body} end")).unwrap();
        let error = script.evaluate(&json!({}), &quick).unwrap_err().to_string();
        assert!(
            error.contains("limit: ") || error.contains("ran for too long") || error.contains("memory"),
            "{body}: {error}"
        );
    }
}

#[test]
fn modules_cannot_be_changed() {
    let source = "function evaluate() require('json').encode = nil return {} end";
    assert!(Script::compile(source).unwrap().evaluate(&json!({}), &Limits::default()).is_err());
}

#[test]
fn twenty_lines_are_printed() {
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);
    impl std::io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let lines = Lines::default();
    let writer = lines.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_max_level(tracing::Level::DEBUG)
        .with_writer(move || writer.clone())
        .finish();
    let source = "function evaluate() for i = 1, 30 do print('line', i, nil, {} ~= nil) end return {} end";
    tracing::subscriber::with_default(subscriber, || {
        Script::compile(source).unwrap().evaluate(&json!({}), &Limits::default()).unwrap();
    });
    let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    assert_eq!(text.matches("line\t").count(), 20, "{text}");
    assert!(text.contains("line\t20\tnil\ttrue"), "{text}");
}
