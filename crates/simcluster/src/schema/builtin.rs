//! Shapes of the built-in kinds: their associative lists, sets, maps and atomic parts.

use std::sync::{Arc, LazyLock};

use serde_json::{Value, json};

use super::{ListMap, Schema};

type Shape = Arc<Schema>;

/// The shape of a built-in kind.
pub fn builtin(kind: &str) -> Shape {
    let mut fields = vec![("metadata", object_meta())];
    fields.extend(root_fields(kind));
    of(fields)
}

/// The shape of `metadata`.
pub fn object_meta() -> Shape {
    static META: LazyLock<Shape> = LazyLock::new(|| {
        let ignored = || Arc::new(Schema::Ignored);
        of([
            ("name", ignored()),
            ("namespace", ignored()),
            ("creationTimestamp", ignored()),
            ("uid", ignored()),
            ("generation", ignored()),
            ("selfLink", ignored()),
            ("resourceVersion", ignored()),
            ("managedFields", ignored()),
            ("deletionTimestamp", ignored()),
            ("deletionGracePeriodSeconds", ignored()),
            ("labels", map()),
            ("annotations", map()),
            ("finalizers", Arc::new(Schema::Set)),
            ("ownerReferences", keyed("uid", atomic())),
        ])
    });
    META.clone()
}

fn root_fields(kind: &str) -> Vec<(&'static str, Shape)> {
    match kind {
        "ConfigMap" | "Secret" => vec![("data", map()), ("binaryData", map()), ("stringData", map())],
        "ServiceAccount" => vec![("secrets", keyed("name", atomic()))],
        "Service" => vec![("spec", service_spec()), ("status", with_conditions())],
        "Pod" => vec![("spec", pod_spec()), ("status", pod_status())],
        "PodTemplate" => vec![("template", pod_template())],
        "Deployment" | "ReplicaSet" | "DaemonSet" | "StatefulSet" | "ReplicationController" | "Job" => {
            vec![("spec", workload_spec(kind)), ("status", with_conditions())]
        }
        "CronJob" => {
            let job = of([("metadata", object_meta()), ("spec", workload_spec("Job"))]);
            vec![("spec", of([("jobTemplate", job)]))]
        }
        "Namespace" | "CustomResourceDefinition" | "HorizontalPodAutoscaler" | "PersistentVolumeClaim" => {
            vec![("status", with_conditions())]
        }
        "PodDisruptionBudget" | "NetworkPolicy" => {
            vec![
                ("spec", of([("selector", atomic()), ("podSelector", atomic())])),
                ("status", with_conditions()),
            ]
        }
        "Node" => vec![("spec", of([("podCIDRs", set())])), ("status", node_status())],
        "Role" | "ClusterRole" | "RoleBinding" | "ClusterRoleBinding" => vec![("roleRef", atomic())],
        "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
            let item = of([
                ("matchConditions", keyed("name", any())),
                ("namespaceSelector", atomic()),
                ("objectSelector", atomic()),
            ]);
            vec![("webhooks", keyed("name", item))]
        }
        "ResourceQuota" => {
            vec![("spec", of([("hard", map())])), ("status", of([("hard", map()), ("used", map())]))]
        }
        "StorageClass" => vec![("parameters", map())],
        _ => Vec::new(),
    }
}

fn service_spec() -> Shape {
    let port = keyed_by(&[("port", None), ("protocol", Some("TCP"))], "port", any());
    of([("ports", port), ("selector", atomic())])
}

fn workload_spec(kind: &str) -> Shape {
    let selector = if kind == "ReplicationController" { atomic_map() } else { atomic() };
    of([("selector", selector), ("template", pod_template())])
}

fn pod_template() -> Shape {
    of([("metadata", object_meta()), ("spec", pod_spec())])
}

fn pod_spec() -> Shape {
    static POD: LazyLock<Shape> = LazyLock::new(|| {
        of([
            ("containers", keyed("name", container())),
            ("initContainers", keyed("name", container())),
            ("ephemeralContainers", keyed("name", container())),
            ("volumes", keyed("name", volume())),
            ("imagePullSecrets", keyed("name", atomic())),
            ("hostAliases", keyed("ip", any())),
            ("schedulingGates", keyed("name", any())),
            ("resourceClaims", keyed("name", any())),
            ("nodeSelector", atomic_map()),
            ("overhead", map()),
            ("topologySpreadConstraints", spread()),
        ])
    });
    POD.clone()
}

fn spread() -> Shape {
    let item = of([("labelSelector", atomic())]);
    keyed_by(&[("topologyKey", None), ("whenUnsatisfiable", None)], "topologyKey", item)
}

fn container() -> Shape {
    let source = of([
        ("configMapKeyRef", atomic()),
        ("secretKeyRef", atomic()),
        ("fieldRef", atomic()),
        ("resourceFieldRef", atomic()),
    ]);
    of([
        ("ports", keyed_by(&[("containerPort", None), ("protocol", Some("TCP"))], "containerPort", any())),
        ("env", keyed("name", of([("valueFrom", source)]))),
        ("volumeMounts", keyed("mountPath", any())),
        ("volumeDevices", keyed("devicePath", any())),
        ("resources", of([("limits", map()), ("requests", map()), ("claims", keyed("name", any()))])),
    ])
}

fn volume() -> Shape {
    of([("csi", of([("volumeAttributes", map()), ("nodePublishSecretRef", atomic())]))])
}

fn pod_status() -> Shape {
    of([("conditions", conditions()), ("podIPs", keyed("ip", any())), ("hostIPs", atomic())])
}

fn node_status() -> Shape {
    of([
        ("conditions", conditions()),
        ("addresses", keyed("type", any())),
        ("capacity", map()),
        ("allocatable", map()),
    ])
}

fn with_conditions() -> Shape {
    of([("conditions", conditions())])
}

fn conditions() -> Shape {
    keyed("type", any())
}

fn any() -> Shape {
    Arc::new(Schema::Any)
}

fn atomic() -> Shape {
    Arc::new(Schema::Atomic)
}

fn atomic_map() -> Shape {
    atomic()
}

fn set() -> Shape {
    Arc::new(Schema::Set)
}

fn map() -> Shape {
    Arc::new(Schema::Map(any()))
}

fn of(fields: impl IntoIterator<Item = (&'static str, Shape)>) -> Shape {
    Arc::new(Schema::Struct(fields.into_iter().map(|(name, shape)| (name.into(), shape)).collect()))
}

fn keyed(key: &'static str, item: Shape) -> Shape {
    keyed_by(&[(key, None)], key, item)
}

fn keyed_by(keys: &[(&str, Option<&str>)], patch_key: &str, item: Shape) -> Shape {
    let keys = keys
        .iter()
        .map(|&(name, default)| (name.into(), default.map(|text| json!(text))))
        .collect::<Vec<(Box<str>, Option<Value>)>>();
    Arc::new(Schema::ListMap(ListMap { keys, patch_key: patch_key.into(), item }))
}
