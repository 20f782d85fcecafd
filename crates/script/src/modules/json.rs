//! `require "json"`: JSON and YAML.

use mlua::{Lua, Value as LuaValue};
use serde_json::{Value, json};
use sluice_template::{Integers, Limits, TextError, check_json, from_yaml_within, to_json, to_yaml};

use super::base64::Fallible;
use super::{Functions, Shared, Text, plain};
use crate::convert;

/// Bytes of a text that is decoded: what it becomes takes many times as much.
const MAX_TEXT: usize = 2 << 20;

pub(super) fn fill(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("decode", |lua, shared, Text(text)| decoded(lua, shared, &text, from_json))?;
    module.add("fromYAML", |lua, shared, Text(text)| {
        decoded(lua, shared, &text, |text| from_yaml_within(text, Integers::Kept, &Limits::default()))
    })?;
    module.add("encode", |_, shared, value: LuaValue| encoded(shared, &value, to_json))?;
    module.add("toYAML", |_, shared, value: LuaValue| encoded(shared, &value, to_yaml))
}

fn from_json(text: &str) -> Result<Value, TextError> {
    let refused = |error: serde_json::Error| match check_json(text.as_bytes()) {
        Err(why) if matches!(why.text(), "EOF" | "unexpected EOF") => {
            TextError::Wrong("unexpected end of JSON input".to_owned())
        }
        Err(why) => why,
        Ok(()) => TextError::Wrong(error.to_string()),
    };
    serde_json::from_str(text).map_err(refused)
}

fn decoded(
    lua: &Lua,
    shared: &Shared,
    text: &str,
    read: impl FnOnce(&str) -> Result<Value, TextError>,
) -> mlua::Result<Fallible<LuaValue>> {
    if text.len() > MAX_TEXT {
        let why = format!("limit: the text has more than {MAX_TEXT} bytes; decode less at once");
        return Err(shared.budget.limit(why));
    }
    Ok(match read(text) {
        Ok(value) => (Some(into_lua(lua, value)?), None),
        Err(why) => (None, Some(why.to_string())),
    })
}

/// Any JSON as Lua; nulls are left out.
pub(super) fn into_lua(lua: &Lua, value: Value) -> mlua::Result<LuaValue> {
    convert::table(lua, &json!({ "value": value }))?.raw_get("value")
}

fn encoded(
    shared: &Shared,
    value: &LuaValue,
    write: impl FnOnce(&Value) -> String,
) -> mlua::Result<Fallible<String>> {
    Ok(match plain::value(shared, value)? {
        Ok(value) => (Some(write(&value)), None),
        Err(why) => (None, Some(why)),
    })
}
