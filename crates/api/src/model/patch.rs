//! Patches, and other changes of everything that is deployed, as triggers and profiles say them.

use std::collections::BTreeMap;

use serde_json::Value;

use super::read::Field;
use crate::error::{FieldError, TextError};
use crate::names;
use crate::patch::{Patch, Target, read_target};

/// An item of `patches`.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchSpec {
    /// The patch.
    pub content: PatchContent,
    /// Objects it is for; without a target those that it names, or all.
    pub target: Option<Target>,
    /// Path of the item, for messages.
    pub path: String,
}

/// A patch as it was written.
#[derive(Clone, Debug, PartialEq)]
pub enum PatchContent {
    /// It is the same for every cluster.
    Ready(Patch),
    /// It is a template over the cluster that something is deployed to.
    Template(String),
}

// === impl PatchSpec ===

impl PatchSpec {
    pub(super) fn read(item: &Field<'_>) -> Result<Self, FieldError> {
        let patch = item.get("patch");
        let text = patch.required_text()?;
        let content = if text.contains("{{") {
            PatchContent::Template(text)
        } else {
            PatchContent::Ready(Patch::parse(&text).map_err(|error| patch.error(error))?)
        };
        let below = |(path, error): (String, TextError)| {
            let field = path.split('.').fold(item.clone(), |field, key| field.get(key));
            field.error(error)
        };
        let target = read_target(item.get("target").value()).map_err(below)?;
        Ok(Self { content, target, path: item.error("").field })
    }
}

/// Labels that everything gets.
pub(super) fn labels(map: &Field<'_>) -> Result<BTreeMap<String, String>, FieldError> {
    let labels = texts(map)?;
    let wrong = labels.iter().find(|(_, value)| !names::is_label_value(value));
    match wrong {
        Some((key, value)) => Err(map.get(key).error(format!(
            "{value:?} is not a label value; use at most 63 letters, digits, '-', '_', '.', or put it into extraAnnotations"
        ))),
        None => Ok(labels),
    }
}

/// A map of texts whose keys labels and annotations may have.
pub(super) fn texts(map: &Field<'_>) -> Result<BTreeMap<String, String>, FieldError> {
    let read = match map.value() {
        None => return Ok(BTreeMap::new()),
        Some(Value::Object(read)) => read,
        Some(other) => return Err(map.error(format!("{other} is no map of texts"))),
    };
    let one = |key: &String| {
        if !names::is_label_key(key) {
            return Err(map.error(format!("{key:?} is not a key; write it as [prefix/]name")));
        }
        Ok((key.clone(), map.get(key).text()?))
    };
    read.keys().map(one).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::profile::SpecCommon;
    use super::*;

    fn read(spec: Value) -> Result<SpecCommon, FieldError> {
        SpecCommon::read(&Field::spec(
            &json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": spec}),
        ))
    }

    #[test]
    fn patches_are_read_in_order_and_templates_later() {
        let common = read(json!({"patches": [
            {"patch": "- {op: remove, path: /spec}", "target": {"kind": "Deployment"}},
            {"patch": "metadata: {labels: {c: '{{ .Cluster.metadata.name }}'}}"}],
            "patchesFrom": [{"kind": "ConfigMap", "name": "more", "optional": true}]}))
        .unwrap();
        assert!(
            matches!(common.patches[0].content, PatchContent::Ready(_)) && common.patches[0].target.is_some()
        );
        assert!(
            matches!(common.patches[1].content, PatchContent::Template(_))
                && common.patches[1].target.is_none()
        );
        assert_eq!(common.patches[1].path, "spec.patches[1]");
        let more = &common.patches_from[0];
        assert_eq!((&*more.name, more.optional, &*more.path), ("more", true, "spec.patchesFrom[0]"));
        assert!(common.unsupported.is_empty());
    }

    #[test]
    fn labels_and_annotations_are_read() {
        let common =
            read(json!({"extraLabels": {"team/a": "x"}, "extraAnnotations": {"b": "any text"}})).unwrap();
        assert_eq!(common.extra_labels["team/a"], "x");
        assert_eq!(common.extra_annotations["b"], "any text");
    }

    #[test]
    fn mistakes_name_their_field() {
        for (spec, part) in [
            (json!({"patches": [{"patch": "a: 1"}, {"target": {}}]}), "spec.patches[1].patch: is required"),
            (json!({"patches": [{"patch": "a: ["}]}), "spec.patches[0].patch: "),
            (
                json!({"patches": [{"patch": "a: 1", "target": {"name": "["}}]}),
                "spec.patches[0].target.name: \"[\" is no",
            ),
            (
                json!({"patches": [{"patch": "a: 1", "target": {"labelSelector": "a b"}}]}),
                "spec.patches[0].target.labelSelector",
            ),
            (
                json!({"patches": [{"patch": "a: 1", "target": "x"}]}),
                "spec.patches[0].target: \"x\" is no target",
            ),
            (json!({"patchesFrom": [{"kind": "GitRepository", "name": "x"}]}), "spec.patchesFrom[0].kind"),
            (
                json!({"extraLabels": {"a": "not a value"}}),
                "spec.extraLabels.a: \"not a value\" is not a label value",
            ),
            (json!({"extraLabels": {"a b": "x"}}), "spec.extraLabels: \"a b\" is not a key"),
            (json!({"extraAnnotations": {"a": 1}}), "spec.extraAnnotations.a: 1 is not a string; quote it"),
            (json!({"extraAnnotations": ["a"]}), "spec.extraAnnotations: [\"a\"] is no map"),
        ] {
            let error = read(spec).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }
}
