//! JSON patch (RFC 6902).

use serde_json::Value;

/// Applies the operations in order; the error names the one that failed.
pub fn apply(mut target: Value, patch: &Value) -> Result<Value, String> {
    let operations = patch.as_array().ok_or("a JSON patch is a list of operations")?;
    for (index, operation) in operations.iter().enumerate() {
        apply_one(&mut target, operation).map_err(|why| format!("operation {index}: {why}"))?;
    }
    Ok(target)
}

fn apply_one(target: &mut Value, operation: &Value) -> Result<(), String> {
    let text = |field: &str| {
        operation.get(field).and_then(Value::as_str).ok_or_else(|| format!("the member {field:?} is missing"))
    };
    let value =
        || operation.get("value").cloned().ok_or_else(|| "the member \"value\" is missing".to_owned());
    let path = text("path")?;
    match text("op")? {
        "add" => add(target, path, value()?),
        "remove" => remove(target, path).map(drop),
        "replace" => {
            let slot = target.pointer_mut(path).ok_or_else(|| missing(path))?;
            *slot = value()?;
            Ok(())
        }
        "move" => {
            let from = text("from")?;
            if path.starts_with(&format!("{from}/")) {
                return Err(format!("{from:?} cannot be moved into itself"));
            }
            let moved = remove(target, from)?;
            add(target, path, moved)
        }
        "copy" => {
            let from = text("from")?;
            let copied = target.pointer(from).cloned().ok_or_else(|| missing(from))?;
            add(target, path, copied)
        }
        "test" => {
            let found = target.pointer(path).ok_or_else(|| missing(path))?;
            if *found == value()? { Ok(()) } else { Err(format!("testing value {path} failed")) }
        }
        other => Err(format!("unknown operation {other:?}")),
    }
}

fn add(target: &mut Value, path: &str, value: Value) -> Result<(), String> {
    let Some((parent, last)) = path.rsplit_once('/') else {
        *target = value;
        return Ok(());
    };
    match target.pointer_mut(parent).ok_or_else(|| missing(parent))? {
        Value::Object(map) => {
            map.insert(unescape(last), value);
            Ok(())
        }
        Value::Array(items) => {
            let index = if last == "-" { items.len() } else { index(last)? };
            if index > items.len() {
                return Err(missing(path));
            }
            items.insert(index, value);
            Ok(())
        }
        _ => Err(missing(path)),
    }
}

fn remove(target: &mut Value, path: &str) -> Result<Value, String> {
    let (parent, last) = path.rsplit_once('/').ok_or_else(|| missing(path))?;
    match target.pointer_mut(parent).ok_or_else(|| missing(parent))? {
        Value::Object(map) => map.remove(&unescape(last)).ok_or_else(|| missing(path)),
        Value::Array(items) => {
            let index = index(last)?;
            if index < items.len() { Ok(items.remove(index)) } else { Err(missing(path)) }
        }
        _ => Err(missing(path)),
    }
}

fn index(text: &str) -> Result<usize, String> {
    text.parse().map_err(|_| format!("{text:?} is not an index"))
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}

fn missing(path: &str) -> String {
    format!("doc is missing path: {path:?}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    #[test]
    fn each_operation_works() {
        let target = json!({"a": [1, 2], "m": {"x/y": 1}, "s": "t"});
        let patch = json!([
            {"op": "test", "path": "/s", "value": "t"},
            {"op": "add", "path": "/a/1", "value": 9},
            {"op": "add", "path": "/a/-", "value": 8},
            {"op": "remove", "path": "/a/0"},
            {"op": "replace", "path": "/m/x~1y", "value": 2},
            {"op": "copy", "from": "/m", "path": "/n"},
            {"op": "move", "from": "/s", "path": "/t"},
        ]);
        let expected = json!({"a": [9, 2, 8], "m": {"x/y": 2}, "n": {"x/y": 2}, "t": "t"});
        assert_eq!(apply(target, &patch).unwrap(), expected);
    }

    #[test]
    fn what_cannot_be_done_is_refused() {
        for operation in [
            json!({"op": "remove", "path": "/x"}),
            json!({"op": "test", "path": "/a", "value": 2}),
            json!({"op": "replace", "path": "/x", "value": 1}),
            json!({"op": "add", "path": "/l/7", "value": 1}),
            json!({"op": "remove", "path": "/l/x"}),
            json!({"op": "move", "from": "/a", "path": "/a/b"}),
            json!({"op": "fly", "path": "/a"}),
            json!({"path": "/a"}),
        ] {
            assert!(apply(json!({"a": 1, "l": []}), &json!([operation])).is_err());
        }
    }

    proptest! {
        #[test]
        fn no_path_makes_it_panic(path in "(/[a-c0-9~-]{0,3}){0,3}", op in "add|remove|replace|test") {
            let patch = json!([{"op": op, "path": path, "value": 1}]);
            let once = apply(json!({"a": [1, {"b": 2}], "c": 1}), &patch);
            prop_assert_eq!(once.clone(), apply(json!({"a": [1, {"b": 2}], "c": 1}), &patch));
        }
    }
}
