//! What counts as true.

use super::{Value, map::Overlay};

/// Go's `template.IsTrue`, on the value inside of an interface.
pub(crate) fn is_true<'a>(value: &Value<'a>, maps: &Overlay<'a>) -> bool {
    match value {
        Value::Invalid | Value::Nil => false,
        Value::Bool(b) => *b,
        Value::Int(_, i) => *i != 0,
        Value::Uint(_, u) => *u != 0,
        Value::Float(f) => *f != 0.0,
        Value::Complex(re, im) => *re != 0.0 || *im != 0.0,
        Value::Str(s) => !s.bytes().is_empty(),
        Value::List(list) => list.len() > 0,
        Value::Map(map) => maps.len(map) > 0,
        Value::Record(_) | Value::Object(_) => true,
    }
}
