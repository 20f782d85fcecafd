//! What `require "strings"` gives is what Go's package of that name gives.

use super::{assert_fails, assert_shown};

#[test]
fn places_are_bytes_from_zero() {
    assert_shown(&[
        ("strings.Index('añb', 'b')", "3"),
        ("strings.Index('abc', '')", "0"),
        ("strings.IndexRune('añb', 98)", "3"),
        ("strings.IndexAny('añb', 'xb')", "3"),
        ("strings.IndexByte('añb', 0xb1)", "2"),
        ("strings.IndexFunc('añb', function(r) return r == 98 end)", "3"),
    ]);
}

#[test]
fn the_last_place_is_looked_for_from_the_end() {
    assert_shown(&[
        ("strings.LastIndex('abcabc', 'bc')", "4"),
        ("strings.LastIndex('abc', '')", "3"),
        ("strings.LastIndexAny('go gopher', 'go')", "4"),
        ("strings.LastIndexAny('go gopher', 'rodent')", "8"),
        ("strings.LastIndexByte('abab', 97)", "2"),
        ("strings.LastIndexFunc('añ1', function(r) return r > 64 end)", "1"),
    ]);
}

#[test]
fn what_is_not_found_is_at_minus_one() {
    assert_shown(&[
        ("strings.Index('', 'a')", "-1"),
        ("strings.IndexAny('crwth', 'aeiouy')", "-1"),
        ("strings.IndexAny('abc', '')", "-1"),
        ("strings.IndexByte('abc', 120)", "-1"),
        ("strings.IndexFunc('abc', function() return false end)", "-1"),
        ("strings.LastIndex('abc', 'x')", "-1"),
        ("strings.LastIndexAny('abc', 'x')", "-1"),
        ("strings.LastIndexByte('abc', 120)", "-1"),
        ("strings.LastIndexFunc('', function() return true end)", "-1"),
    ]);
}

#[test]
fn a_code_that_is_no_character_is_in_no_text() {
    assert_shown(&[
        ("strings.IndexRune('a\u{fffd}', 0xfffd), strings.ContainsRune('a\u{fffd}', 0xfffd)", "1 true"),
        ("strings.IndexRune('a\u{fffd}', -1), strings.ContainsRune('a\u{fffd}', -1)", "-1 false"),
        ("strings.IndexRune('a\u{fffd}', 0xd800), strings.ContainsRune('a\u{fffd}', 0x110000)", "-1 false"),
    ]);
}

#[test]
fn of_a_byte_the_lowest_eight_bits_count() {
    assert_shown(&[("strings.IndexByte('abc', 256 + 98), strings.LastIndexByte('abc', 98 - 256)", "1 1")]);
}

#[test]
fn many_characters_are_looked_for_as_few_are() {
    let many = "string.rep('x', 70) .. '€'";
    for (expression, expected) in [
        ("strings.IndexAny('ab€', MANY)", "2"),
        ("strings.LastIndexAny('€b€a', MANY)", "4"),
        ("strings.ContainsAny('abc', MANY)", "false"),
        ("strings.Trim('x€a€x', MANY)", "a"),
    ] {
        assert_shown(&[(&expression.replace("MANY", many), expected)]);
    }
}

#[test]
fn occurrences_that_overlap_count_once_and_nothing_is_between_all_characters() {
    assert_shown(&[("strings.Count('aaa', 'aa'), strings.Count('añ', ''), strings.Count('', '')", "1 3 1")]);
}

#[test]
fn everything_contains_nothing_and_begins_and_ends_with_it() {
    assert_shown(&[
        (
            "strings.Contains('', ''), strings.HasPrefix('a', ''), strings.HasSuffix('a', '')",
            "true true true",
        ),
        ("strings.ContainsAny('a', ''), strings.ContainsAny('', 'a')", "false false"),
    ]);
}

#[test]
fn texts_are_equal_when_each_character_is_in_one_case() {
    for (one, other, expected) in [
        ("Straße", "STRASSE", "false"),
        ("ß", "ẞ", "true"),
        ("ΣΑΣ", "σας", "true"),
        ("ſet", "SET", "true"),
        ("\u{212a}elvin", "KELVIN", "true"),
        ("a", "ab", "false"),
    ] {
        assert_shown(&[(&format!("strings.EqualFold('{one}', '{other}')"), expected)]);
    }
}

#[test]
fn an_i_with_a_dot_or_without_one_is_equal_to_itself_only() {
    for (one, other) in [("İ", "i"), ("ı", "i"), ("ı", "I"), ("İ", "ı")] {
        assert_shown(&[(&format!("strings.EqualFold('{one}', '{other}')"), "false")]);
        assert_shown(&[(&format!("strings.EqualFold('{other}', '{one}')"), "false")]);
        assert_shown(&[(&format!("strings.EqualFold('{one}', '{one}')"), "true")]);
    }
}

#[test]
fn texts_are_compared_byte_by_byte() {
    assert_shown(&[(
        "strings.Compare('Z', 'a'), strings.Compare('a', ''), strings.Compare('é', 'z')",
        "-1 1 1",
    )]);
}

#[test]
fn a_text_is_split_everywhere() {
    assert_shown(&[
        ("strings.Split(',a,,b,', ',')", r#"["","a","","b",""]"#),
        ("strings.Split('', '')", "[]"),
        ("strings.Split('añ', '')", r#"["a","ñ"]"#),
        ("strings.Split('a--b', '--')", r#"["a","b"]"#),
        ("strings.SplitAfter(',a', ',')", r#"[",","a"]"#),
        ("strings.SplitAfter('ab', '')", r#"["a","b"]"#),
    ]);
}

#[test]
fn the_last_of_so_many_pieces_is_the_rest() {
    assert_shown(&[
        ("strings.SplitN('a,b,c', ',', 1)", r#"["a,b,c"]"#),
        ("strings.SplitN('a,b,c', ',', -1)", r#"["a","b","c"]"#),
        ("strings.SplitN('a,b', ',', 9)", r#"["a","b"]"#),
        ("strings.SplitN('abc', '', 2)", r#"["a","bc"]"#),
        ("strings.SplitAfterN('a,b,c', ',', 2)", r#"["a,","b,c"]"#),
        ("tostring(strings.SplitAfterN('a,b', ',', 0))", "nil"),
    ]);
}

#[test]
fn fields_are_what_is_between_white_space_of_any_language() {
    assert_shown(&[
        ("strings.Fields('a\u{a0}b\u{85}c\\n')", r#"["a","b","c"]"#),
        ("strings.Fields(' \\t ')", "[]"),
        ("strings.FieldsFunc('', function() return true end)", "[]"),
        ("strings.FieldsFunc('abc', function() return false end)", r#"["abc"]"#),
    ]);
}

#[test]
fn what_is_cut_has_both_sides_or_all_before() {
    assert_shown(&[
        ("strings.Cut('a=b', '=')", r#"{"after":"b","before":"a","found":true}"#),
        ("strings.Cut('ab', '=')", r#"{"after":"","before":"ab","found":false}"#),
        ("strings.CutPrefix('ab', 'b')", r#"{"after":"ab","found":false}"#),
        ("strings.CutSuffix('ab', 'b')", r#"{"before":"a","found":true}"#),
    ]);
}

#[test]
fn texts_of_a_list_are_joined() {
    assert_shown(&[
        ("strings.Join({}, ',') .. '|'", "|"),
        ("strings.Join({'a'}, ',')", "a"),
        ("strings.Join({'a', '', 'b'}, ', ')", "a, , b"),
        ("strings.Join({'a', true, {}, 'b'}, ',')", "a,b"),
    ]);
}

#[test]
fn texts_after_a_gap_and_those_of_names_are_joined_too() {
    assert_shown(&[(
        "strings.Join({'a', nil, 'b'}, ','), strings.Join({y = 'b', x = 'a', 'c'}, ',')",
        "a,b c,a,b",
    )]);
}

#[test]
fn a_text_is_repeated_no_time_or_more() {
    assert_shown(&[
        ("strings.Repeat('ab', 0) .. '|'", "|"),
        ("strings.Repeat('', 1e9) .. '|'", "|"),
        ("strings.Repeat('ab', 2.9)", "abab"),
    ]);
    assert_fails("strings.Repeat('a', -1)", "strings.Repeat: the count is negative");
    assert_fails("strings.Repeat('a', 1e15)", "strings.Repeat: limit: the text would be too long");
}

#[test]
fn nothing_is_replaced_before_each_character() {
    assert_shown(&[
        ("strings.Replace('abc', '', '-', -1)", "-a-b-c-"),
        ("strings.Replace('abc', '', '-', 2)", "-a-bc"),
        ("strings.Replace('aaa', 'a', 'b', 0)", "aaa"),
        ("strings.ReplaceAll('aaaa', 'aa', 'b')", "bb"),
        ("strings.ReplaceAll('a.b', '.', '%')", "a%b"),
    ]);
}

#[test]
fn each_character_changes_its_case_for_itself() {
    assert_shown(&[
        ("strings.ToLower('ΑΣ'), strings.ToLower('İ'), strings.ToUpper('ŉß')", "ασ i ŉß"),
        ("strings.ToTitle('ǆa'), strings.ToUpper('ǆa'), strings.ToLower('Ǆ')", "ǅA ǄA ǆ"),
        ("strings.ToTitle('ა'), strings.ToUpper('ა')", "ა Ა"),
    ]);
}

#[test]
fn words_begin_after_what_is_no_part_of_a_word() {
    assert_shown(&[
        (r#"strings.Title("don't-stop a_b 1st")"#, "Don'T-Stop A_b 1st"),
        ("strings.Title('o’clock a\u{a0}b')", "O’clock A\u{a0}B"),
    ]);
}

#[test]
fn of_both_ends_all_characters_of_a_set_are_taken() {
    assert_shown(&[
        ("strings.Trim('¡¡Hola!!', '!¡')", "Hola"),
        ("strings.Trim('aaa', 'a') .. '|'", "|"),
        ("strings.Trim(' a ', '') .. '|'", " a |"),
        ("strings.TrimLeft('abba', 'ab') .. '|', strings.TrimRight('abcba', 'ab')", "| abc"),
        ("strings.TrimSpace('\u{a0}a b\u{2003}\\n')", "a b"),
    ]);
}

#[test]
fn a_prefix_and_a_suffix_are_taken_once() {
    assert_shown(&[("strings.TrimPrefix('aab', 'a'), strings.TrimSuffix('abb', 'b')", "ab ab")]);
    assert_shown(&[("strings.TrimPrefix('ab', 'b'), strings.TrimSuffix('ab', 'a')", "ab ab")]);
}

#[test]
fn a_function_says_which_characters_are_taken() {
    for (expression, expected) in [
        ("strings.TrimFunc('1ñ1', DIGIT)", "ñ"),
        ("strings.TrimLeftFunc('1a1', DIGIT)", "a1"),
        ("strings.TrimRightFunc('1a1', DIGIT)", "1a"),
        ("strings.TrimFunc('12', DIGIT) .. '|'", "|"),
        ("strings.TrimRightFunc('12', DIGIT) .. '|'", "|"),
        ("strings.ContainsFunc('a1', DIGIT), strings.ContainsFunc('', DIGIT)", "true false"),
    ] {
        assert_shown(&[(&expression.replace("DIGIT", "function(r) return r < 58 end"), expected)]);
    }
}

#[test]
fn a_character_is_mapped_to_another_or_to_none() {
    assert_shown(&[
        ("strings.Map(function(r) return r + 1 end, 'abc')", "bcd"),
        ("strings.Map(function() return -1 end, 'abc') .. '|'", "|"),
        ("strings.Map(function() return 0xd800 end, 'ab')", "\u{fffd}\u{fffd}"),
    ]);
    assert_fails("strings.Map(function() return {} end, 'a')", "strings.Map: ");
}

#[test]
fn what_a_function_of_the_script_raises_ends_the_call() {
    assert_fails("strings.IndexFunc('a', function(r) error('at ' .. r) end)", "at 97");
    assert_fails(
        "strings.FieldsFunc('a b', function(r) return nothing.x end)",
        "attempt to index nil with 'x'",
    );
}

#[test]
fn a_number_is_taken_for_its_text() {
    assert_shown(&[(
        "strings.Repeat(7, 2), strings.Contains(12.5, '.'), strings.HasPrefix(-1, '-')",
        "77 true true",
    )]);
}

#[test]
fn an_argument_of_another_type_is_named_with_the_function() {
    for (expression, why) in [
        ("strings.Index({}, 'a')", "strings.Index: an argument is a table; it must be a string"),
        ("strings.Index('a', true)", "strings.Index: an argument is a boolean; it must be a string"),
        ("strings.Join('a', ',')", "strings.Join: an argument is a string; it must be a table"),
        ("strings.TrimFunc('a', 'b')", "strings.TrimFunc: an argument is a string; it must be a function"),
        ("strings.Replace('a', 'b', 'c')", "strings.Replace: an argument is a nil; it must be a "),
    ] {
        assert_fails(expression, why);
    }
}
