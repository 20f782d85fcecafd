//! Lua values as JSON, for functions that take any.
//!
//! As elsewhere in Sveltos' modules an empty table is a list, and a table with both kinds of keys is refused.

use mlua::{Table, Value as LuaValue};
use serde_json::{Map, Number, Value};

use super::{BYTES_EACH, BYTES_OF_FIELD, Shared};
use crate::convert::MAX_DEPTH;

/// The value as JSON. What it takes counts as work.
///
/// # Errors
/// What JSON does not have.
pub(super) fn value(shared: &Shared, value: &LuaValue) -> mlua::Result<Result<Value, String>> {
    read(shared, value, 0)
}

fn read(shared: &Shared, value: &LuaValue, depth: usize) -> mlua::Result<Result<Value, String>> {
    shared.budget.charge(BYTES_EACH)?;
    Ok(Ok(match value {
        LuaValue::Nil => Value::Null,
        LuaValue::Boolean(flag) => (*flag).into(),
        LuaValue::Integer(number) => (*number).into(),
        LuaValue::Number(number) => return Ok(self::number(*number)),
        LuaValue::String(text) => {
            // It is copied, and written, which looks at each character.
            shared.budget.charge(text.as_bytes().len().saturating_mul(4))?;
            text.to_string_lossy().into()
        }
        LuaValue::Table(table) => return read_table(shared, table, depth),
        other => return Ok(Err(format!("cannot encode {} to JSON", other.type_name()))),
    }))
}

fn read_table(shared: &Shared, table: &Table, depth: usize) -> mlua::Result<Result<Value, String>> {
    if depth >= MAX_DEPTH {
        return Ok(Err("cannot encode recursively nested tables to JSON".into()));
    }
    let (mut items, mut map) = (Vec::new(), Map::new());
    for entry in table.pairs::<LuaValue, LuaValue>() {
        let (key, value) = entry?;
        let value = match read(shared, &value, depth + 1)? {
            Ok(value) => value,
            Err(why) => return Ok(Err(why)),
        };
        match key {
            LuaValue::String(key) => {
                shared.budget.charge(BYTES_OF_FIELD + key.as_bytes().len().saturating_mul(4))?;
                map.insert(key.to_string_lossy(), value);
            }
            LuaValue::Integer(at) => items.push((at as f64, value)),
            LuaValue::Number(at) => items.push((at, value)),
            _ => return Ok(Err("cannot encode mixed or invalid key types".into())),
        }
    }
    if !map.is_empty() {
        let whole = items.is_empty().then_some(Value::Object(map));
        return Ok(whole.ok_or_else(|| "cannot encode mixed or invalid key types".into()));
    }
    items.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    #[expect(clippy::float_cmp, reason = "indexes are whole numbers")]
    let sparse = items.iter().zip(1_u32..).any(|((at, _), expected)| *at != f64::from(expected));
    if sparse {
        return Ok(Err("cannot encode sparse array".into()));
    }
    Ok(Ok(items.into_iter().map(|(_, value)| value).collect()))
}

/// A number; an integer where it has no fraction and is exact.
pub(super) fn number(number: f64) -> Result<Value, String> {
    if number.fract() == 0.0 && number.abs() <= 9_007_199_254_740_992.0 {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        return Ok((number as i64).into());
    }
    let finite = Number::from_f64(number).map(Value::Number);
    finite.ok_or_else(|| format!("json: unsupported value: {number}"))
}
