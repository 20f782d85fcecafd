//! Regular expressions, in Go's syntax.

use std::collections::HashMap;

use regex::bytes::{Captures, Regex, RegexBuilder};

use super::re2;
use crate::{
    exec::{Cx, Fail},
    funcs::{Answer, Row},
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

/// A compiled pattern with its group names in Go's spelling.
pub(crate) struct Pattern {
    regex: Regex,
    weight: u64,
}

/// Patterns compiled in this render.
#[derive(Default)]
pub(crate) struct Patterns(HashMap<Vec<u8>, std::rc::Rc<Pattern>>);

/// A pattern may take so much memory when compiled.
const SIZE_LIMIT: usize = 4 << 20;

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
    let built = RegexBuilder::new(&translated.pattern)
        .size_limit(SIZE_LIMIT)
        .dfa_size_limit(SIZE_LIMIT / 2)
        .nest_limit(1000)
        .build();
    let regex =
        built.map_err(|_| Fail::from(format!("error parsing regexp: expression too large: `{text}`")))?;
    let pattern = std::rc::Rc::new(Pattern { regex, weight: translated.weight });
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

/// Pays for a search in advance: its worst case is linear in pattern times text.
fn pay(cx: &mut Cx<'_>, pattern: &Pattern, text: &[u8]) -> Result<(), Fail> {
    cx.step(1 + pattern.weight.saturating_mul(text.len() as u64) / 16)
}

fn is_match<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    match must_match(cx, args) {
        Err(Fail::Message(_)) => Ok(Value::Bool(false)),
        other => other,
    }
}

fn must_match<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    pay(cx, &pattern, args[1].bytes())?;
    Ok(Value::Bool(pattern.regex.is_match(args[1].bytes())))
}

type Compile = fn(&mut Cx<'_>, &[u8]) -> Result<std::rc::Rc<Pattern>, Fail>;

fn find_with<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], compile: Compile) -> Answer<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    pay(cx, &pattern, args[1].bytes())?;
    let found = pattern.regex.find(args[1].bytes()).map(|m| m.range()).unwrap_or(0..0);
    super::strings::part(cx, &args[1], found.start, found.end)
}

fn find<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    find_with(cx, args, must_compile)
}

fn must_find<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    find_with(cx, args, compile)
}

/// How many matches a count asks for.
fn bound(count: &Value<'_>) -> usize {
    usize::try_from(count.as_int()).unwrap_or(usize::MAX)
}

/// Whether a match is real: Go steps over whole characters, so there are no empty matches
/// inside of one.
fn is_whole(text: &[u8], start: usize, end: usize) -> bool {
    start != end || text.get(start).is_none_or(|b| b & 0xC0 != 0x80)
}

fn find_all_with<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], compile: Compile) -> Answer<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    pay(cx, &pattern, args[1].bytes())?;
    let mut items = Vec::new();
    let text = args[1].bytes();
    let whole = pattern.regex.find_iter(text).filter(|m| is_whole(text, m.start(), m.end()));
    for found in whole.take(bound(&args[2])) {
        items.push(super::strings::part(cx, &args[1], found.start(), found.end())?);
        cx.spend(32)?;
    }
    if items.is_empty() {
        return Ok(Value::List(List::Nil(ListTy::Strings)));
    }
    cx.list(ListTy::Strings, items)
}

fn find_all<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    find_all_with(cx, args, must_compile)
}

fn must_find_all<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    find_all_with(cx, args, compile)
}

fn replace_with<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], compile: Compile, literal: bool) -> Answer<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    let (text, replacement) = (args[1].bytes(), args[2].bytes());
    pay(cx, &pattern, text)?;
    let mut out = Vec::with_capacity(text.len());
    let mut copied = 0;
    for found in pattern.regex.captures_iter(text) {
        let Some(whole) = found.get(0) else { continue };
        if !is_whole(text, whole.start(), whole.end()) {
            continue;
        }
        out.extend_from_slice(&text[copied..whole.start()]);
        copied = whole.end();
        if literal {
            out.extend_from_slice(replacement);
        } else {
            expand(&mut out, replacement, &pattern.regex, &found);
        }
        cx.step(1 + replacement.len() as u64 / 64)?;
        cx.may_be_long(out.len())?;
    }
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

fn replace<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    replace_with(cx, args, must_compile, false)
}

fn must_replace<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    replace_with(cx, args, compile, false)
}

fn replace_literal<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    replace_with(cx, args, must_compile, true)
}

fn must_replace_literal<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    replace_with(cx, args, compile, true)
}

fn split_with<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], compile: Compile) -> Answer<'a> {
    let pattern = compile(cx, args[0].bytes())?;
    let text = args[1].bytes();
    let most = bound(&args[2]);
    if most == 0 {
        return Ok(Value::List(List::Nil(ListTy::Strings)));
    }
    pay(cx, &pattern, text)?;
    if text.is_empty() && !args[0].bytes().is_empty() {
        return cx.list(ListTy::Strings, vec![Value::text("")]);
    }
    let (mut items, mut start, mut end) = (Vec::new(), 0, 0);
    for found in pattern.regex.find_iter(text).filter(|m| is_whole(text, m.start(), m.end())).take(most) {
        if items.len() + 1 == most {
            break;
        }
        end = found.start();
        if found.end() != 0 {
            items.push(super::strings::part(cx, &args[1], start, end)?);
            cx.spend(32)?;
        }
        start = found.end();
    }
    if end != text.len() {
        items.push(super::strings::part(cx, &args[1], start, text.len())?);
    }
    cx.list(ListTy::Strings, items)
}

fn split<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    split_with(cx, args, must_compile)
}

fn must_split<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    split_with(cx, args, compile)
}

fn quote_meta<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Answer<'a> {
    let mut out = Vec::with_capacity(args[0].bytes().len() * 2);
    for b in args[0].bytes() {
        if br"\.+*?()|[]{}^$".contains(b) {
            out.push(b'\\');
        }
        out.push(*b);
    }
    cx.string(out)
}
