use proptest::prelude::*;

use super::*;

/// The tokens as text, each with the first letter of its kind.
fn shown(source: &str) -> Vec<String> {
    let one = |token: Token<'_>| {
        let kind = match token.kind {
            TokenKind::Name => 'n',
            TokenKind::Word => 'w',
            TokenKind::Text => 't',
            TokenKind::Sign => 's',
        };
        format!("{kind} {}", token.text)
    };
    tokens(source).into_iter().map(one).collect()
}

#[test]
fn names_words_texts_and_signs_are_told_apart() {
    assert_eq!(
        shown("local a1 = _b.c('x')"),
        ["w local", "n a1", "s =", "n _b", "s .", "n c", "s (", "t 'x'", "s )"]
    );
    assert_eq!(shown("ending end"), ["n ending", "w end"]);
}

#[test]
fn a_sign_of_two_characters_is_one() {
    assert_eq!(shown("a==b~=c..d+=1"), ["n a", "s ==", "n b", "s ~=", "n c", "s ..", "n d", "s +=", "s 1"]);
    assert_eq!(shown("é=1"), ["s é", "s =", "s 1"]);
}

#[test]
fn a_number_is_one_sign() {
    assert_eq!(shown("1.5e3 0xFF 1_000"), ["s 1.5e3", "s 0xFF", "s 1_000"]);
}

#[test]
fn a_text_ends_at_its_own_quote() {
    assert_eq!(
        shown(r#"'a"b' "a'b" 'a\'b' `x` "\\" y"#),
        [r#"t 'a"b'"#, r#"t "a'b""#, r"t 'a\'b'", "t `x`", r#"t "\\""#, "n y"]
    );
    assert_eq!(shown("'a b"), ["t 'a b"], "or at the end");
}

#[test]
fn a_text_in_long_brackets_ends_at_those_of_its_level() {
    assert_eq!(shown("[[a]=]b]] x"), ["t [[a]=]b]]", "n x"]);
    assert_eq!(shown("[=[a]]b]=] x"), ["t [=[a]]b]=]", "n x"]);
    assert_eq!(shown("a[[x]]"), ["n a", "t [[x]]"]);
    assert_eq!(shown("a[b] = 1"), ["n a", "s [", "n b", "s ]", "s =", "s 1"]);
    assert_eq!(shown("[==[never closed"), ["t [==[never closed"]);
}

#[test]
fn comments_are_no_tokens() {
    assert_eq!(shown("a -- b\nc --[[ d\ne ]] f --[==[ ]] ]==] g -- end"), ["n a", "n c", "n f", "n g"]);
    assert_eq!(shown("a - -b"), ["n a", "s -", "s -", "n b"]);
}

#[test]
fn lines_are_counted_through_texts_and_comments() {
    let lines = tokens("a\n'x\\\ny' b --[[\n\n]] c\n[[\n]] d");
    let lines: Vec<(&str, usize)> = lines
        .iter()
        .filter(|token| token.kind == TokenKind::Name)
        .map(|token| (token.text, token.line))
        .collect();
    assert_eq!(lines, [("a", 1), ("b", 3), ("c", 5), ("d", 7)]);
}

proptest! {
    #[test]
    fn any_text_has_tokens_that_stand_in_it_one_after_the_other(source in "[a-z'\"\\[\\]=\\-\\\\`0-9é \n.]{0,40}") {
        let mut rest = source.as_str();
        for token in tokens(&source) {
            let at = rest.find(token.text);
            prop_assert!(at.is_some() && !token.text.is_empty());
            rest = &rest[at.unwrap_or(0) + token.text.len()..];
        }
    }
}
