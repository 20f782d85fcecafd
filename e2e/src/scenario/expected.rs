//! What must be true, and what is different.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use anyhow::Context as _;
use serde::Deserialize;
use serde_json::Value;
use sluice_api::{ObjectKey, object};

/// A file of `expected/`. Clusters are called `namespace/name`; the management cluster is called `management`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// Every object of Sluice's.
    pub clusters: BTreeMap<String, Vec<Value>>,
    /// Objects of somebody else that must still be there.
    #[serde(default)]
    pub kept: BTreeMap<String, Vec<Value>>,
    /// Objects of Sluice's that wait: for their kind or namespace, or for what their profile waits for.
    #[serde(default)]
    pub pending: BTreeMap<String, Vec<Value>>,
    /// What live clusters have of some of the objects, which have fields of somebody else.
    #[serde(default)]
    pub shared: BTreeMap<String, Vec<Value>>,
    /// What live clusters have of Sluice's that nobody wants, since nothing may be changed there.
    #[serde(default)]
    pub left: BTreeMap<String, Vec<Value>>,
    /// What live clusters have of a former content, where another one waits for its turn or was gone back from.
    #[serde(default)]
    pub former: BTreeMap<String, Vec<Value>>,
    /// What ClusterReports say: by `namespace/name` of the report, the action of each object, as `Kind namespace/name`.
    #[serde(default)]
    pub reports: BTreeMap<String, BTreeMap<String, String>>,
    /// Names of profiles of which everything is there, and which are not well, or wait to be removed.
    #[serde(default)]
    pub unwell: BTreeMap<String, Vec<String>>,
    /// Names of profiles of which another content waits for its turn on some clusters.
    #[serde(default)]
    pub going_on: BTreeSet<String>,
}

// === impl Expected ===

impl Expected {
    /// Reads a file.
    ///
    /// # Errors
    /// When it is missing or wrong.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(path).with_context(|| path.display().to_string())?;
        serde_json::from_str(&text).with_context(|| path.display().to_string())
    }

    /// The objects of Sluice's in it.
    pub fn objects(&self) -> impl Iterator<Item = &Value> {
        self.clusters.values().chain(self.pending.values()).flatten()
    }

    /// Whether a profile is not well there.
    pub fn is_unwell(&self, cluster: &str, profile: &str) -> bool {
        self.unwell.get(cluster).is_some_and(|names| names.iter().any(|name| name == profile))
    }

    /// Whether a profile is not well anywhere.
    pub fn is_unwell_somewhere(&self, profile: &str) -> bool {
        self.unwell.values().flatten().any(|name| name == profile)
    }

    /// What must be in this cluster when it knows the kinds (`live`), and what must be printed otherwise.
    pub fn of(&self, cluster: &str, live: bool) -> Vec<Value> {
        let pending = self.pending.get(cluster).filter(|_| !live);
        let shared = self.shared.get(cluster).filter(|_| live).map_or(&[][..], Vec::as_slice);
        let as_it_is = |object: &Value| {
            let found = shared.iter().find(|shared| ObjectKey::of(shared) == ObjectKey::of(object));
            found.unwrap_or(object).clone()
        };
        let others =
            [&self.left, &self.former].into_iter().filter_map(|places| places.get(cluster).filter(|_| live));
        self.clusters.get(cluster).into_iter().chain(pending).chain(others).flatten().map(as_it_is).collect()
    }

    /// What of a live cluster is not as it is printed.
    pub fn unprinted(&self, cluster: &str) -> Vec<Option<ObjectKey>> {
        let others =
            [&self.shared, &self.left, &self.former].into_iter().filter_map(|places| places.get(cluster));
        others.flatten().map(ObjectKey::of).collect()
    }

    /// What of a ClusterReport differs.
    pub fn report_differences(&self, name: &str, report: Option<&Value>) -> Vec<String> {
        let Some(wanted) = self.reports.get(name) else { return Vec::new() };
        let lists = ["resourceReports", "helmResourceReports"].into_iter();
        let lines =
            lists.filter_map(|list| report?.pointer(&format!("/status/{list}"))?.as_array()).flatten();
        let text = |line: &Value, path: &[&str]| object::text(line, path).to_owned();
        let line = |line: &Value| {
            let [kind, namespace, name] =
                ["kind", "namespace", "name"].map(|field| text(line, &["resource", field]));
            (format!("{kind} {namespace}/{name}"), text(line, &["action"]))
        };
        let found: BTreeMap<String, String> = lines.map(line).collect();
        (found != *wanted).then(|| format!("ClusterReport {name} says {found:?}")).into_iter().collect()
    }
}

/// What is different between the objects that should be in a cluster and those that are. An object that is not
/// expected is a difference; a member that is not expected is none.
pub fn differences(cluster: &str, expected: &[Value], actual: &[Value]) -> Vec<String> {
    let found = |key: &Option<ObjectKey>| actual.iter().find(|object| ObjectKey::of(object) == *key);
    let mut differences = Vec::new();
    for wanted in expected {
        let difference = match found(&ObjectKey::of(wanted)) {
            None => Some("is missing".to_owned()),
            Some(actual) => difference("", wanted, Some(actual)),
        };
        differences.extend(difference.map(|text| format!("{cluster}: {} {text}", object::describe(wanted))));
    }
    let known: Vec<Option<ObjectKey>> = expected.iter().map(ObjectKey::of).collect();
    let surplus = actual.iter().filter(|object| !known.contains(&ObjectKey::of(object)));
    differences.extend(
        surplus.map(|object| format!("{cluster}: {} is there and must not be", object::describe(object))),
    );
    differences
}

/// The first member of `expected` that `actual` does not have.
pub fn difference(path: &str, expected: &Value, actual: Option<&Value>) -> Option<String> {
    match (expected, actual) {
        (Value::Object(wanted), Some(Value::Object(found))) => {
            wanted.iter().find_map(|(key, value)| difference(&format!("{path}.{key}"), value, found.get(key)))
        }
        (Value::Array(wanted), Some(Value::Array(found))) if wanted.len() == found.len() => {
            let mut pairs = wanted.iter().zip(found).enumerate();
            pairs.find_map(|(index, (wanted, found))| {
                difference(&format!("{path}[{index}]"), wanted, Some(found))
            })
        }
        (wanted, Some(found)) if wanted == found => None,
        // API servers leave out what is empty.
        (Value::Object(wanted), None) if wanted.is_empty() => None,
        (Value::Array(wanted), None) if wanted.is_empty() => None,
        (Value::Null, None) => None,
        (wanted, Some(found)) => Some(format!("has {found} at {path}, not {wanted}")),
        (wanted, None) => Some(format!("has nothing at {path}, not {wanted}")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn config_map(name: &str, data: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data})
    }

    #[test]
    fn members_may_be_added_and_objects_may_not() {
        let expected = [config_map("a", json!({"x": "1"}))];
        let same = [config_map("a", json!({"x": "1", "y": "2"}))];
        assert!(differences("c", &expected, &same).is_empty());
        let more = [same[0].clone(), config_map("b", json!({}))];
        assert_eq!(differences("c", &expected, &more), ["c: ConfigMap b is there and must not be"]);
        assert_eq!(differences("c", &expected, &[]), ["c: ConfigMap a is missing"]);
    }

    #[test]
    fn lists_have_the_same_length_and_order() {
        let wanted = json!({"list": [{"a": 1}, {"b": 2}], "none": {}});
        assert_eq!(difference("", &wanted, Some(&json!({"list": [{"a": 1, "c": 3}, {"b": 2}]}))), None);
        for other in [json!({"list": [{"b": 2}, {"a": 1}]}), json!({"list": [{"a": 1}]}), json!({})] {
            assert!(difference("", &wanted, Some(&other)).is_some(), "{other}");
        }
    }
}
