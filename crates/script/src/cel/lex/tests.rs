#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn kinds(source: &str) -> Vec<TokenKind> {
    let mut kinds: Vec<TokenKind> = lex(source).unwrap().into_iter().map(|token| token.kind).collect();
    assert_eq!(kinds.pop(), Some(TokenKind::End));
    kinds
}

fn one(source: &str) -> TokenKind {
    let kinds = kinds(source);
    let [kind] = &kinds[..] else { panic!("{source}: {kinds:?}") };
    kind.clone()
}

fn text(text: &str) -> TokenKind {
    TokenKind::Text(text.to_owned())
}

fn wrong(source: &str) -> String {
    lex(source).unwrap_err().to_string()
}

#[test]
fn nothing_is_only_the_end() {
    for source in ["", " \t\r\n\x0c", "// all of it", "//\n  // more\n"] {
        assert_eq!(lex(source).unwrap(), [Token { kind: TokenKind::End, at: source.len() }], "{source:?}");
    }
}

#[test]
fn a_word_begins_where_it_stands_in_the_source() {
    let places: Vec<usize> = lex("'é' ==\n // x\n a.b").unwrap().into_iter().map(|token| token.at).collect();
    assert_eq!(places, [0, 5, 15, 16, 17, 18]);
}

#[test]
fn the_longest_symbol_counts() {
    let symbols = |source: &str| -> Vec<&'static str> {
        let symbol =
            |kind: TokenKind| if let TokenKind::Symbol(symbol) = kind { symbol } else { panic!("{kind:?}") };
        kinds(source).into_iter().map(symbol).collect()
    };
    assert_eq!(symbols("<<=>>=!!==="), ["<", "<=", ">", ">=", "!", "!=", "=="]);
    assert_eq!(
        symbols("&&||?:.,()[]{}+-*/%"),
        ["&&", "||", "?", ":", ".", ",", "(", ")", "[", "]", "{", "}", "+", "-", "*", "/", "%"]
    );
}

#[test]
fn what_begins_no_word_is_named_with_its_place() {
    assert_eq!(wrong("a\n é"), "2:2: 'é' has no meaning here");
    assert_eq!(wrong("a & b"), "1:3: '&' has no meaning here");
    assert_eq!(wrong("a = b"), "1:3: '=' has no meaning here");
    assert_eq!(wrong("'日本' @"), "1:6: '@' has no meaning here");
}

#[test]
fn names_are_of_ascii_letters_digits_and_underscores() {
    for name in ["a", "_", "_1", "aB9_", "in", "true", "r", "b", "rb"] {
        assert_eq!(one(name), TokenKind::Name(name.to_owned()));
    }
    assert_eq!(
        kinds("a1.b"),
        [TokenKind::Name("a1".into()), TokenKind::Symbol("."), TokenKind::Name("b".into())]
    );
}

#[test]
fn whole_numbers_have_all_64_bits_and_no_sign() {
    assert_eq!(one("0"), TokenKind::Int(0));
    assert_eq!(one("007"), TokenKind::Int(7));
    assert_eq!(one("9223372036854775808"), TokenKind::Int(1 << 63));
    assert_eq!(one("0XfF"), TokenKind::Int(255));
    assert_eq!(one("18446744073709551615U"), TokenKind::Uint(u64::MAX));
    assert_eq!(one("0xFFFFFFFFFFFFFFFFu"), TokenKind::Uint(u64::MAX));
    assert_eq!(kinds("-1"), [TokenKind::Symbol("-"), TokenKind::Int(1)]);
}

#[test]
fn numbers_that_are_too_large_or_none_are_named() {
    assert_eq!(wrong("18446744073709551616"), "1:1: 18446744073709551616 is too large, or no number");
    assert_eq!(wrong("1 + 0x"), "1:5: 0x is too large, or no number");
    assert_eq!(wrong("0x10000000000000000u"), "1:1: 0x10000000000000000 is too large, or no number");
}

#[test]
fn a_point_belongs_to_a_number_when_a_digit_follows() {
    for (source, value) in [
        ("1.5", 1.5),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("1E+3", 1000.0),
        ("1.5e-3", 0.0015),
        ("1e400", f64::INFINITY),
    ] {
        assert_eq!(one(source), TokenKind::Double(value), "{source}");
    }
    assert_eq!(kinds("1."), [TokenKind::Int(1), TokenKind::Symbol(".")]);
    assert_eq!(kinds("1.a"), [TokenKind::Int(1), TokenKind::Symbol("."), TokenKind::Name("a".into())]);
    assert_eq!(kinds("1.2.3"), [TokenKind::Double(1.2), TokenKind::Double(0.3)]);
}

#[test]
fn an_exponent_without_digits_is_a_name() {
    assert_eq!(kinds("1e"), [TokenKind::Int(1), TokenKind::Name("e".into())]);
    assert_eq!(kinds("1e+"), [TokenKind::Int(1), TokenKind::Name("e".into()), TokenKind::Symbol("+")]);
    assert_eq!(kinds("1u2"), [TokenKind::Uint(1), TokenKind::Int(2)]);
}

#[test]
fn texts_stand_in_quotes_of_four_kinds() {
    for source in ["'a\"b'", "'''a\"b'''", "r'a\"b'", "R'''a\"b'''"] {
        assert_eq!(one(source), text("a\"b"), "{source}");
    }
    assert_eq!(one("\"\"\"a\n\"b\" '\"\"\""), text("a\n\"b\" '"));
    assert_eq!(one("\"\""), text(""));
    assert_eq!(kinds("'a''b'"), [text("a"), text("b")]);
}

#[test]
fn every_escape_is_one_character() {
    for (escape, character) in [
        ("a", '\x07'),
        ("b", '\x08'),
        ("f", '\x0c'),
        ("n", '\n'),
        ("r", '\r'),
        ("t", '\t'),
        ("v", '\x0b'),
        ("\\", '\\'),
        ("?", '?'),
        ("'", '\''),
        ("\"", '"'),
        ("`", '`'),
        ("x41", 'A'),
        ("Xe9", 'é'),
        ("u20AC", '€'),
        ("U0001F600", '😀'),
        ("101", 'A'),
        ("377", 'ÿ'),
    ] {
        assert_eq!(one(&format!("'x\\{escape}y'")), text(&format!("x{character}y")), "{escape}");
    }
}

#[test]
fn what_is_no_escape_is_refused() {
    for escape in
        ["q", "x4", "xg1", "u12", "u+123", "U0011000", "ud800", "U00110000", "400", "08 ", "8", "é", " "]
    {
        let source = format!("'\\{escape}'");
        assert!(wrong(&source).starts_with("1:1: \\"), "{source}");
        assert!(wrong(&source).ends_with(" is no escape sequence; write \\\\ for a backslash"), "{source}");
    }
}

#[test]
fn bytes_have_escapes_of_bytes_and_none_of_characters() {
    assert_eq!(one("b'é\\xff\\377'"), TokenKind::Bytes(vec![0xc3, 0xa9, 0xff, 0xff]));
    assert_eq!(one("B\"\"\"a\nb\"\"\""), TokenKind::Bytes(b"a\nb".to_vec()));
    for source in ["b'\\u0041'", "b'\\U00000041'"] {
        assert!(wrong(source).contains("is no escape sequence"), "{source}");
    }
}

#[test]
fn in_raw_texts_and_bytes_a_backslash_is_itself_and_keeps_its_quote() {
    assert_eq!(one(r"r'\d\''"), text(r"\d\'"));
    assert_eq!(one(r"br'\xff'"), TokenKind::Bytes(br"\xff".to_vec()));
    assert_eq!(kinds(r"rb'\n'"), [TokenKind::Name("rb".into()), text("\n")], "the other order is no prefix");
}

#[test]
fn a_text_ends_on_its_line_unless_it_has_three_quotes() {
    assert_eq!(wrong("'a\nb'"), "1:1: a text is not closed on its line; end it with '");
    assert_eq!(wrong("x == \"a"), "1:6: a text is not closed; end it with \"");
    assert_eq!(wrong("'''a''"), "1:1: a text is not closed; end it with '''");
    assert_eq!(wrong("r'\\"), "1:1: a text is not closed; end it with '");
}

#[test]
fn words_are_named_for_people() {
    let named = [
        (TokenKind::Name("a".into()), "\"a\""),
        (TokenKind::Symbol("=="), "\"==\""),
        (TokenKind::Int(1), "a number"),
        (TokenKind::Uint(1), "a number"),
        (TokenKind::Double(1.0), "a number"),
        (text("a"), "a text"),
        (TokenKind::Bytes(vec![1]), "bytes"),
        (TokenKind::End, "the end"),
    ];
    for (kind, name) in named {
        assert_eq!(kind.to_string(), name);
    }
}

proptest! {
    #[test]
    fn a_text_is_read_as_it_is_written(value in any::<String>()) {
        let written: String = value.chars().map(|one| format!("\\U{:08x}", u32::from(one))).collect();
        prop_assert_eq!(one(&format!("'{written}'")), text(&value));
        prop_assert_eq!(one(&format!("b'{}'", value.bytes().map(|byte| format!("\\x{byte:02X}")).collect::<String>())), TokenKind::Bytes(value.into_bytes()));
    }

    #[test]
    fn words_follow_each_other_in_the_source(source in "[a-z0-9.'\"\\\\ u<=&|é\n]{0,30}") {
        if let Ok(tokens) = lex(&source) {
            prop_assert!(tokens.windows(2).all(|two| two[0].at < two[1].at || two[1].kind == TokenKind::End));
            prop_assert!(tokens.iter().all(|token| source.is_char_boundary(token.at)));
        }
    }
}
