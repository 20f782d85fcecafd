//! A small builder of structural OpenAPI schemas.
//!
//! Every object inside `spec` and `status` keeps unknown fields, so that nothing a user writes is pruned away.

// D-1409: no conversion webhook.

use serde_json::{Map, Value, json};

const KEEP_UNKNOWN: &str = "x-kubernetes-preserve-unknown-fields";

/// A schema node under construction.
#[derive(Clone, Debug)]
pub(super) struct Schema(Map<String, Value>);

fn of_type(name: &str) -> Schema {
    Schema(Map::from_iter([("type".to_owned(), json!(name))]))
}

/// An object with these fields; further ones are kept.
pub(super) fn object<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    closed_object(fields).with(KEEP_UNKNOWN, true)
}

/// An object with these fields and no others: the frame of a kind, where a misspelt `spec` must be refused.
pub(super) fn closed_object<const N: usize>(fields: [(&str, Schema); N]) -> Schema {
    let properties: Map<String, Value> =
        fields.into_iter().map(|(name, schema)| (name.to_owned(), schema.build())).collect();
    if properties.is_empty() { of_type("object") } else { of_type("object").with("properties", properties) }
}

/// A list.
pub(super) fn array(items: Schema) -> Schema {
    of_type("array").with("items", items.build())
}

/// A map of texts.
pub(super) fn map() -> Schema {
    of_type("object").with("additionalProperties", json!({"type": "string"}))
}

/// A text.
pub(super) fn string() -> Schema {
    of_type("string")
}

/// A text that must not be empty.
pub(super) fn name() -> Schema {
    string().with("minLength", 1)
}

/// A text that is one of these.
pub(super) fn one_of(values: &[&str]) -> Schema {
    string().with("enum", json!(values))
}

/// Base64 of bytes.
pub(super) fn bytes() -> Schema {
    string().with("format", "byte")
}

/// A moment (RFC 3339).
pub(super) fn time() -> Schema {
    string().with("format", "date-time")
}

/// A whole number.
pub(super) fn int() -> Schema {
    of_type("integer").with("format", "int32")
}

/// True or false.
pub(super) fn boolean() -> Schema {
    of_type("boolean")
}

/// A switch that is off unless it is set.
pub(super) fn off() -> Schema {
    boolean().default(false)
}

/// A number or a percentage.
pub(super) fn int_or_percent() -> Schema {
    Schema(Map::new())
        .with("x-kubernetes-int-or-string", true)
        .with("pattern", "^((100|[0-9]{1,2})%|[0-9]+)$")
}

/// A value whose type differs between the eras of the API. It is stored as written and checked by the stages.
pub(super) fn any() -> Schema {
    Schema(Map::new()).with(KEEP_UNKNOWN, true)
}

// === impl Schema ===

impl Schema {
    /// Sets the description that `kubectl explain` shows.
    pub(super) fn doc(self, text: &str) -> Self {
        self.with("description", text)
    }

    /// Sets the value that the API server fills in.
    pub(super) fn default(self, value: impl Into<Value>) -> Self {
        self.with("default", value)
    }

    /// Adds a field to an object.
    pub(super) fn field(mut self, name: &str, schema: Schema) -> Self {
        let properties = self.0.entry("properties").or_insert_with(|| json!({}));
        properties[name] = schema.build();
        self
    }

    /// Sets the lowest number allowed.
    pub(super) fn at_least(self, minimum: i64) -> Self {
        self.with("minimum", minimum)
    }

    /// Sets the longest text allowed.
    pub(super) fn at_most_long(self, length: u64) -> Self {
        self.with("maxLength", length)
    }

    /// Sets the pattern of a text.
    pub(super) fn pattern(self, regex: &str) -> Self {
        self.with("pattern", regex)
    }

    /// Names the fields that must be there.
    pub(super) fn require(self, names: &[&str]) -> Self {
        self.with("required", json!(names))
    }

    /// Makes a list a map by these keys, so that appliers own its elements and not the whole.
    pub(super) fn keyed_by(self, keys: &[&str]) -> Self {
        self.with("x-kubernetes-list-type", "map").with("x-kubernetes-list-map-keys", json!(keys))
    }

    /// Makes a list belong to one applier as a whole.
    pub(super) fn atomic(self) -> Self {
        self.with("x-kubernetes-list-type", "atomic")
    }

    /// Adds a CEL rule.
    pub(super) fn rule(mut self, rule: &str, message: &str) -> Self {
        let rules = self.0.entry("x-kubernetes-validations").or_insert_with(|| json!([]));
        if let Value::Array(rules) = rules {
            rules.push(json!({"rule": rule, "message": message}));
        }
        self
    }

    /// The finished schema.
    pub(super) fn build(self) -> Value {
        Value::Object(self.0)
    }

    fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }
}
