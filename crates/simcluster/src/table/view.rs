//! Reading parts of an object for a cell.

use serde_json::Value;

use super::duration;
use crate::object::Object;

/// A part of the object.
pub fn get<'a>(object: &'a Object, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.body().get(*first)?, |value, part| value.get(*part))
}

/// The items of a list; none when missing.
pub fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

/// A value without quotes.
pub fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A map as `a=b,c=d`.
pub fn pairs(map: Option<&Value>) -> String {
    let map = map.and_then(Value::as_object);
    let mut pairs: Vec<String> =
        map.into_iter().flatten().map(|(key, value)| format!("{key}={}", plain(value))).collect();
    pairs.sort_unstable();
    pairs.join(",")
}

/// A label selector as text.
pub fn label_selector(selector: Option<&Value>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let labels = pairs(selector.and_then(|selector| selector.get("matchLabels")));
    if !labels.is_empty() {
        parts.push(labels);
    }
    for expression in list(selector.and_then(|selector| selector.get("matchExpressions"))) {
        let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
        let values: Vec<String> = list(expression.get("values")).map(plain).collect();
        parts.push(match text("operator") {
            "In" => format!("{} in ({})", text("key"), values.join(",")),
            "NotIn" => format!("{} notin ({})", text("key"), values.join(",")),
            "DoesNotExist" => format!("!{}", text("key")),
            _ => text("key").to_owned(),
        });
    }
    if parts.is_empty() { "<none>".into() } else { parts.join(",") }
}

/// A text; empty when missing.
pub fn text<'a>(object: &'a Object, path: &[&str]) -> &'a str {
    get(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// A number; 0 when missing.
pub fn number(object: &Object, path: &[&str]) -> i64 {
    get(object, path).and_then(Value::as_i64).unwrap_or(0)
}

/// The text, or what stands for nothing.
pub fn or_none(text: &str) -> &str {
    if text.is_empty() { "<none>" } else { text }
}

/// How long the object exists.
pub fn age(object: &Object) -> Value {
    duration::age(object.meta_str("creationTimestamp")).into()
}
