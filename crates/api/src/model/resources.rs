//! What templates read of the management cluster besides their own text, and what is made there of templates.

use serde_json::Value;

use super::read::Field;
use crate::error::FieldError;

/// An object of the management cluster that templates read by an identifier.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResourceRef {
    /// Name under which templates find it.
    pub identifier: String,
    /// Group and version, such as `apps/v1`.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its namespace; empty means the destination's. May be a template.
    pub namespace: String,
    /// Its name. May be a template.
    pub name: String,
    /// Whether a missing object is no error.
    pub optional: bool,
    /// Which of its changes matter.
    pub attention: Attention,
    /// Path of the field, for messages.
    pub path: String,
}

/// Which changes of an object are a reason to render again. By default every one is.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Attention {
    /// Whether a new `status` is no change.
    pub ignore_status: bool,
    /// Dotted paths: only what is there counts. Empty stands for the whole object.
    pub fields: Vec<String>,
}

/// A ConfigMap or Secret that a trigger makes of a template in the management cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Generator {
    /// `ConfigMap` or `Secret`: of the template and of what is made.
    pub kind: &'static str,
    /// Namespace of the template; empty means the cluster's of the event. May be a template itself.
    pub namespace: String,
    /// Name of the template. May be a template itself.
    pub name: String,
    /// Template of the name of what is made.
    pub name_format: String,
    /// Whether a missing template is no error.
    pub optional: bool,
    /// Path of the field, for messages.
    pub path: String,
}

// === impl ResourceRef ===

impl ResourceRef {
    /// Reads `templateResourceRefs`.
    pub(super) fn all(spec: &Field<'_>) -> Result<Vec<Self>, FieldError> {
        let mut refs = Vec::<Self>::new();
        for item in spec.get("templateResourceRefs").items()? {
            let one = Self::read(&item)?;
            if refs.iter().any(|other| other.identifier == one.identifier) {
                let identifier = item.get("identifier");
                return Err(identifier.error(format!("{:?} is used twice; make them differ", one.identifier)));
            }
            refs.push(one);
        }
        Ok(refs)
    }

    fn read(item: &Field<'_>) -> Result<Self, FieldError> {
        let resource = item.get("resource");
        let mut fields = Vec::new();
        for field in item.get("watchFields").items()? {
            fields.push(field.required_text()?);
        }
        Ok(Self {
            identifier: item.get("identifier").required_text()?,
            api_version: resource.get("apiVersion").required_text()?,
            kind: resource.get("kind").required_text()?,
            namespace: resource.get("namespace").text()?,
            name: resource.get("name").required_text()?,
            optional: item.get("optional").flag()?,
            attention: Attention { ignore_status: item.get("ignoreStatusChanges").flag()?, fields },
            path: item.error("").field,
        })
    }
}

// === impl Attention ===

impl Attention {
    /// Whether what `new` has is a reason to render again what was rendered of `old`.
    pub fn sees(&self, old: Option<&Value>, new: Option<&Value>) -> bool {
        let (Some(old), Some(new)) = (old, new) else { return old.is_some() != new.is_some() };
        if !self.fields.is_empty() {
            return self.fields.iter().any(|field| at(old, field) != at(new, field));
        }
        let keys = |object: &Value| -> Vec<String> {
            object.as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
        };
        let counts = |key: &str| !(self.ignore_status && key == "status");
        let differs = |key: &String| match key.as_str() {
            "metadata" => !same_metadata(old.get("metadata"), new.get("metadata")),
            key => counts(key) && old.get(key) != new.get(key),
        };
        keys(old).iter().chain(&keys(new)).any(differs)
    }
}

/// The value at a dotted path.
fn at<'v>(object: &'v Value, path: &str) -> Option<&'v Value> {
    path.split('.').filter(|part| !part.is_empty()).try_fold(object, |value, part| value.get(part))
}

/// What an API server counts, and nobody reads.
fn same_metadata(old: Option<&Value>, new: Option<&Value>) -> bool {
    const COUNTERS: [&str; 3] = ["resourceVersion", "managedFields", "generation"];
    let told = |value: Option<&Value>| {
        let mut map = value.and_then(Value::as_object).cloned().unwrap_or_default();
        map.retain(|key, _| !COUNTERS.contains(&key.as_str()));
        map
    };
    told(old) == told(new)
}

// === impl Generator ===

impl Generator {
    /// Reads `configMapGenerator` and `secretGenerator`.
    pub(super) fn all(spec: &Field<'_>) -> Result<Vec<Self>, FieldError> {
        let mut generators = Vec::new();
        for (field, kind) in [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")] {
            for item in spec.get(field).items()? {
                generators.push(Self {
                    kind,
                    namespace: item.get("namespace").text()?,
                    name: item.get("name").required_text()?,
                    name_format: item.get("nameFormat").required_text()?,
                    optional: item.get("optional").flag()?,
                    path: item.error("").field,
                });
            }
        }
        Ok(generators)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    fn refs(value: Value) -> Result<Vec<ResourceRef>, FieldError> {
        let object = json!({"kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": {"templateResourceRefs": value}});
        ResourceRef::all(&Field::spec(&object))
    }

    fn secret(identifier: &str) -> Value {
        json!({"identifier": identifier, "resource": {"apiVersion": "v1", "kind": "Secret", "namespace": "n", "name": "s"}})
    }

    #[test]
    fn what_is_missing_or_said_twice_is_named() {
        let read = refs(json!([secret("a"), secret("b")])).unwrap();
        assert_eq!(
            (read.len(), &*read[1].path, &*read[1].kind),
            (2, "spec.templateResourceRefs[1]", "Secret")
        );
        let error = refs(json!([secret("a"), secret("a")])).unwrap_err().to_string();
        assert!(error.contains("spec.templateResourceRefs[1].identifier: \"a\" is used twice"), "{error}");
        let error = refs(json!([{"identifier": "a"}])).unwrap_err().to_string();
        assert!(error.contains("spec.templateResourceRefs[0].resource.apiVersion: is required"), "{error}");
    }

    #[test]
    fn generators_of_both_kinds_come_in_their_order() {
        let one = |name: &str| json!([{"name": name, "nameFormat": "x"}]);
        let object = json!({"spec": {"secretGenerator": one("s"), "configMapGenerator": one("c")}});
        let read = Generator::all(&Field::spec(&object)).unwrap();
        assert_eq!(
            read.iter().map(|one| (one.kind, &*one.path)).collect::<Vec<_>>(),
            [("ConfigMap", "spec.configMapGenerator[0]"), ("Secret", "spec.secretGenerator[0]"),]
        );
        let object = json!({"spec": {"secretGenerator": [{"name": "s"}]}});
        let error = Generator::all(&Field::spec(&object)).unwrap_err().to_string();
        assert!(error.contains("spec.secretGenerator[0].nameFormat: is required"), "{error}");
    }

    #[test]
    fn attention_says_which_changes_count() {
        let object = |version: &str, phase: &str, size: i64| {
            json!({"kind": "Thing", "metadata": {"name": "t", "resourceVersion": version}, "spec": {"size": size, "other": version},
                "status": {"phase": phase}})
        };
        let all = Attention::default();
        assert!(all.sees(Some(&object("1", "a", 1)), Some(&object("1", "b", 1))));
        assert!(all.sees(None, Some(&object("1", "a", 1))) && !all.sees(None, None));
        let counters = json!({"metadata": {"name": "t", "resourceVersion": "2", "generation": 4}});
        assert!(
            !all.sees(Some(&json!({"metadata": {"name": "t", "resourceVersion": "1"}})), Some(&counters))
        );
        let spec = Attention { ignore_status: true, fields: Vec::new() };
        assert!(!spec.sees(Some(&object("1", "a", 1)), Some(&object("1", "b", 1))));
        assert!(spec.sees(Some(&object("1", "a", 1)), Some(&object("1", "a", 2))));
        let size = Attention { ignore_status: false, fields: vec!["spec.size".into()] };
        assert!(!size.sees(Some(&object("1", "a", 1)), Some(&object("2", "b", 1))));
        assert!(size.sees(Some(&object("1", "a", 1)), Some(&object("1", "a", 2))));
        assert!(size.sees(Some(&object("1", "a", 1)), None), "it is gone");
    }
}
