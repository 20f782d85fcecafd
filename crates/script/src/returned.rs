//! Lua tables as objects again.
//!
//! Lua has one kind of number and one kind of table. Where a value stands in the object that the script was given, and is the
//! same, it is what it was: an integer of any size, an empty list. Elsewhere a number without a fraction is an integer, and an
//! empty table a map.

use mlua::{Table, Value as LuaValue};
use serde_json::{Map, Number, Value};

use crate::budget::Budget;
use crate::convert::{MAX_DEPTH, type_of};
use crate::modules::BYTES_OF_FIELD;

/// What one value takes, beside its text.
const BYTES_EACH: usize = 32;
/// Integers up to here are the same in a double.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Reads values as long as all together are within a limit: tables may be shared, so that a small script can return much.
pub(crate) struct Returned {
    bytes: usize,
}

// === impl Returned ===

impl Returned {
    pub(crate) fn within(bytes: usize) -> Self {
        Self { bytes }
    }

    /// An object; `given` is what it was before the script.
    pub(crate) fn object(&mut self, table: &Table, given: Option<&Value>) -> mlua::Result<Value> {
        self.table(table, given, 0)
    }

    fn value(&mut self, value: LuaValue, given: Option<&Value>, depth: usize) -> mlua::Result<Value> {
        self.take(BYTES_EACH)?;
        match value {
            LuaValue::Boolean(flag) => Ok(flag.into()),
            LuaValue::String(text) => {
                self.take(text.as_bytes().len())?;
                Ok(text.to_string_lossy().into())
            }
            LuaValue::Integer(number) => self::number(number as f64, given),
            LuaValue::Number(number) => self::number(number, given),
            LuaValue::Table(table) => self.table(&table, given, depth),
            other => {
                Err(mlua::Error::runtime(format!("resources has a {}; return plain data", type_of(&other))))
            }
        }
    }

    fn table(&mut self, table: &Table, given: Option<&Value>, depth: usize) -> mlua::Result<Value> {
        if depth >= MAX_DEPTH {
            let text =
                format!("limit: what the script returns is nested deeper than {MAX_DEPTH}; make it flatter");
            return Err(Budget.limit(text));
        }
        let is_list = match table.is_empty() {
            true => given.is_some_and(Value::is_array),
            false => table.raw_len() > 0,
        };
        if is_list {
            let given = given.and_then(Value::as_array);
            let items = (0..).zip(table.sequence_values::<LuaValue>());
            let item = |(at, item): (usize, mlua::Result<LuaValue>)| {
                self.value(item?, given.and_then(|given| given.get(at)), depth + 1)
            };
            return items.map(item).collect::<mlua::Result<_>>().map(Value::Array);
        }
        let mut map = Map::new();
        for entry in table.pairs::<LuaValue, LuaValue>() {
            let (key, value) = entry?;
            let key = match key {
                LuaValue::String(key) => key.to_string_lossy(),
                other => {
                    let text =
                        format!("resources has a table in which a key is a {}; use texts", type_of(&other));
                    return Err(mlua::Error::runtime(text));
                }
            };
            self.take(key.len())?;
            Budget.charge(BYTES_OF_FIELD)?;
            let value = self.value(value, given.and_then(|given| given.get(&key)), depth + 1)?;
            map.insert(key, value);
        }
        Ok(map.into())
    }

    fn take(&mut self, bytes: usize) -> mlua::Result<()> {
        let left = self.bytes.checked_sub(bytes);
        self.bytes =
            left.ok_or_else(|| Budget.limit("limit: the script returns too much; let it return less"))?;
        Budget.charge(bytes)
    }
}

/// A number: as it was given if it is the same, else an integer where it has no fraction.
fn number(number: f64, given: Option<&Value>) -> mlua::Result<Value> {
    if let Some(same) = given.filter(|given| given.as_f64() == Some(number)) {
        return Ok(same.clone());
    }
    if number.fract() == 0.0 && number.abs() <= EXACT {
        #[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
        return Ok((number as i64).into());
    }
    let text = || mlua::Error::runtime(format!("resources has {number}, which is no number of JSON"));
    Number::from_f64(number).map(Value::Number).ok_or_else(text)
}

#[cfg(test)]
mod tests;
