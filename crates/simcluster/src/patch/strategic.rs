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
    let server = map.clone();
    for (name, change) in changes {
        if let Some(list) = name.strip_prefix(DELETE) {
            delete_values(&mut map, list, change);
        } else if name.starts_with('$') {
            continue;
        } else if change.is_null() {
            map.remove(name);
        } else {
            let before = map.get(name).cloned();
            let merged = merge_value(before, change, schema.field(name))?;
            map.insert(name.clone(), merged);
        }
    }
    arrange_lists(&mut map, &server, changes, schema);
    Ok(Value::Object(map))
}

/// A patched list follows `$setElementOrder`, or else the patch itself.
fn arrange_lists(
    map: &mut Map<String, Value>,
    server: &Map<String, Value>,
    changes: &Map<String, Value>,
    schema: &Schema,
) {
    for (name, value) in map.iter_mut() {
        let order = changes.get(&format!("{ORDER}{name}")).or_else(|| changes.get(name));
        let shape = schema.field(name);
        let merges = matches!(shape, Schema::ListMap(_) | Schema::Set);
        if let (Value::Array(items), Some(Value::Array(order)), true) = (value, order, merges) {
            let before = server.get(name).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            *items = arrange(std::mem::take(items), order, before, shape);
        }
    }
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

/// Puts the items named by `order` into that order. The others keep their order and come before a
/// named one only where they did so in `server`, the list before the patch.
fn arrange(items: Vec<Value>, order: &[Value], server: &[Value], schema: &Schema) -> Vec<Value> {
    let key = match schema {
        Schema::ListMap(list) => Some(&*list.patch_key),
        _ => None,
    };
    let same = |a: &Value, b: &Value| match key {
        Some(key) => a.get(key) == b.get(key),
        None => a == b,
    };
    let index = |list: &[Value], item: &Value| list.iter().position(|other| same(other, item));
    let (mut named, others): (Vec<Value>, Vec<Value>) =
        items.into_iter().partition(|item| index(order, item).is_some());
    named.sort_by_key(|item| index(order, item));
    let mut others = others.into_iter().peekable();
    let mut arranged = Vec::with_capacity(named.len() + others.len());
    for item in named {
        let place = index(server, &item);
        while let Some(other) = others.next_if(|other| place.is_some() && index(server, other) < place) {
            arranged.push(other);
        }
        arranged.push(item);
    }
    arranged.extend(others);
    arranged
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
        assert_eq!(*containers, json!([{"name": "a", "image": "y"}, {"name": "c"}, {"name": "b"}]));
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
        assert_eq!(result["metadata"]["finalizers"], json!(["z", "y"]));
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
