//! `merge` and its relatives: nested maps are merged in place and shared with their source.

use super::{casts::is_empty, dicts::map_of};
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    value::{Map, MapTy, Value},
};

pub(crate) const TABLE: &[Row] = &[
    (
        "merge(into map, ...from map) any",
        merge,
        "Fills the first map in place from the others; what it has stays.",
    ),
    (
        "mustMerge(into map, ...from map) any",
        merge,
        "Fills the first map in place from the others; what it has stays.",
    ),
    (
        "mergeOverwrite(into map, ...from map) any",
        overwrite,
        "Merges the others into the first map in place; the last wins.",
    ),
    (
        "mustMergeOverwrite(into map, ...from map) any",
        overwrite,
        "Merges the others into the first map in place; the last wins.",
    ),
];

fn merge<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    merge_all(cx, args, false)
}

fn overwrite<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    merge_all(cx, args, true)
}

fn merge_all<'a>(cx: &mut Cx<'a>, args: &[Value<'a>], overwrite: bool) -> CallResult<'a> {
    let mut into = map_of(&args[0]);
    for from in &args[1..] {
        let from = map_of(from);
        if matches!(into, Map::Nil(_)) && !matches!(from, Map::Nil(_)) {
            into = Map::own(MapTy::Any, Default::default());
        }
        merge_map(cx, &into, &from, overwrite, 0)?;
    }
    Ok(Value::Map(into))
}

fn merge_map<'a>(
    cx: &mut Cx<'a>,
    into: &Map<'a>,
    from: &Map<'a>,
    overwrite: bool,
    depth: usize,
) -> Result<(), Fail> {
    cx.may_be_deep(depth, "maps")?;
    cx.spend(cx.maps.len(from) * 64)?;
    for (key, source) in cx.maps.entries(from) {
        cx.step(1)?;
        if source.is_nil() || source.is_typed_nil() {
            if overwrite {
                cx.write_entry(into, key, source)?;
            }
            continue;
        }
        let target = cx.maps.get(into, key.bytes());
        if let (Some(Value::Map(t)), Value::Map(s)) = (&target, &source)
            && !cx.maps.same(t, s)
        {
            merge_map(cx, t, s, overwrite, depth + 1)?;
        }
        let keeps = target.as_ref().is_some_and(|t| !is_empty(cx, t));
        let replace = match (&target, &source) {
            (Some(_), Value::List(_)) if keeps => overwrite,
            (Some(Value::Map(_)), Value::Map(_)) if keeps => false,
            _ => overwrite || !keeps,
        };
        if replace {
            cx.write_entry(into, key, source)?;
        }
    }
    Ok(())
}
