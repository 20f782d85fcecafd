//! Regular expressions, in Go's syntax.

use std::collections::HashMap;
use std::ops::Range;

use regex::bytes::{Captures, Regex};

use super::pattern::Pattern;
use super::re2;
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    text::lossy,
    value::{List, ListTy, Value},
};

pub(crate) const TABLE: &[Row] = &[
    (
        "regexMatch(pattern string, text string) bool",
        is_match,
        "Whether the text has a match; false for a bad pattern.",
    ),
    ("mustRegexMatch(pattern string, text string) bool", must_match, "Whether the text has a match."),
    ("regexFind(pattern string, text string) string", find, "The first match."),
    ("mustRegexFind(pattern string, text string) string", must_find, "The first match."),
    (
        "regexFindAll(pattern string, text string, count int) list",
        find_all,
        "The matches, at most so many; all for a negative count.",
    ),
    (
        "mustRegexFindAll(pattern string, text string, count int) list",
        must_find_all,
        "The matches, at most so many; all for a negative count.",
    ),
    (
        "regexReplaceAll(pattern string, text string, replacement string) string",
        replace,
        "Every match replaced; `$1` and `${name}` are groups.",
    ),
    (
        "mustRegexReplaceAll(pattern string, text string, replacement string) string",
        must_replace,
        "Every match replaced; `$1` and `${name}` are groups.",
    ),
    (
        "regexReplaceAllLiteral(pattern string, text string, replacement string) string",
        replace_literal,
        "Every match replaced by the text as it is.",
    ),
    (
        "mustRegexReplaceAllLiteral(pattern string, text string, replacement string) string",
        must_replace_literal,
        "Every match replaced by the text as it is.",
    ),
    (
        "regexSplit(pattern string, text string, count int) list",
        split,
        "The parts between matches, at most so many; all for a negative count.",
    ),
    (
        "mustRegexSplit(pattern string, text string, count int) list",
        must_split,
        "The parts between matches, at most so many; all for a negative count.",
    ),
    ("regexQuoteMeta(text string) string", quote_meta, "The text with every special character escaped."),
];

/// Patterns compiled in this render.
#[derive(Default)]
pub(crate) struct Patterns(HashMap<Vec<u8>, std::rc::Rc<Pattern>>);

/// The compiled pattern, or Go's error text.
fn compile(cx: &mut Cx<'_>, source: &[u8]) -> Result<std::rc::Rc<Pattern>, Fail> {
    if let Some(known) = cx.patterns.0.get(source) {
        return Ok(known.clone());
    }
    cx.spend(source.len() * 8 + 256)?;
    let Ok(text) = std::str::from_utf8(source) else {
        return Err(format!("error parsing regexp: invalid UTF-8: `{}`", lossy(source)).into());
    };
    let translated = re2::translate(text)?;
    cx.step(translated.weight * 8)?;
    cx.spend(usize::try_from(translated.weight).unwrap_or(usize::MAX).saturating_mul(64))?;
    let built = Pattern::build(&translated.pattern, translated.weight);
    let pattern =
        built.ok_or_else(|| Fail::from(format!("error parsing regexp: expression too large: `{text}`")))?;
    let pattern = std::rc::Rc::new(pattern);
    cx.patterns.0.insert(source.to_vec(), pattern.clone());
    Ok(pattern)
}

/// Like [`compile`], with the words that Go's `MustCompile` adds.
fn must_compile(cx: &mut Cx<'_>, source: &[u8]) -> Result<std::rc::Rc<Pattern>, Fail> {
    compile(cx, source).map_err(|fail| match fail {
        Fail::Message(m) => {
            let shown = lossy(source);
            let quoted = if crate::text::quote::can_backquote(source) {
                format!("`{shown}`")
            } else {
                crate::text::quote::quoted(&shown)
            };
            Fail::Message(format!("regexp: Compile({quoted}): {m}"))
        }
        other => other,
    })
}

fn is_match<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match must_match(cx, args) {
        Err(Fail::Message(_)) => Ok(Value::Bool(false)),
        other => other,
    }
}

fn must_match<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    Ok(Value::Bool(first(cx, &pattern, args[1].bytes())?.is_some()))
}

/// Where the first match is.
fn first(cx: &mut Cx<'_>, pattern: &Pattern, text: &[u8]) -> Result<Option<Range<usize>>, Fail> {
    let mut found = None;
    pattern.each(cx, text, |_, span| {
        found = Some(span);
        Ok(false)
    })?;
    Ok(found)
}

type Compile = fn(&mut Cx<'_>, &[u8]) -> Result<std::rc::Rc<Pattern>, Fail>;

fn find_with<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], compile: Compile) -> CallResult<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    let found = first(cx, &pattern, args[1].bytes())?.unwrap_or(0..0);
    super::strings::part(cx, &args[1], found.start, found.end)
}

fn find<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    find_with(cx, args, must_compile)
}

fn must_find<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    find_with(cx, args, compile)
}

/// How many matches a count asks for.
fn bound(count: &Value<'_>) -> usize {
    usize::try_from(count.as_int()).unwrap_or(usize::MAX)
}

fn find_all_with<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], compile: Compile) -> CallResult<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    let (mut items, most) = (Vec::new(), bound(&args[2]));
    if most > 0 {
        pattern.each(cx, args[1].bytes(), |cx, found| {
            items.push(super::strings::part(cx, &args[1], found.start, found.end)?);
            cx.spend(32)?;
            Ok(items.len() < most)
        })?;
    }
    if items.is_empty() {
        return Ok(Value::List(List::Nil(ListTy::Strings)));
    }
    cx.list(ListTy::Strings, items)
}

fn find_all<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    find_all_with(cx, args, must_compile)
}

fn must_find_all<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    find_all_with(cx, args, compile)
}

fn replace_with<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], compile: Compile, literal: bool) -> CallResult<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    let (text, replacement) = (args[1].bytes(), args[2].bytes());
    let plain = literal || !replacement.contains(&b'$');
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    pattern.each(cx, text, |cx, found| {
        out.extend_from_slice(&text[copied..found.start]);
        copied = found.end;
        if plain {
            out.extend_from_slice(replacement);
        } else if let Some(groups) = pattern.groups(cx, text, &found)? {
            expand(&mut out, replacement, pattern.regex(), &groups);
        }
        cx.step(1 + replacement.len() as u64 / 64)?;
        cx.may_be_long(out.len())?;
        Ok(true)
    })?;
    out.extend_from_slice(&text[copied..]);
    cx.string(out)
}

/// Go's `Regexp.Expand`.
fn expand(out: &mut Vec<u8>, template: &[u8], regex: &Regex, found: &Captures<'_>) {
    let mut rest = template;
    while let Some(at) = rest.iter().position(|b| *b == b'$') {
        out.extend_from_slice(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix(b"$") {
            out.push(b'$');
            rest = after;
            continue;
        }
        let Some((name, after)) = reference(rest) else {
            out.push(b'$');
            continue;
        };
        rest = after;
        let group = match name.parse::<usize>() {
            Ok(number) if name.len() == 1 || !name.starts_with('0') => found.get(number),
            _ => {
                let named = |n: &str| n.split_once('_').is_some_and(|(_, own)| own == name);
                let at = regex.capture_names().position(|n| n.is_some_and(named));
                at.and_then(|at| found.get(at))
            }
        };
        out.extend_from_slice(group.map_or(b"", |g| g.as_bytes()));
    }
    out.extend_from_slice(rest);
}

/// The name after a dollar, with or without braces, and what follows.
fn reference(rest: &[u8]) -> Option<(&str, &[u8])> {
    let (brace, body) = rest.strip_prefix(b"{").map_or((false, rest), |body| (true, body));
    let text = std::str::from_utf8(body).ok()?;
    let word = |c: char| c == '_' || crate::text::classes::is_letter(c) || crate::text::classes::is_digit(c);
    let len = text.find(|c: char| !word(c)).unwrap_or(text.len());
    if len == 0 {
        return None;
    }
    let after = &body[len..];
    if brace { Some((&text[..len], after.strip_prefix(b"}")?)) } else { Some((&text[..len], after)) }
}

fn replace<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    replace_with(cx, args, must_compile, false)
}

fn must_replace<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    replace_with(cx, args, compile, false)
}

fn replace_literal<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    replace_with(cx, args, must_compile, true)
}

fn must_replace_literal<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    replace_with(cx, args, compile, true)
}

fn split_with<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], compile: Compile) -> CallResult<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    let text = args[1].bytes();
    let most = bound(&args[2]);
    if most == 0 {
        return Ok(Value::List(List::Nil(ListTy::Strings)));
    }
    if text.is_empty() && !args[0].bytes().is_empty() {
        return cx.list(ListTy::Strings, vec![Value::text("")]);
    }
    let (mut items, mut start, mut end) = (Vec::new(), 0, 0);
    pattern.each(cx, text, |cx, found| {
        if items.len() + 1 == most {
            return Ok(false);
        }
        end = found.start;
        if found.end != 0 {
            items.push(super::strings::part(cx, &args[1], start, end)?);
            cx.spend(32)?;
        }
        start = found.end;
        Ok(true)
    })?;
    if end != text.len() {
        items.push(super::strings::part(cx, &args[1], start, text.len())?);
    }
    cx.list(ListTy::Strings, items)
}

fn split<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    split_with(cx, args, must_compile)
}

fn must_split<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    split_with(cx, args, compile)
}

fn quote_meta<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut out = Vec::with_capacity(args[0].bytes().len() * 2);
    for b in args[0].bytes() {
        if br"\.+*?()|[]{}^$".contains(b) {
            out.push(b'\\');
        }
        out.push(*b);
    }
    cx.string(out)
}
