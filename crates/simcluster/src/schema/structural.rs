//! Pruning, defaulting and validation of custom resources by their structural schema.

use serde_json::Value;

use crate::object::Json;
use crate::status::Cause;

/// One `openAPIV3Schema`.
#[derive(Debug)]
pub struct Structural(Value);

// === impl Structural ===

impl Structural {
    /// Wraps the schema of a CRD version.
    pub fn new(schema: Value) -> Self {
        Self(schema)
    }

    /// Removes what the schema does not name; returns the paths removed.
    pub fn prune(&self, body: &mut Json) -> Vec<String> {
        let mut removed = Vec::new();
        if keeps_unknown(&self.0) {
            return removed;
        }
        let mut path = Vec::new();
        let properties = self.0.get("properties").and_then(Value::as_object);
        body.retain(|name, value| {
            if matches!(name.as_str(), "metadata" | "apiVersion" | "kind") {
                return true;
            }
            let Some(schema) = properties.and_then(|known| known.get(name)) else {
                removed.push(name.clone());
                return false;
            };
            path.push(name.clone());
            prune(value, schema, &mut path, &mut removed);
            path.pop();
            true
        });
        removed
    }

    /// Fills in defaults.
    pub fn default(&self, body: &mut Json) {
        let Some(properties) = self.0.get("properties").and_then(Value::as_object) else { return };
        default_members(body, properties, true);
    }

    /// What is wrong with the object.
    pub fn validate(&self, body: &Json) -> Vec<Cause> {
        let mut causes = Vec::new();
        validate_members(body, &self.0, "", &mut causes);
        causes
    }

    /// What is wrong with the status of the object. The real server looks at the status alone when
    /// that is what is written, and its messages name the places within it.
    pub fn validate_status(&self, body: &Json) -> Vec<Cause> {
        let schema = self.0.get("properties").and_then(|properties| properties.get("status"));
        let (Some(status), Some(schema)) = (body.get("status"), schema) else { return Vec::new() };
        let mut causes = Vec::new();
        validate(status, schema, "", &mut causes);
        for cause in &mut causes {
            cause.field = if cause.field.is_empty() { "status".into() } else { join("status", &cause.field) };
        }
        causes
    }
}

fn keeps_unknown(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool) == Some(true)
}

fn prune(value: &mut Value, schema: &Value, path: &mut Vec<String>, removed: &mut Vec<String>) {
    match value {
        Value::Object(map) => prune_object(map, schema, path, removed),
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for (index, item) in items.iter_mut().enumerate() {
                path.push(format!("[{index}]"));
                prune(item, schema, path, removed);
                path.pop();
            }
        }
        _ => {}
    }
}

fn prune_object(map: &mut Json, schema: &Value, path: &mut Vec<String>, removed: &mut Vec<String>) {
    let embedded = schema.get("x-kubernetes-embedded-resource").and_then(Value::as_bool) == Some(true);
    let additional = schema.get("additionalProperties");
    map.retain(|name, value| {
        path.push(name.clone());
        let known = schema.get("properties").and_then(|properties| properties.get(name));
        let keep = match known.or(additional.filter(|schema| schema.is_object())) {
            Some(schema) => {
                prune(value, schema, path, removed);
                true
            }
            None => {
                let identity = embedded && matches!(name.as_str(), "apiVersion" | "kind" | "metadata");
                identity || keeps_unknown(schema) || additional.and_then(Value::as_bool) == Some(true)
            }
        };
        if !keep {
            removed.push(path.join(".").replace(".[", "["));
        }
        path.pop();
        keep
    });
}

fn default_members(map: &mut Json, properties: &Json, root: bool) {
    for (name, schema) in properties {
        if root && matches!(name.as_str(), "metadata" | "apiVersion" | "kind") {
            continue;
        }
        if !map.contains_key(name)
            && let Some(default) = schema.get("default")
        {
            map.insert(name.clone(), default.clone());
        }
        if let Some(value) = map.get_mut(name) {
            default_value(value, schema);
        }
    }
}

fn default_value(value: &mut Value, schema: &Value) {
    match value {
        Value::Object(map) => {
            if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
                default_members(map, properties, false);
            }
            if let Some(values @ Value::Object(_)) = schema.get("additionalProperties") {
                map.values_mut().for_each(|value| default_value(value, values));
            }
        }
        Value::Array(items) => {
            if let Some(schema) = schema.get("items") {
                items.iter_mut().for_each(|item| default_value(item, schema));
            }
        }
        _ => {}
    }
}

fn validate_members(map: &Json, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    for name in
        schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
    {
        if !map.contains_key(name) {
            causes.push(Cause::required(join(path, name), ""));
        }
    }
    for (name, value) in map {
        if path.is_empty() && matches!(name.as_str(), "metadata" | "apiVersion" | "kind") {
            continue;
        }
        let known = schema.get("properties").and_then(|properties| properties.get(name));
        if let Some(schema) = known.or_else(|| schema.get("additionalProperties")) {
            validate(value, schema, &join(path, name), causes);
        }
    }
}

fn validate(value: &Value, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    if let Some(wanted) = wrong_type(value, schema) {
        let message = format!(
            "Invalid value: \"{0}\": {path} in body must be of type {wanted}: \"{0}\"",
            type_name(value)
        );
        causes.push(Cause { reason: "FieldValueTypeInvalid", message, field: path.into() });
        return;
    }
    if let Some(allowed) = schema.get("enum").and_then(Value::as_array)
        && !allowed.contains(value)
    {
        let list: Vec<String> = allowed.iter().map(Value::to_string).collect();
        let message = format!("Unsupported value: {value}: supported values: {}", list.join(", "));
        causes.push(Cause { reason: "FieldValueNotSupported", message, field: path.into() });
    }
    validate_bounds(value, schema, path, causes);
    match value {
        Value::Object(map) => validate_members(map, schema, path, causes),
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for (index, item) in items.iter().enumerate() {
                validate(item, schema, &format!("{path}[{index}]"), causes);
            }
        }
        _ => {}
    }
}

fn validate_bounds(value: &Value, schema: &Value, path: &str, causes: &mut Vec<Cause>) {
    let size = match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => Some(text.chars().count() as f64),
        Value::Array(items) => Some(items.len() as f64),
        _ => None,
    };
    let (Some(size), [low, high]) = (size, bound_names(value)) else { return };
    let bound = |name: &str| schema.get(name).and_then(Value::as_f64);
    if let Some(least) = bound(low).filter(|least| size < *least) {
        let why = format!("{path} in body should be greater than or equal to {least}");
        causes.push(Cause::invalid(path, &value.to_string(), &why));
    }
    if let Some(most) = bound(high).filter(|most| size > *most) {
        let why = format!("{path} in body should be less than or equal to {most}");
        causes.push(Cause::invalid(path, &value.to_string(), &why));
    }
}

fn bound_names(value: &Value) -> [&'static str; 2] {
    match value {
        Value::String(_) => ["minLength", "maxLength"],
        Value::Array(_) => ["minItems", "maxItems"],
        _ => ["minimum", "maximum"],
    }
}

fn wrong_type<'a>(value: &Value, schema: &'a Value) -> Option<&'a str> {
    if schema.get("x-kubernetes-int-or-string").and_then(Value::as_bool) == Some(true) {
        return (!value.is_string() && !value.is_i64() && !value.is_u64()).then_some("integer,string");
    }
    if value.is_null() && schema.get("nullable").and_then(Value::as_bool) == Some(true) {
        return None;
    }
    let wanted = schema.get("type").and_then(Value::as_str)?;
    let right = match wanted {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => {
            value.is_i64() || value.is_u64() || value.as_f64().is_some_and(|number| number.fract() == 0.0)
        }
        "number" => value.is_number(),
        _ => true,
    };
    (!right).then_some(wanted)
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_f64() => "number",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

fn join(path: &str, name: &str) -> String {
    if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;

    fn schema() -> Structural {
        Structural::new(
            json!({"type": "object", "properties": {"spec": {"type": "object", "required": ["size"], "properties": {
                "size": {"type": "integer", "minimum": 1},
                "mode": {"type": "string", "enum": ["a", "b"], "default": "a"},
                "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
                "list": {"type": "array", "items": {"type": "object", "properties": {"x": {"type": "string"}}}},
            }}}}),
        )
    }

    fn body(spec: Value) -> Json {
        json!({"metadata": {"name": "a"}, "spec": spec}).as_object().unwrap().clone()
    }

    #[test]
    fn unknown_fields_are_pruned_and_named() {
        let mut object =
            body(json!({"size": 1, "typo": 1, "free": {"any": 1}, "list": [{"x": "1", "y": 2}]}));
        let removed = schema().prune(&mut object);
        assert_eq!(removed, ["spec.list[0].y", "spec.typo"]);
        assert_eq!(object["spec"], json!({"size": 1, "free": {"any": 1}, "list": [{"x": "1"}]}));
    }

    #[test]
    fn defaults_are_filled_in() {
        let mut object = body(json!({"size": 1}));
        schema().default(&mut object);
        assert_eq!(object["spec"]["mode"], "a");
    }

    #[test]
    fn each_wrong_field_is_named() {
        let fields: Vec<String> = schema()
            .validate(&body(json!({"mode": "c", "list": "x"})))
            .into_iter()
            .map(|cause| cause.field)
            .collect();
        assert_eq!(fields, ["spec.size", "spec.list", "spec.mode"]);
        assert_eq!(schema().validate(&body(json!({"size": 0}))).len(), 1);
        assert_eq!(schema().validate(&body(json!({"size": 1}))), []);
    }
}
