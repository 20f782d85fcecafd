//! One Lua state: limited, read-only library, one environment that is emptied for each evaluation.

use std::cell::Cell;
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use mlua::{Function, Lua, LuaOptions, StdLib, Table, VmState};
use sluice_api::Digest;

use crate::lua::Limits;

/// Compiled functions kept in one state; more begin a new state.
const MAX_FUNCTIONS: usize = 512;

/// Clock readings are dear: one for this many steps.
const STEPS_PER_READING: u64 = 256;

/// Helpers that Sveltos gives to scripts.
const PRELUDE: &str = r#"
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
const REMOVED: [&str; 6] = ["require", "loadstring", "collectgarbage", "getfenv", "setfenv", "newproxy"];

/// Remaining budget of the evaluation that runs, shared with the interrupt.
struct Budget {
    steps: Cell<u64>,
    until: Cell<Option<Instant>>,
}

pub(crate) struct Sandbox {
    lua: Lua,
    environment: Table,
    functions: HashMap<Digest, Function>,
    budget: Rc<Budget>,
    limits: Limits,
}

/// Message of the error that ends a script over its budget.
pub(crate) const OVER_BUDGET: &str = "the script ran for too long";

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
        lua.sandbox(true)?;
        let budget = Rc::new(Budget { steps: Cell::new(0), until: Cell::new(None) });
        let left = budget.clone();
        lua.set_interrupt(move |_| left.spend());
        lua.set_memory_limit(limits.memory)?;
        let environment = lua.create_table()?;
        let metatable = lua.create_table()?;
        metatable.set("__index", globals)?;
        metatable.set("__metatable", false)?;
        environment.set_metatable(Some(metatable))?;
        Ok(Self { lua, environment, functions: HashMap::new(), budget, limits })
    }

    /// Whether it serves these limits and has room for another script.
    pub(crate) fn fits(&self, limits: &Limits) -> bool {
        self.limits == *limits && self.functions.len() < MAX_FUNCTIONS
    }

    /// An empty environment with the whole budget.
    pub(crate) fn begin(&self) -> mlua::Result<(&Lua, &Table)> {
        self.budget.steps.set(self.limits.steps);
        self.budget.until.set(Instant::now().checked_add(self.limits.time));
        self.environment.clear()?;
        Ok((&self.lua, &self.environment))
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

impl Budget {
    fn spend(&self) -> mlua::Result<VmState> {
        let left = self.steps.get().saturating_sub(1);
        self.steps.set(left);
        let late = left.is_multiple_of(STEPS_PER_READING)
            && self.until.get().is_some_and(|until| Instant::now() >= until);
        if left == 0 || late {
            // Stays spent, so that a script cannot catch the error and go on.
            self.steps.set(1);
            return Err(mlua::Error::runtime(OVER_BUDGET));
        }
        Ok(VmState::Continue)
    }
}
