//! A decoded object as Lua tables.
//!
//! The whole conversion is one protected call: with a memory limit set, every single call through the safe
//! interface would be protected by itself, which is three times slower.

use mlua::ffi;
use mlua::{Lua, Table, Value as LuaValue};
use serde_json::Value;

use crate::budget::Budget;

/// Nesting that scripts get to see; JSON decoding allows 128, and what holds the objects of a script takes two.
pub(crate) const MAX_DEPTH: usize = 130;

// D-1403: unsafe is in one place.
/// Makes the table of `object`; nulls are left out, as Sveltos does.
///
/// # Errors
/// When it is nested too deep, or the state's memory is full.
#[allow(unsafe_code)]
pub(crate) fn table(lua: &Lua, object: &Value) -> mlua::Result<Table> {
    let mut fits = true;
    // SAFETY: `push` leaves exactly one value on the stack, checks the stack before it grows it, and holds
    // nothing that has a destructor while it calls into Lua, so an error may unwind through it.
    let made = unsafe { lua.exec_raw((), |state| push(state, object, 0, &mut fits)) }?;
    if fits {
        return Ok(made);
    }
    Err(Budget.limit(format!(
        "limit: the object is nested deeper than {MAX_DEPTH} (MAX_DEPTH of sluice-script); make it flatter"
    )))
}

#[allow(unsafe_code)]
unsafe fn push(state: *mut ffi::lua_State, value: &Value, depth: usize, fits: &mut bool) {
    // SAFETY: see `table`; all pointers come from live slices with their lengths.
    unsafe {
        ffi::luaL_checkstack(state, 4, std::ptr::null());
        match value {
            Value::Object(map) if depth < MAX_DEPTH => {
                ffi::lua_createtable(state, 0, size(map.len()));
                for (key, value) in map {
                    if !value.is_null() {
                        push_text(state, key);
                        push(state, value, depth + 1, fits);
                        ffi::lua_rawset(state, -3);
                    }
                }
            }
            Value::Array(list) if depth < MAX_DEPTH => {
                ffi::lua_createtable(state, size(list.len()), 0);
                for (index, value) in (1..).zip(list.iter().filter(|value| !value.is_null())) {
                    push(state, value, depth + 1, fits);
                    ffi::lua_rawseti(state, -2, index);
                }
            }
            Value::String(text) => push_text(state, text),
            Value::Bool(flag) => ffi::lua_pushboolean(state, i32::from(*flag)),
            Value::Number(number) => ffi::lua_pushnumber(state, number.as_f64().unwrap_or(0.0)),
            Value::Null => ffi::lua_pushnil(state),
            Value::Object(_) | Value::Array(_) => {
                *fits = false;
                ffi::lua_pushnil(state);
            }
        }
    }
}

#[allow(unsafe_code)]
unsafe fn push_text(state: *mut ffi::lua_State, text: &str) {
    // SAFETY: pointer and length are those of `text`.
    unsafe { ffi::lua_pushlstring_(state, text.as_ptr().cast(), text.len()) };
}

/// The type of a value as Lua calls it: the engine has integers of its own.
pub(crate) fn type_of(value: &LuaValue) -> &'static str {
    match value {
        LuaValue::Integer(_) => "number",
        other => other.type_name(),
    }
}

fn size(length: usize) -> i32 {
    i32::try_from(length).unwrap_or(i32::MAX).min(1 << 16)
}

#[cfg(test)]
mod tests;
