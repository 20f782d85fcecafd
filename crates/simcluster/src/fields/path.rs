//! One step of a field path, in the notation of `fieldsV1`.

use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::schema::ListMap;

/// `f:name`, `k:{"name":"a"}` or `v:"a"`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct PathElement(Box<str>);

// === impl PathElement ===

impl PathElement {
    /// A field of an object.
    pub fn field(name: &str) -> Self {
        Self(["f:", name].concat().into())
    }

    /// An element of a set.
    pub fn value(value: &Value) -> Self {
        Self(format!("v:{value}").into())
    }

    /// An item of a list with keys; `None` when the item is not an object or lacks a key.
    pub fn key(item: &Value, list: &ListMap) -> Option<Self> {
        let mut text = String::from("k:{");
        for (index, (name, default)) in list.keys.iter().enumerate() {
            let value = item.get(&**name).filter(|value| !value.is_null()).or(default.as_ref())?;
            let separator = if index == 0 { "" } else { "," };
            text.push_str(&format!("{separator}{}:{value}", Value::from(&**name)));
        }
        text.push('}');
        Some(Self(text.into()))
    }

    /// Reads one key of `fieldsV1`.
    pub fn parse(text: &str) -> Option<Self> {
        let known = ["f:", "k:{", "v:", "i:"].iter().any(|prefix| text.starts_with(prefix));
        known.then(|| Self(text.into()))
    }

    /// The name, when this is a field of an object.
    pub fn as_field(&self) -> Option<&str> {
        self.0.strip_prefix("f:")
    }
}

/// As in conflict messages: `.spec`, `[name="a"]`, `[="a"]`.
impl fmt::Display for PathElement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.split_at_checked(2) {
            Some(("f:", name)) => write!(f, ".{name}"),
            Some(("k:", keys)) => match serde_json::from_str::<Value>(keys) {
                Ok(Value::Object(keys)) => {
                    let mut pairs: Vec<String> =
                        keys.iter().map(|(name, value)| format!("{name}={value}")).collect();
                    pairs.sort_unstable();
                    write!(f, "[{}]", pairs.join(","))
                }
                _ => write!(f, "[{keys}]"),
            },
            Some((_, value)) => write!(f, "[={value}]"),
            None => f.write_str(&self.0),
        }
    }
}
