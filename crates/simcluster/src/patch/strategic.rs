//! Strategic merge patch: a merge patch whose lists merge by key, with `$patch`, `$retainKeys`,
//! `$deleteFromPrimitiveList` and `$setElementOrder` directives.

use serde_json::{Map, Value};

use crate::schema::Schema;

const ORDER: &str = "$setElementOrder/";
const DELETE: &str = "$deleteFromPrimitiveList/";

/// Applies `patch` to `target`, an object of shape `schema`.
pub fn apply(target: Value, patch: &Value, schema: &Schema) -> Result<Value, String> {
    let changes = patch.as_object().ok_or("a patch is a JSON object")?;
    match target {
        Value::Object(map) => merge_object(map, changes, schema),
        _ => merge_object(Map::new(), changes, schema),
    }
}

fn merge_object(
    mut map: Map<String, Value>,
    changes: &Map<String, Value>,
    schema: &Schema,
) -> Result<Value, String> {
    match changes.get("$patch").and_then(Value::as_str) {
        Some("replace") => return Ok(Value::Object(without_directives(changes))),
        Some("delete") => return Ok(Value::Object(Map::new())),
        Some("merge") | None => {}
        Some(other) => return Err(format!("unknown $patch directive {other:?}")),
    }
    if let Some(Value::Array(keep)) = changes.get("$retainKeys") {
        map.retain(|name, _| keep.iter().any(|kept| kept.as_str() == Some(name)));
    }
    for (name, change) in changes {
        if let Some(list) = name.strip_prefix(DELETE) {
            delete_values(&mut map, list, change);
        } else if name.starts_with('$') {
            continue;
        } else if change.is_null() {
            map.remove(name);
        } else {
            let present = map.remove(name);
            let merged = merge_value(present, change, schema.field(name))?;
            map.insert(name.clone(), merged);
        }
    }
    for (name, order) in changes.iter().filter_map(|(name, order)| Some((name.strip_prefix(ORDER)?, order))) {
        if let (Some(Value::Array(items)), Value::Array(order)) = (map.get_mut(name), order) {
            reorder(items, order, schema.field(name));
        }
    }
    Ok(Value::Object(map))
}

fn merge_value(present: Option<Value>, change: &Value, schema: &Schema) -> Result<Value, String> {
    match (present, change) {
        (Some(Value::Object(map)), Value::Object(changes)) => merge_object(map, changes, schema),
        (None, Value::Object(changes)) => merge_object(Map::new(), changes, schema),
        (Some(Value::Array(items)), Value::Array(changes)) => merge_list(items, changes, schema),
        (None, Value::Array(changes)) => merge_list(Vec::new(), changes, schema),
        _ => Ok(change.clone()),
    }
}

fn merge_list(items: Vec<Value>, changes: &[Value], schema: &Schema) -> Result<Value, String> {
    let replace = |item: &&Value| item.get("$patch").and_then(Value::as_str) == Some("replace");
    if changes.iter().any(|item| replace(&item)) {
        return Ok(changes.iter().filter(|item| !replace(item)).cloned().collect());
    }
    match schema {
        Schema::ListMap(list) => merge_keyed(items, changes, &list.patch_key, &list.item),
        Schema::Set => {
            let mut items = items;
            for change in changes {
                if !items.contains(change) {
                    items.push(change.clone());
                }
            }
            Ok(Value::Array(items))
        }
        _ => Ok(Value::Array(changes.to_vec())),
    }
}

fn merge_keyed(
    mut items: Vec<Value>,
    changes: &[Value],
    key: &str,
    schema: &Schema,
) -> Result<Value, String> {
    for change in changes {
        let Some(fields) = change.as_object() else {
            return Err(format!("an item of a list keyed by {key:?} is not an object"));
        };
        let id = fields.get(key).ok_or_else(|| format!("an item lacks its merge key {key:?}"))?;
        let position = items.iter().position(|item| item.get(key) == Some(id));
        let delete = fields.get("$patch").and_then(Value::as_str) == Some("delete");
        match position {
            Some(position) if delete => {
                items.remove(position);
            }
            Some(position) => {
                let present = std::mem::take(&mut items[position]);
                items[position] = merge_value(Some(present), change, schema)?;
            }
            None if delete => {}
            None => items.push(merge_value(None, change, schema)?),
        }
    }
    Ok(Value::Array(items))
}

fn delete_values(map: &mut Map<String, Value>, list: &str, values: &Value) {
    if let (Some(Value::Array(items)), Value::Array(values)) = (map.get_mut(list), values) {
        items.retain(|item| !values.contains(item));
    }
}

/// Items named by `order` come in that order; others keep their place relative to those before.
fn reorder(items: &mut Vec<Value>, order: &[Value], schema: &Schema) {
    let key = match schema {
        Schema::ListMap(list) => Some(&*list.patch_key),
        _ => None,
    };
    let identity = |item: &Value| match key {
        Some(key) => item.get(key).cloned().unwrap_or_default(),
        None => item.clone(),
    };
    let wanted: Vec<Value> = order.iter().map(identity).collect();
    let mut ranked: Vec<(usize, Value)> = Vec::with_capacity(items.len());
    let mut last = 0;
    for item in items.drain(..) {
        if let Some(rank) = wanted.iter().position(|id| *id == identity(&item)) {
            last = rank;
        }
        ranked.push((last, item));
    }
    ranked.sort_by_key(|(rank, _)| *rank);
    items.extend(ranked.into_iter().map(|(_, item)| item));
}

fn without_directives(changes: &Map<String, Value>) -> Map<String, Value> {
    changes
        .iter()
        .filter(|(name, _)| !name.starts_with('$'))
        .map(|(name, value)| (name.clone(), value.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::schema::builtin;
    use serde_json::json;

    fn patched(kind: &str, target: Value, patch: Value) -> Value {
        apply(target, &patch, &builtin(kind)).unwrap()
    }

    #[test]
    fn containers_merge_by_name() {
        let target = json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "x"}, {"name": "b"}]}}}});
        let patch = json!({"spec": {"template": {"spec": {"containers": [{"name": "a", "image": "y"}, {"name": "c"}]}}}});
        let containers = &patched("Deployment", target, patch)["spec"]["template"]["spec"]["containers"];
        assert_eq!(*containers, json!([{"name": "a", "image": "y"}, {"name": "b"}, {"name": "c"}]));
    }

    #[test]
    fn items_are_deleted_and_ordered_by_directives() {
        let target = json!({"spec": {"ports": [{"port": 80}, {"port": 81}, {"port": 82}]}});
        let patch = json!({"spec": {
            "$setElementOrder/ports": [{"port": 82}, {"port": 80}],
            "ports": [{"port": 81, "$patch": "delete"}, {"port": 80, "name": "http"}],
        }});
        let expected = json!({"spec": {"ports": [{"port": 82}, {"port": 80, "name": "http"}]}});
        assert_eq!(patched("Service", target, patch), expected);
    }

    #[test]
    fn maps_merge_and_nulls_remove() {
        let target = json!({"data": {"a": "1", "b": "2"}, "metadata": {"finalizers": ["x", "y"]}});
        let patch = json!({"data": {"a": null, "c": "3"}, "metadata": {"finalizers": ["z"], "$deleteFromPrimitiveList/finalizers": ["x"]}});
        let result = patched("ConfigMap", target, patch);
        assert_eq!(result["data"], json!({"b": "2", "c": "3"}));
        assert_eq!(result["metadata"]["finalizers"], json!(["y", "z"]));
    }

    #[test]
    fn replace_and_retain_keys() {
        let target = json!({"spec": {"selector": {"a": "b"}, "type": "X", "ports": [{"port": 1}]}});
        let patch = json!({"spec": {"$retainKeys": ["type"], "type": "Y"}});
        assert_eq!(patched("Service", target.clone(), patch), json!({"spec": {"type": "Y"}}));
        let patch = json!({"spec": {"$patch": "replace", "type": "Z"}});
        assert_eq!(patched("Service", target.clone(), patch), json!({"spec": {"type": "Z"}}));
        let patch = json!({"spec": {"ports": [{"$patch": "replace"}, {"port": 2}]}});
        assert_eq!(patched("Service", target, patch)["spec"]["ports"], json!([{"port": 2}]));
    }

    #[test]
    fn an_item_without_its_key_is_refused() {
        let target = json!({"spec": {"ports": [{"port": 1}]}});
        assert!(apply(target, &json!({"spec": {"ports": [{"name": "x"}]}}), &builtin("Service")).is_err());
    }
}
