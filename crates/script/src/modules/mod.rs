//! What scripts find besides the language: `require` of `json`, `strings`, `runes` and `sprig`, base64, `print`.
//!
//! ```text
//! require "sprig" ──► a table of functions, made once a state, read-only
//!                         └── each call: arguments ──► what its bytes cost ──► the function
//! ```
//!
//! The functions work on text; bytes that are no UTF-8 become U+FFFD, except where base64 makes or takes them.

mod base64;
mod json;
mod plain;
mod runes;
mod sprig;
mod sprig_values;
mod strings;
mod strings_by;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

use mlua::{FromLua, FromLuaMulti, Function, IntoLuaMulti, Lua, MultiValue, Table, Value as LuaValue};
use sluice_template::{Calls, Env};

use crate::budget::{Budget, OVER_BUDGET, Price};
use crate::convert::type_of;

/// Lines that one evaluation may print.
const MAX_PRINTED: usize = 20;

/// What a value of a list takes, beside its text.
const BYTES_EACH: usize = 32;

/// What a field of a table takes that is read into a map, beside its texts.
pub(crate) const BYTES_OF_FIELD: usize = 256;

/// What asking a function takes, which may be one that counts nothing.
const BYTES_ASKED: usize = 64;

/// Bytes of one printed line.
const MAX_LINE: usize = 1_000;

/// The names that `require` takes.
const MODULES: [(&str, Fill); 4] =
    [("json", json::fill), ("strings", strings::fill), ("runes", runes::fill), ("sprig", sprig::fill)];

/// The same, for tests.
#[cfg(test)]
pub(crate) const NAMES: [&str; 4] = [MODULES[0].0, MODULES[1].0, MODULES[2].0, MODULES[3].0];

type Fill = fn(&Functions<'_>) -> mlua::Result<()>;

/// What the functions of one state share.
#[derive(Default)]
pub(crate) struct Shared {
    pub(crate) budget: Budget,
    /// What template functions have used up in this evaluation.
    calls: RefCell<Calls>,
    /// The moment and the seed, where something may be drawn at random.
    env: RefCell<Option<Env<'static>>>,
    printed: Cell<usize>,
    loaded: RefCell<HashMap<String, Table>>,
}

/// A table that is filled with functions.
struct Functions<'lua> {
    lua: &'lua Lua,
    shared: Rc<Shared>,
    table: Table,
    /// What stands before the names of its functions in messages.
    prefix: String,
}

/// An argument that is a text, or a number as text.
struct Text(String);

// === impl Shared ===

impl Shared {
    /// Forgets what the former evaluation has used.
    pub(crate) fn begin(&self, env: Option<&Env<'_>>) {
        self.printed.set(0);
        self.calls.take();
        let owned = |env: &Env<'_>| Env::new(env.now_unix_nanos(), env.seed()).with_steady_certificates();
        self.env.replace(env.map(owned));
    }
}

/// Adds the functions to the globals of a state.
pub(crate) fn install(lua: &Lua, shared: &Rc<Shared>) -> mlua::Result<()> {
    let globals = Functions { lua, shared: shared.clone(), table: lua.globals(), prefix: String::new() };
    base64::fill(&globals)?;
    let state = shared.clone();
    globals.add("print", move |lua, _, values: MultiValue| print(lua, &state, &values))?;
    let state = shared.clone();
    globals.add("require", move |lua, _, name: Text| module(lua, &state, &name.0))
}

/// A module, made when it is asked for first.
pub(crate) fn module(lua: &Lua, shared: &Rc<Shared>, name: &str) -> mlua::Result<Table> {
    if let Some(table) = shared.loaded.borrow().get(name) {
        return Ok(table.clone());
    }
    let Some((_, fill)) = MODULES.iter().find(|(module, _)| *module == name) else {
        let there = MODULES.map(|(name, _)| name).join(", ");
        return Err(mlua::Error::runtime(format!("there is no module {name:?}; there are {there}")));
    };
    let functions =
        Functions { lua, shared: shared.clone(), table: lua.create_table()?, prefix: format!("{name}.") };
    fill(&functions)?;
    functions.table.set_readonly(true);
    shared.loaded.borrow_mut().insert(name.to_owned(), functions.table.clone());
    Ok(functions.table)
}

/// Whether there is a module of that name.
pub(crate) fn is_module(name: &str) -> bool {
    MODULES.iter().any(|(module, _)| *module == name)
}

/// Writes a line to the debug log.
fn print(lua: &Lua, shared: &Shared, values: &MultiValue) -> mlua::Result<()> {
    let printed = shared.printed.get();
    shared.printed.set(printed.saturating_add(1));
    if printed >= MAX_PRINTED {
        return Ok(());
    }
    let texts: mlua::Result<Vec<String>> = values.iter().map(|value| shown(lua, value)).collect();
    let mut line = texts?.join("\t");
    if line.len() > MAX_LINE {
        line.truncate(line.floor_char_boundary(MAX_LINE));
        line.push('…');
    }
    tracing::debug!(target: "sluice_script::print", "{line}");
    Ok(())
}

/// A value as `tostring` has it.
fn shown(lua: &Lua, value: &LuaValue) -> mlua::Result<String> {
    match lua.coerce_string(value.clone())? {
        Some(text) => Ok(text.to_string_lossy()),
        None => value.to_string(),
    }
}

// === impl Functions ===

impl Functions<'_> {
    /// Adds a function. Its call costs what going through its texts and lists costs; what it refuses names it, and the line.
    fn add<A, R>(
        &self,
        name: &'static str,
        run: impl Fn(&Lua, &Shared, A) -> mlua::Result<R> + 'static,
    ) -> mlua::Result<()>
    where
        A: FromLuaMulti,
        R: IntoLuaMulti,
    {
        let shared = self.shared.clone();
        let described = format!("{}{name}", self.prefix);
        let function = self.lua.create_function(move |lua, args: MultiValue| {
            let price = Price::of_bytes(args.iter().map(size).sum());
            shared.budget.pay(price).map_err(|refusal| named(lua, &described, refusal.into()))?;
            let args = A::from_lua_multi(args, lua).map_err(|error| named(lua, &described, error))?;
            let made = run(lua, &shared, args).map_err(|error| named(lua, &described, error))?;
            shared.budget.settle(price)?;
            Ok(made)
        })?;
        self.table.raw_set(name, function)
    }
}

/// Bytes of an argument that is a text; a value of a list counts as some.
fn size(value: &LuaValue) -> usize {
    match value {
        LuaValue::String(text) => text.as_bytes().len(),
        LuaValue::Table(table) => table.raw_len().saturating_mul(BYTES_EACH),
        _ => 0,
    }
}

/// An error of a function, with the line of the script that called it. What ends the script stays as it is.
fn named(lua: &Lua, function: &str, error: mlua::Error) -> mlua::Error {
    let conversion = match &error {
        mlua::Error::BadArgument { cause, .. } => cause.as_ref(),
        other => other,
    };
    let text = match conversion {
        mlua::Error::RuntimeError(text) if !text.contains(OVER_BUDGET) => text.clone(),
        mlua::Error::FromLuaConversionError { from, to, .. } => {
            let of_lua = |name: &str| {
                if matches!(name, "integer" | "f64") { "number".to_owned() } else { name.to_lowercase() }
            };
            format!("an argument is a {}; it must be a {}", of_lua(from), of_lua(to))
        }
        _ => return error,
    };
    let line = lua.inspect_stack(1, |debug| debug.current_line()).flatten();
    let place = line.map(|line| format!("evaluate:{line}: ")).unwrap_or_default();
    mlua::Error::runtime(format!("{place}{function}: {text}"))
}

// === impl Text ===

impl FromLua for Text {
    fn from_lua(value: LuaValue, lua: &Lua) -> mlua::Result<Self> {
        let from = type_of(&value);
        match lua.coerce_string(value)? {
            Some(text) => Ok(Self(text.to_string_lossy())),
            None => Err(mlua::Error::FromLuaConversionError { from, to: "string".into(), message: None }),
        }
    }
}

/// What a function of the script makes of a character.
fn asked<R: FromLuaMulti>(shared: &Shared, function: &Function, character: char) -> mlua::Result<R> {
    shared.budget.charge(BYTES_ASKED)?;
    function.call(u32::from(character))
}

/// The character of a code, if there is one.
fn valid(code: f64) -> Option<char> {
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the range is checked")]
    let code = (code >= 0.0 && code <= f64::from(u32::MAX)).then_some(code as u32)?;
    char::from_u32(code)
}

/// A number as a character; what is none becomes U+FFFD.
fn character(code: f64) -> char {
    valid(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

/// The values of an argument that must be a table.
fn values_of(shared: &Shared, value: &LuaValue) -> mlua::Result<Vec<LuaValue>> {
    match value {
        LuaValue::Table(table) => values_in(shared, table),
        other => {
            let text = format!("an argument is a {}; it must be a table", type_of(other));
            Err(mlua::Error::runtime(text))
        }
    }
}

/// The values of a table: first those of a list, with or without gaps, then those of names in the order of the names. Others have
/// no order, and are left out.
fn values_in(shared: &Shared, table: &Table) -> mlua::Result<Vec<LuaValue>> {
    let (mut listed, mut named) = (Vec::new(), Vec::new());
    for entry in table.pairs::<LuaValue, LuaValue>() {
        shared.budget.charge(BYTES_EACH)?;
        match entry? {
            (LuaValue::Integer(at), value) => listed.push((at as f64, value)),
            (LuaValue::Number(at), value) => listed.push((at, value)),
            (LuaValue::String(name), value) => {
                shared.budget.charge(BYTES_OF_FIELD + name.as_bytes().len())?;
                named.push((name.as_bytes().to_vec(), value));
            }
            _ => {}
        }
    }
    listed.sort_by(|(one, _), (other, _)| one.total_cmp(other));
    named.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(listed.into_iter().map(|(_, value)| value).chain(named.into_iter().map(|(_, value)| value)).collect())
}

/// A list of texts.
fn list<T: AsRef<str>>(
    lua: &Lua,
    shared: &Shared,
    texts: impl IntoIterator<Item = T>,
) -> mlua::Result<Table> {
    let table = lua.create_table()?;
    for text in texts {
        shared.budget.charge(BYTES_EACH)?;
        table.raw_push(text.as_ref())?;
    }
    Ok(table)
}

#[cfg(test)]
mod tests;
