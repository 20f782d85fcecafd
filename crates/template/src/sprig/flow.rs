//! Failing, the environment, the network: what untrusted templates must not reach.

use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("fail(message string) string", fail, "Fails with the message."),
    ("hello() string", hello, "A greeting."),
    ("env(name string) string", env, "Always empty. | Go reads the environment of the process."),
    (
        "expandenv(text string) string",
        expandenv,
        "The text with every `$name` removed. | Go reads the environment of the process.",
    ),
    (
        "getHostByName(name string) string",
        get_host_by_name,
        "Always fails. | Go asks the resolver of the process.",
    ),
];

fn fail<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Err(Fail::Message(crate::text::lossy(args[0].bytes())))
}

fn hello<'a>(_: &mut Cx<'a>, _: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::text("Hello!"))
}

fn env<'a>(_: &mut Cx<'a>, _: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::text(""))
}

/// Go's `os.Expand` with an empty environment.
fn expandenv<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = args[0].bytes();
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at + 1..];
        if text[at] != b'$' || rest.is_empty() {
            out.push(text[at]);
            at += 1;
            continue;
        }
        let width = variable_width(rest);
        if width == 0 {
            out.push(b'$');
        }
        at += 1 + width;
    }
    cx.string(out)
}

/// How many bytes after a dollar name a variable.
fn variable_width(rest: &[u8]) -> usize {
    let special = |b: u8| matches!(b, b'*' | b'#' | b'$' | b'@' | b'!' | b'?' | b'-' | b'0'..=b'9');
    match rest {
        [b'{', b, b'}', ..] if special(*b) => 3,
        [b'{', name @ ..] => match name.iter().position(|b| *b == b'}') {
            Some(0) => 2,
            Some(close) => close + 2,
            None => 1,
        },
        [b, ..] if special(*b) => 1,
        _ => rest.iter().take_while(|b| b.is_ascii_alphanumeric() || **b == b'_').count(),
    }
}

fn get_host_by_name<'a>(_: &mut Cx<'a>, _: &[Value<'a>]) -> CallResult<'a> {
    Err("host names are not resolved during a render; put the address into the data".into())
}
