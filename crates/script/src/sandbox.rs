//! One Lua state: limited, read-only library, one environment that is emptied for each evaluation.

use std::collections::HashMap;
use std::rc::Rc;

use mlua::{Function, Lua, LuaOptions, StdLib, Table, Value};
use sluice_api::Digest;
use sluice_template::Env;

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

/// Library calls that no interrupt ends, however long they take: refused where they would take long.
const BOUNDED: &str = r#"
local move, find, split = table.move, string.find, string.split
function table.move(from, first, last, ...)
  if type(first) == "number" and type(last) == "number" and last - first > 1e6 then
    error("limit: table.move over more than a million indexes; move less at once", 2)
  end
  return move(from, first, last, ...)
end
local function bounded(text, part)
  if type(text) == "string" and type(part) == "string" and #text * #part > 1e8 then
    error("limit: the text and what is looked for in it are too long; look into less at once", 3)
  end
end
function string.find(text, pattern, ...)
  bounded(text, pattern)
  return find(text, pattern, ...)
end
function string.split(text, separator)
  bounded(text, separator)
  return split(text, separator)
end
"#;

/// Names that would let a script load code or reach outside its environment.
const REMOVED: [&str; 5] = ["loadstring", "collectgarbage", "getfenv", "setfenv", "newproxy"];

pub(crate) struct Sandbox {
    lua: Lua,
    /// The library, as it is for all scripts.
    library: Table,
    environment: Table,
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
        lua.load(BOUNDED).set_name("bounded").exec()?;
        let globals = lua.globals();
        for name in REMOVED {
            globals.set(name, mlua::Nil)?;
        }
        let shared = Rc::new(Shared::default());
        modules::install(&lua, &shared)?;
        lua.sandbox(true)?;
        let left = shared.clone();
        lua.set_interrupt(move |_| left.budget.spend());
        lua.set_memory_limit(limits.memory)?;
        let environment = lua.create_table()?;
        let metatable = lua.create_table()?;
        metatable.set("__index", &globals)?;
        metatable.set("__metatable", false)?;
        environment.set_metatable(Some(metatable))?;
        Ok(Self { lua, library: globals, environment, functions: HashMap::new(), shared, limits })
    }

    /// Whether it serves these limits and has room for another script.
    pub(crate) fn fits(&self, limits: &Limits) -> bool {
        self.limits == *limits && self.functions.len() < MAX_FUNCTIONS
    }

    /// An empty environment with the whole budget; `env` is what draws at random, where something may.
    pub(crate) fn begin(&self, env: Option<&Env<'_>>) -> mlua::Result<(&Lua, &Table)> {
        self.shared.begin(env);
        self.shared.budget.begin(&self.limits);
        self.environment.clear()?;
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
}
