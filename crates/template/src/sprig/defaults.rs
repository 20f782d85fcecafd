//! Defaults and sprig's JSON functions.

use super::casts::is_empty;
use crate::{
    codec::{json, json_read},
    exec::Cx,
    funcs::{CallResult, Row},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("default(default any, ...given any) any", default, "The given value, or the default if it is empty."),
    ("empty(value any) bool", empty, "Whether the value is nil, zero or of no length."),
    ("coalesce(...values any) any", coalesce, "The first value that is not empty."),
    ("all(...values any) bool", all, "Whether no value is empty."),
    ("any(...values any) bool", any, "Whether some value is not empty."),
    (
        "ternary(yes any, no any, condition bool) any",
        ternary,
        "The first value if the condition holds, else the second.",
    ),
    ("toPrettyJson(value any) string", pretty, "JSON in lines; an error gives an empty string."),
    ("mustToPrettyJson(value any) string", must_pretty, "JSON in lines."),
    ("toRawJson(value any) string", raw, "JSON with `<`, `>` and `&` as they are."),
    ("mustToRawJson(value any) string", raw, "JSON with `<`, `>` and `&` as they are."),
    ("mustToJson(value any) string", must_json, "JSON."),
    ("mustFromJson(text string) any", must_from_json, "The value in the JSON text; numbers are floats."),
];

fn default<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match args.get(1) {
        Some(given) if !is_empty(cx, given) => Ok(given.clone()),
        _ => Ok(args[0].clone()),
    }
}

fn empty<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(is_empty(cx, &args[0])))
}

fn coalesce<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(args.iter().find(|v| !is_empty(cx, v)).cloned().unwrap_or(Value::Nil))
}

fn all<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(args.iter().all(|v| !is_empty(cx, v))))
}

fn any<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(args.iter().any(|v| !is_empty(cx, v))))
}

fn ternary<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(args[usize::from(!matches!(args[2], Value::Bool(true)))].clone())
}

fn pretty<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match json::encode(cx, &args[0], json::Style::Pretty) {
        Ok(text) => cx.string(text),
        Err(fail) => json::empty_unless_limit(fail),
    }
}

fn must_pretty<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = json::encode(cx, &args[0], json::Style::Pretty)?;
    cx.string(text)
}

fn raw<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = json::encode(cx, &args[0], json::Style::Raw)?;
    cx.string(text)
}

fn must_json<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = json::encode(cx, &args[0], json::Style::Compact)?;
    cx.string(text)
}

fn must_from_json<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let decoded = json_read::decode(cx, args[0].bytes())?;
    match decoded.error {
        Some(message) => Err(message.into()),
        None => Ok(decoded.value),
    }
}
