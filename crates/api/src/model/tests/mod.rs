//! What users write, field by field: what is read of it, what is meant where nothing is said, and how a mistake is named.

#![allow(clippy::unwrap_used)]

use serde_json::{Map, Value, json};

use crate::error::FieldError;

mod cluster;
mod helm;
mod parts;
mod profile;
mod source;
mod trigger;
mod whole;

/// The map with this value at a dotted path, whose steps may be `name[0]`.
fn with(mut map: Map<String, Value>, path: &str, value: Value) -> Value {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    let (name, is_item) = first.strip_suffix("[0]").map_or((first, false), |name| (name, true));
    let below = map.remove(name).unwrap_or_default();
    let below = if is_item { below.get(0).cloned().unwrap_or_default() } else { below };
    let below = match rest {
        Some(rest) => with(below.as_object().cloned().unwrap_or_default(), rest, value),
        None => value,
    };
    map.insert(name.to_owned(), if is_item { json!([below]) } else { below });
    map.into()
}

/// What is said where one field of a spec that can be read is wrong; it must be said of that field of that object.
fn refused<T: std::fmt::Debug>(
    read: impl Fn(Value) -> Result<T, FieldError>,
    spec: &Value,
    path: &str,
    wrong: Value,
) -> String {
    let spec = with(spec.as_object().cloned().unwrap_or_default(), path, wrong.clone());
    let error = read(spec).expect_err(&format!("{path}: {wrong}"));
    assert_eq!(error.field, format!("spec.{path}"), "{wrong}: {error}");
    error.reason
}

/// That every one of these fields is refused where it is a number, with the remedy of texts.
fn texts_are_quoted<T: std::fmt::Debug>(
    read: impl Fn(Value) -> Result<T, FieldError>,
    spec: &Value,
    fields: &[&str],
) {
    for field in fields {
        assert_eq!(refused(&read, spec, field, json!(5)), "5 is not a string; quote it", "{field}");
    }
}

/// That every one of these fields is refused where it is empty or missing.
fn must_be_there<T: std::fmt::Debug>(
    read: impl Fn(Value) -> Result<T, FieldError>,
    spec: &Value,
    fields: &[&str],
) {
    for field in fields {
        for nothing in [json!(""), Value::Null] {
            let reason = refused(&read, spec, field, nothing);
            assert_eq!(reason, "is required and must not be empty", "{field}");
        }
    }
}

/// That every one of these fields is refused where it is a text.
fn are_true_or_false<T: std::fmt::Debug>(
    read: impl Fn(Value) -> Result<T, FieldError>,
    spec: &Value,
    fields: &[&str],
) {
    for field in fields {
        assert_eq!(refused(&read, spec, field, json!("yes")), "\"yes\" is not true or false", "{field}");
    }
}

/// That every one of these fields is refused where it is no list.
fn are_lists<T: std::fmt::Debug>(
    read: impl Fn(Value) -> Result<T, FieldError>,
    spec: &Value,
    fields: &[&str],
) {
    for field in fields {
        for wrong in [json!("x"), json!({"name": "x"}), json!(1)] {
            assert_eq!(refused(&read, spec, field, wrong), "must be a list", "{field}");
        }
    }
}
