//! Go's `reflect.DeepEqual`: the same types all the way down.

use crate::{
    exec::{Cx, Fail},
    value::{List, Map, Value},
};

pub(crate) fn deep_equal<'a>(cx: &mut Cx<'a>, a: &Value<'a>, b: &Value<'a>) -> Result<bool, Fail> {
    equal_at(cx, a, b, 0)
}

fn equal_at<'a>(cx: &mut Cx<'a>, a: &Value<'a>, b: &Value<'a>, depth: usize) -> Result<bool, Fail> {
    cx.step(1)?;
    cx.may_be_deep(depth, "a value")?;
    Ok(match (a, b) {
        (Value::Invalid | Value::Nil, Value::Invalid | Value::Nil) => true,
        (Value::Bool(x), Value::Bool(y)) => x == y,
        (Value::Int(s, x), Value::Int(t, y)) => s == t && x == y,
        (Value::Uint(s, x), Value::Uint(t, y)) => s == t && x == y,
        (Value::Float(x), Value::Float(y)) => x == y,
        (Value::Complex(x, i), Value::Complex(y, j)) => x == y && i == j,
        (Value::Str(x), Value::Str(y)) => {
            cx.step(x.bytes().len() as u64 / 256)?;
            x == y
        }
        (Value::List(x), Value::List(y)) => lists(cx, x, y, depth)?,
        (Value::Map(x), Value::Map(y)) => maps(cx, x, y, depth)?,
        (Value::Record(x), Value::Record(y)) => {
            x.name == y.name && format!("{:?}", x.fields) == format!("{:?}", y.fields)
        }
        (Value::Object(x), Value::Object(y)) => format!("{x:?}") == format!("{y:?}"),
        _ => false,
    })
}

fn lists<'a>(cx: &mut Cx<'a>, x: &List<'a>, y: &List<'a>, depth: usize) -> Result<bool, Fail> {
    let nil = |l: &List<'a>| matches!(l, List::Nil(_));
    if x.ty() != y.ty() || nil(x) != nil(y) || x.len() != y.len() {
        return Ok(false);
    }
    for i in 0..x.len() {
        let (a, b) = (x.get(i).unwrap_or_default(), y.get(i).unwrap_or_default());
        if !equal_at(cx, &a, &b, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn maps<'a>(cx: &mut Cx<'a>, x: &Map<'a>, y: &Map<'a>, depth: usize) -> Result<bool, Fail> {
    let nil = |m: &Map<'a>| matches!(m, Map::Nil(_));
    if x.ty() != y.ty() || nil(x) != nil(y) || cx.maps.len(x) != cx.maps.len(y) {
        return Ok(false);
    }
    if cx.maps.same(x, y) {
        return Ok(true);
    }
    for (key, a) in cx.maps.entries(x) {
        let Some(b) = cx.maps.get(y, key.bytes()) else { return Ok(false) };
        if !equal_at(cx, &a, &b, depth + 1)? {
            return Ok(false);
        }
    }
    Ok(true)
}
