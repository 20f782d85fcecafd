//! `base64Encode` and `base64Decode`. Both take and give bytes, whether these are text or not.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use mlua::{Lua, LuaString};

use super::{Functions, Shared};

/// A result, or nothing and why.
pub(super) type Fallible<T> = (Option<T>, Option<String>);

const EMPTY: &str = "provided string is empty";

pub(super) fn fill(globals: &Functions<'_>) -> mlua::Result<()> {
    globals.add("base64Encode", |lua, shared, bytes: LuaString| match bytes.as_bytes().is_empty() {
        true => Ok((None, Some(EMPTY.to_owned()))),
        false => Ok((Some(encode(lua, shared, &bytes)?), None)),
    })?;
    globals.add("base64Decode", |lua, shared, text: LuaString| {
        if text.as_bytes().is_empty() {
            return Ok((None, Some(EMPTY.to_owned())));
        }
        Ok(match decode(lua, shared, &text)? {
            Ok(bytes) => (Some(bytes), None),
            Err(at) => (None, Some(format!("decoding failed: illegal base64 data at input byte {at}"))),
        })
    })
}

pub(super) fn encode(lua: &Lua, shared: &Shared, bytes: &LuaString) -> mlua::Result<LuaString> {
    let bytes = bytes.as_bytes();
    shared.budget.make(bytes.len().checked_mul(2))?;
    lua.create_string(STANDARD.encode(&*bytes))
}

/// The bytes, or the place of what is wrong. Line ends between the digits are no part of the text.
pub(super) fn decode(lua: &Lua, shared: &Shared, text: &LuaString) -> mlua::Result<Result<LuaString, usize>> {
    let text = text.as_bytes();
    shared.budget.make(Some(text.len()))?;
    let digits: Vec<u8> = text.iter().copied().filter(|byte| !matches!(byte, b'\r' | b'\n')).collect();
    match STANDARD.decode(&digits) {
        Ok(bytes) => Ok(Ok(lua.create_string(bytes)?)),
        Err(base64::DecodeError::InvalidByte(at, _) | base64::DecodeError::InvalidLastSymbol(at, _)) => {
            Ok(Err(at))
        }
        Err(_) => Ok(Err(digits.len())),
    }
}
