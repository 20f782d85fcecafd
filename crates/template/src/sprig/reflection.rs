//! Types and kinds of values.

use super::equal;
use crate::{
    exec::Cx,
    funcs::{CallResult, Row},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("typeOf(value any) string", type_of, "The Go type."),
    ("typeIs(type string, value any) bool", type_is, "Whether the Go type has this name."),
    ("typeIsLike(type string, value any) bool", type_is_like, "`typeIs`, or a pointer to it."),
    ("kindOf(value any) string", kind_of, "The kind of the Go type."),
    ("kindIs(kind string, value any) bool", kind_is, "Whether the Go type is of this kind."),
    ("deepEqual(a any, b any) bool", deep_equal, "Whether the values are equal, types included."),
];

fn type_name(value: &Value<'_>) -> std::borrow::Cow<'static, str> {
    if value.is_nil() { "<nil>".into() } else { value.type_name() }
}

fn type_of<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.string(type_name(&args[0]).into_owned())
}

fn type_is<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(type_name(&args[1]).as_bytes() == args[0].bytes()))
}

fn type_is_like<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let name = type_name(&args[1]);
    let same = |name: &str| name.as_bytes() == args[0].bytes();
    Ok(Value::Bool(same(&name) || name.strip_prefix('*').is_some_and(same)))
}

fn kind_of<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::text(args[0].kind_name()))
}

fn kind_is<'a>(_: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(args[1].kind_name().as_bytes() == args[0].bytes()))
}

fn deep_equal<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(equal::deep_equal(cx, &args[0], &args[1])?))
}
