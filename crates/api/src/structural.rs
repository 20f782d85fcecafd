//! Structural schemas: what an API server removes from objects of kinds that are defined by a CustomResourceDefinition.

use serde_json::{Map, Value};

/// Removes what the schema of a version does not name; gives the paths of what is removed.
pub fn prune(body: &mut Map<String, Value>, schema: &Value) -> Vec<String> {
    let (mut removed, mut path) = (Vec::new(), Vec::new());
    let keeps = keeps_unknown(schema);
    let properties = schema.get("properties").and_then(Value::as_object);
    body.retain(|name, value| {
        if matches!(name.as_str(), "metadata" | "apiVersion" | "kind") {
            return true;
        }
        let Some(schema) = properties.and_then(|known| known.get(name)) else {
            if !keeps {
                removed.push(name.clone());
            }
            return keeps;
        };
        path.push(name.clone());
        prune_value(value, schema, &mut path, &mut removed);
        path.pop();
        true
    });
    removed
}

fn keeps_unknown(schema: &Value) -> bool {
    schema.get("x-kubernetes-preserve-unknown-fields").and_then(Value::as_bool) == Some(true)
}

fn prune_value(value: &mut Value, schema: &Value, path: &mut Vec<String>, removed: &mut Vec<String>) {
    match value {
        Value::Object(map) => prune_object(map, schema, path, removed),
        Value::Array(items) => {
            let Some(schema) = schema.get("items") else { return };
            for (index, item) in items.iter_mut().enumerate() {
                path.push(format!("[{index}]"));
                prune_value(item, schema, path, removed);
                path.pop();
            }
        }
        _ => {}
    }
}

fn prune_object(
    map: &mut Map<String, Value>,
    schema: &Value,
    path: &mut Vec<String>,
    removed: &mut Vec<String>,
) {
    let embedded = schema.get("x-kubernetes-embedded-resource").and_then(Value::as_bool) == Some(true);
    let additional = schema.get("additionalProperties");
    map.retain(|name, value| {
        path.push(name.clone());
        let known = schema.get("properties").and_then(|properties| properties.get(name));
        let keep = match known.or(additional.filter(|schema| schema.is_object())) {
            Some(schema) => {
                prune_value(value, schema, path, removed);
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
