//! The arguments of a call of the engine, as far as they say how long it takes.

#![allow(unsafe_code)]

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};

use crate::budget::Budget;

/// Arguments are counted from one; upvalues have indexes of their own. What is of another kind than is asked for is as good as
/// missing: the function says so itself.
pub(crate) struct Arguments {
    state: *mut lua_State,
}

// === impl Arguments ===

impl Arguments {
    /// # Safety
    /// The state must be the one that runs, in a function of the engine, and outlive what is made.
    pub(crate) unsafe fn of(state: *mut lua_State) -> Self {
        Self { state }
    }

    fn kind(&self, at: c_int) -> c_int {
        // SAFETY: any index may be asked for.
        unsafe { ffi::lua_type(self.state, at) }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> u64 {
        // SAFETY: only reads.
        u64::try_from(unsafe { ffi::lua_gettop(self.state) }).unwrap_or(0)
    }

    /// Bytes that the state may have in use.
    pub(crate) fn memory(&self) -> u64 {
        Budget.memory() as u64
    }

    /// Bytes of a text.
    pub(crate) fn text(&self, at: c_int) -> u64 {
        self.bytes(at).len() as u64
    }

    /// A text.
    pub(crate) fn bytes(&self, at: c_int) -> &[u8] {
        if self.kind(at) != ffi::LUA_TSTRING {
            return &[];
        }
        let mut length = 0;
        // SAFETY: it is a text, which stays as it is and where it is as long as it is an argument.
        unsafe {
            let start = ffi::lua_tolstring(self.state, at, &mut length);
            std::slice::from_raw_parts(start.cast(), length)
        }
    }

    /// Bytes of all texts from an argument on.
    pub(crate) fn all_texts(&self, from: c_int) -> u64 {
        // SAFETY: only reads.
        let count = unsafe { ffi::lua_gettop(self.state) };
        (from..=count).map(|at| self.text(at)).fold(0, u64::saturating_add)
    }

    /// Values of a list.
    pub(crate) fn items(&self, at: c_int) -> u64 {
        if self.kind(at) != ffi::LUA_TTABLE {
            return 0;
        }
        // SAFETY: it is a table.
        unsafe { ffi::lua_objlen(self.state, at) as u64 }
    }

    /// A whole number, as the engine makes it of any.
    pub(crate) fn whole(&self, at: c_int, missing: i64) -> i64 {
        self.whole_or(at, || missing)
    }

    pub(crate) fn whole_or(&self, at: c_int, missing: impl FnOnce() -> i64) -> i64 {
        match self.kind(at) {
            // SAFETY: reads what is there.
            ffi::LUA_TNUMBER | ffi::LUA_TSTRING => i64::from(unsafe { ffi::lua_tointeger_(self.state, at) }),
            _ => missing(),
        }
    }

    /// A place in the text that comes first, where what is negative counts from its end.
    pub(crate) fn place(&self, at: c_int, missing: i64) -> u64 {
        self.counted(self.whole(at, missing)).max(1)
    }

    fn counted(&self, place: i64) -> u64 {
        let length = i64::try_from(self.text(1)).unwrap_or(i64::MAX);
        let place = if place < 0 { place + length + 1 } else { place };
        u64::try_from(place).unwrap_or(0)
    }

    /// How many bytes of the text that comes first are from one place to another, the same where it is missing.
    pub(crate) fn part(&self, from: c_int, first: i64, to: c_int, last: Option<i64>) -> u64 {
        let from = self.whole(from, first);
        let to = self.counted(self.whole(to, last.unwrap_or(from))).min(self.text(1));
        (to + 1).saturating_sub(self.counted(from).max(1))
    }

    pub(crate) fn is_true(&self, at: c_int) -> bool {
        // SAFETY: any index may be asked for.
        unsafe { ffi::lua_toboolean(self.state, at) != 0 }
    }

    pub(crate) fn is_nil(&self, at: c_int) -> bool {
        self.kind(at) == ffi::LUA_TNIL
    }

    /// Whether it is a function that is not written in Lua.
    pub(crate) fn is_engine_function(&self, at: c_int) -> bool {
        // SAFETY: any index may be asked for.
        unsafe { ffi::lua_iscfunction(self.state, at) != 0 }
    }

    /// Whether so many steps are left.
    pub(crate) fn affordable(&self, steps: u64) -> bool {
        Budget.affords(steps)
    }

    /// How many texts and numbers there are in a table from one index to another, and their bytes; `row` ends where there is nothing.
    pub(crate) fn texts(&self, at: c_int, first: i64, last: i64, row: bool) -> (u64, u64) {
        let (mut count, mut bytes) = (0, 0_u64);
        if self.kind(at) != ffi::LUA_TTABLE {
            return (0, 0);
        }
        for index in first..=last {
            let Ok(index) = c_int::try_from(index) else { break };
            // SAFETY: it is a table, and every function of the engine has room for a value.
            let (kind, length) = unsafe {
                let kind = ffi::lua_rawgeti_(self.state, at, index);
                let length = if kind == ffi::LUA_TSTRING { ffi::lua_objlen(self.state, -1) } else { 8 };
                ffi::lua_pop(self.state, 1);
                (kind, length as u64)
            };
            if kind == ffi::LUA_TNIL && row {
                break;
            }
            if matches!(kind, ffi::LUA_TSTRING | ffi::LUA_TNUMBER) {
                count += 1;
                bytes = bytes.saturating_add(length);
            }
        }
        (count, bytes)
    }
}
