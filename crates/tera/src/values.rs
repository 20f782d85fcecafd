//! Values between Tera and JSON.

use serde_json::{Map as JsonMap, Value as Json};
use sluice_template::{TextError, VALUE_DEPTH};
use tera::Value;
use tera::value::{Key, Map, ValueKind};

/// A JSON value as Tera has it; the keys of objects stay sorted. It is no deeper than its reader allows.
pub(crate) fn from_json(json: Json) -> Value {
    match json {
        Json::Null => Value::none(),
        Json::Bool(truth) => truth.into(),
        Json::Number(number) => match (number.as_i64(), number.as_u64()) {
            (Some(int), _) => int.into(),
            (None, Some(int)) => int.into(),
            (None, None) => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        Json::String(text) => text.into(),
        Json::Array(items) => items.into_iter().map(from_json).collect::<Vec<_>>().into(),
        Json::Object(object) => {
            let entries = object.into_iter().map(|(key, value)| (Key::from(key), from_json(value)));
            entries.collect::<Map>().into()
        }
    }
}

/// A Tera value as functions take it. What is undefined is nil where `undefined` allows it.
///
/// # Errors
/// What cannot be passed on.
pub(crate) fn to_json(value: &Value, undefined: bool) -> Result<Json, TextError> {
    to_json_at(value, undefined, 0)
}

fn to_json_at(value: &Value, undefined: bool, depth: usize) -> Result<Json, TextError> {
    if depth > VALUE_DEPTH {
        return Err(TextError::Limit(format!(
            "limit: a value nested deeper than {VALUE_DEPTH} (value_depth of the engine's limits); make it flatter"
        )));
    }
    Ok(match value.kind() {
        ValueKind::Undefined if undefined => Json::Null,
        ValueKind::Undefined => return Err("the value is undefined".to_owned().into()),
        ValueKind::None => Json::Null,
        ValueKind::Bool => value.is_truthy().into(),
        ValueKind::F64 => match value.as_f64().filter(|float| float.is_finite()) {
            Some(float) => float.into(),
            None => return Err("the value is no finite number".to_owned().into()),
        },
        _ if value.is_number() => match (value.as_i64(), value.as_u64()) {
            (Some(int), _) => int.into(),
            (None, Some(int)) => int.into(),
            (None, None) => return Err(format!("the number {value} has more than 64 bits").into()),
        },
        ValueKind::Array => {
            let items = value.as_array().unwrap_or_default();
            items.iter().map(|item| to_json_at(item, undefined, depth + 1)).collect::<Result<_, _>>()?
        }
        ValueKind::Map => {
            let mut object = JsonMap::new();
            for (key, item) in value.as_map().into_iter().flatten() {
                object.insert(key.as_value().to_string(), to_json_at(item, undefined, depth + 1)?);
            }
            Json::Object(object)
        }
        _ => Json::String(value.to_string()),
    })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use serde_json::json;

    use super::*;

    #[test]
    fn json_goes_through_unchanged() {
        let json =
            json!({"a": [1, -1, 1.5, true, null, "text", 18_446_744_073_709_551_615_u64], "b": {"c": {}}});
        assert_eq!(to_json(&from_json(json.clone()), false).unwrap(), json);
    }

    #[test]
    fn what_is_too_deep_is_refused() {
        let deep = |levels| (0..levels).fold(Value::from(1), |inner, _| Value::from(vec![inner]));
        assert!(to_json(&deep(VALUE_DEPTH), false).is_ok());
        let error = to_json(&deep(VALUE_DEPTH + 1), false).unwrap_err();
        assert!(error.is_limit() && error.text().contains("nested deeper than 100 (value_depth"), "{error}");
    }

    #[test]
    fn what_is_undefined_is_nil_only_where_that_is_asked_for() {
        let list = Value::from(vec![Value::undefined()]);
        assert_eq!(to_json(&list, true).unwrap(), json!([null]));
        assert_eq!(to_json(&list, false).unwrap_err().text(), "the value is undefined");
    }
}
