//! Lua: compile once, evaluate many objects.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use mlua::{Function, Table, Value as LuaValue};
use serde_json::Value;
use sluice_api::Digest;

use crate::budget::{Budget, OVER_BUDGET};
use crate::convert;
use crate::names;
use crate::sandbox::Sandbox;

mod choose;
mod generate;

/// A compiled script with a function `evaluate`. Cheap to clone, shared between threads.
#[derive(Clone, Debug)]
pub struct Script {
    id: Digest,
    bytecode: Arc<[u8]>,
    source: Arc<str>,
}

/// What a script says of an object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Evaluation {
    /// Whether the object is what is looked for: an event, or healthy.
    pub matching: bool,
    /// What the script has to say about it.
    pub message: String,
}

/// What one evaluation may use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Loop iterations and calls. Default: 20 million.
    pub steps: u64,
    /// Wall clock. Default: 200 ms.
    pub time: Duration,
    /// Bytes of the whole Lua state. Default: 64 MiB.
    pub memory: usize,
}

/// A script could not be compiled, or failed on one object. Not retryable with the same input.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Error {
    text: String,
    limit: bool,
}

/// What a script is asked.
struct Asked<'a> {
    object: &'a Value,
    /// Numbers that it knows by their names.
    metrics: Option<&'a BTreeMap<String, f64>>,
    /// The field of its result that tells.
    field: &'a str,
}

thread_local! {
    static SANDBOX: RefCell<Option<Sandbox>> = const { RefCell::new(None) };
}

const NAME: &str = "=evaluate";

// === impl Error ===

impl Error {
    pub(crate) fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), limit: false }
    }

    /// What the engine raised.
    fn raised(error: &mlua::Error) -> Self {
        let text = readable(error);
        let limit = is_memory(error) || Budget.is_reached(&text);
        Self { text, limit }
    }

    /// Whether it needed more than it may use. What a script says of itself is no limit.
    pub fn is_limit(&self) -> bool {
        self.limit
    }
}

// === impl Limits ===

impl Default for Limits {
    fn default() -> Self {
        Self { steps: 20_000_000, time: Duration::from_millis(200), memory: 64 << 20 }
    }
}

// === impl Script ===

impl Script {
    /// Compiles `source`.
    ///
    /// # Errors
    /// The syntax error with its line, or that `evaluate` is not defined anywhere.
    pub fn compile(source: &str) -> Result<Self, Error> {
        if !source.contains("evaluate") {
            return Err(Error::new(
                "the script does not define a function evaluate; begin it with: function evaluate()",
            ));
        }
        Self::compile_text(source)
    }

    fn compile_text(source: &str) -> Result<Self, Error> {
        let compiled = mlua::chunk::Compiler::new().set_optimization_level(1).compile(source);
        let bytecode = compiled.map_err(|error| Error::new(format!("evaluate:{}", readable(&error))))?;
        Ok(Self { id: Digest::of(&[source.as_bytes()]), bytecode: bytecode.into(), source: source.into() })
    }

    /// Asks the script about `object`.
    ///
    /// # Errors
    /// Whatever the script raises, a result of the wrong form, or a limit.
    pub fn evaluate(&self, object: &Value, limits: &Limits) -> Result<Evaluation, Error> {
        let asked = Asked { object, metrics: None, field: "matching" };
        self.within(limits, |sandbox| self.run(sandbox, &asked))
    }

    /// Runs it in this thread's state. The engine does not say which name was nil when it was called; the text of the script
    /// does.
    fn within<T>(
        &self,
        limits: &Limits,
        run: impl FnOnce(&mut Sandbox) -> mlua::Result<T>,
    ) -> Result<T, Error> {
        let explained = |Error { text, limit }| Error { text: names::explained(&self.source, text), limit };
        with_sandbox(limits, run).map_err(explained)
    }

    /// Asks the script whether `object` is healthy; it knows these numbers by their names.
    ///
    /// # Errors
    /// Whatever the script raises, a result of the wrong form, or a limit.
    pub fn is_healthy(
        &self,
        object: &Value,
        metrics: &BTreeMap<String, f64>,
        limits: &Limits,
    ) -> Result<Evaluation, Error> {
        let asked = Asked { object, metrics: Some(metrics), field: "healthy" };
        self.within(limits, |sandbox| self.run(sandbox, &asked))
    }

    fn run(&self, sandbox: &mut Sandbox, asked: &Asked<'_>) -> mlua::Result<Evaluation> {
        let function = sandbox.function(self.id, &self.bytecode, NAME)?;
        let (lua, environment) = sandbox.begin(None)?;
        if let Some(metrics) = asked.metrics {
            environment.raw_set("metrics", lua.create_table_from(metrics.clone())?)?;
        }
        function.call::<()>(())?;
        let object = convert::table(lua, asked.object)?;
        environment.raw_set("obj", &object)?;
        let LuaValue::Function(evaluate) = environment.raw_get("evaluate")? else {
            return Err(mlua::Error::runtime(
                "the script does not define a function evaluate; begin it with: function evaluate()",
            ));
        };
        verdict(&evaluate, object, asked.field)
    }
}

/// Runs something in this thread's state.
pub(crate) fn with_sandbox<T>(
    limits: &Limits,
    run: impl FnOnce(&mut Sandbox) -> mlua::Result<T>,
) -> Result<T, Error> {
    Budget.forget();
    SANDBOX.with_borrow_mut(|slot| {
        let mut sandbox = match slot.take().filter(|sandbox| sandbox.fits(limits)) {
            Some(sandbox) => sandbox,
            None => Sandbox::new(limits.clone()).map_err(|error| Error::raised(&error))?,
        };
        let result = run(&mut sandbox);
        // A state that hit a limit is not trusted again: its memory may be full.
        if !result.as_ref().is_err_and(spoils) {
            *slot = Some(sandbox);
        }
        result.map_err(|error| Error::raised(&error))
    })
}

fn verdict(evaluate: &Function, object: Table, field: &str) -> mlua::Result<Evaluation> {
    let LuaValue::Table(result) = evaluate.call::<LuaValue>(object)? else {
        return Err(mlua::Error::runtime(format!(
            "lua script output is not a lua table; return {{ {field} = true }} or {{ {field} = false }}"
        )));
    };
    let matching = match result.raw_get(field)? {
        LuaValue::Nil => false,
        LuaValue::Boolean(flag) => flag,
        other => {
            let text = format!("{field} is a {}; it must be true or false", convert::type_of(&other));
            return Err(mlua::Error::runtime(text));
        }
    };
    let message = match result.raw_get("message")? {
        LuaValue::String(text) => text.to_string_lossy(),
        _ => String::new(),
    };
    Ok(Evaluation { matching, message })
}

fn spoils(error: &mlua::Error) -> bool {
    let said = || error.to_string();
    is_memory(error) || [OVER_BUDGET, "not enough memory"].iter().any(|words| said().contains(words))
}

/// Whether the state has no memory left.
fn is_memory(error: &mlua::Error) -> bool {
    match error {
        mlua::Error::MemoryError(_) => true,
        mlua::Error::CallbackError { cause, .. } => is_memory(cause),
        _ => false,
    }
}

/// The first line of the message, without the library's own words.
fn readable(error: &mlua::Error) -> String {
    match error {
        mlua::Error::CallbackError { cause, .. } => readable(cause),
        mlua::Error::SyntaxError { message, .. } => first_line(message),
        mlua::Error::RuntimeError(message) | mlua::Error::MemoryError(message) => first_line(message),
        other => first_line(&other.to_string()),
    }
}

fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default();
    line.replace("[string \"evaluate\"]:", "evaluate:").replace("[string \"=evaluate\"]:", "evaluate:")
}

#[cfg(test)]
mod contract_tests;
#[cfg(test)]
mod library_tests;
#[cfg(test)]
mod tests;
