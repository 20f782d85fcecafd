//! Which ConfigMaps and Secrets the pods of a workload read, what tells their content from another one, and how the workload says it.

// D-1060: a workload restarts when what its pods read is another content than what was seen of it before.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;
use sluice_api::marks::RELOAD;
use sluice_api::{Digest, Gvk, ObjectKey, object};

use crate::request::{Live, Version};

/// The workloads that are restarted.
const WORKLOADS: [&str; 3] = ["Deployment", "StatefulSet", "DaemonSet"];
/// What is said of the content of an object that is not there.
pub(crate) const ABSENT: &str = "absent";

/// What a watch of everything that pods could read of a kind shows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Glimpse {
    /// All objects of the kind, and their versions.
    All(Gvk, Vec<(ObjectKey, Version)>),
    /// One appeared or changed.
    Changed(ObjectKey, Version),
    /// One is gone.
    Gone(ObjectKey),
    /// Why nothing is shown, or that it is shown again.
    Trouble(Gvk, Option<String>),
}

/// What is kept of a workload in the inventory.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Reload {
    /// What its pod template says since it was restarted; empty when it never was.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub mark: String,
    /// What tells the content of everything that its pods read, by the object, as it was seen last.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub seen: BTreeMap<String, String>,
}

/// What pods read, and whether they can start without it.
pub(crate) type Sources = BTreeMap<ObjectKey, bool>;

// === impl Reload ===

impl Reload {
    pub(crate) fn is_nothing(&self) -> bool {
        self.mark.is_empty() && self.seen.is_empty()
    }

    /// The mark of what is seen now.
    pub(crate) fn mark_of_seen(&self) -> String {
        let parts: Vec<&[u8]> =
            self.seen.iter().flat_map(|(name, content)| [name, content]).map(String::as_bytes).collect();
        Digest::of(&parts).short()
    }
}

/// Whether an object is a workload that can be restarted.
pub(crate) fn is_workload(key: &ObjectKey) -> bool {
    key.gvk.group == "apps" && WORKLOADS.contains(&key.gvk.kind.as_str())
}

/// Whether pods can read it.
pub(crate) fn is_readable(key: &ObjectKey) -> bool {
    key.gvk.group.is_empty() && matches!(key.gvk.kind.as_str(), "ConfigMap" | "Secret")
}

/// Whether an object says what it should of what its pods were started with; what is no workload may say anything.
pub(crate) fn says(live: &Live, key: &ObjectKey, mark: Option<&str>) -> bool {
    !is_workload(key) || live.reload.as_deref() == mark
}

/// The ConfigMaps and Secrets that the pods of a workload mount or get variables from. What pulls their images is not among them.
pub(crate) fn sources_of(key: &ObjectKey, workload: &Value) -> Sources {
    let mut found = Found { namespace: &key.namespace, sources: Sources::new() };
    let Some(pod) = object::at(workload, &["spec", "template", "spec"]).filter(|_| is_workload(key)) else {
        return found.sources;
    };
    for volume in list(pod, "volumes") {
        found.note("ConfigMap", "name", volume.get("configMap"));
        found.note("Secret", "secretName", volume.get("secret"));
        for projected in volume.get("projected").into_iter().flat_map(|projected| list(projected, "sources"))
        {
            found.note("ConfigMap", "name", projected.get("configMap"));
            found.note("Secret", "name", projected.get("secret"));
        }
    }
    for container in ["initContainers", "containers"].into_iter().flat_map(|field| list(pod, field)) {
        for from in list(container, "env").filter_map(|variable| variable.get("valueFrom")) {
            found.note("ConfigMap", "name", from.get("configMapKeyRef"));
            found.note("Secret", "name", from.get("secretKeyRef"));
        }
        for from in list(container, "envFrom") {
            found.note("ConfigMap", "name", from.get("configMapRef"));
            found.note("Secret", "name", from.get("secretRef"));
        }
    }
    found.sources
}

/// What has been found in a pod template.
struct Found<'a> {
    namespace: &'a str,
    sources: Sources,
}

impl Found<'_> {
    /// Pods read this. What one place needs and another one can do without is needed.
    fn note(&mut self, kind: &str, field: &str, reference: Option<&Value>) {
        let Some(reference) = reference else { return };
        let name = object::text(reference, &[field]);
        if name.is_empty() {
            return;
        }
        let is_optional = reference.get("optional").and_then(Value::as_bool).unwrap_or_default();
        let key = ObjectKey {
            gvk: Gvk::new("", "v1", kind),
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
        };
        self.sources.entry(key).and_modify(|known| *known &= is_optional).or_insert(is_optional);
    }
}

fn list<'a>(value: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// What tells the content of a ConfigMap or Secret from another one. Of a Secret nobody can try what it is of who does not see the
/// Secret: its uid counts too.
pub fn content_digest(source: &Value) -> String {
    let is_secret = object::text(source, &["kind"]) == "Secret";
    let key = if is_secret { object::text(source, &["metadata", "uid"]) } else { "" };
    let [data, binary] = ["data", "binaryData"].map(|field| {
        let values = source.get(field).and_then(Value::as_object).into_iter().flatten();
        let values: BTreeMap<&str, &str> =
            values.map(|(name, value)| (name.as_str(), value.as_str().unwrap_or_default())).collect();
        let parts: Vec<&[u8]> =
            values.iter().flat_map(|(name, value)| [name.as_bytes(), value.as_bytes()]).collect();
        Digest::of(&parts)
    });
    Digest::of(&[key.as_bytes(), data.as_bytes(), binary.as_bytes()]).short()
}

/// Says on a workload, and on its pods, what they were started with.
pub(crate) fn set_mark(workload: &mut Value, mark: &str) {
    let template = workload.get_mut("spec").and_then(|spec| spec.get_mut("template"));
    if let Some(annotations) = template.and_then(|template| object::metadata_map(template, "annotations")) {
        annotations.insert(RELOAD.into(), mark.into());
    }
    if let Some(annotations) = object::metadata_map(workload, "annotations") {
        annotations.insert(RELOAD.into(), mark.into());
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    /// What the pods of a workload of this kind read, `?` behind what they can do without.
    fn read_by(kind: &str, pod: Value) -> Vec<String> {
        let workload = json!({"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "w", "namespace": "n"},
            "spec": {"template": {"spec": pod}}});
        let sources = sources_of(&ObjectKey::of(&workload).unwrap(), &workload);
        sources
            .into_iter()
            .map(|(key, optional)| format!("{key}{}", if optional { "?" } else { "" }))
            .collect()
    }

    #[test]
    fn a_pod_reads_what_it_mounts_and_gets_variables_from() {
        let cases = [
            (json!({"volumes": [{"name": "v", "configMap": {"name": "a"}}]}), "ConfigMap n/a"),
            (
                json!({"volumes": [{"name": "v", "configMap": {"name": "a", "optional": true}}]}),
                "ConfigMap n/a?",
            ),
            (json!({"volumes": [{"name": "v", "secret": {"secretName": "a"}}]}), "Secret n/a"),
            (
                json!({"volumes": [{"name": "v", "projected": {"sources": [{"configMap": {"name": "a"}}]}}]}),
                "ConfigMap n/a",
            ),
            (
                json!({"volumes": [{"name": "v", "projected": {"sources": [{"secret": {"name": "a", "optional": true}}]}}]}),
                "Secret n/a?",
            ),
            (
                json!({"containers": [{"env": [{"name": "E", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "k"}}}]}]}),
                "ConfigMap n/a",
            ),
            (
                json!({"containers": [{"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "a", "key": "k"}}}]}]}),
                "Secret n/a",
            ),
            (json!({"containers": [{"envFrom": [{"configMapRef": {"name": "a"}}]}]}), "ConfigMap n/a"),
            (
                json!({"containers": [{"envFrom": [{"secretRef": {"name": "a", "optional": true}}]}]}),
                "Secret n/a?",
            ),
            (
                json!({"initContainers": [{"env": [{"name": "E", "valueFrom": {"secretKeyRef": {"name": "a", "key": "k"}}}]}]}),
                "Secret n/a",
            ),
            (json!({"initContainers": [{"envFrom": [{"configMapRef": {"name": "a"}}]}]}), "ConfigMap n/a"),
        ];
        for (pod, expected) in cases {
            for kind in WORKLOADS {
                assert_eq!(read_by(kind, pod.clone()), [expected], "{kind} {pod}");
            }
            assert!(read_by("ReplicaSet", pod.clone()).is_empty(), "{pod}");
        }
    }

    #[test]
    fn nothing_else_is_read() {
        for pod in [
            json!({"imagePullSecrets": [{"name": "a"}]}),
            json!({"ephemeralContainers": [{"envFrom": [{"secretRef": {"name": "a"}}]}]}),
            json!({"containers": [{"env": [{"name": "E", "value": "a"}, {"name": "F", "valueFrom": {"fieldRef": {"fieldPath": "a"}}}]}]}),
            json!({"volumes": [{"name": "v", "emptyDir": {}}, {"name": "w", "persistentVolumeClaim": {"claimName": "a"}}]}),
            json!({"volumes": [{"name": "v", "projected": {"sources": [{"serviceAccountToken": {"path": "a"}}]}}]}),
            json!({"volumes": [{"name": "v", "configMap": {}}]}),
            json!({"volumes": null, "containers": "none"}),
            json!(null),
        ] {
            assert!(read_by("Deployment", pod.clone()).is_empty(), "{pod}");
        }
    }

    #[test]
    fn what_one_place_needs_is_needed() {
        let pod = |first: bool, second: bool| {
            json!({"volumes": [{"name": "v", "configMap": {"name": "a", "optional": first}}],
                "containers": [{"envFrom": [{"configMapRef": {"name": "a", "optional": second}}]}]})
        };
        assert_eq!(read_by("Deployment", pod(true, false)), ["ConfigMap n/a"]);
        assert_eq!(read_by("Deployment", pod(false, true)), ["ConfigMap n/a"]);
        assert_eq!(read_by("Deployment", pod(true, true)), ["ConfigMap n/a?"]);
    }

    #[test]
    fn contents_are_told_apart_and_nothing_else_is() {
        let digest = |kind: &str, more: Value| {
            let mut source = json!({"kind": kind, "metadata": {"name": "a", "uid": "u", "resourceVersion": "1"}, "data": {"a": "1"}});
            source.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            content_digest(&source)
        };
        let plain = digest("ConfigMap", json!({}));
        let same = json!({"metadata": {"name": "a", "uid": "v", "labels": {"a": "b"}}, "immutable": true});
        assert_eq!(digest("ConfigMap", same.clone()), plain);
        for other in [
            json!({"data": {"a": "2"}}),
            json!({"data": {"b": "1"}}),
            json!({"data": {"a": "1", "b": ""}}),
            json!({"binaryData": {"a": "1"}}),
            json!({"data": null, "binaryData": {"a": "1"}}),
        ] {
            assert_ne!(digest("ConfigMap", other.clone()), plain, "{other}");
        }
        assert_ne!(digest("Secret", json!({})), digest("Secret", same), "it cannot be tried without its uid");
        assert_eq!(digest("Secret", json!({"type": "x"})), digest("Secret", json!({})));
    }

    #[test]
    fn a_workload_and_its_pods_say_what_they_were_started_with() {
        let mut workload =
            json!({"kind": "Deployment", "metadata": {"name": "w"}, "spec": {"template": {"spec": {}}}});
        set_mark(&mut workload, "x");
        assert_eq!(object::annotation(&workload, RELOAD), Some("x"));
        assert_eq!(object::annotation(&workload["spec"]["template"], RELOAD), Some("x"));
    }
}
