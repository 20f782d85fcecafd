//! Unicode classes where Go's differ from the standard library's.

use std::sync::LazyLock;

use regex::Regex;

static LETTER: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{L}$").ok());
static DIGIT: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"^\p{Nd}$").ok());

fn is_in(class: &LazyLock<Option<Regex>>, c: char) -> bool {
    let mut buffer = [0; 4];
    class.as_ref().is_some_and(|r| r.is_match(c.encode_utf8(&mut buffer)))
}

/// Go's `unicode.IsLetter`.
pub(crate) fn is_letter(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_alphabetic() } else { is_in(&LETTER, c) }
}

/// Go's `unicode.IsDigit`.
pub(crate) fn is_digit(c: char) -> bool {
    if c.is_ascii() { c.is_ascii_digit() } else { is_in(&DIGIT, c) }
}

/// Go's `unicode.IsSpace`.
pub(crate) fn is_space(c: char) -> bool {
    matches!(
        c,
        '\t' | '\n' | '\u{B}' | '\u{C}' | '\r' | ' ' | '\u{85}' | '\u{A0}' | '\u{1680}' | '\u{2000}'
            ..='\u{200A}' | '\u{2028}' | '\u{2029}' | '\u{202F}' | '\u{205F}' | '\u{3000}'
    )
}

/// Go's `unicode.IsPrint`. The standard library knows it, but tells only through
/// `escape_debug`, which leaves printable characters that are not the first as they are.
pub(crate) fn is_print(c: char) -> bool {
    if c.is_ascii() {
        return matches!(c, ' '..='~');
    }
    let pair: String = ['a', c].iter().collect();
    pair.escape_debug().count() == 2
}

/// Go's `unicode.ToUpper`: one rune to one rune.
pub(crate) fn to_upper(c: char) -> char {
    single(c.to_uppercase(), c)
}

/// Go's `unicode.ToLower`: one rune to one rune.
pub(crate) fn to_lower(c: char) -> char {
    if c == 'İ' { 'i' } else { single(c.to_lowercase(), c) }
}

/// Go's `unicode.ToTitle`: only the digraphs have a title case of their own.
pub(crate) fn to_title(c: char) -> char {
    match c {
        'Ǆ' | 'ǅ' | 'ǆ' => 'ǅ',
        'Ǉ' | 'ǈ' | 'ǉ' => 'ǈ',
        'Ǌ' | 'ǋ' | 'ǌ' => 'ǋ',
        'Ǳ' | 'ǲ' | 'ǳ' => 'ǲ',
        _ => to_upper(c),
    }
}

fn single(mut mapped: impl Iterator<Item = char>, unchanged: char) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(only), None) => only,
        _ => unchanged,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printable_is_what_go_prints() {
        assert!(is_print('é') && is_print('世') && is_print('\u{301}'));
        assert!(!is_print('\u{200b}') && !is_print('\u{a0}') && !is_print('\u{7f}'));
    }

    #[test]
    fn case_maps_one_to_one() {
        assert_eq!(to_upper('ß'), 'ß');
        assert_eq!(to_lower('İ'), 'i');
    }
}
