//! The functions of the table for other engines: called by name, with JSON for arguments and answers.
//!
//! A time is the object `{"Time": "<RFC 3339>", "Unix": <seconds>}` on the way out and becomes a
//! time again on the way in; a certificate is `{"Cert": …, "Key": …}`; a version is an object of
//! its parts. An integer takes the integer type that the parameter asks for.

use std::{fmt, rc::Rc};

use serde_json::{Map as JsonMap, Number, Value as Json, json};

use crate::{
    Env, ErrorKind, Limits, Stage,
    exec::{Cx, Fail, Spent},
    funcs::{self, Function, Special, Ty},
    sprig::dates::{layout_format, parse},
    text::lossy,
    value::{Certificate, IntTy, Object, Time, UintTy, Value},
};

/// How times are written.
const TIME: &[u8] = b"2006-01-02T15:04:05.999999999Z07:00";

/// A function that other engines may call.
#[derive(Debug, Clone, Copy)]
pub struct Callable(&'static Function);

/// The state that the calls of one render share: what they have used up, and what was drawn from
/// the random source.
#[derive(Default)]
pub struct Calls(Spent);

/// Why a call fails.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallError {
    /// [`ErrorKind::Limit`] when a budget is used up, else [`ErrorKind::Exec`].
    pub kind: ErrorKind,
    /// Go's text of the error.
    pub text: String,
}

/// The functions of a stage that work on values alone, sorted by name. Those that the executor of
/// Go templates runs itself (`and`, `or`, `call`, `include`, `tpl`) are not among them.
pub fn callables(stage: Stage) -> Vec<Callable> {
    let all = funcs::of_stage(stage).values();
    let mut found: Vec<_> = all.filter(|f| f.special == Special::No).map(Callable).collect();
    found.sort_by_key(|callable| callable.name());
    found
}

// === impl Callable ===

impl Callable {
    /// As templates write it.
    pub fn name(&self) -> &'static str {
        self.0.name
    }

    /// The names of its parameters, as its documentation has them.
    pub fn params(&self) -> &'static [&'static str] {
        &self.0.names
    }

    /// Whether the last parameter takes any number of values.
    pub fn variadic(&self) -> bool {
        self.0.variadic
    }
}

// === impl Calls ===

impl Calls {
    /// Calls a function. Arguments are positional; those of a variadic parameter follow each other.
    ///
    /// # Errors
    /// What Go says about the arguments, or what the function says.
    pub fn call(
        &mut self,
        function: Callable,
        args: &[Json],
        env: &Env<'_>,
        limits: &Limits,
    ) -> Result<Json, CallError> {
        let mut cx = Cx::resume(env, limits, true, std::mem::take(&mut self.0));
        let answer = answer(&mut cx, function.0, args);
        self.0 = cx.suspend();
        answer.map_err(|fail| CallError::of(function.name(), fail))
    }
}

fn answer<'a>(cx: &mut Cx<'a>, function: &'static Function, args: &'a [Json]) -> Result<Json, Fail> {
    cx.step(1)?;
    let wanted = function.params.len();
    let fits = if function.variadic { args.len() + 1 >= wanted } else { args.len() == wanted };
    if !fits {
        let least = if function.variadic { format!("at least {}", wanted - 1) } else { wanted.to_string() };
        return Err(format!("wrong number of args: want {least} got {}", args.len()).into());
    }
    let mut values = Vec::with_capacity(args.len());
    for (at, arg) in args.iter().enumerate() {
        let param = at.min(wanted.saturating_sub(1));
        values.push(argument(arg, function.params[param]).map_err(|got| {
            let expected = function.params[param].name();
            format!("wrong type for {}; expected {expected}; got {got}", function.names[param])
        })?);
    }
    cx.look_at(&values)?;
    let value = (function.run)(cx, &values)?;
    to_json(cx, &value, 0)
}

/// The argument as a value of the parameter's type, or its own type.
fn argument(json: &Json, ty: Ty) -> Result<Value<'_>, String> {
    let value = object(json).unwrap_or_else(|| Value::from(json));
    let value = match (ty, value) {
        (Ty::Any | Ty::Value, value) => value,
        (ty, Value::Nil) => ty.nil().ok_or("nil")?,
        (Ty::Int, Value::Int(_, i)) => Value::int(i),
        (Ty::Float64, Value::Int(_, i)) => Value::Float(i as f64),
        (Ty::Uint32, Value::Int(_, i)) if u32::try_from(i).is_ok() => Value::Uint(UintTy::Uint32, i as u64),
        (Ty::Uint64, Value::Int(_, i)) if i >= 0 => Value::Uint(UintTy::Uint64, i as u64),
        (Ty::Duration, Value::Int(_, i)) => Value::Int(IntTy::Duration, i),
        (_, value) => value,
    };
    if ty.accepts(&value) { Ok(value) } else { Err(value.type_name().into_owned()) }
}

/// The Go object that this JSON object stands for.
fn object<'a>(json: &Json) -> Option<Value<'a>> {
    let map = json.as_object().filter(|map| map.len() == 2)?;
    let text = |key: &str| map.get(key).and_then(Json::as_str);
    let object = if let (Some(time), true) = (text("Time"), map.contains_key("Unix")) {
        Object::Time(parse::parse(TIME, time.as_bytes()).ok()?)
    } else {
        Object::Certificate(Certificate { cert: text("Cert")?.into(), key: text("Key")?.into() })
    };
    Some(Value::Object(Rc::new(object)))
}

pub(crate) fn to_json<'a>(cx: &mut Cx<'a>, value: &Value<'a>, depth: usize) -> Result<Json, Fail> {
    cx.step(1)?;
    cx.may_be_deep(depth, "a value")?;
    Ok(match value {
        Value::Invalid | Value::Nil => Json::Null,
        Value::Bool(truth) => Json::Bool(*truth),
        Value::Int(_, int) => (*int).into(),
        Value::Uint(_, int) => (*int).into(),
        Value::Float(float) => match Number::from_f64(*float) {
            Some(number) => Json::Number(number),
            None => return Err(format!("the result {float} is no finite number").into()),
        },
        Value::Complex(..) => return Err("the result is a complex number".into()),
        Value::Str(text) => Json::String(text.lossy()),
        Value::List(list) => {
            let items = list.to_vec();
            Json::Array(items.iter().map(|item| to_json(cx, item, depth + 1)).collect::<Result<_, _>>()?)
        }
        Value::Map(map) => {
            let mut object = JsonMap::new();
            for (key, item) in cx.maps.entries(map) {
                object.insert(lossy(key.bytes()), to_json(cx, &item, depth + 1)?);
            }
            Json::Object(object)
        }
        Value::Record(record) => {
            let mut object = JsonMap::new();
            for (key, item) in record.exported() {
                object.insert(key.to_owned(), to_json(cx, &item, depth + 1)?);
            }
            Json::Object(object)
        }
        Value::Object(object) => from_object(object),
    })
}

fn from_object(object: &Object) -> Json {
    match object {
        Object::Time(time) => from_time(time),
        Object::Version(version) => json!({
            "Major": version.major, "Minor": version.minor, "Patch": version.patch,
            "Prerelease": version.pre, "Metadata": version.metadata, "Original": version.original,
        }),
        Object::Certificate(pair) => json!({"Cert": pair.cert, "Key": pair.key}),
    }
}

fn from_time(time: &Time) -> Json {
    json!({"Time": lossy(&layout_format::format(time, TIME)), "Unix": time.unix})
}

impl fmt::Debug for Calls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Calls")
    }
}

// === impl CallError ===

impl CallError {
    /// Whether a budget is used up.
    pub fn is_limit(&self) -> bool {
        self.kind == ErrorKind::Limit
    }

    fn of(name: &str, fail: Fail) -> Self {
        let (kind, text) = match fail {
            Fail::Message(text) => (ErrorKind::Exec, text),
            Fail::Limit(text) => (ErrorKind::Limit, text),
            Fail::Nested(error) => (error.kind(), error.to_string()),
        };
        Self { kind, text: format!("error calling {name}: {text}") }
    }
}

impl fmt::Display for CallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl std::error::Error for CallError {}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    fn call(name: &str, args: Json) -> Result<Json, String> {
        let function = callables(Stage::Event).into_iter().find(|f| f.name() == name).unwrap();
        let args = args.as_array().unwrap().clone();
        let called = Calls::default().call(function, &args, &Env::default(), &Limits::default());
        called.map_err(|error| error.to_string())
    }

    #[test]
    fn integers_take_the_type_of_the_parameter() {
        assert_eq!(call("trunc", json!([2, "text"])).unwrap(), json!("te"));
        assert_eq!(call("addf", json!([1, 2])).unwrap(), json!(3.0));
        assert_eq!(call("has", json!([1, [1, 2]])).unwrap(), json!(true));
    }

    #[test]
    fn wrong_arguments_are_named() {
        assert_eq!(
            call("trunc", json!(["2", "text"])).unwrap_err(),
            "error calling trunc: wrong type for length; expected int; got string"
        );
        assert_eq!(
            call("trunc", json!([1])).unwrap_err(),
            "error calling trunc: wrong number of args: want 2 got 1"
        );
    }

    #[test]
    fn times_go_out_and_come_back() {
        let time = call("toDate", json!(["2006-01-02", "2026-11-21"])).unwrap();
        assert_eq!(time, json!({"Time": "2026-11-21T00:00:00Z", "Unix": 1_795_219_200}));
        assert_eq!(call("date", json!(["02.01.2006", time])).unwrap(), json!("21.11.2026"));
    }

    #[test]
    fn functions_that_write_answer_with_what_they_wrote() {
        assert_eq!(call("set", json!([{"a": 1}, "b", 2])).unwrap(), json!({"a": 1, "b": 2}));
        let object = json!({"metadata": {"uid": "u", "name": "n"}});
        assert_eq!(call("getResource", json!([object])).unwrap(), json!({"metadata": {"name": "n"}}));
    }

    #[test]
    fn budgets_and_draws_last_over_the_calls_of_a_render() {
        let find = |name| callables(Stage::Event).into_iter().find(|f| f.name() == name).unwrap();
        let (mut calls, env, limits) = (Calls::default(), Env::default(), Limits::default());
        let (first, second) = (
            calls.call(find("uuidv4"), &[], &env, &limits).unwrap(),
            calls.call(find("uuidv4"), &[], &env, &limits).unwrap(),
        );
        assert_ne!(first, second);
        let many = [json!(1_000_000), json!("x")];
        let error = (0..100).find_map(|_| calls.call(find("repeat"), &many, &env, &limits).err()).unwrap();
        assert_eq!(error.kind, ErrorKind::Limit, "{error}");
    }
}
