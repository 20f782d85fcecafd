//! Texts of Secrets without their values: of manifests kinds, names and keys stay, of values and patches keys.

use serde_json::{Map, Value};
use sluice_api::{object, yaml};
use sluice_renderer_core::ReadAs;

use super::StandIns;

/// What becomes of numbers and truth values.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Plain {
    /// They have stand-ins as texts have.
    Text,
    /// Charts count and choose by them: a number stays a number, and a truth value, which is no credential, stays.
    Kept,
}

impl StandIns {
    /// The text without values; none where it is not what it is read as.
    pub(super) fn covered(&self, place: &str, read_as: ReadAs, text: &str) -> Option<String> {
        match read_as {
            ReadAs::Manifests => self.manifests(place, text),
            ReadAs::Values => self.values(place, text),
            ReadAs::Patches => self.patches(place, text),
        }
    }

    fn manifests(&self, place: &str, text: &str) -> Option<String> {
        let mut covered = String::new();
        for document in yaml::documents(text).ok()? {
            match document {
                // A list of texts is the documents in them.
                Value::Array(texts) => {
                    for text in texts {
                        covered.push_str(&self.manifests(place, text.as_str()?)?);
                    }
                }
                Value::Object(_) => covered.push_str(&written(&self.manifest(place, document))),
                _ => return None,
            }
        }
        Some(covered)
    }

    fn manifest(&self, from: &str, mut object: Value) -> Value {
        let (kind, namespace) = (object::text(&object, &["kind"]), object::namespace(&object));
        let kind = kind.to_owned();
        let place = format!("{from} {kind} {namespace}/{}", object::name(&object));
        if kind == "Secret" {
            self.hide_values(from, &mut object);
        }
        for (field, value) in object.as_object_mut().into_iter().flatten() {
            let place = format!("{place} {field}");
            match (kind.as_str(), field.as_str()) {
                (_, "apiVersion" | "kind") | ("Secret", "data" | "stringData" | "type") => {}
                (_, "metadata") => self.metadata(&place, value),
                // It may be content itself.
                ("ConfigMap", "data") if value.is_object() => self.contents(&place, value),
                ("CustomResourceDefinition", "spec") => self.definition(&place, value),
                _ => self.leaves(&place, value, Plain::Text),
            }
        }
        object
    }

    fn metadata(&self, place: &str, metadata: &mut Value) {
        match metadata.as_object_mut() {
            Some(fields) => self.but(place, fields, &["name", "namespace"]),
            None => self.leaves(place, metadata, Plain::Text),
        }
    }

    fn contents(&self, place: &str, data: &mut Value) {
        let data = data.as_object_mut().into_iter().flatten();
        for (key, value) in data.filter(|(key, value)| !is_directive(key, value)) {
            let place = format!("{place} {key}");
            match value.as_str() {
                Some(text) => *value = self.seal(place, text).into(),
                None => self.leaves(&place, value, Plain::Text),
            }
        }
    }

    /// The kind that it defines stays.
    fn definition(&self, place: &str, spec: &mut Value) {
        let Some(spec) = spec.as_object_mut() else { return self.leaves(place, spec, Plain::Text) };
        self.but(place, spec, &["group", "scope", "names", "versions"]);
        for version in spec.get_mut("versions").and_then(Value::as_array_mut).into_iter().flatten() {
            if let Some(version) = version.as_object_mut() {
                self.but(place, version, &["name", "served", "storage"]);
            }
        }
    }

    fn values(&self, place: &str, text: &str) -> Option<String> {
        let mut covered = String::new();
        for mut values in yaml::documents(text).ok()?.into_iter() {
            if !values.is_object() {
                return None;
            }
            self.leaves(place, &mut values, Plain::Kept);
            covered.push_str(&written(&values));
        }
        Some(covered)
    }

    fn patches(&self, place: &str, text: &str) -> Option<String> {
        let mut covered = String::new();
        for mut document in yaml::documents(text).ok()? {
            match &mut document {
                Value::Array(items) if items.iter().any(is_rule) => {
                    for item in items {
                        self.rule(place, item)?;
                    }
                }
                rule if is_rule(rule) => self.rule(place, rule)?,
                patch => self.patch(place, patch)?,
            }
            covered.push_str(&written(&document));
        }
        Some(covered)
    }

    /// What it is for is asked of what is deployed, and shown nowhere.
    fn rule(&self, place: &str, rule: &mut Value) -> Option<()> {
        let text = rule.get("patch").and_then(Value::as_str)?;
        let mut patches = yaml::documents(text).ok()?;
        for patch in &mut patches {
            self.patch(place, patch)?;
        }
        rule["patch"] = patches.iter().map(written).collect::<String>().into();
        Some(())
    }

    fn patch(&self, place: &str, patch: &mut Value) -> Option<()> {
        match patch {
            Value::Array(operations) => {
                for operation in operations {
                    let operation = operation.as_object_mut()?;
                    let at = operation.get("path").map(Value::to_string).unwrap_or_default();
                    self.but(&format!("{place} {at}"), operation, &["op", "path", "from"]);
                }
            }
            Value::Object(_) => *patch = self.manifest(place, patch.take()),
            _ => return None,
        }
        Some(())
    }

    /// Replaces the leaves of all fields but these.
    fn but(&self, place: &str, fields: &mut Map<String, Value>, kept: &[&str]) {
        for (field, value) in fields.iter_mut().filter(|(field, _)| !kept.contains(&field.as_str())) {
            self.leaves(&format!("{place} {field}"), value, Plain::Text);
        }
    }

    /// Replaces every leaf. What is empty holds nothing, and what a merge is told to do is no value.
    fn leaves(&self, place: &str, value: &mut Value, plain: Plain) {
        match value {
            Value::Object(fields) => {
                for (field, value) in fields.iter_mut().filter(|(field, value)| !is_directive(field, value)) {
                    self.leaves(&format!("{place} {field}"), value, plain);
                }
            }
            Value::Array(items) => {
                for (index, item) in items.iter_mut().enumerate() {
                    self.leaves(&format!("{place} {index}"), item, plain);
                }
            }
            Value::Null => {}
            Value::String(text) if text.is_empty() => {}
            Value::String(text) => *text = self.stand_in(place, text),
            Value::Bool(_) if plain == Plain::Kept => {}
            Value::Number(number) if plain == Plain::Kept => {
                *value = self.countable(place, &number.to_string()).into();
            }
            other => *other = self.stand_in(place, &other.to_string()).into(),
        }
    }
}

/// What a strategic merge is told to do.
fn is_directive(field: &str, value: &Value) -> bool {
    field == "$patch" && matches!(value.as_str(), Some("replace" | "merge" | "delete"))
}

/// As `patchesFrom` reads it.
fn is_rule(value: &Value) -> bool {
    let has = |field: &str| value.get(field).is_some();
    has("patch") && !has("kind") && !has("op")
}

fn written(document: &Value) -> String {
    format!("---\n{document}\n")
}
