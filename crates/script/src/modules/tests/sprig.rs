//! What `require "sprig"` gives: sprig's functions, with the arguments that they have in Lua.

use super::{assert_fails, assert_shown, shown};

#[test]
fn texts_are_shortened_at_the_end_or_at_both_ends() {
    assert_shown(&[
        ("sprig.abbrev(5, 'hello'), sprig.abbrevboth(5, 10, '1234 5678 9123')", "hello ...5678..."),
        ("sprig.trunc(9, 'abc'), sprig.trunc(-2, 'abc'), sprig.trunc(0, 'abc') .. '|'", "abc bc |"),
        ("sprig.initials('First Try'), sprig.nospace('h e l l o')", "FT hello"),
    ]);
}

#[test]
fn a_part_of_a_text_is_as_long_as_there_is_text() {
    assert_shown(&[
        ("sprig.substr(-1, 2, 'abc'), sprig.substr(0, 9, 'abc')", "ab abc"),
        ("sprig.substr(2, 1, 'abc') .. '|', sprig.substr(3, 4, 'abc') .. '|'", "| |"),
        ("sprig.substr(0, -1, 'abc') .. '|'", "|"),
    ]);
}

#[test]
fn words_are_written_in_every_case() {
    assert_shown(&[
        (
            "sprig.camelcase('http_server'), sprig.kebabcase('FirstName'), sprig.snakecase('FirstName')",
            "HttpServer first-name first_name",
        ),
        ("sprig.swapcase('This Is A.Test'), sprig.untitle('Hello World')", "tHIS iS a.tEST hello world"),
    ]);
}

#[test]
fn lines_are_indented_and_wrapped() {
    assert_shown(&[
        ("sprig.indent(2, 'a\\nb')", "  a\n  b"),
        ("sprig.nindent(1, 'a')", "\n a"),
        ("sprig.wrap(5, 'Hello World')", "Hello\nWorld"),
        ("sprig.wrapWith(5, 'Hello World', ' | ')", "Hello | World"),
    ]);
}

#[test]
fn values_are_quoted_and_joined_as_they_are_printed() {
    assert_shown(&[
        (r#"sprig.quote({'a"b', true, 1.5, 2})"#, r#""a\"b" "true" "1.5" "2""#),
        ("sprig.squote({'a', false, 1.5, 2})", "'a' 'false' '1.5' '2'"),
        ("sprig.quote({}) .. '|', sprig.squote({}) .. '|'", "| |"),
        ("sprig.cat('a', nil, 1, true), sprig.cat() .. '|'", "a 1 true |"),
    ]);
}

#[test]
fn digests_are_those_of_the_bytes() {
    assert_shown(&[
        ("sprig.adler32sum('a'), sprig.sha1sum('a')", "6422626 86f7e437faa5a7fce15d1ddcb9eaeaea377667b8"),
        ("sprig.sha256sum('')", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        (
            "string.sub(sprig.sha512sum(''), 1, 32), #sprig.sha512sum('')",
            "cf83e1357eefb8bdf1542850d66d8007 128",
        ),
    ]);
}

#[test]
fn texts_in_base32_and_base64_come_back() {
    assert_shown(&[
        ("sprig.b32enc('hello'), sprig.b32dec('NBSWY3DP')", "NBSWY3DP hello"),
        ("sprig.b64enc('\\255\\0'), #sprig.b64dec('/wA=')", "/wA= 2"),
        ("sprig.b64enc('') .. '|', sprig.b64dec('') .. '|'", "| |"),
    ]);
}

#[test]
fn what_cannot_be_decoded_is_nothing_and_why() {
    assert_shown(&[
        (
            "tostring(sprig.b32dec('1')), select(2, sprig.b32dec('1'))",
            "nil b32dec: illegal base32 data at input byte 0",
        ),
        (
            "tostring(sprig.b64dec('YQ=')), select(2, sprig.b64dec('YQ='))",
            "nil b64dec: illegal base64 data at input byte 3",
        ),
        ("tostring(sprig.decryptAES('k', 'x')), type(select(2, sprig.decryptAES('k', 'x')))", "nil string"),
    ]);
}

#[test]
fn paths_have_parts() {
    assert_shown(&[
        ("sprig.base('/a/b/'), sprig.base(''), sprig.dir('/a/b'), sprig.dir('a')", "b . /a ."),
        (
            "sprig.clean('a//b/../c'), sprig.ext('a.tar.gz'), sprig.isAbs('/a'), sprig.isAbs('a')",
            "a/c .gz true false",
        ),
        (
            "sprig.osBase('/a/b'), sprig.osDir('/a/b'), sprig.osClean('/a/./b'), sprig.osExt('b.c'), sprig.osIsAbs('b')",
            "b /a /a/b .c false",
        ),
    ]);
}

#[test]
fn patterns_are_those_of_go() {
    assert_shown(&[
        ("sprig.regexFind('[a-z][1-9]', 'abcd1234'), sprig.regexFind('x', 'a') .. '|'", "d1 |"),
        ("sprig.regexFindAll('a', 'aaa', 2), sprig.regexFindAll('x', 'a', -1)", r#"["a","a"] []"#),
        (
            "sprig.regexSplit('z+', 'pizza', -1), sprig.regexSplit('z', 'pizza', 2)",
            r#"["pi","a"] ["pi","za"]"#,
        ),
        ("sprig.regexReplaceAll('a(x*)b', '-ab-axxb-', '${1}W')", "-W-xxW-"),
        ("sprig.regexReplaceAllLiteral('a(x*)b', '-ab-axxb-', '${1}')", "-${1}-${1}-"),
        ("sprig.regexMatch('(?i)^A.c$', 'abC'), sprig.regexMatch('b$', 'abc')", "true false"),
    ]);
}

#[test]
fn a_wrong_pattern_is_nothing_and_why() {
    for call in [
        "regexMatch('(', 'a')",
        "regexFind('(', 'a')",
        "regexFindAll('(', 'a', -1)",
        "regexSplit('(', 'a', -1)",
        "regexReplaceAll('(', 'a', 'b')",
        "regexReplaceAllLiteral('(', 'a', 'b')",
    ] {
        let expression = format!("tostring(sprig.{call}), select(2, sprig.{call})");
        assert_shown(&[(&expression, "nil error parsing regexp: missing closing ): `(`")]);
    }
}

#[test]
fn versions_are_compared_with_what_is_asked_for() {
    assert_shown(&[
        ("sprig.semverCompare('^1.2.0', '1.9.3'), sprig.semverCompare('~1.2.0', '1.3.0')", "true false"),
        (
            "tostring(sprig.semverCompare('^1', 'x')), type(select(2, sprig.semverCompare('^1', 'x')))",
            "nil string",
        ),
        ("tostring(sprig.semverCompare('x y', '1.0.0'))", "nil"),
    ]);
}

#[test]
fn numbers_follow_each_other() {
    assert_shown(&[
        ("sprig.seq({5})", "1 2 3 4 5"),
        ("sprig.seq({-3})", "1 0 -1 -2 -3"),
        ("sprig.seq({0, 2, 10})", "0 2 4 6 8 10"),
        ("sprig.seq({0, -2, -5})", "0 -2 -4"),
        ("sprig.seq({}) .. '|'", "|"),
    ]);
}

#[test]
fn numbers_are_rounded_to_so_many_places() {
    assert_shown(&[
        ("sprig.round(123.555555, 3), sprig.round(123.5, 0), sprig.round('123.55', 1)", "123.556 124 123.6"),
        ("sprig.round(123.3, 0, 0.2)", "124"),
    ]);
}

#[test]
fn an_octal_number_is_read_and_what_is_none_is_zero() {
    assert_shown(&[
        (
            "sprig.toDecimal(777), sprig.toDecimal('-17'), sprig.toDecimal(true), sprig.toDecimal(false)",
            "511 -15 1 0",
        ),
        ("sprig.toDecimal('9'), sprig.toDecimal(nil), sprig.toDecimal('')", "0 0 0"),
    ]);
}

#[test]
fn what_is_empty_is_nothing_of_its_type() {
    assert_shown(&[
        (
            "sprig.empty(nil), sprig.empty(false), sprig.empty(0), sprig.empty(''), sprig.empty({})",
            "true true true true true",
        ),
        (
            "sprig.empty(true), sprig.empty(0.1), sprig.empty(' '), sprig.empty({a = 1}), sprig.empty(print)",
            "false false false false false",
        ),
        ("tostring(sprig.coalesce(nil, false, 0)), sprig.coalesce('', {a = 1}, 2)", r#"nil {"a":1}"#),
    ]);
}

#[test]
fn lists_are_asked_for_all_or_any_of_their_values() {
    assert_shown(&[
        (
            "sprig.all({}), sprig.any({}), sprig.all({1, 'a', true}), sprig.any({0, '', false})",
            "true false true false",
        ),
        ("sprig.compact({}), sprig.compact({'', 'b', {}, 0, {1}})", r#"[] ["b",[1]]"#),
    ]);
}

#[test]
fn values_after_a_gap_and_those_of_names_count_too() {
    assert_shown(&[
        ("sprig.compact({1, nil, 2}), sprig.compact({b = 2, a = 1, 0, 3})", "[1,2] [3,1,2]"),
        ("sprig.all({1, nil, 0}), sprig.all({a = 0}), sprig.any({a = 0, b = 1})", "false false true"),
        ("sprig.quote({'x', b = 2, a = 1}), sprig.uniq({b = 1, a = 1, c = 2})", r#""x" "1" "2" [1,2]"#),
        ("sprig.sortAlpha({[3] = 'b', [7] = 'a', x = 'c'}), sprig.seq({nil, 2})", r#"["a","b","c"] 1 2"#),
    ]);
}

#[test]
fn each_value_is_kept_once_in_its_order() {
    assert_shown(&[
        ("sprig.uniq({'b', 'a', 'b', true, true}), sprig.uniq({})", r#"["b","a",true] []"#),
        ("sprig.uniq({1, '1', 2})", "[1,2]"),
        ("(function() local t = {1} return #sprig.uniq({t, t, {1}}) end)()", "2"),
        ("sprig.sortAlpha({10, 9, 'a', 'B'})", r#"["10","9","B","a"]"#),
    ]);
}

#[test]
fn one_of_two_values_is_chosen() {
    assert_shown(&[
        ("sprig.ternary({a = 1}, 2, true), sprig.ternary(1, 2, false)", r#"{"a":1} 2"#),
        (
            "sprig.plural('one', 'many', 1), sprig.plural('one', 'many', 0), sprig.plural('one', 'many', 1.9)",
            "one many one",
        ),
    ]);
}

#[test]
fn spans_of_time_are_written_as_go_writes_them() {
    assert_shown(&[
        (
            "sprig.duration(95), sprig.duration('3600'), sprig.duration('x'), sprig.duration(nil)",
            "1m35s 1h0m0s 0s 0s",
        ),
        (
            "sprig.durationRound('2400h10m5s'), sprig.durationRound(7265), sprig.durationRound('0s')",
            "3mo 2h 0s",
        ),
        ("string.sub(sprig.ago(os.time() - 3600), 1, 4)", "1h0m"),
    ]);
}

#[test]
fn a_url_is_taken_apart_and_put_together() {
    assert_shown(&[
        (
            "sprig.urlParse('http://u:p@host:80/path?q=1#f')",
            r#"{"fragment":"f","host":"host:80","hostname":"host","opaque":"","path":"/path","query":"q=1","scheme":"http","userinfo":"u:p"}"#,
        ),
        (
            "sprig.urlJoin({scheme = 'http', host = 'host:80', path = '/path', query = 'q=1', fragment = 'f'})",
            "http://host:80/path?q=1#f",
        ),
        ("sprig.urlJoin({host = 'h'})", "//h"),
    ]);
}

#[test]
fn what_is_drawn_is_the_same_for_the_same_seed_and_of_the_right_form() {
    for (expression, expected) in [
        ("string.sub(sprig.bcrypt('p'), 1, 7)", "$2a$10$"),
        ("string.sub(sprig.htpasswd('user', 'p'), 1, 9)", "user:$2a$"),
        ("string.sub(sprig.genPrivateKey('ecdsa'), 1, 30)", "-----BEGIN EC PRIVATE KEY-----"),
        ("sprig.derivePassword(1, 'long', 'password', 'user', 'example.com')", "ZedaFaxcZaso9*"),
    ] {
        assert_shown(&[(expression, expected)]);
    }
    for expression in
        ["sprig.randInt(0, 1000000)", "sprig.shuffle('abcdefgh')", "sprig.encryptAES('k', 'text')"]
    {
        assert_eq!(shown(expression), shown(expression), "{expression}");
    }
    let sorted = "(function() local t = string.split(sprig.shuffle('badc'), '') table.sort(t) return table.concat(t) end)()";
    assert_shown(&[(sorted, "abcd")]);
}

#[test]
fn between_two_equal_numbers_the_first_is_drawn() {
    assert_shown(&[("sprig.randInt(5, 5), sprig.randInt(5, 2)", "5 5")]);
}

#[test]
fn a_number_may_be_written_as_a_text_and_a_text_as_a_number() {
    assert_shown(&[("sprig.trunc('2', 'abc'), sprig.trunc(2, 123), sprig.indent(1.9, 'a')", "ab 12  a")]);
}

#[test]
fn too_few_arguments_and_those_of_another_type_are_refused() {
    for (expression, why) in [
        ("sprig.trunc(2)", "sprig.trunc: needs 2 arguments, got 1"),
        ("sprig.round(1)", "sprig.round: needs 2 arguments, got 1"),
        ("sprig.trunc('x', 'abc')", "sprig.trunc: an argument is a string; it must be a number"),
        ("sprig.indent(1, {})", "sprig.indent: an argument is a table; it must be a string"),
        ("sprig.cat({})", "sprig.cat: an argument is a table; it must be a string"),
        ("sprig.quote('a')", "sprig.quote: an argument is a string; it must be a table"),
        ("sprig.uniq(nil)", "sprig.uniq: an argument is a nil; it must be a table"),
        ("sprig.sortAlpha({{}})", "sprig.sortAlpha: an argument is a table; it must be a string"),
        ("sprig.urlJoin('a')", "sprig.urlJoin: an argument is a string; it must be a table"),
    ] {
        assert_fails(expression, why);
    }
}
