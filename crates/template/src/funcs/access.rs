//! `len`, `index` and `slice`.

use super::CallResult;
use crate::{
    exec::{Cx, Fail},
    value::{Str, Value},
};

pub(super) fn len<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::len(match &args[0] {
        Value::Nil => return Err("len of nil pointer".into()),
        Value::Invalid => return Err("reflect: call of reflect.Value.Type on zero Value".into()),
        Value::Str(s) => s.bytes().len(),
        Value::List(list) => list.len(),
        Value::Map(map) => cx.maps.len(map),
        Value::Object(_) if args[0].kind_name() == "ptr" => return Err("len of type semver.Version".into()),
        other => return Err(format!("len of type {}", other.type_name()).into()),
    }))
}

/// An index into something of the given length; Go allows the length itself here.
fn index_arg(index: &Value<'_>, len: usize) -> Result<usize, Fail> {
    let x = match index {
        Value::Int(..) | Value::Uint(..) => index.as_int(),
        Value::Invalid | Value::Nil => return Err("cannot index slice/array with nil".into()),
        other => return Err(format!("cannot index slice/array with type {}", other.type_name()).into()),
    };
    match usize::try_from(x) {
        Ok(at) if at <= len => Ok(at),
        _ => Err(format!("index out of range: {x}").into()),
    }
}

pub(super) fn index<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut item = args[0].clone();
    if item.is_nil() {
        return Err("index of untyped nil".into());
    }
    for index in &args[1..] {
        item = match &item {
            Value::Nil => return Err("index of nil pointer".into()),
            Value::Str(s) => {
                let at = index_arg(index, s.bytes().len())?;
                let byte = s.bytes().get(at).ok_or("reflect: string index out of range")?;
                Value::Uint(crate::value::UintTy::Uint8, u64::from(*byte))
            }
            Value::List(list) => {
                let at = index_arg(index, list.len())?;
                list.get(at).ok_or("reflect: slice index out of range")?
            }
            Value::Map(map) => {
                let key = match index {
                    Value::Str(key) => key,
                    Value::Invalid | Value::Nil => {
                        return Err("value is nil; should be of type string".into());
                    }
                    other => {
                        return Err(format!("value has type {}; should be string", other.type_name()).into());
                    }
                };
                cx.maps.get(map, key.bytes()).unwrap_or_else(|| map.ty().zero())
            }
            other => return Err(format!("can't index item of type {}", other.type_name()).into()),
        };
    }
    Ok(item)
}

pub(super) fn slice<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let (item, indexes) = (&args[0], &args[1..]);
    if item.is_nil() {
        return Err("slice of untyped nil".into());
    }
    if indexes.len() > 3 {
        return Err(format!("too many slice indexes: {}", indexes.len()).into());
    }
    let (len, capacity) = match item {
        Value::Str(_) if indexes.len() == 3 => return Err("cannot 3-index slice a string".into()),
        Value::Str(s) => (s.bytes().len(), s.bytes().len()),
        Value::List(list) => (list.len(), list.capacity()),
        other => return Err(format!("can't slice item of type {}", other.type_name()).into()),
    };
    let mut bounds = [0, len, capacity];
    for (bound, index) in bounds.iter_mut().zip(indexes) {
        *bound = index_arg(index, capacity)?;
    }
    let [from, to, max] = bounds;
    if from > to {
        return Err(format!("invalid slice index: {from} > {to}").into());
    }
    if indexes.len() == 3 && to > max {
        return Err(format!("invalid slice index: {to} > {max}").into());
    }
    match item {
        Value::Str(Str::Ref(bytes)) => Ok(Value::Str(Str::Ref(&bytes[from..to]))),
        Value::Str(own) => cx.string(&own.bytes()[from..to]),
        Value::List(list) => {
            cx.spend((to - from) * 8)?;
            Ok(Value::List(list.slice(from, to, max)))
        }
        _ => Ok(Value::Invalid),
    }
}
