//! JSON merge patch (RFC 7386).

use serde_json::{Map, Value};

/// Merges `patch` into `target`: objects by member, nulls remove, the rest is replaced.
pub fn apply(target: Value, patch: &Value) -> Value {
    let Value::Object(changes) = patch else { return patch.clone() };
    let mut map = match target {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    for (name, change) in changes {
        if change.is_null() {
            map.remove(name);
        } else {
            let present = map.remove(name).unwrap_or_default();
            map.insert(name.clone(), apply(present, change));
        }
    }
    Value::Object(map)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn members_merge_nulls_remove_lists_are_replaced() {
        let target = json!({"a": {"b": 1, "c": 2}, "l": [1, 2], "x": 1});
        let patch = json!({"a": {"b": null, "d": 3}, "l": [3], "x": {"y": null, "z": 1}});
        assert_eq!(apply(target, &patch), json!({"a": {"c": 2, "d": 3}, "l": [3], "x": {"z": 1}}));
    }
}
