//! Field selectors: `metadata.name=a,status.phase!=Running`.

use serde_json::Value;

use crate::object::Object;

/// A conjunction of comparisons of fields with texts; empty selects everything.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FieldSelector(Vec<Comparison>);

#[derive(Debug, Clone, PartialEq)]
struct Comparison {
    path: Vec<String>,
    equal: bool,
    value: String,
}

// === impl FieldSelector ===

impl FieldSelector {
    /// Reads a selector for objects of `kind`; the error says what is wrong with it.
    pub fn parse(text: &str, kind: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
        parts.map(|part| Comparison::parse(part, kind)).collect::<Result<_, _>>().map(Self)
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether the object is selected.
    pub fn matches(&self, object: &Object) -> bool {
        self.0.iter().all(|comparison| comparison.matches(object))
    }

    /// The name that is asked for, when there is one.
    pub fn name(&self) -> Option<&str> {
        let by_name = self.0.iter().find(|part| part.equal && part.path == ["metadata", "name"])?;
        Some(&by_name.value)
    }
}

// === impl Comparison ===

impl Comparison {
    fn parse(text: &str, kind: &str) -> Result<Self, String> {
        let (path, equal, value) = if let Some((path, value)) = text.split_once("!=") {
            (path, false, value)
        } else {
            let (path, value) = text
                .split_once("==")
                .or_else(|| text.split_once('='))
                .ok_or_else(|| format!("invalid field selector {text:?}; expected field=value"))?;
            (path, true, value)
        };
        let path = path.trim();
        if !is_supported(path, kind) {
            return Err(match extra_fields(kind) {
                [] => format!(
                    "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                ),
                _ => format!("field label not supported: {path}"),
            });
        }
        Ok(Self { path: path.split('.').map(str::to_owned).collect(), equal, value: value.trim().to_owned() })
    }

    fn matches(&self, object: &Object) -> bool {
        let (first, rest) =
            self.path.split_first().map_or(("", [].as_slice()), |(first, rest)| (first.as_str(), rest));
        let found =
            rest.iter().fold(object.body().get(first), |value, part| value.and_then(|value| value.get(part)));
        let equal = match found {
            Some(Value::String(text)) => *text == self.value,
            Some(Value::Null) | None => self.value.is_empty() || self.value == "false",
            Some(Value::Bool(flag)) => self.value == if *flag { "true" } else { "false" },
            Some(other) => self.value.parse::<Value>().is_ok_and(|value| value == *other),
        };
        equal == self.equal
    }
}

fn is_supported(path: &str, kind: &str) -> bool {
    ["metadata.name", "metadata.namespace"].contains(&path) || extra_fields(kind).contains(&path)
}

/// What can be selected by, beside name and namespace.
fn extra_fields(kind: &str) -> &'static [&'static str] {
    match kind {
        "Pod" => &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.nominatedNodeName",
        ],
        "Node" => &["spec.unschedulable"],
        "Namespace" => &["status.phase"],
        "Secret" => &["type"],
        "Service" => &["spec.clusterIP", "spec.type"],
        "Job" => &["status.successful"],
        "ReplicaSet" | "ReplicationController" => &["status.replicas"],
        "Event" => &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use serde_json::json;
    use std::sync::Arc;

    fn pod() -> Object {
        let body = json!({"metadata": {"name": "a", "namespace": "n"}, "spec": {"nodeName": "x"}});
        Object::new(body.as_object().unwrap().clone(), Arc::from([]), 1)
    }

    #[test]
    fn fields_are_compared() {
        for selector in
            ["", "metadata.name=a", "metadata.name==a,spec.nodeName=x", "spec.nodeName!=y", "status.phase="]
        {
            assert!(FieldSelector::parse(selector, "Pod").unwrap().matches(&pod()), "{selector}");
        }
        for selector in ["metadata.name=b", "spec.nodeName!=x", "status.phase=Running"] {
            assert!(!FieldSelector::parse(selector, "Pod").unwrap().matches(&pod()), "{selector}");
        }
    }

    #[test]
    fn only_selectable_fields_are_accepted() {
        let refused = FieldSelector::parse("spec.nodeName=x", "ConfigMap").unwrap_err();
        assert!(refused.starts_with("\"spec.nodeName\" is not a known field selector"));
        assert!(FieldSelector::parse("metadata.name", "Pod").is_err());
    }
}
