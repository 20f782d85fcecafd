//! `eq`, `lt` and their relatives, with Go's rules about kinds.

use std::cmp::Ordering;

use super::CallResult;
use crate::{
    exec::{Cx, Fail},
    gofmt,
    text::lossy,
    value::Value,
};

/// Go's classes of comparable kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Basic {
    Invalid,
    Bool,
    Complex,
    Int,
    Float,
    String,
    Uint,
}

fn basic(value: &Value<'_>) -> Basic {
    match value {
        Value::Bool(_) => Basic::Bool,
        Value::Int(..) => Basic::Int,
        Value::Uint(..) => Basic::Uint,
        Value::Float(_) => Basic::Float,
        Value::Complex(..) => Basic::Complex,
        Value::Str(_) => Basic::String,
        _ => Basic::Invalid,
    }
}

/// The order of two numbers of different kinds, if they may be compared at all.
fn mixed(a: &Value<'_>, b: &Value<'_>, lenient: bool) -> Option<Option<Ordering>> {
    let wide = |v: &Value<'_>| match v {
        Value::Int(_, i) => Some(i128::from(*i)),
        Value::Uint(_, u) => Some(i128::from(*u)),
        _ => None,
    };
    match (wide(a), wide(b), a, b) {
        (Some(x), Some(y), ..) => Some(Some(x.cmp(&y))),
        (Some(x), None, _, Value::Float(f)) if lenient => Some(int_to_float(x, *f)),
        (None, Some(y), Value::Float(f), _) if lenient => Some(int_to_float(y, *f).map(Ordering::reverse)),
        _ => None,
    }
}

/// Exact: a float beyond all integers is decided by its sign, others by their whole part.
fn int_to_float(i: i128, f: f64) -> Option<Ordering> {
    if f.is_nan() {
        return None;
    }
    if f.abs() >= 1e20 {
        return Some(if f > 0.0 { Ordering::Less } else { Ordering::Greater });
    }
    let whole = f.trunc() as i128;
    Some(i.cmp(&whole).then_with(|| 0.0f64.partial_cmp(&f.fract()).unwrap_or(Ordering::Equal)))
}

fn incompatible(a: &Value<'_>, b: &Value<'_>) -> Fail {
    format!("incompatible types for comparison: {} and {}", a.type_name(), b.type_name()).into()
}

fn equal<'a>(cx: &mut Cx<'a>, a: &Value<'a>, b: &Value<'a>) -> Result<bool, Fail> {
    if basic(a) != basic(b) {
        return match mixed(a, b, cx.lenient) {
            Some(order) => Ok(order == Some(Ordering::Equal)),
            None if !matches!(a, Value::Invalid | Value::Nil) && !b.is_nil() => Err(incompatible(a, b)),
            None => Ok(false),
        };
    }
    Ok(match (a, b) {
        (Value::Bool(x), Value::Bool(y)) => x == y,
        (Value::Int(_, x), Value::Int(_, y)) => x == y,
        (Value::Uint(_, x), Value::Uint(_, y)) => x == y,
        (Value::Float(x), Value::Float(y)) => x == y,
        (Value::Complex(x, i), Value::Complex(y, j)) => x == y && i == j,
        (Value::Str(x), Value::Str(y)) => {
            cx.step(1 + x.bytes().len().min(y.bytes().len()) as u64 / 256)?;
            x == y
        }
        _ => return equal_others(cx, a, b),
    })
}

/// Neither side is of a basic kind: maps, lists, structs, nil.
fn equal_others<'a>(cx: &mut Cx<'a>, a: &Value<'a>, b: &Value<'a>) -> Result<bool, Fail> {
    let nil = |v: &Value<'_>| v.is_nil() || v.is_typed_nil();
    if a.kind_name() != b.kind_name() && !a.is_nil() && !b.is_nil() {
        let (first, second) = (percent_s(cx, a)?, lossy(&gofmt::sprint_one(cx, b)?));
        let (at, bt) = (a.type_name(), b.type_name());
        return Err(format!("non-comparable types {first}: {at}, {bt}: {second}").into());
    }
    if nil(a) || nil(b) {
        return Ok(nil(a) == nil(b));
    }
    match (a, b) {
        (Value::Object(x), Value::Object(y)) if b.kind_name() == "ptr" => Ok(std::rc::Rc::ptr_eq(x, y)),
        (Value::Object(_), Value::Object(_)) => Ok(gofmt::sprint_one(cx, a)? == gofmt::sprint_one(cx, b)?),
        (Value::Record(x), Value::Record(y)) => {
            Ok(x.name == y.name && gofmt::sprint_one(cx, a)? == gofmt::sprint_one(cx, b)?)
        }
        _ => Err(format!("non-comparable type {}: {}", percent_s(cx, b)?, b.type_name()).into()),
    }
}

fn percent_s<'a>(cx: &mut Cx<'a>, value: &Value<'a>) -> Result<String, Fail> {
    Ok(lossy(&gofmt::sprintf(cx, b"%s", std::slice::from_ref(value))?))
}

fn less<'a>(cx: &mut Cx<'a>, a: &Value<'a>, b: &Value<'a>) -> Result<bool, Fail> {
    if basic(a) == Basic::Invalid || basic(b) == Basic::Invalid {
        return Err("invalid type for comparison".into());
    }
    if basic(a) != basic(b) {
        let order = mixed(a, b, cx.lenient).ok_or_else(|| incompatible(a, b))?;
        return Ok(order == Some(Ordering::Less));
    }
    Ok(match (a, b) {
        (Value::Int(_, x), Value::Int(_, y)) => x < y,
        (Value::Uint(_, x), Value::Uint(_, y)) => x < y,
        (Value::Float(x), Value::Float(y)) => x < y,
        (Value::Str(x), Value::Str(y)) => x < y,
        _ => return Err("invalid type for comparison".into()),
    })
}

pub(super) fn eq<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    if args.len() < 2 {
        return Err("missing argument for comparison".into());
    }
    for other in &args[1..] {
        if equal(cx, &args[0], other)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}

pub(super) fn ne<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(!equal(cx, &args[0], &args[1])?))
}

pub(super) fn lt<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(less(cx, &args[0], &args[1])?))
}

fn at_most<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> Result<bool, Fail> {
    Ok(less(cx, &args[0], &args[1])? || equal(cx, &args[0], &args[1])?)
}

pub(super) fn le<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(at_most(cx, args)?))
}

pub(super) fn gt<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(!at_most(cx, args)?))
}

pub(super) fn ge<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(!less(cx, &args[0], &args[1])?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_and_floats_compare_exactly() {
        assert_eq!(int_to_float(443, 443.0), Some(Ordering::Equal));
        assert_eq!(int_to_float(1, 1.5), Some(Ordering::Less));
        assert_eq!(int_to_float(-1, -1.5), Some(Ordering::Greater));
        assert_eq!(int_to_float(9_007_199_254_740_993, 9_007_199_254_740_992.0), Some(Ordering::Greater));
        assert_eq!(int_to_float(0, f64::NAN), None);
        assert_eq!(int_to_float(0, f64::INFINITY), Some(Ordering::Less));
    }
}
