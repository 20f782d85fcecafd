//! What expressions evaluate to. What stands in the object or the rule is lent, not copied.

use std::mem::size_of;
use std::ops::Deref;
use std::rc::Rc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map as JsonMap, Value as Json};

/// A value of CEL. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) enum Value<'a> {
    Null,
    Bool(bool),
    Int(i64),
    Uint(u64),
    Double(f64),
    Text(Shared<'a, str>),
    Bytes(Shared<'a, [u8]>),
    List(List<'a>),
    Map(Map<'a>),
    Timestamp(Timestamp),
    Duration(SignedDuration),
    Type(&'static str),
}

/// A text or bytes that stand in the object or the rule, or were made.
#[derive(Debug)]
pub(super) enum Shared<'a, T: ?Sized> {
    Lent(&'a T),
    Made(Rc<T>),
}

#[derive(Clone, Debug)]
pub(super) enum List<'a> {
    Json(&'a [Json]),
    Made(Rc<[Value<'a>]>),
}

#[derive(Clone, Debug)]
pub(super) enum Map<'a> {
    Json(&'a JsonMap<String, Json>),
    /// In the order in which they were written; no key is there twice.
    Made(Rc<[(Value<'a>, Value<'a>)]>),
}

// === impl Value ===

impl<'a> Value<'a> {
    /// What stands in an object. Numbers that no 64 bits hold are doubles.
    pub(super) fn of(json: &'a Json) -> Self {
        match json {
            Json::Null => Self::Null,
            Json::Bool(flag) => Self::Bool(*flag),
            Json::Number(number) => match number.as_i64() {
                Some(int) => Self::Int(int),
                None => Self::Double(number.as_f64().unwrap_or(f64::NAN)),
            },
            Json::String(text) => Self::lend(text),
            Json::Array(items) => Self::List(List::Json(items)),
            Json::Object(map) => Self::Map(Map::Json(map)),
        }
    }

    pub(super) fn lend(text: &'a str) -> Self {
        Self::Text(Shared::Lent(text))
    }

    pub(super) fn text(text: impl Into<Rc<str>>) -> Self {
        Self::Text(Shared::Made(text.into()))
    }

    pub(super) fn bytes(bytes: impl Into<Rc<[u8]>>) -> Self {
        Self::Bytes(Shared::Made(bytes.into()))
    }

    /// The name of its type.
    pub(super) fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null_type",
            Self::Bool(_) => "bool",
            Self::Int(_) => "int",
            Self::Uint(_) => "uint",
            Self::Double(_) => "double",
            Self::Text(_) => "string",
            Self::Bytes(_) => "bytes",
            Self::List(_) => "list",
            Self::Map(_) => "map",
            Self::Timestamp(_) => "google.protobuf.Timestamp",
            Self::Duration(_) => "google.protobuf.Duration",
            Self::Type(_) => "type",
        }
    }

    /// Bytes of one in a list.
    pub(super) const fn size() -> usize {
        size_of::<Self>()
    }
}

// === impl Shared ===

impl<T: ?Sized> Clone for Shared<'_, T> {
    fn clone(&self) -> Self {
        match self {
            Self::Lent(value) => Self::Lent(value),
            Self::Made(value) => Self::Made(value.clone()),
        }
    }
}

impl<T: ?Sized> Deref for Shared<'_, T> {
    type Target = T;

    fn deref(&self) -> &T {
        match self {
            Self::Lent(value) => value,
            Self::Made(value) => value,
        }
    }
}

// === impl List ===

impl<'a> List<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(items) => items.len(),
            Self::Made(items) => items.len(),
        }
    }

    pub(super) fn get(&self, index: usize) -> Option<Value<'a>> {
        match self {
            Self::Json(items) => items.get(index).map(Value::of),
            Self::Made(items) => items.get(index).cloned(),
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Value<'a>> + '_ {
        (0..self.len()).filter_map(|index| self.get(index))
    }
}

// === impl Map ===

impl<'a> Map<'a> {
    pub(super) fn len(&self) -> usize {
        match self {
            Self::Json(map) => map.len(),
            Self::Made(entries) => entries.len(),
        }
    }

    /// Keys in a list, for macros.
    pub(super) fn keys(&self) -> Vec<Value<'a>> {
        match self {
            Self::Json(map) => map.keys().map(|key| Value::lend(key)).collect(),
            Self::Made(entries) => entries.iter().map(|(key, _)| key.clone()).collect(),
        }
    }

    pub(super) fn entries(&self) -> Vec<(Value<'a>, Value<'a>)> {
        match self {
            Self::Json(map) => map.iter().map(|(key, value)| (Value::lend(key), Value::of(value))).collect(),
            Self::Made(entries) => entries.to_vec(),
        }
    }

    /// The value of a field.
    pub(super) fn field(&self, name: &str) -> Option<Value<'a>> {
        match self {
            Self::Json(map) => map.get(name).map(Value::of),
            Self::Made(entries) => {
                let is_it = |key: &Value<'_>| matches!(key, Value::Text(text) if **text == *name);
                entries.iter().find(|(key, _)| is_it(key)).map(|(_, value)| value.clone())
            }
        }
    }
}
