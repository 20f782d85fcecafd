//! The natural order of keys. It is no strict order for every set of keys, so the sort must
//! bear with contradictions.

use crate::{
    text::{
        classes::{is_digit, is_letter},
        runes,
    },
    value::{Str, Value},
};

/// Which library's rules apply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Sigs,
    V3,
    /// `V3` with two spaces instead of four.
    Pretty,
}

/// Sorts entries by their keys; a merge sort, because it asks little of the order.
pub(super) fn sort<'a>(
    mut entries: Vec<(Str<'a>, Value<'a>)>,
    dialect: Dialect,
) -> Vec<(Str<'a>, Value<'a>)> {
    if entries.len() < 2 {
        return entries;
    }
    let right = entries.split_off(entries.len() / 2);
    let mut left = sort(entries, dialect).into_iter().peekable();
    let mut right = sort(right, dialect).into_iter().peekable();
    let mut out = Vec::with_capacity(left.len() + right.len());
    loop {
        let take_right = match (left.peek(), right.peek()) {
            (Some(l), Some(r)) => less(r.0.bytes(), l.0.bytes(), dialect),
            (None, Some(_)) => true,
            _ => false,
        };
        match if take_right { right.next() } else { left.next() } {
            Some(entry) => out.push(entry),
            None => return out,
        }
    }
}

fn less(a: &[u8], b: &[u8], dialect: Dialect) -> bool {
    let as_chars = |bytes: &[u8]| -> Vec<char> {
        runes(bytes).map(|(_, r, _)| char::from_u32(r).unwrap_or('\u{FFFD}')).collect()
    };
    if a.is_ascii() && b.is_ascii() && !a.iter().chain(b).any(u8::is_ascii_digit) {
        return less_letters(a, b);
    }
    less_chars(&as_chars(a), &as_chars(b), dialect)
}

/// The same order without digits: others come before letters.
fn less_letters(a: &[u8], b: &[u8]) -> bool {
    match a.iter().zip(b).find(|(x, y)| x != y) {
        None => a.len() < b.len(),
        Some((x, y)) => match (x.is_ascii_alphabetic(), y.is_ascii_alphabetic()) {
            (true, true) => x < y,
            (false, false) => x < y,
            (_, second) => second,
        },
    }
}

fn less_chars(a: &[char], b: &[char], dialect: Dialect) -> bool {
    let Some(i) = a.iter().zip(b).position(|(x, y)| x != y) else { return a.len() < b.len() };
    let after_digits = dialect != Dialect::Sigs && i > 0 && is_digit(a[i - 1]);
    match (is_letter(a[i]), is_letter(b[i])) {
        (true, true) => return a[i] < b[i],
        (false, false) => {}
        (first, second) => return if after_digits { first } else { second },
    }
    let mut start = 0i64;
    if a[i] == '0' || b[i] == '0' {
        let before = a[..i].iter().rev().take_while(|c| is_digit(**c));
        start = i64::from(before.into_iter().any(|c| *c != '0'));
    }
    let number = |text: &[char]| {
        let digits = text[i..].iter().take_while(|c| is_digit(**c));
        digits.fold((start, i), |(n, end), c| {
            let digit = i64::from(u32::from(*c)) - i64::from(u32::from('0'));
            (n.wrapping_mul(10).wrapping_add(digit), end + 1)
        })
    };
    let ((an, ai), (bn, bi)) = (number(a), number(b));
    if an != bn {
        return an < bn;
    }
    if ai != bi {
        return ai < bi;
    }
    a[i] < b[i]
}
