//! JSON, YAML and TOML, printed and read as Go does.

pub(crate) mod json;
pub(crate) mod json_read;
pub(crate) mod toml_keys;
pub(crate) mod toml_read;
pub(crate) mod toml_strings;
pub(crate) mod toml_tree;
pub(crate) mod toml_values;
pub(crate) mod toml_write;
pub(crate) mod yaml;

use std::collections::BTreeMap;

use serde_json::Value as Json;

use crate::{
    Env, Limits, TextError,
    exec::{Cx, Fail},
    funcs::{CallResult, Row},
    value::{ListTy, Str, Value},
};

pub(crate) const TABLE: &[Row] = &[
    (
        "toYaml(value any) string",
        to_yaml_function,
        "YAML without the last newline; an error gives an empty string.",
    ),
    (
        "fromYaml(text string) map",
        from_yaml_function,
        "The map in the first YAML document; an error is under the key `Error`.",
    ),
    (
        "fromYamlArray(text string) list",
        from_yaml_array,
        "The list in the first YAML document; an error is its only element.",
    ),
    ("toJson(value any) string", to_json_function, "JSON with sorted keys; an error gives an empty string."),
    (
        "fromJson(text string) map",
        from_json,
        "The map in the JSON text, numbers as floats; an error is under the key `Error`.",
    ),
    (
        "fromJsonArray(text string) list",
        from_json_array,
        "The list in the JSON text; an error is its only element.",
    ),
    ("toToml(value any) string", to_toml, "TOML; an error is the result."),
    ("fromToml(text string) map", from_toml, "The map in the TOML text; an error is under the key `Error`."),
];

fn unbounded() -> Limits {
    Limits {
        steps: u64::MAX,
        output_bytes: usize::MAX,
        string_bytes: usize::MAX,
        memory_bytes: usize::MAX,
        // More than any JSON reader gives.
        value_depth: 200,
        ..Limits::default()
    }
}

/// The object as `sigs.k8s.io/yaml` prints it, last newline included.
pub fn to_yaml(object: &Json) -> String {
    let (env, limits) = (Env::default(), unbounded());
    let mut cx = Cx::new(&env, &limits, false);
    let mut text = yaml::to_sigs(&mut cx, &Value::from(object)).unwrap_or_default();
    text.push(b'\n');
    crate::text::lossy_owned(text)
}

/// The object as Go's `json.Marshal` prints it: compact, keys sorted, `<`, `>`, `&` escaped.
pub fn to_json(object: &Json) -> String {
    let (env, limits) = (Env::default(), unbounded());
    let mut cx = Cx::new(&env, &limits, false);
    let text = json::encode(&mut cx, &Value::from(object), json::Style::Compact).unwrap_or_default();
    crate::text::lossy_owned(text)
}

/// What integers of a YAML text become.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Integers {
    /// Floats, as Go reads them where nothing asks for another type.
    Floats,
    /// Integers.
    Kept,
}

/// The first document of a text as `sigs.k8s.io/yaml` reads it.
///
/// # Errors
/// Go's text, or what limit a hostile text exceeds.
pub fn from_yaml(text: &str, integers: Integers) -> Result<Json, TextError> {
    from_yaml_within(text, integers, &reading())
}

/// The first document of a text that nobody has looked at before, as [`from_yaml`] reads it.
///
/// # Errors
/// As [`from_yaml`].
pub fn from_yaml_within(text: &str, integers: Integers, limits: &Limits) -> Result<Json, TextError> {
    let env = Env::default();
    let mut cx = Cx::new(&env, limits, false);
    let numbers = match integers {
        Integers::Floats => yaml::Numbers::Floats,
        Integers::Kept => yaml::Numbers::Kept,
    };
    let value = yaml::from_sigs_as(&mut cx, text.as_bytes(), numbers);
    as_json(&mut cx, value)
}

/// The first document of a text with those of its fields whose names are wanted, integers kept. It is read to its end, and
/// what is wrong anywhere in it is said.
///
/// # Errors
/// As [`from_yaml`].
pub fn fields_from_yaml(text: &str, wanted: impl Fn(&[u8]) -> bool) -> Result<Json, TextError> {
    let (env, limits) = (Env::default(), reading());
    let mut cx = Cx::new(&env, &limits, false);
    let value = yaml::some_from_sigs(&mut cx, text.as_bytes(), &wanted);
    let mut read = as_json(&mut cx, value)?;
    if let Json::Object(fields) = &mut read {
        fields.retain(|name, _| wanted(name.as_bytes()));
    }
    Ok(read)
}

/// Whether a text is one JSON value.
///
/// # Errors
/// What Go's decoder says about it.
pub fn check_json(text: &[u8]) -> Result<(), TextError> {
    let (env, limits) = (Env::default(), reading());
    let mut cx = Cx::new(&env, &limits, false);
    let value = json_read::only(&mut cx, text);
    as_json(&mut cx, value).map(drop)
}

/// What reading a text may use up.
fn reading() -> Limits {
    Limits { steps: 100_000_000, memory_bytes: 1 << 30, ..unbounded() }
}

fn as_json<'a>(cx: &mut Cx<'a>, value: Result<Value<'a>, Fail>) -> Result<Json, TextError> {
    let read = value.and_then(|value| crate::calls::to_json(cx, &value, 0));
    read.map_err(|fail| match fail {
        Fail::Message(text) => TextError::Wrong(text),
        Fail::Limit(text) => TextError::Limit(text),
        Fail::Nested(error) if error.is_limit() => TextError::Limit(error.to_string()),
        Fail::Nested(error) => TextError::Wrong(error.to_string()),
    })
}

/// A map that holds only an error.
fn error_map<'a>(cx: &mut Cx<'a>, message: String) -> CallResult<'a> {
    let text = cx.string(message)?;
    cx.any_map(BTreeMap::from([(Str::from("Error"), text)]))
}

fn error_list<'a>(cx: &mut Cx<'a>, message: String) -> CallResult<'a> {
    let text = cx.string(message)?;
    cx.any_list(vec![text])
}

fn to_yaml_function<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match yaml::to_sigs(cx, &args[0]) {
        Ok(text) => cx.string(text),
        Err(fail) => json::empty_unless_limit(fail),
    }
}

fn to_json_function<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match json::encode(cx, &args[0], json::Style::Compact) {
        Ok(text) => cx.string(text),
        Err(fail) => json::empty_unless_limit(fail),
    }
}

/// What `json.Unmarshal` says when the text holds something else.
fn cannot_unmarshal(value: &Value<'_>, into: &str) -> Option<String> {
    let found = match value {
        Value::Map(_) => "object",
        Value::List(_) => "array",
        Value::Str(_) => "string",
        Value::Bool(_) => "bool",
        Value::Nil | Value::Invalid => return None,
        _ => "number",
    };
    Some(format!("json: cannot unmarshal {found} into Go value of type {into}"))
}

const MAP: &str = "map[string]interface {}";
const LIST: &str = "[]interface {}";

/// Adds an error to what was read before it.
fn map_with_error<'a>(cx: &mut Cx<'a>, value: &Value<'a>, message: String) -> CallResult<'a> {
    let mut entries: BTreeMap<_, _> = match value {
        Value::Map(map) => cx.maps.entries(map).into_iter().collect(),
        _ => BTreeMap::new(),
    };
    entries.insert(Str::from("Error"), cx.string(message)?);
    cx.any_map(entries)
}

fn from_json<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let decoded = json_read::decode(cx, args[0].bytes())?;
    match (decoded.value, decoded.error) {
        (value, Some(message)) => map_with_error(cx, &value, message),
        (map @ Value::Map(_), None) => Ok(map),
        (other, None) => match cannot_unmarshal(&other, MAP) {
            Some(message) => error_map(cx, message),
            None => Ok(Value::Map(crate::value::Map::Nil(crate::value::MapTy::Any))),
        },
    }
}

fn from_json_array<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let decoded = json_read::decode(cx, args[0].bytes())?;
    match (decoded.value, decoded.error) {
        (_, Some(message)) => error_list(cx, message),
        (list @ Value::List(_), None) => Ok(list),
        (other, None) => match cannot_unmarshal(&other, LIST) {
            Some(message) => error_list(cx, message),
            None => Ok(Value::List(crate::value::List::Nil(ListTy::Any))),
        },
    }
}

fn from_yaml_function<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match yaml::from_sigs(cx, args[0].bytes()) {
        Ok(map @ Value::Map(_)) => Ok(map),
        Ok(other) => match cannot_unmarshal(&other, MAP) {
            Some(message) => error_map(cx, decoding(&message)),
            None => cx.any_map(BTreeMap::new()),
        },
        Err(Fail::Message(message)) => error_map(cx, message),
        Err(other) => Err(other),
    }
}

fn decoding(message: &str) -> String {
    format!("error unmarshaling JSON: while decoding JSON: {message}")
}

fn from_yaml_array<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    match yaml::from_sigs(cx, args[0].bytes()) {
        Ok(list @ Value::List(_)) => Ok(list),
        Ok(other) => match cannot_unmarshal(&other, LIST) {
            Some(message) => error_list(cx, decoding(&message)),
            None => cx.any_list(Vec::new()),
        },
        Err(Fail::Message(message)) => error_list(cx, message),
        Err(other) => Err(other),
    }
}

fn to_toml<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    if args[0].is_nil() {
        return Err("reflect: call of reflect.Value.Type on zero Value".into());
    }
    match toml_write::encode(cx, &args[0]) {
        Ok(text) => cx.string(text),
        Err(Fail::Message(message)) => cx.string(message),
        Err(other) => Err(other),
    }
}

fn from_toml<'a>(cx: &mut Cx<'a>, args: &[Value<'a>]) -> CallResult<'a> {
    let read = toml_read::decode(cx, args[0].bytes());
    match read {
        Ok(value) => Ok(value),
        Err(Fail::Message(message)) => error_map(cx, message),
        Err(other) => Err(other),
    }
}
