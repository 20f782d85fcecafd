//! What `require "runes"` gives: characters are numbers, classes are those of Go's `unicode`.

use super::{assert_fails, assert_shown};

/// For each class, characters that are of it and characters that are not.
const CLASSES: [(&str, &[u32], &[u32]); 13] = [
    ("iscontrol", &[0x0a, 0x7f, 0x85], &[0x20, 0xad, 0x2028]),
    ("isdigit", &[0x30, 0x664], &[0xbd, 0x2160, 0x61]),
    ("isgraphic", &[0x20, 0xa0, 0x3000, 0x301, 0x24], &[0x0a, 0xad, 0x2028, 0x378]),
    ("isletter", &[0x61, 0x4e00, 0xaa, 0x1c5], &[0x31, 0x301, 0x2160]),
    ("islower", &[0x61, 0xe9, 0x3c2], &[0x41, 0xaa, 0x2b0, 0x24d0]),
    ("ismark", &[0x301, 0x903], &[0x60, 0x61]),
    ("isnumber", &[0x31, 0x664, 0xbd, 0x2160], &[0x61, 0x4e00]),
    ("isprint", &[0x20, 0x61, 0x24, 0x301], &[0xa0, 0x3000, 0x0a, 0xad, 0xe000]),
    ("ispunct", &[0x21, 0x5f, 0xab], &[0x24, 0x2b, 0x61]),
    ("isspace", &[0x20, 0x09, 0x85, 0xa0, 0x2028, 0x3000], &[0x200b, 0x61]),
    ("issymbol", &[0x24, 0x2b, 0x20ac], &[0x21, 0x5f, 0x61]),
    ("istitle", &[0x1c5, 0x1c8], &[0x41, 0x1c4]),
    ("isupper", &[0x41, 0x3a3], &[0x61, 0x1c5, 0x24b6]),
];

#[test]
fn a_character_is_of_the_classes_that_go_knows_it_to_be_of() {
    for (class, of_it, others) in CLASSES {
        for (codes, expected) in [(of_it, "true"), (others, "false")] {
            for code in codes {
                assert_shown(&[(&format!("runes.{class}({code:#x})"), expected)]);
            }
        }
    }
}

#[test]
fn what_is_no_character_is_of_no_class_and_has_no_width() {
    for code in ["-1", "0xd800", "0x110000", "1e300", "0/0"] {
        for (class, ..) in CLASSES {
            assert_shown(&[(&format!("runes.{class}({code})"), "false")]);
        }
        let expression = format!("runes.validrune({code}), tostring(runes.runewidth({code}))");
        assert_shown(&[(&expression, "false nil")]);
    }
}

#[test]
fn a_character_has_as_many_bytes_as_utf_8_gives_it() {
    let widths =
        "runes.runewidth(0), runes.runewidth(0x7ff), runes.runewidth(0xffff), runes.runewidth(0x10ffff)";
    assert_shown(&[(widths, "1 2 3 4")]);
}

#[test]
fn a_character_changes_its_case_and_what_is_none_stays_as_it_is() {
    assert_shown(&[
        ("runes.toupper(0xe9), runes.tolower(0xc9), runes.totitle(0x1c6)", "201 233 453"),
        ("runes.toupper(0xdf), runes.tolower(0x130), runes.totitle(0x10d0)", "223 105 4304"),
        ("runes.toupper(-5), runes.tolower(0x110000)", "-5 1114112"),
    ]);
}

#[test]
fn both_ends_of_a_range_belong_to_it() {
    assert_shown(&[
        ("runes.isinrange(97, 97, 122), runes.isinrange(122, 97, 122)", "true true"),
        ("runes.isinrange(96, 97, 122), runes.isinrange(97, 122, 97)", "false false"),
        ("runes.isinrange(122.9, 97, 122)", "true"),
    ]);
}

#[test]
fn the_character_at_a_byte_must_begin_there() {
    assert_shown(&[
        ("runes.runeat('añb', 1), runes.runeat('añb', 2), runes.runeat('añb', 4)", "97 241 98"),
        ("tostring(runes.runeat('añb', 3))", "nil"),
        (
            "tostring(runes.runeat('a', 2)), tostring(runes.runeat('a', 0)), tostring(runes.runeat('', 1))",
            "nil nil nil",
        ),
        ("tostring(runes.runeat('\u{fffd}', 1)), tostring(runes.runeat('\\255', 1))", "nil nil"),
    ]);
}

#[test]
fn a_character_is_found_by_its_place_among_the_characters() {
    assert_shown(&[
        (
            "runes.runeindex('ñañ', 241), runes.runeindex('ñañ', 241, 2), runes.runeindex('ñañ', 241, -9)",
            "1 3 1",
        ),
        ("tostring(runes.runeindex('ñañ', 98)), tostring(runes.runeindex('a', 97, 2))", "nil nil"),
        ("runes.containsrune('añ', 241), runes.containsrune('añ', 195)", "true false"),
    ]);
}

#[test]
fn a_code_that_is_no_character_is_in_no_text() {
    assert_shown(&[
        ("runes.containsrune('\u{fffd}', 0xfffd), runes.containsrune('\u{fffd}', -1)", "true false"),
        ("tostring(runes.runeindex('\u{fffd}', 0xd800))", "nil"),
        ("runes.runesplit('a\u{fffd}b', 0x110000)", "[\"a\u{fffd}b\"]"),
    ]);
}

#[test]
fn a_range_of_characters_ends_before_its_end() {
    assert_shown(&[
        ("runes.runerange('añbc')", "añbc"),
        ("runes.runerange('añbc', 2)", "ñbc"),
        ("runes.runerange('añbc', 2, 3)", "ñ"),
        ("runes.runerange('añbc', 0, 99)", "añbc"),
        ("runes.runerange('añbc', 3, -1)", "bc"),
        ("runes.runerange('añbc', 9, 12) .. '|'", "|"),
    ]);
    assert_fails("runes.runerange('abc', 3, 2)", "runes.runerange: the range ends before it begins");
}

#[test]
fn characters_are_counted_turned_round_and_parted() {
    assert_shown(&[
        ("runes.runecount(''), runes.runecount('e\u{301}')", "0 2"),
        ("runes.reverserunes('aé€')", "€éa"),
        ("runes.runesplit('', 44), runes.runesplit(',a,', 44)", r#"[""] ["","a",""]"#),
        ("runes.runeslice(''), runes.runeslice('€')", "[] [8364]"),
    ]);
}

#[test]
fn characters_become_a_text_and_what_is_none_its_replacement() {
    assert_shown(&[
        ("runes.runestring() .. '|', runes.runestring(72, 105)", "| Hi"),
        ("runes.runestring(-1, 0xd800, 0x110000)", "\u{fffd}\u{fffd}\u{fffd}"),
    ]);
}

#[test]
fn bytes_are_numbers_of_which_the_lowest_eight_bits_count() {
    assert_shown(&[
        ("runes.stringtobytes('é')", "[195,169]"),
        ("runes.bytetostring({256 + 97, 98})", "ab"),
        ("runes.runetobytes({97, 8364})", "[97,226,130,172]"),
        ("runes.runetobytes({-1})", "[239,191,189]"),
        ("runes.bytetostring({97, 'x', {}, 98})", "ab"),
    ]);
}

#[test]
fn numbers_after_a_gap_count_too() {
    assert_shown(&[("runes.bytetostring({97, nil, 98}), runes.runetobytes({nil, 97})", "ab [97]")]);
}

#[test]
fn the_bytes_of_one_character_are_that_character() {
    assert_shown(&[
        ("runes.bytestorune({226, 130, 172}), runes.bytestorune({97, 98})", "8364 97"),
        ("tostring(runes.bytestorune({130})), tostring(runes.bytestorune({}))", "nil nil"),
    ]);
}

#[test]
fn bytes_that_are_no_text_are_known_to_be_none() {
    assert_shown(&[(
        "runes.isvalidutf8(''), runes.isvalidutf8('é'), runes.isvalidutf8('\\195')",
        "true true false",
    )]);
    assert_shown(&[("#runes.bytetostring({195}), runes.isvalidutf8(runes.bytetostring({195}))", "1 false")]);
}

#[test]
fn an_argument_of_another_type_is_named_with_the_function() {
    for (expression, why) in [
        ("runes.isletter('a')", "runes.isletter: an argument is a string; it must be a number"),
        ("runes.isletter()", "runes.isletter: an argument is a nil; it must be a number"),
        ("runes.runetobytes(97)", "runes.runetobytes: an argument is a number; it must be a table"),
        ("runes.runecount({})", "runes.runecount: an argument is a table; it must be a string"),
    ] {
        assert_fails(expression, why);
    }
}
