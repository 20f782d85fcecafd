//! From JSON to the wire types, with errors that name the field.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use std::fmt;

/// A value that does not fit its field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// Where the value stands, for example `spec.policyRefs[1].name`.
    pub path: String,
    /// What was found and what was expected.
    pub message: String,
}

/// One step from an object or a list to a part of it.
#[derive(Clone)]
enum Step {
    Key(String),
    Index(usize),
}

// === impl DecodeError ===

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.path.is_empty() {
            return f.write_str(&self.message);
        }
        write!(f, "{}: {}", self.path, self.message)
    }
}

impl std::error::Error for DecodeError {}

/// Decodes one object of the API. `null` members count as absent, as they do in Kubernetes.
pub fn decode<T: DeserializeOwned>(value: Value) -> Result<T, DecodeError> {
    let value = without_nulls(value);
    T::deserialize(&value).map_err(|error| {
        let (steps, error) = locate::<T>(&value, error);
        DecodeError { path: path_text(&steps), message: error.to_string() }
    })
}

/// Removes the members of objects that are `null`, at every depth. Elements of lists stay.
pub fn without_nulls(value: Value) -> Value {
    match value {
        Value::Object(members) => Value::Object(
            members.into_iter().filter(|(_, v)| !v.is_null()).map(|(k, v)| (k, without_nulls(v))).collect(),
        ),
        Value::Array(items) => Value::Array(items.into_iter().map(without_nulls).collect()),
        scalar => scalar,
    }
}

/// Narrows a failure down to the smallest part that still fails.
///
/// Every field of the wire types has a default, so an object that is cut down to one member is as decodable as that
/// member is. This runs on failures only.
fn locate<T: DeserializeOwned>(root: &Value, mut error: serde_json::Error) -> (Vec<Step>, serde_json::Error) {
    let mut steps = Vec::new();
    let mut current = root;
    loop {
        if emptied(current).is_some_and(|empty| T::deserialize(&wrap(&steps, empty)).is_err()) {
            return (steps, error); // the kind of value is wrong, whatever it holds
        }
        let failing = children(current).into_iter().find_map(|(step, child)| {
            let mut longer = steps.clone();
            longer.push(step);
            let alone = wrap(&longer, child.clone());
            T::deserialize(&alone).err().map(|error| (longer, child, error))
        });
        match failing {
            Some((longer, child, found)) => (steps, current, error) = (longer, child, found),
            None => return (steps, error),
        }
    }
}

fn emptied(value: &Value) -> Option<Value> {
    match value {
        Value::Object(_) => Some(Value::Object(Map::new())),
        Value::Array(_) => Some(Value::Array(Vec::new())),
        _ => None,
    }
}

fn children(value: &Value) -> Vec<(Step, &Value)> {
    match value {
        Value::Object(members) => members.iter().map(|(k, v)| (Step::Key(k.clone()), v)).collect(),
        Value::Array(items) => items.iter().enumerate().map(|(i, v)| (Step::Index(i), v)).collect(),
        _ => Vec::new(),
    }
}

/// The smallest document in which `leaf` stands at the end of `steps`.
fn wrap(steps: &[Step], leaf: Value) -> Value {
    steps.iter().rev().fold(leaf, |inner, step| match step {
        Step::Key(key) => Value::Object(Map::from_iter([(key.clone(), inner)])),
        Step::Index(_) => Value::Array(vec![inner]),
    })
}

fn path_text(steps: &[Step]) -> String {
    let mut text = String::new();
    for step in steps {
        match step {
            Step::Key(key) if text.is_empty() => text.push_str(key),
            Step::Key(key) => {
                text.push('.');
                text.push_str(key);
            }
            Step::Index(index) => text.push_str(&format!("[{index}]")),
        }
    }
    text
}
