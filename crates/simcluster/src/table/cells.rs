//! Cells of the built-in kinds.

use serde_json::Value;

use super::view::{age, get, label_selector, list, number, plain, text};
use super::{network, workloads};
use crate::object::Object;

/// The cells after the name.
pub fn cells(kind: &str, object: &Object) -> Vec<Value> {
    match kind {
        "Service" => network::service(object),
        "Ingress" => network::ingress(object),
        "Endpoints" => vec![network::endpoints(object).into(), age(object)],
        "Deployment" => workloads::deployment(object),
        "StatefulSet" => workloads::stateful_set(object),
        "DaemonSet" => workloads::daemon_set(object),
        "ReplicaSet" => workloads::replica_set(object),
        "Pod" => workloads::pod(object),
        "Job" => workloads::job(object),
        "CronJob" => workloads::cron_job(object),
        "CustomResourceDefinition" | "Role" | "ClusterRole" => {
            vec![object.meta_str("creationTimestamp").into()]
        }
        "RoleBinding" | "ClusterRoleBinding" => role_binding(object),
        "Node" => {
            let version = text(object, &["status", "nodeInfo", "kubeletVersion"]);
            vec![node_status(object).into(), "<none>".into(), age(object), version.into()]
        }
        _ => {
            let mut cells = short_cells(kind, object);
            cells.push(age(object));
            cells
        }
    }
}

/// The cells between name and age of the kinds that show little.
fn short_cells(kind: &str, object: &Object) -> Vec<Value> {
    let size = |field: &str| get(object, &[field]).and_then(Value::as_object).map_or(0, |map| map.len());
    let texts = |paths: &[&[&str]]| paths.iter().map(|path| text(object, path).into()).collect();
    match kind {
        "ConfigMap" => vec![(size("data") + size("binaryData")).into()],
        "Secret" => vec![text(object, &["type"]).into(), size("data").into()],
        "Namespace" => texts(&[&["status", "phase"]]),
        "NetworkPolicy" => vec![label_selector(get(object, &["spec", "podSelector"])).into()],
        "Lease" => texts(&[&["spec", "holderIdentity"]]),
        "PersistentVolumeClaim" => texts(&[
            &["status", "phase"],
            &["spec", "volumeName"],
            &[""],
            &[""],
            &["spec", "storageClassName"],
        ]),
        "PodDisruptionBudget" => {
            let bound = |field: &str| get(object, &["spec", field]).map_or_else(|| "N/A".to_owned(), plain);
            let allowed = number(object, &["status", "disruptionsAllowed"]);
            vec![bound("minAvailable").into(), bound("maxUnavailable").into(), allowed.into()]
        }
        _ => Vec::new(),
    }
}

fn role_binding(object: &Object) -> Vec<Value> {
    let role = |field: &str| get(object, &["roleRef", field]).and_then(Value::as_str).unwrap_or_default();
    let subjects = |kind: &str| {
        let text = |subject: &Value, field: &str| {
            subject.get(field).and_then(Value::as_str).unwrap_or_default().to_owned()
        };
        let names =
            list(get(object, &["subjects"])).filter(|subject| text(subject, "kind") == kind).map(|subject| {
                match text(subject, "namespace").as_str() {
                    "" => text(subject, "name"),
                    namespace => format!("{namespace}/{}", text(subject, "name")),
                }
            });
        names.collect::<Vec<_>>().join(", ")
    };
    vec![
        format!("{}/{}", role("kind"), role("name")).into(),
        age(object),
        subjects("User").into(),
        subjects("Group").into(),
        subjects("ServiceAccount").into(),
    ]
}

fn node_status(object: &Object) -> &'static str {
    let ready = |condition: &&Value| condition.get("type").and_then(Value::as_str) == Some("Ready");
    let status = list(get(object, &["status", "conditions"]))
        .find(ready)
        .and_then(|condition| condition.get("status")?.as_str());
    match status {
        Some("True") => "Ready",
        Some(_) => "NotReady",
        None => "Unknown",
    }
}

/// The columns and cells of a kind agree, whatever the object holds.
#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kinds::builtins;
    use crate::table::columns::columns;
    use serde_json::json;
    use std::sync::Arc;

    #[test]
    fn every_kind_has_a_cell_for_each_column() {
        let body = json!({"metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"}});
        let object = Object::new(body.as_object().unwrap().clone(), Arc::from([]), 1);
        for def in &builtins().list {
            assert_eq!(cells(&def.kind, &object).len(), columns(&def.kind).len(), "{}", def.kind);
        }
    }

    #[test]
    fn a_service_reads_as_kubectl_prints_it() {
        let body = json!({
            "metadata": {"name": "a", "creationTimestamp": "2026-01-01T00:00:00Z"},
            "spec": {"type": "ClusterIP", "clusterIP": "10.0.0.1", "ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}], "selector": {"b": "c", "a": "b"}},
        });
        let object = Object::new(body.as_object().unwrap().clone(), Arc::from([]), 1);
        let mut found = network::service(&object);
        found.remove(4);
        assert_eq!(found, ["ClusterIP", "10.0.0.1", "<none>", "80/TCP,53/UDP", "a=b,b=c"]);
    }
}
