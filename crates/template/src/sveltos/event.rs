//! The event stage: the resource functions take an object, such as `.Resource`.

use super::fields::{chain_remove, chain_set, get, remove, set, strip};
use crate::{
    codec::yaml,
    exec::Cx,
    funcs::{CallResult, Row},
    sprig::dicts::map_of,
    value::{Map, Value},
};

pub(crate) const TABLE: &[Row] = &[
    (
        "getResource(object map) map",
        get_resource,
        "The object without managedFields, resourceVersion and uid, which are removed in place.",
    ),
    ("copy(object map) string", copy, "YAML of the object as `getResource` gives it."),
    (
        "getField(object map, path string) any",
        get_field,
        "A copy of the value at the dotted path, or an empty string.",
    ),
    (
        "setField(object map, path string, value any) string",
        set_field,
        "Sets the value in place; YAML of the object, or an empty string.",
    ),
    (
        "removeField(object map, path string) string",
        remove_field,
        "Removes the field in place; YAML of the object.",
    ),
    (
        "chainSetField(object map, path string, value any) map",
        chain_set,
        "Sets the value in place and returns the object.",
    ),
    (
        "chainRemoveField(object map, path string) map",
        chain_remove,
        "Removes the field in place and returns the object.",
    ),
];

fn get_resource<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    strip(cx, &map_of(&args[0]))?;
    Ok(args[0].clone())
}

fn printed<'a>(cx: &mut Cx<'a>, map: &Map<'a>) -> CallResult<'a> {
    strip(cx, map)?;
    let text = yaml::to_v3(cx, &Value::Map(map.clone()))?;
    cx.string(text)
}

fn copy<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    printed(cx, &map_of(&args[0]))
}

fn get_field<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    get(cx, &map_of(&args[0]), &args[1])
}

fn set_field<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let map = map_of(&args[0]);
    if set(cx, &map, &args[1], &args[2])? { printed(cx, &map) } else { Ok(Value::text("")) }
}

fn remove_field<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let map = map_of(&args[0]);
    remove(cx, &map, args[1].bytes())?;
    printed(cx, &map)
}
