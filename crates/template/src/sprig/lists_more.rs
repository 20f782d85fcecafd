//! Lists: filters, searches, slices.

use super::{
    casts::{is_empty, to_int64},
    equal::deep_equal,
    lists::{items, list_of},
};
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    value::Value,
};

pub(crate) const TABLE: &[Row] = &[
    ("uniq(list any) list", uniq, "Every element once."),
    ("mustUniq(list any) list", uniq, "Every element once."),
    ("without(list any, ...omit any) list", without, "The elements that equal none of the arguments."),
    ("mustWithout(list any, ...omit any) list", without, "The elements that equal none of the arguments."),
    ("has(item any, list any) bool", has, "Whether the list has the item, of the same type."),
    ("mustHas(item any, list any) bool", has, "Whether the list has the item, of the same type."),
    ("compact(list any) list", compact, "The elements that are not empty."),
    ("mustCompact(list any) list", compact, "The elements that are not empty."),
    ("slice(list any, ...bounds any) list", slice, "The elements from the first bound to below the second."),
    (
        "mustSlice(list any, ...bounds any) list",
        slice,
        "The elements from the first bound to below the second.",
    ),
];

fn contains<'a>(cx: &mut Cx<'a>, list: &[Value<'a>], item: &Value<'a>) -> Result<bool, Fail> {
    for other in list {
        if deep_equal(cx, item, other)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn uniq<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut kept = Vec::new();
    for item in items(cx, &args[0], "Cannot find uniq on type")? {
        if !contains(cx, &kept, &item)? {
            kept.push(item);
        }
    }
    cx.any_list(kept)
}

fn without<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut kept = Vec::new();
    for item in items(cx, &args[0], "Cannot find without on type")? {
        if !contains(cx, &args[1..], &item)? {
            kept.push(item);
        }
    }
    cx.any_list(kept)
}

fn has<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    if args[1].is_nil() {
        return Ok(Value::Bool(false));
    }
    let all = items(cx, &args[1], "Cannot find has on type")?;
    Ok(Value::Bool(contains(cx, &all, &args[0])?))
}

fn compact<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut all = items(cx, &args[0], "Cannot compact on type")?;
    all.retain(|item| !is_empty(cx, item));
    cx.any_list(all)
}

fn slice<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let list = list_of(&args[0], "list should be type of slice or array but")?;
    if list.len() == 0 {
        return Ok(Value::Nil);
    }
    let from = args.get(1).map_or(0, to_int64);
    let to = args.get(2).map_or_else(|| i64::try_from(list.len()).unwrap_or(i64::MAX), to_int64);
    match (usize::try_from(from), usize::try_from(to)) {
        (Ok(from), Ok(to)) if from <= to && to <= list.capacity() => {
            cx.spend((to - from) * 8)?;
            Ok(Value::List(list.slice(from, to, list.capacity())))
        }
        _ => Err("reflect.Value.Slice: slice index out of bounds".into()),
    }
}
