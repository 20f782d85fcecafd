//! Reading manifests: YAML 1.1 as `sigs.k8s.io/yaml` reads it, JSON as it is, many documents in a text.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Reads every document of `text`; empty documents are skipped and a `List` is replaced by its items.
///
/// # Errors
/// The reason with its line, when one document cannot be read.
pub fn documents(text: &str) -> Result<Vec<Value>, String> {
    let mut objects = Vec::new();
    for value in parse(text)? {
        expand(value, &mut objects);
    }
    Ok(objects)
}

fn parse(text: &str) -> Result<Vec<Value>, String> {
    if text.trim_start().starts_with('{')
        && let Ok(value) = serde_json::from_str(text)
    {
        return Ok(vec![value]);
    }
    let options = serde_saphyr::options! {
        legacy_octal_numbers: true,
        duplicate_keys: serde_saphyr::DuplicateKeyPolicy::LastWins,
    };
    let documents: Vec<Yaml> = serde_saphyr::from_multiple_with_options(text, options)
        .map_err(|error| one_line(&error.to_string()))?;
    Ok(documents.into_iter().map(|Yaml(value)| value).collect())
}

fn one_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn expand(value: Value, objects: &mut Vec<Value>) {
    let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"))
        && value.get("items").is_some_and(Value::is_array);
    match value {
        Value::Null => {}
        Value::Object(mut map) if is_list => {
            let items = map.remove("items").map(|items| match items {
                Value::Array(items) => items,
                _ => Vec::new(),
            });
            items.into_iter().flatten().for_each(|item| expand(item, objects));
        }
        other => objects.push(other),
    }
}

/// A JSON value read the way Go's YAML reader reads it: keys that are booleans or numbers become text.
struct Yaml(Value);

struct Key(String);

impl<'de> Deserialize<'de> for Key {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Yaml(value) = Yaml::deserialize(deserializer)?;
        match value {
            Value::String(text) => Ok(Self(text)),
            Value::Array(_) | Value::Object(_) => Err(D::Error::custom("a key must be a plain value")),
            other => Ok(Self(other.to_string())),
        }
    }
}

impl<'de> Deserialize<'de> for Yaml {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(YamlVisitor).map(Self)
    }
}

struct YamlVisitor;

impl<'de> Visitor<'de> for YamlVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a YAML value")
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("a number must be finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_none<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        Yaml::deserialize(deserializer).map(|Yaml(value)| value)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(Yaml(item)) = access.next_element()? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some((Key(key), Yaml(value))) = access.next_entry()? {
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn documents_are_split_and_lists_expanded() {
        let text =
            "# only a comment\n---\na: 1\n---\n\n---\nkind: List\nitems:\n- {b: 2}\n- {c: 0644}\n---\n";
        assert_eq!(documents(text).unwrap(), [json!({"a": 1}), json!({"b": 2}), json!({"c": 420})]);
        assert_eq!(documents("").unwrap(), Vec::<Value>::new());
        assert_eq!(documents("{\"a\": 1}").unwrap(), [json!({"a": 1})]);
    }

    #[test]
    fn old_booleans_are_booleans_also_as_keys() {
        let value = documents("n: \"2\"\non: yes\n\"y\": off\n1: x\n").unwrap();
        assert_eq!(value, [json!({"false": "2", "true": true, "y": false, "1": "x"})]);
    }

    #[test]
    fn broken_text_names_its_line() {
        let error = documents("a: 1\nb: [\n").unwrap_err();
        assert!(error.contains("line"), "{error}");
    }

    proptest! {
        #[test]
        fn no_text_panics(text in "[ -~\n]{0,200}") {
            prop_assert!(documents(&text).is_ok() || !text.is_empty());
        }
    }
}
