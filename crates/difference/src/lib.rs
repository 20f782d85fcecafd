//! An object before and after, as people read it: without what Sluice and servers write onto it, and without the values of a Secret.

#![forbid(unsafe_code)]

use serde_json::{Map, Value, json};
use similar::TextDiff;
use sluice_api::marks::RELOAD;

/// What Sluice writes onto objects begins so: it follows from the rest.
const MARKS: &str = "projectsveltos.io/";
/// Fields of the metadata that servers write.
const OF_SERVERS: [&str; 6] =
    ["managedFields", "generation", "resourceVersion", "uid", "creationTimestamp", "selfLink"];

/// Which values are not shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hide {
    /// Those of Secrets.
    OfSecrets,
    /// All but those that say which object it is: any may have been made of what a Secret holds.
    All,
}

/// The difference of an object's YAML in the unified form, under these two headings; none where there is no difference.
pub fn shown(
    headings: (&str, &str),
    before: Option<&Value>,
    after: Option<&Value>,
    hide: Hide,
) -> Option<String> {
    let bare = |object: Option<&Value>| object.map(bare);
    let (mut before, mut after) = (bare(before), bare(after));
    match hide {
        Hide::OfSecrets => mask(&mut before, &mut after),
        Hide::All => mask_all(&mut before, &mut after),
    }
    let text =
        |object: Option<Value>| object.map(|object| sluice_template::to_yaml(&object)).unwrap_or_default();
    let (before, after) = (text(before), text(after));
    let diff =
        || TextDiff::from_lines(&before, &after).unified_diff().header(headings.0, headings.1).to_string();
    (before != after).then(diff)
}

/// What Sluice writes onto it is left out: where it differs, something else does. What servers write is nobody's wish.
fn bare(object: &Value) -> Value {
    let mut object = object.clone();
    if object.pointer("/metadata/uid").is_some()
        && let Some(fields) = object.as_object_mut()
    {
        fields.remove("status");
    }
    if let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut) {
        metadata.retain(|name, _| !OF_SERVERS.contains(&name.as_str()));
        take_marks(metadata, |name| name.starts_with(MARKS) || name == RELOAD);
    }
    if let Some(metadata) = object.pointer_mut("/spec/template/metadata").and_then(Value::as_object_mut) {
        take_marks(metadata, |name| name == RELOAD);
    }
    object
}

fn take_marks(metadata: &mut Map<String, Value>, is_mark: impl Fn(&str) -> bool) {
    for field in ["annotations", "labels"] {
        if let Some(entries) = metadata.get_mut(field).and_then(Value::as_object_mut) {
            entries.retain(|name, _| !is_mark(name));
            if entries.is_empty() {
                metadata.remove(field);
            }
        }
    }
}

/// Takes the values of Secrets away; those that differ say so.
fn mask(before: &mut Option<Value>, after: &mut Option<Value>) {
    for field in ["data", "stringData"] {
        let values = |object: &Option<Value>| -> Map<String, Value> {
            let secret = object.as_ref().filter(|object| object["kind"] == "Secret");
            secret.and_then(|object| object[field].as_object()).cloned().unwrap_or_default()
        };
        let (old, new) = (values(before), values(after));
        let hide = |object: &mut Option<Value>, other: &Map<String, Value>, differs: &str| {
            let secret = object.as_mut().filter(|object| object["kind"] == "Secret");
            let Some(values) = secret.and_then(|object| object.get_mut(field)).and_then(Value::as_object_mut)
            else {
                return;
            };
            for (key, value) in values {
                let same = other.get(key).is_none_or(|other| other == value);
                *value = json!(if same { MASKED } else { differs });
            }
        };
        hide(before, &new, MASKED_BEFORE);
        hide(after, &old, MASKED_AFTER);
    }
}

const MASKED: &str = "(masked)";
const MASKED_BEFORE: &str = "(masked, before)";
const MASKED_AFTER: &str = "(masked, after)";
/// What says which object it is.
const IDENTITY: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Takes all values away; those that differ say so. Names of fields stay.
fn mask_all(before: &mut Option<Value>, after: &mut Option<Value>) {
    let (old, new) = (before.clone(), after.clone());
    let hide = |object: &mut Option<Value>, other: Option<&Value>, differs: &str| {
        for (name, value) in object.as_mut().and_then(Value::as_object_mut).into_iter().flatten() {
            let others = other.and_then(|other| other.get(name));
            match name.as_str() {
                "metadata" => hide_metadata(value, others, differs),
                name if IDENTITY.contains(&name) => {}
                _ => hide_values(value, others, differs),
            }
        }
    };
    hide(before, new.as_ref(), MASKED_BEFORE);
    hide(after, old.as_ref(), MASKED_AFTER);
}

fn hide_metadata(metadata: &mut Value, other: Option<&Value>, differs: &str) {
    for (name, value) in metadata.as_object_mut().into_iter().flatten() {
        if !["name", "namespace"].contains(&name.as_str()) {
            hide_values(value, other.and_then(|other| other.get(name)), differs);
        }
    }
}

fn hide_values(value: &mut Value, other: Option<&Value>, differs: &str) {
    match value {
        Value::Object(fields) => {
            fields.iter_mut().for_each(|(name, value)| {
                hide_values(value, other.and_then(|other| other.get(name)), differs);
            });
        }
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                hide_values(item, other.and_then(|other| other.get(index)), differs);
            }
        }
        Value::Null => {}
        value => {
            let same = other.is_none_or(|other| other == value);
            *value = json!(if same { MASKED } else { differs });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(before: &Value, after: &Value, hide: Hide) -> Option<String> {
        super::shown(("deployed: x", "proposed: x"), Some(before), Some(after), hide)
    }

    #[test]
    fn what_sluice_and_servers_write_is_no_difference() {
        let live = json!({"kind": "ConfigMap", "metadata": {"name": "x", "uid": "u", "generation": 4, "labels": {"projectsveltos.io/reason": "Resources"},
            "annotations": {"projectsveltos.io/hash": "a", "own": "b"}}, "data": {"a": "b"}, "status": {"ready": true}});
        let wanted = json!({"kind": "ConfigMap", "metadata": {"name": "x", "annotations": {"own": "b"}}, "data": {"a": "b"}});
        assert_eq!(shown(&live, &wanted, Hide::OfSecrets), None);
    }

    #[test]
    fn that_pods_were_restarted_is_no_difference() {
        let workload = |annotations: Value| {
            json!({"kind": "Deployment", "metadata": {"name": "x", "annotations": annotations},
                "spec": {"template": {"metadata": {"labels": {"a": "b"}, "annotations": annotations}}}})
        };
        let (plain, restarted) = (workload(json!({})), workload(json!({RELOAD: "1"})));
        assert_eq!(shown(&restarted, &plain, Hide::OfSecrets), None);
        assert!(shown(&restarted, &workload(json!({"own": "1"})), Hide::OfSecrets).is_some());
    }

    #[test]
    fn values_of_secrets_are_masked_and_say_whether_they_differ() {
        let secret =
            |one: &str| json!({"kind": "Secret", "metadata": {"name": "x"}, "data": {"a": one, "b": "same"}});
        let text = shown(&secret("hunter1"), &secret("hunter2"), Hide::OfSecrets).unwrap();
        assert!(text.contains("-  a: (masked, before)") && text.contains("+  a: (masked, after)"), "{text}");
        assert!(!text.contains("hunter") && !text.contains("same"), "{text}");
        assert!(text.starts_with("--- deployed: x\n+++ proposed: x\n"), "{text}");
    }

    #[test]
    fn where_all_is_hidden_only_names_of_fields_are_left() {
        let object = |one: &str, list: Value| json!({"apiVersion": "v1", "kind": "Thing", "metadata": {"name": "x", "labels": {"l": one}}, "spec": {"a": {"b": one, "c": 7}, "list": list}});
        let (before, after) =
            (object("hunter1", json!(["p", "q"])), object("hunter2", json!(["p", "r", "s"])));
        let text = shown(&before, &after, Hide::All).unwrap();
        for part in
            ["kind: Thing", "name: x", "c: (masked)", "+    b: (masked, after)", "+  - (masked, after)"]
        {
            assert!(text.contains(part), "{part}: {text}");
        }
        for value in ["hunter", "7", "- q", "- s"] {
            assert!(!text.contains(value), "{value}: {text}");
        }
        assert_eq!(shown(&before, &before, Hide::All), None);
    }
}
