//! What the engine calls directly: its hook at each step, and before and after each function of its own library that takes the
//! longer the more it is given.
//!
//! ```text
//! string.rep(text, 9) ──► charged ──► price of the arguments ──► paid ──► the engine's own function ──► settled
//! ```
//!
//! The engine's function runs in the frame of the one that stands for it, so that its errors and the cost of a call stay what
//! they are.

#![allow(unsafe_code)]

use std::ffi::c_int;

use mlua::ffi::{self, lua_State};
use mlua::{Function, Lua, Table};

use crate::arguments::Arguments;
use crate::budget::{Budget, Price, Refusal};
use crate::prices::{self, PRICES};

/// Index of the upvalue that is the engine's function, and of that which is the number of its price.
const FUNCTION: c_int = 1;
const PRICE: c_int = 2;

/// Upvalues of the function that `string.gmatch` gives: text, pattern and position, and after them the engine's own function.
const OF_ITERATOR: c_int = 3;

/// Puts the hook and the prices into a state. To be done before scripts see its library.
pub(crate) fn install(lua: &Lua) -> mlua::Result<()> {
    // SAFETY: the callbacks of a state live as long as it does.
    unsafe { lua.exec_raw::<()>((), |state| (*ffi::lua_callbacks(state)).interrupt = Some(hook)) }?;
    for (at, priced) in (0..).zip(&PRICES) {
        let name = priced.name.to_string_lossy();
        let table = match priced.table {
            "" => lua.globals(),
            table => lua.globals().get::<Table>(table)?,
        };
        let function = table.raw_get::<Function>(&*name)?;
        // SAFETY: the function is on the stack, and becomes the first upvalue; see `charged`.
        let charged = unsafe {
            lua.exec_raw::<Function>(function, |state| {
                ffi::lua_pushinteger_(state, at);
                let own = if name == "gmatch" { charged_gmatch } else { charged };
                ffi::lua_pushcclosurek(state, own, priced.name.as_ptr(), 2, None);
            })
        }?;
        table.raw_set(&*name, charged)?;
    }
    Ok(())
}

/// Called by the engine at each loop iteration, call and return, and at each step of a pattern.
unsafe extern "C-unwind" fn hook(state: *mut lua_State, collecting: c_int) {
    if collecting >= 0 {
        return;
    }
    // SAFETY: only reads; `state` is the one that runs.
    let kib = unsafe { ffi::lua_gc(state, ffi::LUA_GCCOUNT, 0) };
    if let Err(refusal) = Budget.step(u64::try_from(kib).unwrap_or(0)) {
        // SAFETY: nothing here has a destructor.
        unsafe { refuse(state, refusal) }
    }
}

/// Stands for a function of the engine.
unsafe extern "C-unwind" fn charged(state: *mut lua_State) -> c_int {
    // SAFETY: both upvalues are those that `install` gave it. Nothing here has a destructor, so that an error of the engine
    // may unwind through it.
    unsafe {
        let price = ffi::lua_tointeger_(state, ffi::lua_upvalueindex(PRICE));
        let price = usize::try_from(price).ok().and_then(|at| PRICES.get(at)).map(|priced| priced.price);
        let function = ffi::lua_tocfunction(state, ffi::lua_upvalueindex(FUNCTION));
        let (Some(price), Some(function)) = (price, function) else { return 0 };
        paid(state, price(&Arguments::of(state)), function)
    }
}

unsafe fn paid(state: *mut lua_State, price: Price, function: ffi::lua_CFunction) -> c_int {
    // SAFETY: as for `charged`; the stack is as the engine's function expects it.
    unsafe {
        if let Err(refusal) = Budget.pay(price) {
            refuse(state, refusal);
        }
        let results = function(state);
        if let Err(refusal) = Budget.settle(price) {
            refuse(state, refusal);
        }
        results
    }
}

/// Stands for `string.gmatch`: the function that it gives is charged too, at each call.
unsafe extern "C-unwind" fn charged_gmatch(state: *mut lua_State) -> c_int {
    // SAFETY: as for `charged`; the one result is on top, and has as many upvalues.
    unsafe {
        let results = charged(state);
        let made = ffi::lua_gettop(state);
        ffi::luaL_checkstack(state, OF_ITERATOR + 1, std::ptr::null());
        for at in 1..=OF_ITERATOR {
            ffi::lua_getupvalue(state, made, at);
        }
        ffi::lua_pushvalue(state, made);
        ffi::lua_pushcclosurek(state, charged_iterator, std::ptr::null(), OF_ITERATOR + 1, None);
        results
    }
}

/// Stands for a function that `string.gmatch` gave, which finds its upvalues here.
unsafe extern "C-unwind" fn charged_iterator(state: *mut lua_State) -> c_int {
    // SAFETY: as for `charged`; the upvalues are those of `charged_gmatch`.
    unsafe {
        let Some(function) = ffi::lua_tocfunction(state, ffi::lua_upvalueindex(OF_ITERATOR + 1)) else {
            return 0;
        };
        let of = |upvalue| ffi::lua_upvalueindex(upvalue);
        paid(state, prices::iteration(&Arguments::of(state), of(1), of(2), of(3)), function)
    }
}

/// Ends the call with an error; of what may be caught it says the line.
unsafe fn refuse(state: *mut lua_State, refusal: Refusal) -> ! {
    let text = refusal.text();
    Budget.reach(text);
    // SAFETY: pointer and length are those of a text that lives for ever; the stack has room.
    unsafe {
        ffi::lua_rawcheckstack(state, 3);
        match refusal {
            Refusal::TooMuch => ffi::luaL_where(state, 1),
            Refusal::Spent => ffi::lua_pushlstring_(state, c"".as_ptr(), 0),
        }
        ffi::lua_pushlstring_(state, text.as_ptr().cast(), text.len());
        ffi::lua_concat(state, 2);
        ffi::lua_error(state)
    }
}
