//! Strings from and to lists, quoting, indentation.

use std::collections::BTreeMap;

use super::casts::{self, to_str};
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    gofmt,
    text::{decode_rune, find, quote::quote as go_quote},
    value::{List, ListTy, MapTy, Str, Value},
};

pub(crate) const TABLE: &[Row] = &[
    ("quote(...values any) string", quote, "Every value but nil in double quotes."),
    ("squote(...values any) string", squote, "Every value but nil in single quotes."),
    ("cat(...values any) string", cat, "The values but nil with spaces between them."),
    ("indent(spaces int, text string) string", indent, "Every line indented."),
    ("nindent(spaces int, text string) string", nindent, "A newline and `indent`."),
    ("join(separator string, list any) string", join, "The elements with the separator between them."),
    ("split(separator string, text string) map", split, "A map of the parts: `_0`, `_1`, …"),
    ("splitn(separator string, count int, text string) map", splitn, "`split` into at most so many parts."),
    ("splitList(separator string, text string) list", split_list, "A list of the parts."),
    ("toStrings(list any) list", to_strings, "The elements but nil as strings."),
    (
        "sortAlpha(list any) list",
        sort_alpha,
        "The elements as strings, sorted; a list of strings is sorted in place.",
    ),
    ("toString(value any) string", to_string, "The value as text."),
];

fn quote<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut out = Vec::new();
    let mut between: &[u8] = b"";
    for arg in args.iter().filter(|a| !a.is_nil()) {
        out.extend_from_slice(between);
        out.extend(go_quote(to_str(cx, arg)?.bytes()));
        cx.may_be_long(out.len())?;
        between = b" ";
    }
    cx.string(out)
}

fn squote<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut out = Vec::new();
    for arg in args.iter().filter(|a| !a.is_nil()) {
        out.extend_from_slice(if out.is_empty() { b"'" } else { b" '" });
        out.extend(gofmt::sprint_one(cx, arg)?);
        out.push(b'\'');
        cx.may_be_long(out.len())?;
    }
    cx.string(out)
}

fn cat<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut out = Vec::new();
    for (i, arg) in args.iter().filter(|a| !a.is_nil()).enumerate() {
        out.extend_from_slice(if i > 0 { b" " } else { b"" });
        out.extend(gofmt::sprint_one(cx, arg)?);
        cx.may_be_long(out.len())?;
    }
    cx.string(out)
}

fn indented<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], head: &[u8]) -> CallResult<'a> {
    let Ok(spaces) = usize::try_from(args[0].as_int()) else {
        return Err("strings: negative Repeat count".into());
    };
    let text = args[1].bytes();
    let lines = 1 + text.iter().filter(|b| **b == b'\n').count();
    cx.may_be_long(text.len().saturating_add(spaces.saturating_mul(lines)))?;
    let mut out = Vec::with_capacity(head.len() + text.len() + spaces * lines);
    out.extend_from_slice(head);
    for (i, line) in text.split(|b| *b == b'\n').enumerate() {
        if i > 0 {
            out.push(b'\n');
        }
        out.resize(out.len() + spaces, b' ');
        out.extend_from_slice(line);
    }
    cx.string(out)
}

fn indent<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    indented(cx, args, b"")
}

fn nindent<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    indented(cx, args, b"\n")
}

/// The strings of a list; anything else is a list of itself.
pub(crate) fn strings<'a>(cx: &mut Cx<'a>, value: &Value<'a>) -> Result<Vec<Str<'a>>, Fail> {
    match value {
        Value::List(list) => {
            cx.spend(list.len() * 24)?;
            let mut out = Vec::with_capacity(list.len());
            for item in list.to_vec().iter().filter(|v| !v.is_nil()) {
                out.push(to_str(cx, item)?);
            }
            Ok(out)
        }
        Value::Nil | Value::Invalid => Ok(Vec::new()),
        other => Ok(vec![to_str(cx, other)?]),
    }
}

fn string_list<'a>(cx: &mut Cx<'a>, strings: Vec<Str<'a>>) -> CallResult<'a> {
    cx.list(ListTy::Strings, strings.into_iter().map(Value::Str).collect())
}

fn join<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let parts = strings(cx, &args[1])?;
    let separator = args[0].bytes();
    let length = parts.iter().map(|p| p.bytes().len() + separator.len()).sum();
    cx.may_be_long(length)?;
    let mut out = Vec::with_capacity(length);
    for (i, part) in parts.iter().enumerate() {
        out.extend_from_slice(if i > 0 { separator } else { b"" });
        out.extend_from_slice(part.bytes());
    }
    cx.string(out)
}

/// Go's `strings.SplitN`; a negative count is no bound.
pub(crate) fn split_n<'b>(text: &'b [u8], separator: &[u8], count: i64) -> Vec<&'b [u8]> {
    let most = usize::try_from(count).unwrap_or(usize::MAX);
    let mut parts = Vec::new();
    let mut rest = text;
    if most == 0 || (separator.is_empty() && text.is_empty()) {
        return parts;
    }
    while parts.len() + 1 < most {
        let at = if separator.is_empty() {
            let width = decode_rune(rest).1;
            if width == rest.len() { None } else { Some(width) }
        } else {
            find(rest, separator)
        };
        let Some(at) = at else { break };
        parts.push(&rest[..at]);
        rest = &rest[at + separator.len()..];
    }
    parts.push(rest);
    parts
}

fn part_of<'a>(text: &Value<'a>, part: &[u8]) -> Str<'a> {
    if let Value::Str(Str::Ref(whole)) = text {
        let from = part.as_ptr().addr().wrapping_sub(whole.as_ptr().addr());
        if let Some(same) = whole.get(from..from + part.len()) {
            return Str::Ref(same);
        }
    }
    Str::from(part.to_vec())
}

fn split_map<'a>(cx: &mut Cx<'a>, separator: &Value<'a>, count: i64, text: &Value<'a>) -> CallResult<'a> {
    cx.step(text.bytes().len() as u64 / 16)?;
    let parts = split_n(text.bytes(), separator.bytes(), count);
    cx.spend(parts.len() * 64)?;
    let numbered = parts.iter().enumerate();
    let entries: BTreeMap<_, _> = numbered
        .map(|(i, p)| (Str::from(format!("_{i}").into_bytes()), Value::Str(part_of(text, p))))
        .collect();
    cx.map(MapTy::Strings, entries)
}

fn split<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    split_map(cx, &args[0], -1, &args[1])
}

fn splitn<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    split_map(cx, &args[0], args[1].as_int(), &args[2])
}

fn split_list<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.step(args[1].bytes().len() as u64 / 16)?;
    let parts = split_n(args[1].bytes(), args[0].bytes(), -1);
    cx.spend(parts.len() * 40)?;
    let items = parts.iter().map(|p| Value::Str(part_of(&args[1], p))).collect();
    cx.list(ListTy::Strings, items)
}

fn to_strings<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    if let Value::List(list) = &args[0]
        && list.ty() == ListTy::Strings
    {
        return Ok(args[0].clone());
    }
    let all = strings(cx, &args[0])?;
    string_list(cx, all)
}

fn sort_alpha<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match &args[0] {
        Value::List(List::Own(own)) if own.ty == ListTy::Strings => {
            cx.spend(own.items.borrow().len() * 16)?;
            own.items.borrow_mut().sort_by(|a, b| a.bytes().cmp(b.bytes()));
            Ok(args[0].clone())
        }
        Value::List(_) => {
            let mut all = strings(cx, &args[0])?;
            cx.spend(all.len() * 16)?;
            all.sort();
            string_list(cx, all)
        }
        other => {
            let only = to_str(cx, other)?;
            string_list(cx, vec![only])
        }
    }
}

fn to_string<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Str(casts::to_str(cx, &args[0])?))
}
