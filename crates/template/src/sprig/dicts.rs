//! Maps with string keys: shared, changed in place.

use std::collections::BTreeMap;

use super::{casts::to_str, semver::Version};
use crate::{
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    gofmt,
    value::{List, ListTy, Map, MapTy, Object, Str, Value},
};

pub(crate) const TABLE: &[Row] = &[
    ("dict(...pairs any) map", dict, "A map of the keys and values in turn."),
    ("get(map map, key string) any", get, "The value of the key, or an empty string."),
    ("set(map map, key string, value any) map", set, "Changes the map in place and returns it."),
    ("unset(map map, key string) map", unset, "Removes the key in place and returns the map."),
    ("hasKey(map map, key string) bool", has_key, "Whether the map has the key."),
    ("pluck(key string, ...maps map) list", pluck, "The values of the key in every map that has it."),
    ("keys(...maps map) list", keys, "The keys of the maps. | Sorted; Go's order varies from run to run."),
    (
        "values(map map) list",
        values,
        "The values. | In the order of the keys; Go's order varies from run to run.",
    ),
    ("pick(map map, ...keys string) map", pick, "A map of these keys only."),
    ("omit(map map, ...keys string) map", omit, "A map without these keys."),
    ("dig(...arguments any) any", dig, "The value under the keys, or the default: keys, default, map."),
    ("deepCopy(value any) any", deep_copy, "A copy that shares nothing with the original."),
    ("mustDeepCopy(value any) any", deep_copy, "A copy that shares nothing with the original."),
];

/// The map in an argument that has passed the type check.
pub(crate) fn map_of<'a>(value: &Value<'a>) -> Map<'a> {
    match value {
        Value::Map(map) => map.clone(),
        _ => Map::Nil(MapTy::Any),
    }
}

fn key_of<'a>(value: &Value<'a>) -> Str<'a> {
    match value {
        Value::Str(s) => s.clone(),
        _ => Str::Ref(b""),
    }
}

fn dict<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut entries = BTreeMap::new();
    for pair in args.chunks(2) {
        let key = match &pair[0] {
            Value::Map(_) => {
                let text = gofmt::sprint_key(cx, &pair[0])?;
                cx.str(text)?
            }
            key => to_str(cx, key)?,
        };
        entries.insert(key, pair.get(1).cloned().unwrap_or(Value::text("")));
    }
    cx.any_map(entries)
}

fn get<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(cx.maps.get(&map_of(&args[0]), args[1].bytes()).unwrap_or(Value::text("")))
}

fn set<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.write_entry(&map_of(&args[0]), key_of(&args[1]), args[2].clone())?;
    Ok(args[0].clone())
}

fn unset<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.remove_entry(&map_of(&args[0]), args[1].bytes())?;
    Ok(args[0].clone())
}

fn has_key<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    Ok(Value::Bool(cx.maps.get(&map_of(&args[0]), args[1].bytes()).is_some()))
}

fn pluck<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let found = args[1..].iter().filter_map(|m| cx.maps.get(&map_of(m), args[0].bytes())).collect();
    cx.any_list(found)
}

fn keys<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let mut all = Vec::new();
    for map in args {
        cx.spend(cx.maps.len(&map_of(map)) * 64)?;
        all.extend(cx.maps.entries(&map_of(map)).into_iter().map(|(k, _)| Value::Str(k)));
    }
    cx.list(ListTy::Strings, all)
}

fn values<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let all = cx.maps.entries(&map_of(&args[0])).into_iter().map(|(_, v)| v).collect();
    cx.any_list(all)
}

fn pick<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let map = map_of(&args[0]);
    let found = |key: &Value<'a>| cx.maps.get(&map, key.bytes()).map(|v| (key_of(key), v));
    let entries = args[1..].iter().filter_map(found).collect();
    cx.any_map(entries)
}

fn omit<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    cx.spend(cx.maps.len(&map_of(&args[0])) * 64)?;
    let mut entries: BTreeMap<_, _> = cx.maps.entries(&map_of(&args[0])).into_iter().collect();
    for key in &args[1..] {
        entries.remove(key.bytes());
    }
    cx.any_map(entries)
}

fn conversion(value: &Value<'_>, wanted: &str) -> Fail {
    if value.is_nil() {
        return format!("interface conversion: interface {{}} is nil, not {wanted}").into();
    }
    format!("interface conversion: interface {{}} is {}, not {wanted}", value.type_name()).into()
}

fn dig<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let [path @ .., default, root] = args else { return Err("dig needs at least three arguments".into()) };
    if path.is_empty() {
        return Err("dig needs at least three arguments".into());
    }
    let as_map = |value: &Value<'a>| match value {
        Value::Map(map) if map.ty() == MapTy::Any => Ok(map.clone()),
        other => Err(conversion(other, "map[string]interface {}")),
    };
    let mut map = as_map(root)?;
    if let Some(bad) = path.iter().find(|k| !matches!(k, Value::Str(_))) {
        return Err(conversion(bad, "string"));
    }
    for (i, key) in path.iter().enumerate() {
        let Some(step) = cx.maps.get(&map, key.bytes()) else { return Ok(default.clone()) };
        if i + 1 == path.len() {
            return Ok(step);
        }
        map = as_map(&step)?;
    }
    Ok(default.clone())
}

fn deep_copy<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    if args[0].is_nil() {
        return Err("reflect: call of reflect.Value.Type on zero Value".into());
    }
    copy_at(cx, &args[0], 0)
}

/// A copy of a value whose maps and lists are its own.
pub(crate) fn copy_at<'a>(cx: &mut Cx<'a>, value: &Value<'a>, depth: usize) -> CallResult<'a> {
    cx.may_be_deep(depth, "a value")?;
    match value {
        Value::List(list) if !matches!(list, List::Nil(_)) => {
            let mut items = Vec::new();
            cx.spend(list.len() * 32)?;
            for item in list.to_vec() {
                items.push(copy_at(cx, &item, depth + 1)?);
            }
            cx.list(list.ty(), items)
        }
        Value::Map(map) if !matches!(map, Map::Nil(_)) => {
            cx.spend(cx.maps.len(map) * 64)?;
            let mut entries = BTreeMap::new();
            for (key, item) in cx.maps.entries(map) {
                entries.insert(key, copy_at(cx, &item, depth + 1)?);
            }
            cx.map(map.ty(), entries)
        }
        // Go copies exported fields only, and a version has none.
        Value::Object(object) if matches!(**object, Object::Version(_)) => {
            Ok(cx.object(Object::Version(Version::default())))
        }
        other => Ok(other.clone()),
    }
}
