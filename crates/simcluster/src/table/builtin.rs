//! Columns of the built-in kinds.

use serde_json::Value;

use super::duration::age;
use crate::object::Object;

/// `(name, type, priority)` of a column.
pub type Definition = (&'static str, &'static str, i64);

const AGE: Definition = ("Age", "string", 0);

/// The columns after the name.
pub fn columns(kind: &str) -> &'static [Definition] {
    match kind {
        "Service" => &[
            ("Type", "string", 0),
            ("Cluster-IP", "string", 0),
            ("External-IP", "string", 0),
            ("Port(s)", "string", 0),
            AGE,
            ("Selector", "string", 1),
        ],
        "ConfigMap" => &[("Data", "string", 0), AGE],
        "Secret" => &[("Type", "string", 0), ("Data", "string", 0), AGE],
        "Namespace" => &[("Status", "string", 0), AGE],
        "NetworkPolicy" => &[("Pod-Selector", "string", 0), AGE],
        "Ingress" => &[
            ("Class", "string", 0),
            ("Hosts", "string", 0),
            ("Address", "string", 0),
            ("Ports", "string", 0),
            AGE,
        ],
        "Endpoints" => &[("Endpoints", "string", 0), AGE],
        "Deployment" => &[
            ("Ready", "string", 0),
            ("Up-to-date", "string", 0),
            ("Available", "string", 0),
            AGE,
            ("Containers", "string", 1),
            ("Images", "string", 1),
            ("Selector", "string", 1),
        ],
        "StatefulSet" => &[("Ready", "string", 0), AGE],
        "DaemonSet" => &[
            ("Desired", "integer", 0),
            ("Current", "integer", 0),
            ("Ready", "integer", 0),
            ("Up-to-date", "integer", 0),
            ("Available", "integer", 0),
            ("Node Selector", "string", 0),
            AGE,
        ],
        "ReplicaSet" => &[("Desired", "integer", 0), ("Current", "integer", 0), ("Ready", "integer", 0), AGE],
        "Pod" => &[
            ("Ready", "string", 0),
            ("Status", "string", 0),
            ("Restarts", "string", 0),
            AGE,
            ("IP", "string", 1),
            ("Node", "string", 1),
        ],
        "Node" => &[("Status", "string", 0), ("Roles", "string", 0), AGE, ("Version", "string", 0)],
        "CustomResourceDefinition" => &[("Created At", "date", 0)],
        "Role" | "ClusterRole" => &[("Created At", "string", 0)],
        "RoleBinding" | "ClusterRoleBinding" => &[
            ("Role", "string", 0),
            AGE,
            ("Users", "string", 1),
            ("Groups", "string", 1),
            ("ServiceAccounts", "string", 1),
        ],
        "Job" => &[("Status", "string", 0), ("Completions", "string", 0), ("Duration", "string", 0), AGE],
        "CronJob" => &[
            ("Schedule", "string", 0),
            ("Timezone", "string", 0),
            ("Suspend", "boolean", 0),
            ("Active", "integer", 0),
            ("Last Schedule", "string", 0),
            AGE,
        ],
        "PersistentVolumeClaim" => &[
            ("Status", "string", 0),
            ("Volume", "string", 0),
            ("Capacity", "string", 0),
            ("Access Modes", "string", 0),
            ("StorageClass", "string", 0),
            AGE,
        ],
        "PodDisruptionBudget" => &[
            ("Min Available", "string", 0),
            ("Max Unavailable", "string", 0),
            ("Allowed Disruptions", "integer", 0),
            AGE,
        ],
        "Lease" => &[("Holder", "string", 0), AGE],
        _ => &[AGE],
    }
}

/// The cells after the name.
pub fn cells(kind: &str, object: &Object) -> Vec<Value> {
    let at = |path: &[&str]| get(object, path);
    let text = |path: &[&str]| at(path).and_then(Value::as_str).unwrap_or_default().to_owned();
    let number = |path: &[&str]| at(path).and_then(Value::as_i64).unwrap_or(0);
    let or_none = |text: String| if text.is_empty() { "<none>".to_owned() } else { text };
    let size = |path: &[&str]| at(path).map_or(0, |value| value.as_object().map_or(0, |map| map.len()));
    let mut cells: Vec<Value> = match kind {
        "Service" => return service(object),
        "Deployment" => return deployment(object),
        "Pod" => return pod(object),
        "CustomResourceDefinition" | "Role" | "ClusterRole" => {
            return vec![object.meta_str("creationTimestamp").into()];
        }
        "ConfigMap" => vec![(size(&["data"]) + size(&["binaryData"])).into()],
        "Secret" => vec![text(&["type"]).into(), size(&["data"]).into()],
        "Namespace" => vec![text(&["status", "phase"]).into()],
        "NetworkPolicy" => vec![label_selector(at(&["spec", "podSelector"])).into()],
        "Ingress" => ingress(object),
        "Endpoints" => vec![endpoints(object).into()],
        "StatefulSet" => {
            vec![format!("{}/{}", number(&["status", "readyReplicas"]), number(&["spec", "replicas"])).into()]
        }
        "DaemonSet" => {
            let counts = [
                "desiredNumberScheduled",
                "currentNumberScheduled",
                "numberReady",
                "updatedNumberScheduled",
                "numberAvailable",
            ];
            let mut cells: Vec<Value> =
                counts.iter().map(|field| number(&["status", field]).into()).collect();
            cells.push(or_none(pairs(at(&["spec", "template", "spec", "nodeSelector"]))).into());
            cells
        }
        "ReplicaSet" => {
            vec![
                number(&["spec", "replicas"]).into(),
                number(&["status", "replicas"]).into(),
                number(&["status", "readyReplicas"]).into(),
            ]
        }
        "Node" => {
            let version = text(&["status", "nodeInfo", "kubeletVersion"]);
            return vec![
                node_status(object).into(),
                "<none>".into(),
                age(object.meta_str("creationTimestamp")).into(),
                version.into(),
            ];
        }
        "RoleBinding" | "ClusterRoleBinding" => return role_binding(object),
        "Job" => {
            let done = format!("{}/{}", number(&["status", "succeeded"]), number(&["spec", "completions"]));
            vec!["Running".into(), done.into(), "".into()]
        }
        "CronJob" => {
            let suspend = at(&["spec", "suspend"]).cloned().unwrap_or_else(|| false.into());
            vec![
                text(&["spec", "schedule"]).into(),
                or_none(text(&["spec", "timeZone"])).into(),
                suspend,
                0.into(),
                "<none>".into(),
            ]
        }
        "PersistentVolumeClaim" => {
            vec![
                text(&["status", "phase"]).into(),
                text(&["spec", "volumeName"]).into(),
                "".into(),
                "".into(),
                text(&["spec", "storageClassName"]).into(),
            ]
        }
        "PodDisruptionBudget" => {
            let bound = |field: &str| at(&["spec", field]).map_or_else(|| "N/A".to_owned(), plain);
            vec![
                bound("minAvailable").into(),
                bound("maxUnavailable").into(),
                number(&["status", "disruptionsAllowed"]).into(),
            ]
        }
        "Lease" => vec![text(&["spec", "holderIdentity"]).into()],
        _ => Vec::new(),
    };
    cells.push(age(object.meta_str("creationTimestamp")).into());
    cells
}

fn service(object: &Object) -> Vec<Value> {
    let spec = |field: &str| get(object, &["spec", field]);
    let text = |field: &str| spec(field).and_then(Value::as_str).unwrap_or_default();
    let kind = text("type");
    let ports: Vec<String> = list(spec("ports")).map(service_port).collect();
    let external = match kind {
        "ExternalName" => text("externalName").to_owned(),
        "LoadBalancer" => load_balancer(object).unwrap_or_else(|| "<pending>".into()),
        _ => list(spec("externalIPs")).map(plain).collect::<Vec<_>>().join(","),
    };
    let address = if kind == "ExternalName" { "<none>" } else { text("clusterIP") };
    let cells = [
        kind.to_owned(),
        address.to_owned(),
        external,
        ports.join(","),
        age(object.meta_str("creationTimestamp")),
        pairs(spec("selector")),
    ];
    cells.into_iter().map(|text| if text.is_empty() { "<none>".into() } else { text.into() }).collect()
}

fn service_port(port: &Value) -> String {
    let number = |field: &str| port.get(field).and_then(Value::as_i64);
    let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
    match number("nodePort") {
        Some(node) => format!("{}:{node}/{protocol}", number("port").unwrap_or(0)),
        None => format!("{}/{protocol}", number("port").unwrap_or(0)),
    }
}

fn deployment(object: &Object) -> Vec<Value> {
    let number = |path: &[&str]| get(object, path).and_then(Value::as_i64).unwrap_or(0);
    let containers = || list(get(object, &["spec", "template", "spec", "containers"]));
    let names = |field: &str| {
        containers().filter_map(|container| container.get(field)?.as_str()).collect::<Vec<_>>().join(",")
    };
    vec![
        format!("{}/{}", number(&["status", "readyReplicas"]), number(&["spec", "replicas"])).into(),
        number(&["status", "updatedReplicas"]).into(),
        number(&["status", "availableReplicas"]).into(),
        age(object.meta_str("creationTimestamp")).into(),
        names("name").into(),
        names("image").into(),
        label_selector(get(object, &["spec", "selector"])).into(),
    ]
}

fn pod(object: &Object) -> Vec<Value> {
    let statuses = || list(get(object, &["status", "containerStatuses"]));
    let ready = statuses().filter(|status| status.get("ready") == Some(&Value::Bool(true))).count();
    let restarts: i64 = statuses().filter_map(|status| status.get("restartCount")?.as_i64()).sum();
    let total = list(get(object, &["spec", "containers"])).count();
    let text = |path: &[&str]| {
        get(object, path)
            .and_then(Value::as_str)
            .filter(|text| !text.is_empty())
            .unwrap_or("<none>")
            .to_owned()
    };
    let phase = if object.is_terminating() { "Terminating".into() } else { text(&["status", "phase"]) };
    vec![
        format!("{ready}/{total}").into(),
        phase.into(),
        restarts.to_string().into(),
        age(object.meta_str("creationTimestamp")).into(),
        text(&["status", "podIP"]).into(),
        text(&["spec", "nodeName"]).into(),
    ]
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
        age(object.meta_str("creationTimestamp")).into(),
        subjects("User").into(),
        subjects("Group").into(),
        subjects("ServiceAccount").into(),
    ]
}

fn ingress(object: &Object) -> Vec<Value> {
    let class = get(object, &["spec", "ingressClassName"]).and_then(Value::as_str).unwrap_or("<none>");
    let hosts: Vec<&str> =
        list(get(object, &["spec", "rules"])).filter_map(|rule| rule.get("host")?.as_str()).collect();
    let hosts = if hosts.is_empty() { "*".to_owned() } else { hosts.join(",") };
    let ports = if get(object, &["spec", "tls"]).is_some() { "80, 443" } else { "80" };
    vec![class.into(), hosts.into(), load_balancer(object).unwrap_or_default().into(), ports.into()]
}

fn endpoints(object: &Object) -> String {
    let mut all = Vec::new();
    for subset in list(get(object, &["subsets"])) {
        let ports: Vec<i64> =
            list(subset.get("ports")).filter_map(|port| port.get("port")?.as_i64()).collect();
        for ip in list(subset.get("addresses")).filter_map(|address| address.get("ip")?.as_str()) {
            if ports.is_empty() {
                all.push(ip.to_owned());
            }
            all.extend(ports.iter().map(|port| format!("{ip}:{port}")));
        }
    }
    match all.len() {
        0 => "<none>".into(),
        1..=3 => all.join(","),
        count => format!("{} + {} more...", all[..3].join(","), count - 3),
    }
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

fn load_balancer(object: &Object) -> Option<String> {
    let ingress = list(get(object, &["status", "loadBalancer", "ingress"]));
    let names: Vec<&str> =
        ingress.filter_map(|entry| entry.get("ip").or_else(|| entry.get("hostname"))?.as_str()).collect();
    (!names.is_empty()).then(|| names.join(","))
}

fn label_selector(selector: Option<&Value>) -> String {
    let mut parts: Vec<String> = Vec::new();
    let labels = pairs(selector.and_then(|selector| selector.get("matchLabels")));
    if !labels.is_empty() {
        parts.push(labels);
    }
    for expression in list(selector.and_then(|selector| selector.get("matchExpressions"))) {
        let text = |field: &str| expression.get(field).and_then(Value::as_str).unwrap_or_default();
        let values: Vec<String> = list(expression.get("values")).map(plain).collect();
        parts.push(match text("operator") {
            "In" => format!("{} in ({})", text("key"), values.join(",")),
            "NotIn" => format!("{} notin ({})", text("key"), values.join(",")),
            "DoesNotExist" => format!("!{}", text("key")),
            _ => text("key").to_owned(),
        });
    }
    if parts.is_empty() { "<none>".into() } else { parts.join(",") }
}

fn pairs(map: Option<&Value>) -> String {
    let map = map.and_then(Value::as_object);
    let mut pairs: Vec<String> =
        map.into_iter().flatten().map(|(key, value)| format!("{key}={}", plain(value))).collect();
    pairs.sort_unstable();
    pairs.join(",")
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn list(value: Option<&Value>) -> impl Iterator<Item = &Value> {
    value.and_then(Value::as_array).into_iter().flatten()
}

fn get<'a>(object: &'a Object, path: &[&str]) -> Option<&'a Value> {
    let (first, rest) = path.split_first()?;
    rest.iter().try_fold(object.body().get(*first)?, |value, part| value.get(*part))
}

/// The columns and cells of a kind agree, whatever the object holds.
#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;
    use crate::kinds::builtins;
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
        let mut found = service(&object);
        found.remove(4);
        assert_eq!(found, ["ClusterIP", "10.0.0.1", "<none>", "80/TCP,53/UDP", "a=b,b=c"]);
    }
}
