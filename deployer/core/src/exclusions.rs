//! Fields of an object that exists are left to who owns them.
//!
//! Who owns a field is in `metadata.managedFields`, where it is named by keys and not by its place: `f:containers` and below that
//! `k:{"name":"app"}` is what the JSON pointer `/containers/0` leads to.

// D-1057: an excluded field is applied only where nobody else owns it, and then as it is.

use serde_json::{Map, Value};

use crate::drift::{MANAGER, own_entry};

/// An object as it is applied over `live`: without the fields at these paths that others own or nobody does, and with those that
/// only we own as they are.
pub fn leave_excluded(mut object: Value, live: &Value, paths: &[String]) -> Value {
    for path in paths {
        let segments: Vec<String> = path.split('/').skip(1).map(unescaped).collect();
        let places = place_in(live, &object, &segments);
        let is_others =
            places.as_ref().is_some_and(|places| others(live).any(|fields| owns(fields, live, places)));
        let is_own = places.as_ref().is_some_and(|places| {
            own_entry(&live["metadata"]).is_some_and(|entry| owns(&entry["fieldsV1"], live, places))
        });
        let value = places.and_then(|places| at(live, &places).cloned()).filter(|_| is_own && !is_others);
        match value {
            Some(value) => put(&mut object, &segments, value),
            None => take(&mut object, &segments),
        }
    }
    object
}

fn unescaped(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

fn others(live: &Value) -> impl Iterator<Item = &Value> {
    let entries = live["metadata"]["managedFields"].as_array().into_iter().flatten();
    entries.filter(|entry| entry["manager"] != MANAGER).map(|entry| &entry["fieldsV1"])
}

/// The same path in `live`: an element of a list is that of the same name, where elements have names.
fn place_in(live: &Value, object: &Value, segments: &[String]) -> Option<Vec<String>> {
    let (mut there, mut here, mut place) = (live, Some(object), Vec::new());
    for segment in segments {
        let mut segment = segment.clone();
        let wanted = here.and_then(|here| child(here, &segment));
        if let (Value::Array(elements), Some(name)) = (there, wanted.and_then(|wanted| wanted.get("name"))) {
            segment = elements.iter().position(|one| one.get("name") == Some(name))?.to_string();
        }
        there = child(there, &segment)?;
        here = wanted;
        place.push(segment);
    }
    Some(place)
}

fn child<'v>(value: &'v Value, segment: &str) -> Option<&'v Value> {
    match value {
        Value::Array(elements) => elements.get(segment.parse::<usize>().ok()?),
        value => value.get(segment),
    }
}

fn at<'v>(value: &'v Value, segments: &[String]) -> Option<&'v Value> {
    segments.iter().try_fold(value, |value, segment| child(value, segment))
}

/// Whether these fields of a manager are, or hold, or are within what is at this place.
fn owns(fields: &Value, live: &Value, segments: &[String]) -> bool {
    let (mut fields, mut value) = (fields, live);
    for (depth, segment) in segments.iter().enumerate() {
        // A list or map that is owned as a whole.
        if depth > 0 && fields.as_object().is_some_and(Map::is_empty) {
            return true;
        }
        let Some(below) = child(value, segment) else { return false };
        let next = match value {
            Value::Array(_) => fields
                .as_object()
                .and_then(|map| map.iter().find(|(key, _)| is_element(key, below)).map(|(_, fields)| fields)),
            _ => fields.get(format!("f:{segment}")),
        };
        let Some(next) = next else { return false };
        (fields, value) = (next, below);
    }
    true
}

/// Whether a key of a list, `k:{"name":"app"}` or `v:"text"`, is that of this element.
fn is_element(key: &str, element: &Value) -> bool {
    let read = |text: &str| serde_json::from_str::<Value>(text).ok();
    if let Some(keys) = key.strip_prefix("k:").and_then(read) {
        return keys
            .as_object()
            .is_some_and(|keys| keys.iter().all(|(name, value)| element.get(name) == Some(value)));
    }
    key.strip_prefix("v:").and_then(read).is_some_and(|value| value == *element)
}

/// Puts a value where there is something to put it into.
fn put(object: &mut Value, segments: &[String], value: Value) {
    let Some((last, parents)) = segments.split_last() else { return };
    match parent_of(object, parents) {
        Some(Value::Object(map)) => drop(map.insert(last.clone(), value)),
        Some(Value::Array(elements)) => {
            if let Some(element) = last.parse::<usize>().ok().and_then(|index| elements.get_mut(index)) {
                *element = value;
            }
        }
        _ => {}
    }
}

fn take(object: &mut Value, segments: &[String]) {
    let Some((last, parents)) = segments.split_last() else { return };
    match parent_of(object, parents) {
        Some(Value::Object(map)) => drop(map.remove(last)),
        Some(Value::Array(elements)) => {
            if let Some(index) = last.parse::<usize>().ok().filter(|index| *index < elements.len()) {
                elements.remove(index);
            }
        }
        _ => {}
    }
}

fn parent_of<'v>(object: &'v mut Value, parents: &[String]) -> Option<&'v mut Value> {
    parents.iter().try_fold(object, |value, segment| match value {
        Value::Array(elements) => elements.get_mut(segment.parse::<usize>().ok()?),
        value => value.get_mut(segment),
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn wanted() -> Value {
        json!({"spec": {"replicas": 1, "template": {"containers": [
            {"name": "app", "image": "app:1", "args": ["a"]}, {"name": "side", "image": "side:1"}]}}})
    }

    /// What is there, where the fields at `others` have another manager and everything else is ours.
    fn live(replicas: u64, ours: &Value, others: &Value) -> Value {
        let entry = |manager: &str, operation: &str, fields: &Value| json!({"manager": manager, "operation": operation, "fieldsV1": fields});
        json!({"spec": {"replicas": replicas, "template": {"containers": [
                {"name": "side", "image": "side:9"}, {"name": "app", "image": "app:9", "args": ["b"]}]}},
            "metadata": {"managedFields": [entry("sluice", "Apply", ours), entry("scaler", "Update", others)]}})
    }

    fn excluded(live: &Value, path: &str) -> Value {
        leave_excluded(wanted(), live, &[path.to_owned()])
    }

    #[test]
    fn what_another_owns_is_not_applied() {
        let others = json!({"f:spec": {"f:replicas": {}}});
        let left = excluded(&live(5, &json!({"f:spec": {"f:template": {}}}), &others), "/spec/replicas");
        assert_eq!(
            (left["spec"].get("replicas"), &left["spec"]["template"]),
            (None, &wanted()["spec"]["template"])
        );
    }

    #[test]
    fn what_only_we_own_stays_as_it_is() {
        let ours = json!({"f:spec": {"f:replicas": {}}});
        assert_eq!(excluded(&live(5, &ours, &json!({})), "/spec/replicas")["spec"]["replicas"], 5);
        let both = live(5, &ours, &ours);
        assert_eq!(
            excluded(&both, "/spec/replicas")["spec"].get("replicas"),
            None,
            "another one owns it too"
        );
    }

    #[test]
    fn what_nobody_owns_is_left_out() {
        assert_eq!(
            excluded(&live(5, &json!({}), &json!({})), "/spec/replicas")["spec"].get("replicas"),
            None
        );
        assert_eq!(excluded(&json!({"metadata": {}}), "/spec/replicas")["spec"].get("replicas"), None);
        assert_eq!(excluded(&live(5, &json!({}), &json!({})), "/spec/none/at/all"), wanted());
    }

    #[test]
    fn elements_of_lists_are_known_by_their_names() {
        let of = |name: &str| {
            let key = format!("k:{{\"name\":\"{name}\"}}");
            json!({"f:spec": {"f:template": {"f:containers": {key: {"f:image": {}}}}}})
        };
        let path = "/spec/template/containers/0/image";
        let image = |left: Value| left["spec"]["template"]["containers"][0].get("image").cloned();
        assert_eq!(image(excluded(&live(1, &of("side"), &of("app")), path)), None);
        assert_eq!(image(excluded(&live(1, &of("app"), &of("side")), path)), Some(json!("app:9")));
    }

    #[test]
    fn what_is_owned_as_a_whole_is_owned_within() {
        let whole =
            json!({"f:spec": {"f:template": {"f:containers": {"k:{\"name\":\"app\"}": {"f:args": {}}}}}});
        let path = "/spec/template/containers/0/args/0";
        let args = |left: Value| left["spec"]["template"]["containers"][0]["args"].clone();
        assert_eq!(args(excluded(&live(1, &json!({}), &whole), path)), json!([]));
        assert_eq!(args(excluded(&live(1, &whole, &json!({})), path)), json!(["b"]));
    }

    #[test]
    fn names_are_read_as_json_pointers_write_them() {
        let object = json!({"metadata": {"annotations": {"a/b~c": "1"}}});
        let left = leave_excluded(object, &json!({}), &["/metadata/annotations/a~1b~0c".to_owned()]);
        assert_eq!(left, json!({"metadata": {"annotations": {}}}));
    }
}
