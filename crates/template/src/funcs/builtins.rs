//! The built-in functions of `text/template`.

use super::{CallResult, Row, access, compare, escape, run_by_executor};
use crate::{
    exec::Cx,
    gofmt,
    value::{Value, truth::is_true},
};

/// The built-ins; a sprig function of the same name replaces one.
pub(crate) const TABLE: &[Row] = &[
    (
        "and(first value, ...more value) value",
        run_by_executor,
        "The first argument that is false, else the last; stops there.",
    ),
    (
        "or(first value, ...more value) value",
        run_by_executor,
        "The first argument that is true, else the last; stops there.",
    ),
    ("not(arg value) bool", not, "The negated truth of the argument."),
    (
        "call(function value, ...args value) value",
        run_by_executor,
        "Always fails: templates here meet no function values.",
    ),
    ("len(item value) int", access::len, "The length of a string in bytes, of a list or of a map."),
    (
        "index(item value, ...indexes value) value",
        access::index,
        "The element under the indexes or keys; an absent key gives the zero value.",
    ),
    (
        "slice(item value, ...indexes value) value",
        access::slice,
        "The part of a list or string between the indexes.",
    ),
    ("print(...args any) string", print, "Go's `fmt.Sprint`."),
    ("printf(format string, ...args any) string", printf, "Go's `fmt.Sprintf`."),
    ("println(...args any) string", println, "Go's `fmt.Sprintln`."),
    ("html(...args any) string", escape::html, "The text escaped for HTML."),
    ("js(...args any) string", escape::js, "The text escaped for JavaScript."),
    ("urlquery(...args any) string", escape::urlquery, "The text escaped for the query of a URL."),
    (
        "eq(first value, ...more value) bool",
        compare::eq,
        "Whether the first argument equals any other. | An integer equals a float of the same value; Go fails.",
    ),
    (
        "ne(a value, b value) bool",
        compare::ne,
        "Whether the arguments differ. | An integer and a float are compared by value; Go fails.",
    ),
    (
        "lt(a value, b value) bool",
        compare::lt,
        "Whether a < b. | An integer and a float are compared by value; Go fails.",
    ),
    (
        "le(a value, b value) bool",
        compare::le,
        "Whether a <= b. | An integer and a float are compared by value; Go fails.",
    ),
    (
        "gt(a value, b value) bool",
        compare::gt,
        "Whether a > b. | An integer and a float are compared by value; Go fails.",
    ),
    (
        "ge(a value, b value) bool",
        compare::ge,
        "Whether a >= b. | An integer and a float are compared by value; Go fails.",
    ),
];

fn not<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(!is_true(&args[0], &cx.maps)))
}

fn print<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = gofmt::sprint(cx, args)?;
    cx.string(text)
}

fn println<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = gofmt::sprintln(cx, args)?;
    cx.string(text)
}

fn printf<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let text = gofmt::sprintf(cx, args[0].bytes(), &args[1..])?;
    cx.string(text)
}
