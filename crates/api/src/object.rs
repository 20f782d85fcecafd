//! Kubernetes objects as decoded JSON, and their identities.
//!
//! An object is a `serde_json::Value`: integers stay integers, maps are sorted, and scripts and
//! templates read it in place.

use std::fmt;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

/// Group, version and kind. The group of core kinds is empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gvk {
    /// API group, empty for core kinds.
    pub group: String,
    /// API version, for example `v1`.
    pub version: String,
    /// Kind, for example `Service`.
    pub kind: String,
}

/// An object of one cluster. Orders by namespace and name first, as API servers list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct ObjectKey {
    /// Group, version and kind it was read as: another version is another key.
    pub gvk: Gvk,
    /// Its namespace, empty for cluster-scoped kinds.
    pub namespace: String,
    /// Unique within kind and namespace.
    pub name: String,
}

// === impl Gvk ===

impl Gvk {
    /// Makes it of its three parts.
    pub fn new(group: impl Into<String>, version: impl Into<String>, kind: impl Into<String>) -> Self {
        Self { group: group.into(), version: version.into(), kind: kind.into() }
    }

    /// Reads `apiVersion` (`apps/v1` or `v1`) and `kind`.
    pub fn parse(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    /// Whether its objects are Secrets.
    pub fn is_secret(&self) -> bool {
        self.group.is_empty() && &*self.kind == "Secret"
    }

    /// Whether it is the same kind, in whatever version.
    pub fn is_kind_of(&self, other: &Self) -> bool {
        self.group == other.group && self.kind == other.kind
    }

    /// `apps/v1`, or `v1` for core kinds.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }
}

impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.api_version(), self.kind)
    }
}

// === impl ObjectKey ===

impl ObjectKey {
    /// The identity of `object`, or `None` where kind or name is missing.
    pub fn of(object: &Value) -> Option<Self> {
        let gvk = Gvk::parse(object.get("apiVersion")?.as_str()?, object.get("kind")?.as_str()?);
        let name = name(object);
        if name.is_empty() || gvk.kind.is_empty() {
            return None;
        }
        Some(Self { gvk, namespace: namespace(object).to_owned(), name: name.to_owned() })
    }

    fn order(&self) -> (&str, &str, &Gvk) {
        (&self.namespace, &self.name, &self.gvk)
    }
}

impl PartialOrd for ObjectKey {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for ObjectKey {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.order().cmp(&other.order())
    }
}

impl fmt::Display for ObjectKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.gvk.kind)?;
        if !self.namespace.is_empty() {
            write!(f, "{}/", self.namespace)?;
        }
        f.write_str(&self.name)
    }
}

// === reading objects ===

/// `metadata.name`, or an empty string.
pub fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

/// `metadata.namespace`, or an empty string.
pub fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

/// The string at `path`, or an empty string where there is none.
pub fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).and_then(Value::as_str).unwrap_or_default()
}

/// The value at `path`.
pub fn at<'a>(object: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(object, |value, key| value.get(key))
}

/// The label `key`.
pub fn label<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("labels")?.get(key)?.as_str()
}

/// The annotation `key`.
pub fn annotation<'a>(object: &'a Value, key: &str) -> Option<&'a str> {
    object.get("metadata")?.get("annotations")?.get(key)?.as_str()
}

/// `metadata.resourceVersion` as a number; 0 where it is missing or is not one.
pub fn resource_version(object: &Value) -> u64 {
    text(object, &["metadata", "resourceVersion"]).parse().unwrap_or(0)
}

/// `Kind namespace/name`, for messages.
pub fn describe(object: &Value) -> String {
    let kind = object.get("kind").and_then(Value::as_str).unwrap_or("object");
    match namespace(object) {
        "" => format!("{kind} {}", name(object)),
        namespace => format!("{kind} {namespace}/{}", name(object)),
    }
}

/// The map at `metadata.<field>`, made where it is missing; `None` when `object` is no map.
pub fn metadata_map<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Map<String, Value>> {
    let metadata = object.as_object_mut()?.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let entry = metadata.as_object_mut()?.entry(field).or_insert_with(|| Value::Object(Map::new()));
    if entry.is_null() {
        *entry = Value::Object(Map::new());
    }
    entry.as_object_mut()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn keys_order_like_api_lists() {
        let key = |namespace: &str, name: &str, kind: &str| ObjectKey {
            gvk: Gvk::new("", "v1", kind),
            namespace: namespace.into(),
            name: name.into(),
        };
        let mut keys = vec![key("b", "a", "Pod"), key("a", "z", "Pod"), key("a", "z", "ConfigMap")];
        keys.sort();
        assert_eq!(keys, [key("a", "z", "ConfigMap"), key("a", "z", "Pod"), key("b", "a", "Pod")]);
    }

    #[test]
    fn identity_needs_kind_and_name() {
        let object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "d"}});
        let key = ObjectKey::of(&object).unwrap();
        assert_eq!((key.gvk.group.as_str(), key.to_string().as_str()), ("apps", "Deployment d"));
        assert_eq!(ObjectKey::of(&json!({"kind": "Deployment", "metadata": {"name": "d"}})), None);
        assert_eq!(ObjectKey::of(&json!({"apiVersion": "v1", "kind": "Pod"})), None);
    }
}
