//! One Lua state: limited, read-only library, one environment that is emptied for each evaluation.

// D-1411: no plug-ins.

use std::collections::HashMap;
use std::rc::Rc;

use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value};
use sluice_api::Digest;
use sluice_template::Env;

use crate::charged;
use crate::lua::Limits;
use crate::modules::{self, Shared};

/// Compiled functions kept in one state; more begin a new state.
const MAX_FUNCTIONS: usize = 512;

/// Helpers that Sveltos gives to scripts.
const PRELUDE: &str = r#"
function getResource(resources, identifier) return resources[identifier] end
function getLabel(object, key)
  local labels = object ~= nil and object.metadata ~= nil and object.metadata.labels
  if labels then return labels[key] end
  return nil
end
function getAnnotation(object, key)
  local annotations = object ~= nil and object.metadata ~= nil and object.metadata.annotations
  if annotations then return annotations[key] end
  return nil
end
"#;

/// Names that would let a script load code or reach outside its environment.
const REMOVED: [&str; 5] = ["loadstring", "collectgarbage", "getfenv", "setfenv", "newproxy"];

pub(crate) struct Sandbox {
    lua: Lua,
    /// The library, as it is for all scripts.
    library: Table,
    environment: Table,
    /// `math.randomseed`.
    reseed: Function,
    functions: HashMap<Digest, Function>,
    shared: Rc<Shared>,
    limits: Limits,
}

impl Sandbox {
    pub(crate) fn new(limits: Limits) -> mlua::Result<Self> {
        let libraries = StdLib::COROUTINE
            | StdLib::TABLE
            | StdLib::STRING
            | StdLib::MATH
            | StdLib::UTF8
            | StdLib::BIT
            | StdLib::OS;
        let lua = Lua::new_with(libraries, LuaOptions::default())?;
        lua.load(PRELUDE).set_name("helpers").exec()?;
        let globals = lua.globals();
        for name in REMOVED {
            globals.set(name, mlua::Nil)?;
        }
        let reseed = globals.get::<Table>("math")?.get("randomseed")?;
        let shared = Rc::new(Shared::default());
        modules::install(&lua, &shared)?;
        charged::install(&lua)?;
        lua.sandbox(true)?;
        lua.set_memory_limit(limits.memory)?;
        let environment = lua.create_table()?;
        let metatable = lua.create_table()?;
        metatable.set("__index", &globals)?;
        metatable.set("__metatable", false)?;
        environment.set_metatable(Some(metatable))?;
        Ok(Self { lua, library: globals, environment, reseed, functions: HashMap::new(), shared, limits })
    }

    /// Whether it serves these limits and has room for another script.
    pub(crate) fn fits(&self, limits: &Limits) -> bool {
        self.limits == *limits && self.functions.len() < MAX_FUNCTIONS
    }

    /// An empty environment with the whole budget; `env` is what draws at random, where something may. What `math.random` gives
    /// follows from it, or is the same in every evaluation: a state keeps where it has got to, which is of no concern to others.
    pub(crate) fn begin(&self, env: Option<&Env<'_>>) -> mlua::Result<(&Lua, &Table)> {
        self.shared.begin(env);
        self.shared.budget.begin(&self.limits);
        self.environment.clear()?;
        self.reseed.call::<()>(env.map_or(0, seed_of))?;
        Ok((&self.lua, &self.environment))
    }

    /// Whether there is such a thing, in the library or in a module of that name: `os.time`, `json.decode`.
    pub(crate) fn has(&self, module: Option<&str>, path: &[&str]) -> mlua::Result<bool> {
        let mut found = match module {
            Some(module) => Value::Table(modules::module(&self.lua, &self.shared, module)?),
            None => Value::Table(self.library.clone()),
        };
        for name in path {
            found = match found {
                Value::Table(table) => table.raw_get(*name)?,
                _ => return Ok(false),
            };
        }
        Ok(!found.is_nil())
    }

    /// The top level of a script, ready to be called in the environment.
    pub(crate) fn function(&mut self, id: Digest, bytecode: &[u8], name: &str) -> mlua::Result<Function> {
        if let Some(function) = self.functions.get(&id) {
            return Ok(function.clone());
        }
        let chunk = self.lua.load(bytecode).set_name(name).set_environment(self.environment.clone());
        let function = chunk.into_function()?;
        self.functions.insert(id, function.clone());
        Ok(function)
    }

    /// The names of all functions that scripts find, in the library and in modules.
    #[cfg(test)]
    pub(crate) fn functions_of_scripts(&mut self) -> mlua::Result<Vec<String>> {
        let mut tables = vec![(String::new(), self.library.clone())];
        for name in modules::NAMES {
            tables.push((format!("{name}."), modules::module(&self.lua, &self.shared, name)?));
        }
        let mut found = Vec::new();
        while let Some((prefix, table)) = tables.pop() {
            for entry in table.pairs::<String, Value>() {
                match entry? {
                    (name, Value::Function(_)) => found.push(format!("{prefix}{name}")),
                    (name, Value::Table(table)) if name != "_G" => {
                        tables.push((format!("{prefix}{name}."), table))
                    }
                    _ => {}
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

/// Where `math.random` begins. It can be reckoned back from a few draws, so it says nothing of the seed.
fn seed_of(env: &Env<'_>) -> i32 {
    let digest = Digest::of(&[b"math.random", &env.seed()]);
    digest.as_bytes().iter().take(4).fold(0, |bits, byte| bits << 8 | i32::from(*byte))
}

#[cfg(test)]
mod tests;
