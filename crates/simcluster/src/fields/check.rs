//! Whether an applied configuration can be told apart item by item.

use std::collections::HashSet;

use serde_json::Value;

use super::walk::element_of;
use crate::object::Json;
use crate::schema::Schema;

/// What is wrong with the associative lists of a configuration, when something is.
pub fn check(config: &Json, schema: &Schema) -> Result<(), String> {
    check_members(config, schema, "")
}

fn check_members(map: &Json, schema: &Schema, path: &str) -> Result<(), String> {
    map.iter().try_for_each(|(name, value)| check_value(value, schema.field(name), &format!("{path}.{name}")))
}

fn check_value(value: &Value, schema: &Schema, path: &str) -> Result<(), String> {
    match (value, schema) {
        (_, Schema::Atomic | Schema::Ignored) => Ok(()),
        (Value::Object(map), _) => check_members(map, schema, path),
        (Value::Array(items), Schema::ListMap(_) | Schema::Set) => check_items(items, schema, path),
        _ => Ok(()),
    }
}

fn check_items(items: &[Value], schema: &Schema, path: &str) -> Result<(), String> {
    let mut seen = HashSet::new();
    for (index, item) in items.iter().enumerate() {
        let (element, below) = element_of(item, schema).ok_or_else(|| {
            format!(
                "{path}: element {index}: associative list with keys has an element that omits a key field"
            )
        })?;
        check_value(item, below, &format!("{path}{element}"))?;
        if seen.contains(&element) {
            return Err(format!("{path}: duplicate entries for key {element}"));
        }
        seen.insert(element);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::schema::builtin;
    use serde_json::json;

    #[test]
    fn items_need_keys_of_their_own() {
        let ports = |list: Value| {
            let spec = json!({"ports": list});
            check(&Json::from_iter([("spec".to_owned(), spec)]), &builtin("Service"))
        };
        assert_eq!(ports(json!([{"port": 1}, {"port": 1, "protocol": "UDP"}])), Ok(()));
        let twice = ports(json!([{"port": 1}, {"port": 1, "protocol": "TCP"}]));
        assert_eq!(twice, Err(".spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]".into()));
        assert!(ports(json!([{"name": "x"}])).is_err());
    }
}
