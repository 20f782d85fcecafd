//! What functions work with: budgets, the state of written maps, the surroundings.

use std::{collections::BTreeMap, rc::Rc};

use crate::{
    Env, Error, Limits,
    sprig::{random::Random, regexes::Patterns},
    value::{List, ListTy, Map, MapTy, Str, Value, map::Overlay},
};

/// Why a function fails.
#[derive(Debug)]
pub(crate) enum Fail {
    /// Go's text of the error.
    Message(String),
    /// A budget is used up.
    Limit(String),
    /// A template called by the function failed, at its own place.
    Nested(Box<Error>),
}

/// The context of one render.
pub(crate) struct Cx<'a> {
    pub(crate) maps: Overlay<'a>,
    pub(crate) env: &'a Env<'a>,
    pub(crate) limits: &'a Limits,
    pub(crate) lenient: bool,
    pub(crate) random: Random,
    pub(crate) patterns: Patterns,
    steps: u64,
    next_look: u64,
    memory: usize,
}

/// What a render has used up and drawn so far, between two contexts of the same render.
#[derive(Default)]
pub(crate) struct Spent {
    steps: u64,
    memory: usize,
    random: Random,
    patterns: Patterns,
}

/// What making a container or writing to one costs in steps: memory is asked for, and given back later.
const CONTAINER: u64 = 4;

/// How many steps pass between two looks at the deadline.
const LOOK_EVERY: u64 = 1024;

// === impl Fail ===

impl From<String> for Fail {
    fn from(message: String) -> Self {
        Self::Message(message)
    }
}

impl From<&str> for Fail {
    fn from(message: &str) -> Self {
        Self::Message(message.to_owned())
    }
}

// === impl Cx ===

impl<'a> Cx<'a> {
    pub(crate) fn new(env: &'a Env<'a>, limits: &'a Limits, lenient: bool) -> Self {
        Self {
            maps: Overlay::default(),
            env,
            limits,
            lenient,
            random: Random::default(),
            patterns: Patterns::default(),
            steps: 0,
            next_look: LOOK_EVERY,
            memory: 0,
        }
    }

    /// The context of a render that has been going on.
    pub(crate) fn resume(env: &'a Env<'a>, limits: &'a Limits, lenient: bool, spent: Spent) -> Self {
        let Spent { steps, memory, random, patterns } = spent;
        Self { steps, memory, random, patterns, ..Self::new(env, limits, lenient) }
    }

    /// What the next context of the render needs.
    pub(crate) fn suspend(self) -> Spent {
        Spent { steps: self.steps, memory: self.memory, random: self.random, patterns: self.patterns }
    }

    /// Spends steps; now and then asks the deadline.
    #[inline]
    pub(crate) fn step(&mut self, n: u64) -> Result<(), Fail> {
        self.steps = self.steps.saturating_add(n);
        if self.steps < self.next_look && self.steps <= self.limits.steps {
            return Ok(());
        }
        self.look()
    }

    #[cold]
    fn look(&mut self) -> Result<(), Fail> {
        if self.steps > self.limits.steps {
            return Err(Fail::Limit(format!("limit: more than {} steps", self.limits.steps)));
        }
        self.next_look = self.steps + LOOK_EVERY;
        match &self.limits.deadline {
            Some(deadline) if deadline.passed() => Err(Fail::Limit("limit: the deadline has passed".into())),
            _ => Ok(()),
        }
    }

    /// Spends what any function may need to look at its arguments: a step, about a microsecond, buys 512 bytes, of
    /// which the slowest of those that charge nothing else take 1.6 ns each.
    pub(crate) fn look_at(&mut self, args: &[Value<'a>]) -> Result<(), Fail> {
        let mut cost = 0;
        for arg in args {
            cost += match arg {
                Value::Str(text) => text.bytes().len() as u64 / 512,
                Value::List(list) => list.len() as u64 / 32,
                _ => 0,
            };
        }
        if cost > 0 { self.step(cost) } else { Ok(()) }
    }

    /// Spends memory, and steps for the work of filling it.
    pub(crate) fn spend(&mut self, bytes: usize) -> Result<(), Fail> {
        self.memory = self.memory.saturating_add(bytes);
        if self.memory > self.limits.memory_bytes {
            let limit = self.limits.memory_bytes;
            return Err(Fail::Limit(format!("limit: more than {limit} bytes of computed values")));
        }
        self.step(bytes as u64 / 256 + 1)
    }

    /// Refuses a string that would be too long, before it is made.
    pub(crate) fn may_be_long(&self, bytes: usize) -> Result<(), Fail> {
        if bytes > self.limits.string_bytes {
            return Err(Fail::Limit(format!(
                "limit: a string of more than {} bytes",
                self.limits.string_bytes
            )));
        }
        Ok(())
    }

    /// Refuses to go deeper into a value or text than the stack surely allows.
    #[inline]
    pub(crate) fn may_be_deep(&self, depth: usize, what: &str) -> Result<(), Fail> {
        if depth > self.limits.value_depth { self.too_deep(what) } else { Ok(()) }
    }

    #[cold]
    fn too_deep(&self, what: &str) -> Result<(), Fail> {
        let limit = self.limits.value_depth;
        Err(Fail::Limit(format!(
            "limit: {what} nested deeper than {limit} (value_depth of the engine's limits); make it flatter"
        )))
    }

    /// A computed string.
    pub(crate) fn string(&mut self, bytes: impl Into<Vec<u8>>) -> Result<Value<'a>, Fail> {
        Ok(Value::Str(self.str(bytes)?))
    }

    pub(crate) fn str(&mut self, bytes: impl Into<Vec<u8>>) -> Result<Str<'a>, Fail> {
        let bytes = bytes.into();
        self.may_be_long(bytes.len())?;
        self.spend(bytes.len() + 16)?;
        Ok(Str::from(bytes))
    }

    /// A computed list.
    pub(crate) fn list(&mut self, ty: ListTy, items: Vec<Value<'a>>) -> Result<Value<'a>, Fail> {
        self.step(CONTAINER)?;
        self.spend(items.len() * size_of::<Value<'_>>() + 48)?;
        Ok(Value::List(List::own(ty, items)))
    }

    pub(crate) fn any_list(&mut self, items: Vec<Value<'a>>) -> Result<Value<'a>, Fail> {
        self.list(ListTy::Any, items)
    }

    /// A computed map.
    pub(crate) fn map(
        &mut self,
        ty: MapTy,
        entries: BTreeMap<Str<'a>, Value<'a>>,
    ) -> Result<Value<'a>, Fail> {
        self.step(CONTAINER)?;
        self.spend(entries.len() * 96 + 64)?;
        Ok(Value::Map(Map::own(ty, entries)))
    }

    pub(crate) fn any_map(&mut self, entries: BTreeMap<Str<'a>, Value<'a>>) -> Result<Value<'a>, Fail> {
        self.map(MapTy::Any, entries)
    }

    /// Writes an entry, as Go's `m[key] = value`.
    pub(crate) fn write_entry(&mut self, map: &Map<'a>, key: Str<'a>, value: Value<'a>) -> Result<(), Fail> {
        self.step(CONTAINER * 2)?;
        self.spend(96)?;
        if self.maps.len(map) > 64 {
            let borrowed = !matches!(self.maps.current(map), Map::Own(_));
            self.spend(if borrowed { self.maps.len(map) * 96 } else { 0 })?;
        }
        match self.maps.writable(map) {
            Some(own) => {
                self.maps.insert(&own, key, value);
                Ok(())
            }
            None => Err("assignment to entry in nil map".into()),
        }
    }

    /// Removes an entry, as Go's `delete(m, key)`.
    pub(crate) fn remove_entry(&mut self, map: &Map<'a>, key: &[u8]) -> Result<(), Fail> {
        self.spend(64)?;
        if self.maps.get(map, key).is_none() {
            return Ok(());
        }
        if let Some(own) = self.maps.writable(map) {
            let removed = own.entries.borrow_mut().remove(key);
            drop(removed);
        }
        Ok(())
    }

    pub(crate) fn object(&mut self, object: crate::value::Object) -> Value<'a> {
        Value::Object(Rc::new(object))
    }
}
