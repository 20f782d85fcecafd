//! What Helm adds to sprig, and where it differs from it.

pub(crate) mod arithmetic;
pub(crate) mod durations;
pub(crate) mod glob;
pub(crate) mod methods;

use std::collections::BTreeMap;

use crate::{
    codec::{json, toml_write, yaml},
    exec::{Cx, Fail},
    funcs::{CallResult, Row, run_by_executor},
    sprig::casts::to_int64,
    syntax::number::parse_int,
    text::lossy,
    value::Value,
};

/// What stands around a message of `required` and `fail`, which the caller shows alone.
pub(crate) const MESSAGE_START: &str = "HELM_ERR_START";
/// See [`MESSAGE_START`].
pub(crate) const MESSAGE_END: &str = "HELM_ERR_END";

/// What the executor runs itself.
pub(crate) const SPECIAL: &[Row] = &[
    ("include(name string, data any) string", run_by_executor, "The output of the named template."),
    ("tpl(text string, data any) any", run_by_executor, "The output of the text as a template."),
];

pub(crate) const TABLE: &[Row] = &[
    (
        "required(message string, value any) any",
        required,
        "The value; nil and an empty string fail with the message.",
    ),
    ("fail(message string) string", fail, "Fails with the message."),
    ("lookup(apiVersion string, kind string, namespace string, name string) map", lookup, "Always empty."),
    ("getHostByName(name string) string", nothing, "Always empty."),
    ("toYamlPretty(value any) string", to_yaml_pretty, "YAML whose lists are indented; an error is empty."),
    ("int(value any) int", |_, a| Ok(Value::int(whole(&a[0]))), "As an integer; 0 if it is none."),
    ("int64(value any) int64", |_, a| Ok(Value::int64(whole(&a[0]))), "As an integer; 0 if it is none."),
    ("mustToYaml(value any) string", must_to_yaml, "YAML without the last newline."),
    ("mustToJson(value any) string", must_to_json, "JSON with sorted keys."),
    ("mustToToml(value any) string", must_to_toml, "TOML."),
];

fn message(text: &[u8]) -> Fail {
    Fail::Message(format!("{MESSAGE_START}{}{MESSAGE_END}", lossy(text)))
}

fn required<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let absent = args[1].is_nil() || matches!(&args[1], Value::Str(s) if s.bytes().is_empty());
    if absent { Err(message(args[0].bytes())) } else { Ok(args[1].clone()) }
}

fn fail<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Err(message(args[0].bytes()))
}

/// Helm's version of the library for casts drops a fraction from a text only if it is zero.
fn whole(value: &Value<'_>) -> i64 {
    let Value::Str(text) = value else { return to_int64(value) };
    let text = text.lossy();
    let plain = match text.rsplit_once('.') {
        Some((whole, zeros)) if !zeros.is_empty() && zeros.bytes().all(|b| b == b'0') => whole,
        _ => text.as_str(),
    };
    parse_int(plain).unwrap_or(0)
}

fn lookup<'a>(cx: &mut Cx<'a>, _: &[Value<'a>]) -> CallResult<'a> {
    cx.any_map(BTreeMap::new())
}

fn nothing<'a>(_: &mut Cx<'a>, _: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::text(""))
}

fn to_yaml_pretty<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match yaml::to_pretty(cx, &args[0]) {
        Ok(text) => cx.string(text),
        Err(fail) => json::empty_unless_limit(fail),
    }
}

fn must_to_yaml<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = yaml::to_sigs(cx, &args[0])?;
    cx.string(text)
}

fn must_to_json<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = json::encode(cx, &args[0], json::Style::Compact)?;
    cx.string(text)
}

fn must_to_toml<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = toml_write::encode(cx, &args[0])?;
    cx.string(text)
}
