//! Which objects a patch is for.

use serde_json::{Map, Value};

use crate::object::{self, Gvk};
use crate::pattern::Pattern;
use crate::selector::Selector;

/// The objects that a patch is for; what is empty selects everything.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Target {
    group: Pattern,
    version: Pattern,
    kind: Pattern,
    namespace: Pattern,
    name: Pattern,
    labels: Selector,
    annotations: Selector,
}

/// The fields of a target, for messages.
const FIELDS: &str = "group, version, kind, namespace, name, labelSelector and annotationSelector";

// === impl Target ===

impl Target {
    /// Reads it.
    ///
    /// # Errors
    /// The field (empty for the whole), and what is wrong with it.
    pub fn read(value: &Value) -> Result<Self, (String, String)> {
        let map = match value {
            Value::Null => return Ok(Self::default()),
            Value::Object(map) => map,
            other => return Err((String::new(), format!("{other} is no target; it has {FIELDS}"))),
        };
        let mut target = Self::default();
        for (field, value) in map {
            target.set(field, value).map_err(|error| (field.clone(), error))?;
        }
        Ok(target)
    }

    fn set(&mut self, field: &str, value: &Value) -> Result<(), String> {
        let text = match value {
            Value::Null => "",
            Value::String(text) => text,
            other => return Err(format!("{other} is not a string; quote it")),
        };
        let pattern = match field {
            "group" => &mut self.group,
            "version" => &mut self.version,
            "kind" => &mut self.kind,
            "namespace" => &mut self.namespace,
            "name" => &mut self.name,
            "labelSelector" => return Selector::parse(text).map(|selector| self.labels = selector),
            "annotationSelector" => return Selector::parse(text).map(|selector| self.annotations = selector),
            _ => return Err(format!("there is no such field; a target has {FIELDS}")),
        };
        *pattern = Pattern::read(text)?;
        Ok(())
    }

    /// Whether the object is one of them.
    pub fn selects(&self, object: &Value) -> bool {
        let gvk = Gvk::parse(object::text(object, &["apiVersion"]), object::text(object, &["kind"]));
        self.group.matches(&gvk.group)
            && self.version.matches(&gvk.version)
            && self.kind.matches(&gvk.kind)
            && self.namespace.matches(object::namespace(object))
            && self.name.matches(object::name(object))
            && self.labels.matches(object::at(object, &["metadata", "labels"]))
            && self.annotations.matches(object::at(object, &["metadata", "annotations"]))
    }
}

/// What a patch says of the object that it is for, where it has no target: fields that must be the same.
pub(super) fn names(change: &Map<String, Value>, object: &Value) -> bool {
    let metadata = |field: &str| change.get("metadata").and_then(|metadata| metadata.get(field));
    let same = |said: Option<&Value>, is: &str| said.and_then(Value::as_str).is_none_or(|said| said == is);
    same(change.get("apiVersion"), object::text(object, &["apiVersion"]))
        && same(change.get("kind"), object::text(object, &["kind"]))
        && same(metadata("name"), object::name(object))
        && same(metadata("namespace"), object::namespace(object))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn selects(target: Value) -> bool {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web-1",
            "namespace": "shop", "labels": {"app": "web"}, "annotations": {"team": "a"}}});
        Target::read(&target).unwrap().selects(&object)
    }

    #[test]
    fn objects_are_selected_by_all_that_is_said() {
        for (target, expected) in [
            (Value::Null, true),
            (json!({}), true),
            (json!({"kind": "Deployment", "group": "apps", "version": "v1"}), true),
            (json!({"kind": ""}), true),
            (json!({"kind": "^Deploy"}), true),
            (json!({"kind": "^Deploy$"}), false),
            (json!({"name": "eb"}), true),
            (json!({"name": "web-[0-9]+", "namespace": "shop"}), true),
            (json!({"name": "web.1"}), true),
            (json!({"group": "^$"}), false),
            (json!({"kind": "StatefulSet|Deployment"}), true),
            (json!({"labelSelector": "app=web,!other"}), true),
            (json!({"labelSelector": "app in (api)"}), false),
            (json!({"annotationSelector": "team=a"}), true),
            (json!({"annotationSelector": "team=b"}), false),
            (json!({"kind": "Deployment", "namespace": "other"}), false),
        ] {
            assert_eq!(selects(target.clone()), expected, "{target}");
        }
    }

    #[test]
    fn mistakes_name_their_field() {
        for (target, field, part) in [
            (json!({"name": "web["}), "name", "\"web[\" is no regular expression: unclosed character class"),
            (json!({"kind": "a{9999}{9999}"}), "kind", "is no regular expression"),
            (json!({"labelSelector": "app like (a)"}), "labelSelector", "cannot be read"),
            (json!({"annotationSelector": "="}), "annotationSelector", "label key"),
            (json!({"labels": "app=web"}), "labels", "there is no such field; a target has group"),
            (json!({"name": 5}), "name", "quote it"),
            (json!("web"), "", "is no target"),
        ] {
            let (at, error) = Target::read(&target).unwrap_err();
            assert!(at == field && error.contains(part), "{at}: {error}");
        }
    }
}
