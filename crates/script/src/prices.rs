//! What the functions of the engine's own library cost, by their arguments.
//!
//! A step is a hundred-millionth of a second. Each price is what a call takes at the very most on a machine of the present, caches missed;
//! what looks through a text or a list costs as if it had to go to its end, and gives back the most of it when it has run. What is
//! not here takes about the same whatever it is given, or at most goes once through memory that is there, which the hook counts at each step.

use std::ffi::{CStr, c_int};

use crate::arguments::Arguments;
use crate::budget::Price;

/// A function, and what it costs.
pub(crate) struct Priced {
    /// Where it is; empty for a global function.
    pub(crate) table: &'static str,
    pub(crate) name: &'static CStr,
    pub(crate) price: fn(&Arguments) -> Price,
}

const fn of(table: &'static str, name: &'static CStr, price: fn(&Arguments) -> Price) -> Priced {
    Priced { table, name, price }
}

pub(crate) const PRICES: [Priced; 38] = [
    of("", c"tonumber", |args| Price::flat(1 + args.text(1) / 4)),
    of("", c"select", |args| Price::flat(1 + args.count() / 4)),
    of("", c"unpack", unpacked),
    of("table", c"unpack", unpacked),
    of("table", c"pack", |args| Price::flat(1 + args.count() / 4)),
    of("table", c"create", created),
    of("table", c"clone", |args| Price::flat(1 + args.items(1) / 4)),
    of("table", c"clear", |args| Price::flat(1 + args.items(1) / 4)),
    of("table", c"maxn", |args| Price::flat(1 + args.items(1) / 4)),
    of("table", c"foreach", |args| given_back(args.items(1) * 5)),
    of("table", c"foreachi", |args| given_back(args.items(1) * 5)),
    of("table", c"find", found_in_list),
    of("table", c"insert", inserted),
    of("table", c"remove", removed),
    of("table", c"move", moved),
    of("table", c"concat", joined),
    of("table", c"sort", sorted),
    of("string", c"rep", repeated),
    of("string", c"reverse", |args| Price::flat(1 + args.text(1) / 4)),
    of("string", c"upper", |args| Price::flat(1 + args.text(1) / 2)),
    of("string", c"lower", |args| Price::flat(1 + args.text(1) / 2)),
    of("string", c"sub", |args| Price::flat(1 + args.part(2, 1, 3, Some(-1)) / 8)),
    of("string", c"byte", |args| Price::flat(1 + args.part(2, 1, 3, None) / 2)),
    of("string", c"char", |args| Price::flat(1 + args.count() / 2)),
    of("string", c"format", formatted),
    of("string", c"find", found),
    of("string", c"match", matched),
    of("string", c"gmatch", |args| Price::flat(1 + args.text(2) / 8)),
    of("string", c"gsub", replaced),
    of("string", c"split", split),
    of("string", c"pack", packed),
    of("string", c"packsize", |args| Price::flat(1 + args.text(1) * 4)),
    of("string", c"unpack", unpacked_text),
    of("utf8", c"char", |args| Price::flat(1 + args.count() * 2)),
    of("utf8", c"len", |args| Price::flat(1 + args.part(2, 1, 3, Some(-1)) / 2)),
    of("utf8", c"codepoint", |args| Price::flat(1 + args.part(2, 1, 3, None))),
    of("utf8", c"offset", |args| given_back(args.text(1).min(far(args.whole(2, 0)).saturating_mul(4)) / 2)),
    of("os", c"date", |args| Price::flat(1 + args.text(1) * 25)),
];

/// What comparing two values takes, as often as is usual in one round of sorting and making heaps.
const COMPARED: u64 = 3;
/// What a call of a function of the engine takes, from the engine.
const CALLED: u64 = 5;

/// What takes so long at most, and mostly ends long before.
fn given_back(worst: u64) -> Price {
    Price { worst: 1 + worst, kept: 1 + worst / 64 }
}

fn far(number: i64) -> u64 {
    number.unsigned_abs()
}

/// How many there are from one to another.
fn between(first: i64, last: i64) -> u64 {
    u64::try_from(last.saturating_sub(first).saturating_add(1)).unwrap_or(0)
}

fn unpacked(args: &Arguments) -> Price {
    let last = args.whole_or(3, || i64::try_from(args.items(1)).unwrap_or(i64::MAX));
    // More than some thousands are refused by the engine before it does anything.
    Price::flat(1 + between(args.whole(2, 1), last).min(10_000) / 2)
}

fn created(args: &Arguments) -> Price {
    Price::flat(1 + u64::try_from(args.whole(1, 0)).unwrap_or(0).min(args.memory() / 16) / 4)
}

fn found_in_list(args: &Arguments) -> Price {
    let count = between(args.whole(3, 1), i64::try_from(args.items(1)).unwrap_or(i64::MAX));
    Price { worst: 1 + count * CALLED, kept: 1 + count / 4 }
}

/// Values that move up or down in a list: an array is fast, other tables are not.
fn shifted(count: u64) -> Price {
    Price { worst: count.saturating_mul(4).saturating_add(1), kept: 1 + count / 4 }
}

fn inserted(args: &Arguments) -> Price {
    match args.count() {
        3 => shifted(between(args.whole(2, 1).max(1), i64::try_from(args.items(1)).unwrap_or(i64::MAX))),
        _ => Price::flat(1),
    }
}

fn removed(args: &Arguments) -> Price {
    match args.count() {
        0 | 1 => Price::flat(1),
        _ => shifted(between(args.whole(2, 1).max(1), i64::try_from(args.items(1)).unwrap_or(i64::MAX))),
    }
}

fn moved(args: &Arguments) -> Price {
    shifted(between(args.whole(2, 0), args.whole(3, 0)))
}

fn joined(args: &Arguments) -> Price {
    let first = args.whole(3, 1);
    let last = args.whole_or(4, || i64::try_from(args.items(1)).unwrap_or(i64::MAX));
    let most = between(first, last).min(args.memory() / 16);
    if !args.affordable(most) {
        return Price::flat(most);
    }
    let (count, bytes) = args.texts(1, first, last, true);
    let separators = count.saturating_sub(1).saturating_mul(args.text(2));
    Price::flat(1 + count * 3 + bytes.saturating_add(separators) / 8)
}

/// Comparing all: as often as the engine does at most, which makes heaps when parting does not get on.
fn sorted(args: &Arguments) -> Price {
    let count = args.items(1);
    let rounds = u64::from(u64::BITS - count.leading_zeros());
    let all = |each: u64| Price::flat(1 + rounds.saturating_mul(count).saturating_mul(each));
    if args.is_engine_function(2) {
        return all(COMPARED * CALLED);
    }
    // Calls of the script are counted by the hook.
    if args.count() > 1 && !args.is_nil(2) {
        return all(1);
    }
    if !args.affordable(all(COMPARED).worst) {
        return all(COMPARED);
    }
    let (texts, bytes) = args.texts(1, 1, i64::try_from(count).unwrap_or(i64::MAX), false);
    let numbers = all(if texts < count { COMPARED * CALLED } else { COMPARED });
    Price::flat(numbers.worst.saturating_add(rounds.saturating_mul(bytes).saturating_mul(COMPARED) / 64))
}

fn repeated(args: &Arguments) -> Price {
    let times = u64::try_from(args.whole(2, 0)).unwrap_or(0);
    // What does not fit is refused before it is made.
    let bytes = Some(args.text(1).saturating_mul(times)).filter(|bytes| *bytes <= args.memory());
    Price::flat(1 + bytes.unwrap_or(0) / 8)
}

fn formatted(args: &Arguments) -> Price {
    let (format, texts, others) = (args.text(1), args.all_texts(2), args.count());
    Price { worst: 1 + format / 4 + texts / 2 + others * 200, kept: 1 + format / 4 + texts / 8 + others * 2 }
}

/// What goes through a text from a place on, looking for a pattern. Steps of the pattern are counted by the hook; what it does in
/// between is at most once through all of the text, and of each character once through the longest set of characters.
fn stretch(bytes: u64, pattern: &[u8]) -> u64 {
    bytes.saturating_mul(2 + longest_set(pattern)) / 4
}

fn found(args: &Arguments) -> Price {
    let pattern = args.bytes(2);
    let bytes = args.text(1).saturating_add(1).saturating_sub(args.place(3, 1));
    let plain = args.is_true(4) || !pattern.iter().any(|byte| b"^$*+?.([%-".contains(byte));
    let worst = match plain {
        true => bytes.saturating_mul(64 + pattern.len() as u64) / 64,
        false => stretch(bytes, pattern),
    };
    Price { worst: 1 + worst, kept: 1 }
}

fn matched(args: &Arguments) -> Price {
    let bytes = args.text(1).saturating_add(1).saturating_sub(args.place(3, 1));
    Price { worst: 1 + stretch(bytes, args.bytes(2)), kept: 1 }
}

/// One call of what `string.gmatch` gave, which keeps text, pattern and position.
pub(crate) fn iteration(args: &Arguments, text: c_int, pattern: c_int, position: c_int) -> Price {
    let bytes = args.text(text).saturating_sub(u64::try_from(args.whole(position, 0)).unwrap_or(0));
    Price { worst: 1 + stretch(bytes, args.bytes(pattern)), kept: 1 }
}

fn replaced(args: &Arguments) -> Price {
    let bytes = args.text(1);
    Price { worst: 1 + stretch(bytes, args.bytes(2)) + bytes / 8, kept: 1 + bytes / 8 }
}

/// At least the longest set of characters of a pattern, in bytes. A set ends at the latest where a bracket closes that is neither
/// escaped nor the first of a set, wherever sets begin.
fn longest_set(pattern: &[u8]) -> u64 {
    let (mut longest, mut end) = (0, pattern.len());
    for at in (0..pattern.len()).rev() {
        let before = at.checked_sub(1).map(|before| pattern[before]);
        match pattern[at] {
            b'[' => longest = longest.max(end - at),
            b']' if !matches!(before, Some(b'%' | b'[' | b'^')) => end = at,
            _ => {}
        }
    }
    longest as u64
}

fn split(args: &Arguments) -> Price {
    let (text, separator) = (args.bytes(1), args.bytes(2));
    // A comma where none is given.
    let first = if args.count() > 1 { separator.first() } else { Some(&b',') };
    let pieces = match first {
        Some(first) => text.iter().filter(|byte| *byte == first).count() as u64 + 1,
        None => text.len() as u64,
    };
    let looked = (text.len() as u64).saturating_mul(32 + separator.len() as u64) / 64;
    Price { worst: 1 + looked + pieces * 8, kept: 1 + text.len() as u64 / 8 + pieces * 4 }
}

/// What is packed, and room where the format says how much.
fn packed(args: &Arguments) -> Price {
    let room: u64 = numbers(args.bytes(1)).fold(0, u64::saturating_add).min(args.memory());
    Price::flat(1 + args.text(1) * 4 + args.all_texts(2) / 4 + room / 2)
}

/// The numbers that are written in a format.
fn numbers(format: &[u8]) -> impl Iterator<Item = u64> {
    let parts = format.split(|byte| !byte.is_ascii_digit()).filter(|digits| !digits.is_empty());
    let value = |digits: &[u8]| {
        digits
            .iter()
            .fold(0_u64, |value, digit| value.saturating_mul(10).saturating_add(u64::from(digit - b'0')))
    };
    parts.map(value)
}

fn unpacked_text(args: &Arguments) -> Price {
    let (format, copied) = (args.bytes(1), |byte: &u8| matches!(byte, b's' | b'z' | b'c'));
    let bytes = if format.iter().any(copied) { args.text(2) } else { 0 };
    let format = format.len() as u64;
    Price { worst: 1 + format * 5 + bytes / 4, kept: 1 + format * 5 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_longest_set_of_a_pattern_is_found() {
        for (pattern, expected) in [
            ("a*b", 0),
            ("[abc]", 4),
            ("x[]a]y[^%]bcd]*", 7),
            ("[a", 2),
            ("%[x[]bbbb]", 8),
            ("[a][bcdefgh]+", 8),
            ("%b[][]bbbb]", 8),
        ] {
            assert_eq!(longest_set(pattern.as_bytes()), expected, "{pattern}");
        }
    }

    #[test]
    fn the_numbers_of_a_format_are_read() {
        assert_eq!(numbers(b"i4 c300s8z").collect::<Vec<_>>(), [4, 300, 8]);
        assert_eq!(numbers(b"c99999999999999999999999").collect::<Vec<_>>(), [u64::MAX]);
    }

    #[test]
    fn prices_stay_within_bounds() {
        assert_eq!(between(1, 10), 10);
        assert_eq!(between(5, 1), 0);
        assert_eq!(between(i64::MIN, i64::MAX), i64::MAX as u64);
        assert_eq!(shifted(u64::MAX).worst, u64::MAX);
        assert_eq!(stretch(u64::MAX, b"[ab]*"), u64::MAX / 4);
    }
}
