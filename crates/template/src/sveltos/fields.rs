//! Nested fields by dotted path, as the API machinery reads and writes them.

use std::collections::BTreeMap;

use crate::{
    exec::{Cx, Fail},
    funcs::CallResult,
    value::{IntTy, ListTy, Map, MapTy, Str, Value},
};

/// A map with values of any kind; other maps are no objects.
fn as_object<'a>(value: &Value<'a>) -> Option<Map<'a>> {
    match value {
        Value::Map(map) if map.ty() == MapTy::Any => Some(map.clone()),
        _ => None,
    }
}

fn split(path: &[u8]) -> Vec<&[u8]> {
    path.split(|b| *b == b'.').collect()
}

/// The value at a path, if every step exists.
pub(super) fn find<'a>(cx: &Cx<'a>, map: &Map<'a>, path: &[u8]) -> Option<Value<'a>> {
    let mut value = Value::Map(map.clone());
    for step in split(path) {
        value = cx.maps.get(&as_object(&value)?, step)?;
    }
    Some(value)
}

/// A copy of a JSON value; other Go types are refused.
pub(super) fn copy_json<'a>(cx: &mut Cx<'a>, value: &Value<'a>, depth: usize) -> CallResult<'a> {
    cx.step(1)?;
    cx.may_be_deep(depth, "a value")?;
    match value {
        Value::Map(map) if map.ty() == MapTy::Any => {
            if matches!(map, Map::Nil(_)) {
                return Ok(value.clone());
            }
            let mut entries = BTreeMap::new();
            for (key, item) in cx.maps.entries(map) {
                entries.insert(key, copy_json(cx, &item, depth + 1)?);
            }
            cx.any_map(entries)
        }
        Value::List(list) if list.ty() == ListTy::Any => {
            let mut items = Vec::with_capacity(list.len());
            for item in list.to_vec() {
                items.push(copy_json(cx, &item, depth + 1)?);
            }
            cx.any_list(items)
        }
        Value::Str(_) | Value::Int(IntTy::Int64, _) | Value::Bool(_) | Value::Float(_) => Ok(value.clone()),
        Value::Nil | Value::Invalid => Ok(Value::Nil),
        other => Err(format!("cannot deep copy {}", other.type_name()).into()),
    }
}

/// `getField`: a copy of the value at a path, or an empty string.
pub(super) fn get<'a>(cx: &mut Cx<'a>, map: &Map<'a>, path: &Value<'a>) -> CallResult<'a> {
    match find(cx, map, path.bytes()) {
        Some(value) => copy_json(cx, &value, 0),
        None => Ok(Value::text("")),
    }
}

/// Sets a copy of the value at a path, making maps on the way; false if something there is
/// no map.
pub(super) fn set<'a>(
    cx: &mut Cx<'a>,
    map: &Map<'a>,
    path: &Value<'a>,
    value: &Value<'a>,
) -> Result<bool, Fail> {
    let copy = copy_json(cx, value, 0)?;
    let steps = split(path.bytes());
    let Some((last, way)) = steps.split_last() else { return Ok(false) };
    let mut at = map.clone();
    for step in way {
        at = match cx.maps.get(&at, step) {
            Some(next) => match as_object(&next) {
                Some(next) => next,
                None => return Ok(false),
            },
            None => {
                let fresh = cx.any_map(BTreeMap::new())?;
                cx.write_entry(&at, Str::from(step.to_vec()), fresh.clone())?;
                as_object(&fresh).unwrap_or(Map::Nil(MapTy::Any))
            }
        };
    }
    cx.write_entry(&at, Str::from(last.to_vec()), copy)?;
    Ok(true)
}

/// Removes what is at a path, if it is there.
pub(super) fn remove<'a>(cx: &mut Cx<'a>, map: &Map<'a>, path: &[u8]) -> Result<(), Fail> {
    let steps = split(path);
    let Some((last, way)) = steps.split_last() else { return Ok(()) };
    let mut at = map.clone();
    for step in way {
        let next = cx.maps.get(&at, step).and_then(|v| as_object(&v));
        let Some(next) = next else { return Ok(()) };
        at = next;
    }
    cx.remove_entry(&at, last)
}

/// Removes what belongs to the cluster the object comes from, in place.
pub(super) fn strip<'a>(cx: &mut Cx<'a>, map: &Map<'a>) -> Result<(), Fail> {
    for path in ["metadata.managedFields", "metadata.resourceVersion", "metadata.uid"] {
        remove(cx, map, path.as_bytes())?;
    }
    Ok(())
}

/// `chainSetField`: the changed map, nil if it cannot be set.
pub(super) fn chain_set<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let map = crate::sprig::dicts::map_of(&args[0]);
    let set = set(cx, &map, &args[1], &args[2])?;
    Ok(Value::Map(if set { map } else { Map::Nil(MapTy::Any) }))
}

/// `chainRemoveField`: the changed map.
pub(super) fn chain_remove<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let map = crate::sprig::dicts::map_of(&args[0]);
    remove(cx, &map, args[1].bytes())?;
    Ok(Value::Map(map))
}
