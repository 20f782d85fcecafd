//! Those of `sprig` that keep Lua values as they are, or take other arguments than in templates.

use std::collections::HashSet;

use mlua::{Lua, LuaString, MultiValue, Table, Value as LuaValue};
use serde_json::{Value, json};

use super::base64::{self, Fallible};
use super::json::into_lua;
use super::sprig::{arguments, call, callable, text, url_parts, whole};
use super::{Functions, Shared, Text, size, values_of};

pub(super) fn fill(module: &Functions<'_>) -> mlua::Result<()> {
    of_lists(module)?;
    of_values(module)?;
    of_times(module)?;
    of_texts(module)?;
    decoded(module)
}

/// Nil, false, zero, and what has nothing in it.
fn is_empty(value: &LuaValue) -> bool {
    match value {
        LuaValue::Nil | LuaValue::Boolean(false) | LuaValue::Integer(0) => true,
        LuaValue::Number(number) => *number == 0.0,
        LuaValue::String(text) => text.as_bytes().is_empty(),
        LuaValue::Table(table) => table.is_empty(),
        _ => false,
    }
}

fn of_lists(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("all", |_, shared, list: LuaValue| Ok(!values_of(shared, &list)?.iter().any(is_empty)))?;
    module.add("any", |_, shared, list: LuaValue| Ok(!values_of(shared, &list)?.iter().all(is_empty)))?;
    module.add("compact", |lua, shared, list: LuaValue| {
        lua.create_sequence_from(values_of(shared, &list)?.into_iter().filter(|one| !is_empty(one)))
    })?;
    module.add("uniq", |lua, shared, list: LuaValue| uniq(lua, shared, &values_of(shared, &list)?))
}

/// Each value once; tables are the same only when they are one.
fn uniq(lua: &Lua, shared: &Shared, values: &[LuaValue]) -> mlua::Result<Table> {
    let mut seen = HashSet::new();
    let table = lua.create_table()?;
    for value in values {
        shared.budget.charge(32 + size(value))?;
        let key = match value {
            LuaValue::String(text) => text.as_bytes().to_vec(),
            other => other.to_string()?.into_bytes(),
        };
        if seen.insert(key) {
            table.raw_push(value)?;
        }
    }
    Ok(table)
}

fn of_values(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("coalesce", |_, _, values: MultiValue| {
        Ok(values.into_iter().find(|value| !is_empty(value)).unwrap_or(LuaValue::Nil))
    })?;
    module.add("empty", |_, _, value: LuaValue| Ok(is_empty(&value)))?;
    module.add("ternary", |_, _, (yes, no, which): (LuaValue, LuaValue, bool)| {
        Ok(if which { yes } else { no })
    })?;
    module.add("toDecimal", |_, _, value: LuaValue| {
        let octal = match &value {
            LuaValue::Nil => "0".to_owned(),
            LuaValue::Boolean(flag) => i32::from(*flag).to_string(),
            other => text(other)?,
        };
        Ok(i64::from_str_radix(&octal, 8).unwrap_or(0))
    })?;
    let draw = callable("randInt")?;
    module.add("randInt", move |lua, shared, values: MultiValue| {
        let mut ends = arguments(shared, "ii", &values)?;
        // Where nothing is between them templates have nothing to draw; the original has the first.
        if let [from, to] = &mut ends[..]
            && to.as_i64() <= from.as_i64()
        {
            *to = json!(from.as_i64().map_or(0, |from| from.saturating_add(1)));
        }
        into_lua(lua, call(shared, draw, &ends)?.map_err(mlua::Error::runtime)?)
    })
}

/// Seconds, also as a text; what is no number is none.
fn seconds(value: &LuaValue) -> i64 {
    whole(value).unwrap_or(0)
}

fn of_times(module: &Functions<'_>) -> mlua::Result<()> {
    let (duration, round) = (callable("duration")?, callable("durationRound")?);
    module.add("ago", move |_, shared, moment: f64| {
        let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        let since = now.map_or(0, |now| now.as_secs() as i64).saturating_sub(moment as i64);
        string(call(shared, duration, &[since.into()])?)
    })?;
    module.add("duration", move |_, shared, value: LuaValue| {
        string(call(shared, duration, &[seconds(&value).into()])?)
    })?;
    module.add("durationRound", move |_, shared, value: LuaValue| {
        let text = match &value {
            LuaValue::String(text) => text.to_string_lossy(),
            other => format!("{}s", seconds(other)),
        };
        string(call(shared, round, &[text.into()])?)
    })
}

fn string(answer: Result<Value, String>) -> mlua::Result<String> {
    match answer.map_err(mlua::Error::runtime)? {
        Value::String(text) => Ok(text),
        other => Ok(other.to_string()),
    }
}

fn of_texts(module: &Functions<'_>) -> mlua::Result<()> {
    let (parse, wrap) = (callable("urlParse")?, callable("wrapWith")?);
    module.add("substr", |_, _, (from, to, Text(text)): (f64, f64, Text)| Ok(substr(from, to, &text)))?;
    module.add("urlParse", move |lua, shared, Text(url)| {
        url_parts(lua, call(shared, parse, &[url.into()])?.map_err(mlua::Error::runtime)?)
    })?;
    // The separator comes last in Lua.
    module.add("wrapWith", move |_, shared, (width, Text(text), Text(by)): (f64, Text, Text)| {
        #[expect(clippy::cast_possible_truncation, reason = "saturates")]
        string(call(shared, wrap, &[json!(width as i64), by.into(), text.into()])?)
    })
}

/// Bytes from here to there, as far as there are so many.
fn substr(from: f64, to: f64, text: &str) -> String {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates")]
    let (from, to) = (from as usize, (to as usize).min(text.len()));
    text.as_bytes().get(from..to).map(|part| String::from_utf8_lossy(part).into_owned()).unwrap_or_default()
}

fn decoded(module: &Functions<'_>) -> mlua::Result<()> {
    module.add("b64enc", |lua, shared, bytes: LuaString| base64::encode(lua, shared, &bytes))?;
    module.add("b64dec", |lua, shared, text: LuaString| -> mlua::Result<Fallible<LuaString>> {
        Ok(match base64::decode(lua, shared, &text)? {
            Ok(bytes) => (Some(bytes), None),
            Err(at) => (None, Some(format!("b64dec: illegal base64 data at input byte {at}"))),
        })
    })?;
    let b32dec = callable("b32dec")?;
    module.add("b32dec", move |lua, shared, Text(text)| -> mlua::Result<Fallible<LuaValue>> {
        let answer = call(shared, b32dec, &[text.into()])?;
        Ok(match answer {
            // Of what cannot be decoded the template function gives why, as text.
            Ok(Value::String(why)) if why.starts_with("illegal base32 data") => {
                (None, Some(format!("b32dec: {why}")))
            }
            Ok(answer) => (Some(into_lua(lua, answer)?), None),
            Err(why) => (None, Some(format!("b32dec: {why}"))),
        })
    })
}
