//! `html`, `js` and `urlquery`.

use super::CallResult;
use crate::{
    exec::{Cx, Fail},
    gofmt,
    text::{classes::is_print, runes},
    value::{Str, Value},
};

/// The arguments as one text: a single string as it is, anything else printed.
fn joined<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Result<Str<'a>, Fail> {
    match args {
        [Value::Str(s)] => Ok(s.clone()),
        _ => {
            let shown: Vec<Value<'a>> = args.iter().map(printable).collect();
            let text = gofmt::sprint(cx, &shown)?;
            cx.str(text)
        }
    }
}

/// What an action would print: no value has a text of its own.
fn printable<'a>(value: &Value<'a>) -> Value<'a> {
    if value.is_nil() { Value::text("<no value>") } else { value.clone() }
}

pub(super) fn html<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = joined(cx, args)?;
    if !text.bytes().iter().any(|b| b"'\"&<>\0".contains(b)) {
        return Ok(Value::Str(text));
    }
    let mut out = Vec::with_capacity(text.bytes().len() * 2);
    for b in text.bytes() {
        match b {
            b'"' => out.extend_from_slice(b"&#34;"),
            b'\'' => out.extend_from_slice(b"&#39;"),
            b'&' => out.extend_from_slice(b"&amp;"),
            b'<' => out.extend_from_slice(b"&lt;"),
            b'>' => out.extend_from_slice(b"&gt;"),
            0 => out.extend_from_slice("\u{FFFD}".as_bytes()),
            _ => out.push(*b),
        }
    }
    cx.string(out)
}

pub(super) fn js<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = joined(cx, args)?;
    let mut out = Vec::with_capacity(text.bytes().len() * 2);
    for (at, rune, width) in runes(text.bytes()) {
        match char::from_u32(rune).unwrap_or('\u{FFFD}') {
            c @ ('\\' | '\'' | '"') => out.extend_from_slice(&[b'\\', c as u8]),
            '<' | '>' | '&' | '=' => out.extend_from_slice(format!("\\u{rune:04X}").as_bytes()),
            c if c < ' ' => out.extend_from_slice(format!("\\u{rune:04X}").as_bytes()),
            c if c.is_ascii() || is_print(c) => out.extend_from_slice(&text.bytes()[at..at + width]),
            _ => out.extend_from_slice(format!("\\u{rune:04X}").as_bytes()),
        }
    }
    cx.string(out)
}

pub(super) fn urlquery<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = joined(cx, args)?;
    let mut out = Vec::with_capacity(text.bytes().len() * 3);
    for b in text.bytes() {
        match b {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => out.push(*b),
            b' ' => out.push(b'+'),
            _ => out.extend_from_slice(format!("%{b:02X}").as_bytes()),
        }
    }
    cx.string(out)
}
