//! An object before and after, as people read it: without what Sluice writes onto it, and without the values of a Secret.

use serde_json::{Map, Value, json};
use similar::TextDiff;

/// What Sluice writes onto objects begins so: it follows from the rest.
const MARKS: &str = "projectsveltos.io/";

/// The difference of an object's YAML in the unified form; none where there is no difference.
pub(super) fn shown(place: &str, before: Option<&Value>, after: Option<&Value>) -> Option<String> {
    let bare = |object: Option<&Value>| object.map(without_marks);
    let (mut before, mut after) = (bare(before), bare(after));
    mask(&mut before, &mut after);
    let text =
        |object: Option<Value>| object.map(|object| sluice_template::to_yaml(&object)).unwrap_or_default();
    let (before, after) = (text(before), text(after));
    let diff = || TextDiff::from_lines(&before, &after).unified_diff().header(place, place).to_string();
    (before != after).then(diff)
}

/// What Sluice writes onto it is left out: where it differs, something else does.
fn without_marks(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(annotations) = object.pointer_mut("/metadata/annotations").and_then(Value::as_object_mut) {
        annotations.retain(|name, _| !name.starts_with(MARKS));
        if annotations.is_empty()
            && let Some(metadata) = object.pointer_mut("/metadata").and_then(Value::as_object_mut)
        {
            metadata.remove("annotations");
        }
    }
    object
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
                *value = json!(if same { "(masked)" } else { differs });
            }
        };
        hide(before, &new, "(masked, before)");
        hide(after, &old, "(masked, after)");
    }
}
