//! Strings: tests, trims, parts, replacements.

use crate::{
    exec::Cx,
    funcs::{CallResult, Row},
    text::{classes::is_space, decode_rune, find, runes},
    value::{Str, Value},
};

pub(crate) const TABLE: &[Row] = &[
    ("trim(text string) string", trim, "Without space at both ends."),
    ("trimAll(set string, text string) string", trim_all, "Without the characters of the set at both ends."),
    ("trimall(set string, text string) string", trim_all, "The older name of `trimAll`."),
    ("trimSuffix(suffix string, text string) string", trim_suffix, "Without the suffix, once."),
    ("trimPrefix(prefix string, text string) string", trim_prefix, "Without the prefix, once."),
    (
        "trunc(length int, text string) string",
        trunc,
        "The first bytes, or the last ones for a negative length.",
    ),
    (
        "substr(start int, end int, text string) string",
        substr,
        "The bytes from start to end; a negative bound is open.",
    ),
    ("contains(part string, text string) bool", contains, "Whether the text contains the part."),
    ("hasPrefix(prefix string, text string) bool", has_prefix, "Whether the text starts with the prefix."),
    ("hasSuffix(suffix string, text string) bool", has_suffix, "Whether the text ends with the suffix."),
    ("replace(old string, new string, text string) string", replace, "Every occurrence replaced."),
    ("repeat(count int, text string) string", repeat, "The text so many times."),
    ("plural(one string, many string, count int) string", plural, "`one` if the count is 1, else `many`."),
    ("nospace(text string) string", nospace, "Without any space."),
    ("initials(text string) string", initials, "The first letter of every word."),
    ("abbrev(width int, text string) string", abbrev, "Shortened with an ellipsis at the end."),
    (
        "abbrevboth(offset int, width int, text string) string",
        abbrevboth,
        "Shortened with ellipses at both ends.",
    ),
];

/// A part of a string, still borrowed if the whole is.
pub(crate) fn part<'a>(cx: &mut Cx<'a>, text: &Value<'a>, from: usize, to: usize) -> CallResult<'a> {
    match text {
        Value::Str(Str::Ref(bytes)) => Ok(Value::Str(Str::Ref(&bytes[from..to]))),
        other => cx.string(&other.bytes()[from..to]),
    }
}

/// Where the text starts and ends without the matching runes at both ends.
fn trimmed(bytes: &[u8], matches: impl Fn(u32) -> bool) -> (usize, usize) {
    let kept = |(at, rune, width): (usize, u32, usize)| (!matches(rune)).then_some((at, at + width));
    let mut ends = runes(bytes).filter_map(kept);
    let Some((start, first_end)) = ends.next() else { return (0, 0) };
    (start, ends.last().map_or(first_end, |(_, end)| end))
}

fn trim<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.step(args[0].bytes().len() as u64 / 64)?;
    let (from, to) = trimmed(args[0].bytes(), |r| char::from_u32(r).is_some_and(is_space));
    part(cx, &args[0], from, to)
}

fn trim_all<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let set: std::collections::HashSet<u32> = runes(args[0].bytes()).map(|(_, r, _)| r).collect();
    cx.step((args[0].bytes().len() + args[1].bytes().len()) as u64 / 64)?;
    let (from, to) = trimmed(args[1].bytes(), |r| set.contains(&r));
    part(cx, &args[1], from, to)
}

fn trim_suffix<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = args[1].bytes();
    let to = text.strip_suffix(args[0].bytes()).map_or(text.len(), <[u8]>::len);
    part(cx, &args[1], 0, to)
}

fn trim_prefix<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = args[1].bytes();
    let from = text.strip_prefix(args[0].bytes()).map_or(0, |rest| text.len() - rest.len());
    part(cx, &args[1], from, text.len())
}

fn trunc<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let len = args[1].bytes().len();
    let count = usize::try_from(args[0].as_int().unsigned_abs()).unwrap_or(usize::MAX);
    if args[0].as_int() < 0 {
        return part(cx, &args[1], len.saturating_sub(count), len);
    }
    part(cx, &args[1], 0, count.min(len))
}

fn substr<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let (start, end, len) = (args[0].as_int(), args[1].as_int(), args[2].bytes().len());
    let size = i64::try_from(len).unwrap_or(i64::MAX);
    let (from, to) = if start < 0 {
        if end < 0 || end > size {
            let shown = if end < 0 { format!("[:{end}]") } else { format!("[:{end}] with length {len}") };
            return Err(format!("runtime error: slice bounds out of range {shown}").into());
        }
        (0, end)
    } else if end < 0 || end > size {
        if start > size {
            return Err(format!("runtime error: slice bounds out of range [{start}:{len}]").into());
        }
        (start, size)
    } else {
        if start > end {
            return Err(format!("runtime error: slice bounds out of range [{start}:{end}]").into());
        }
        (start, end)
    };
    part(cx, &args[2], usize::try_from(from).unwrap_or(0), usize::try_from(to).unwrap_or(0))
}

fn contains<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.step(args[1].bytes().len() as u64 / 64)?;
    Ok(Value::Bool(find(args[1].bytes(), args[0].bytes()).is_some()))
}

fn has_prefix<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(args[1].bytes().starts_with(args[0].bytes())))
}

fn has_suffix<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(args[1].bytes().ends_with(args[0].bytes())))
}

fn replace<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let (old, new, text) = (args[0].bytes(), args[1].bytes(), args[2].bytes());
    if old == new {
        return Ok(args[2].clone());
    }
    cx.step(text.len() as u64 / 64)?;
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    loop {
        let at = if old.is_empty() {
            out.extend_from_slice(new);
            if rest.is_empty() { None } else { Some(decode_rune(rest).1) }
        } else {
            find(rest, old)
        };
        cx.may_be_long(out.len())?;
        let Some(at) = at else { break };
        out.extend_from_slice(&rest[..at]);
        if !old.is_empty() {
            out.extend_from_slice(new);
        }
        rest = &rest[at + old.len()..];
    }
    out.extend_from_slice(rest);
    cx.string(out)
}

fn repeat<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let Ok(count) = usize::try_from(args[0].as_int()) else {
        return Err("strings: negative Repeat count".into());
    };
    let text = args[1].bytes();
    if text.is_empty() {
        return Ok(Value::text(""));
    }
    cx.may_be_long(text.len().saturating_mul(count))?;
    cx.string(text.repeat(count))
}

fn plural<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(args[usize::from(args[2].as_int() != 1)].clone())
}

/// The original looks at bytes as if they were characters, and so does this.
fn nospace<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = args[0].bytes();
    let kept: String = text.iter().map(|b| char::from(*b)).filter(|c| !is_space(*c)).collect();
    if kept.chars().count() == text.len() {
        return Ok(args[0].clone());
    }
    cx.string(kept)
}

fn initials<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut out = String::new();
    let mut gap = true;
    for c in args[0].bytes().iter().map(|b| char::from(*b)) {
        let space = is_space(c);
        if gap && !space {
            out.push(c);
        }
        gap = space;
    }
    cx.string(out)
}

fn abbrev<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    if args[0].as_int() < 4 {
        return Ok(args[1].clone());
    }
    let width = usize::try_from(args[0].as_int()).unwrap_or(usize::MAX);
    let short = abbreviate(args[1].bytes(), 0, width);
    cx.string(short)
}

fn abbrevboth<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let (left, right) = (args[0].as_int(), args[1].as_int());
    if right < 4 || (left > 0 && right < 7) {
        return Ok(args[2].clone());
    }
    let width = usize::try_from(right).unwrap_or(usize::MAX);
    let short = abbreviate(args[2].bytes(), left, width);
    cx.string(short)
}

/// At most `width` bytes of the text around `offset`.
fn abbreviate(text: &[u8], offset: i64, width: usize) -> Vec<u8> {
    if text.len() <= width {
        return text.to_vec();
    }
    if width < 4 {
        return Vec::new();
    }
    let room = width - 3;
    let mut offset = offset.min(i64::try_from(text.len()).unwrap_or(i64::MAX));
    if i64::try_from(text.len() - room).is_ok_and(|last| offset > last) {
        offset = i64::try_from(text.len() - room).unwrap_or(0);
    }
    if offset <= 4 {
        return [&text[..room], b"..."].concat();
    }
    if width < 7 {
        return Vec::new();
    }
    let start = usize::try_from(offset).unwrap_or(0);
    if start + room < text.len() {
        let inner = abbreviate(&text[start..], 0, room);
        return [b"...", inner.as_slice()].concat();
    }
    [b"...", &text[text.len() - room..]].concat()
}
