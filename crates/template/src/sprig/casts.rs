//! Go's `cast` rules: from any value to a number, zero where there is none.

use crate::{
    exec::{Cx, Fail},
    gofmt,
    syntax::number::{parse_float, parse_int},
    text::lossy,
    value::{Object, Str, Value},
};

/// Go's conversion of a float to an integer on amd64: out of range is the smallest integer.
pub(crate) fn float_to_int(f: f64) -> i64 {
    if (-9_223_372_036_854_775_808.0..9_223_372_036_854_775_808.0).contains(&f) { f as i64 } else { i64::MIN }
}

pub(crate) fn to_int64(value: &Value<'_>) -> i64 {
    match value {
        Value::Int(crate::value::IntTy::Duration, i) => *i,
        Value::Int(..) | Value::Uint(..) => value.as_int(),
        Value::Float(f) => float_to_int(*f),
        Value::Bool(b) => i64::from(*b),
        Value::Str(s) => parse_int(trim_decimal(&s.lossy())).unwrap_or(0),
        _ => 0,
    }
}

pub(crate) fn to_float64(value: &Value<'_>) -> f64 {
    match value {
        Value::Int(_, i) => *i as f64,
        Value::Uint(_, u) => *u as f64,
        Value::Float(f) => *f,
        Value::Bool(b) => f64::from(u8::from(*b)),
        Value::Str(s) => parse_float(&s.lossy()).unwrap_or(0.0),
        _ => 0.0,
    }
}

/// Drops the fraction of a plain decimal number.
fn trim_decimal(text: &str) -> &str {
    let Some((whole, fraction)) = text.split_once('.') else { return text };
    let digits = whole.strip_prefix(['-', '+']).unwrap_or(whole);
    if !digits.bytes().chain(fraction.bytes()).all(|b| b.is_ascii_digit()) {
        return text;
    }
    match whole {
        "-" | "+" | "" => "0",
        _ => whole,
    }
}

/// sprig's `strval`: the text of any value.
pub(crate) fn to_str<'a>(cx: &mut Cx<'a>, value: &Value<'a>) -> Result<Str<'a>, Fail> {
    match value {
        Value::Str(s) => Ok(s.clone()),
        Value::List(list) if list.ty() == crate::value::ListTy::Bytes => {
            let bytes = list.to_bytes();
            cx.str(bytes)
        }
        other => {
            let text = gofmt::sprint_one(cx, other)?;
            cx.str(text)
        }
    }
}

/// The text of any value, for messages.
pub(crate) fn to_text<'a>(cx: &mut Cx<'a>, value: &Value<'a>) -> Result<String, Fail> {
    Ok(lossy(to_str(cx, value)?.bytes()))
}

/// sprig's `empty`: nil, zero, or of no length. Structs never are.
pub(crate) fn is_empty<'a>(cx: &Cx<'a>, value: &Value<'a>) -> bool {
    match value {
        Value::Object(o) if matches!(**o, Object::Time(_) | Object::Certificate(_)) => false,
        _ => !crate::value::truth::is_true(value, &cx.maps),
    }
}
