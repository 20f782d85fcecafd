//! What the functions of a running render share. Tera's functions must live for ever and be shared by all threads, so
//! they find the render that calls them by their thread. Their errors are texts of Tera by the time the render ends, so that the
//! session itself knows whether a budget was used up.

use std::cell::RefCell;
use std::collections::BTreeMap;

use serde_json::Value as Json;
use sluice_template::{Callable, Calls, Env, Limits, TextError};
use tera::{Error, Kwargs, Value};

use crate::bind::bind;
use crate::job::Job;
use crate::values::{from_json, to_json};

thread_local! {
    static CURRENT: RefCell<Option<Session>> = const { RefCell::new(None) };
}

/// Functions that ask whether a value is there.
const ASKING: [&str; 4] = ["coalesce", "default", "empty", "ternary"];

/// The surroundings of the render of this thread.
pub(crate) struct Session {
    calls: Calls,
    resources: Vec<(String, Json)>,
    now: i64,
    seed: [u8; 32],
    limits: Limits,
    /// Whether a budget is used up. No template goes on after an error.
    limited: bool,
}

// === impl Session ===

impl Session {
    /// Surroundings of a job; its resources move into them.
    pub(crate) fn of(job: &mut Job) -> Self {
        Self {
            calls: Calls::default(),
            resources: std::mem::take(&mut job.resources),
            now: job.now,
            seed: job.seed,
            limits: job.budgets.limits(),
            limited: false,
        }
    }

    /// Runs `work` with these surroundings; answers also whether a budget was used up.
    pub(crate) fn within<T>(self, work: impl FnOnce() -> T) -> (T, bool) {
        CURRENT.replace(Some(self));
        let done = work();
        let limited = CURRENT.replace(None).is_some_and(|session| session.limited);
        (done, limited)
    }

    fn call(&mut self, function: Callable, args: &[Json]) -> Result<Value, Error> {
        let mut env = Env::new(self.now, self.seed).with_steady_certificates();
        for (identifier, object) in &self.resources {
            env = env.with_resource(identifier, object);
        }
        let answer = self.calls.call(function, args, &env, &self.limits).map_err(|error| {
            self.limited |= error.is_limit();
            Error::message(error)
        })?;
        Ok(from_json(answer))
    }
}

/// Calls a function for the render of this thread.
///
/// # Errors
/// What is wrong with the arguments, or what the function says.
pub(crate) fn call(function: Callable, piped: Option<&Value>, kwargs: &Kwargs) -> Result<Value, Error> {
    let name = function.name();
    let undefined = ASKING.contains(&name);
    let wrong = |error: TextError| {
        note(&error);
        Error::message(format!("error calling {name}: {error}"))
    };
    let piped = piped.map(|value| to_json(value, undefined)).transpose().map_err(wrong)?;
    let mut named = BTreeMap::new();
    for (key, value) in kwargs.iter() {
        let key = key.as_str().unwrap_or_default();
        let value = to_json(value, undefined)
            .map_err(|error| wrong(error.reworded(|text| format!("argument `{key}`: {text}"))))?;
        named.insert(key.to_owned(), value);
    }
    let args = bind(function, piped, named).map_err(|error| wrong(error.into()))?;
    CURRENT.with_borrow_mut(|current| match current {
        Some(session) => session.call(function, &args),
        None => Err(Error::message("functions exist during a render only")),
    })
}

/// Remembers for the render of this thread that a budget was used up.
fn note(error: &TextError) {
    CURRENT.with_borrow_mut(|current| {
        if let Some(session) = current {
            session.limited |= error.is_limit();
        }
    });
}
