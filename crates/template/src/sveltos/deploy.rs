//! The deploy stage: the resource functions take the identifier of a declared resource.

use super::fields::{chain_remove, chain_set, get, remove, set, strip};
use crate::{
    codec::yaml,
    exec::Cx,
    funcs::{CallResult, Row},
    value::{Map, MapTy, Value},
};

pub(crate) const TABLE: &[Row] = &[
    (
        "getResource(identifier string) map",
        get_resource,
        "The resource without managedFields, resourceVersion and uid; an unknown one is an empty map.",
    ),
    ("copy(identifier string) string", copy, "YAML of the resource; an unknown one is an empty string."),
    (
        "getField(identifier string, path string) any",
        get_field,
        "A copy of the value at the dotted path, or an empty string.",
    ),
    (
        "setField(identifier string, path string, value any) string",
        set_field,
        "Sets the value in place; YAML of the resource, or an empty string.",
    ),
    (
        "removeField(identifier string, path string) string",
        remove_field,
        "Removes the field in place; YAML of the resource.",
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

/// The declared resource of that identifier.
pub(super) fn find<'a>(cx: &Cx<'a>, identifier: &Value<'a>) -> Option<Map<'a>> {
    match Value::from(cx.env.resource(identifier.bytes())?) {
        Value::Map(map) => Some(map),
        _ => None,
    }
}

fn get_resource<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let Some(map) = find(cx, &args[0]) else { return Ok(Value::Map(Map::Nil(MapTy::Any))) };
    strip(cx, &map)?;
    Ok(Value::Map(map))
}

fn printed<'a>(cx: &mut Cx<'a>, map: &Map<'a>) -> CallResult<'a> {
    strip(cx, map)?;
    let text = yaml::to_sigs(cx, &Value::Map(map.clone()))?;
    cx.string(text)
}

fn copy<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match find(cx, &args[0]) {
        Some(map) => printed(cx, &map),
        None => Ok(Value::text("")),
    }
}

fn get_field<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match find(cx, &args[0]) {
        Some(map) => get(cx, &map, &args[1]),
        None => Ok(Value::text("")),
    }
}

fn set_field<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let Some(map) = find(cx, &args[0]) else { return Ok(Value::text("")) };
    if set(cx, &map, &args[1], &args[2])? { printed(cx, &map) } else { Ok(Value::text("")) }
}

fn remove_field<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let Some(map) = find(cx, &args[0]) else { return Ok(Value::text("")) };
    remove(cx, &map, args[1].bytes())?;
    printed(cx, &map)
}
