//! Defaults of the built-in kinds, as far as clients see them.

use serde_json::{Value, json};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::kinds::ResourceDef;
use crate::object::{Json, meta_str, metadata_mut};

/// Fills in the defaults of a kind.
pub fn fill(body: &mut Json, kind: &str) {
    match kind {
        "Service" => service(body),
        "Secret" => secret(body),
        "Namespace" => namespace(body),
        "NetworkPolicy" => network_policy(body),
        "Endpoints" => for_each(body, "subsets", tcp_ports),
        "EndpointSlice" => {
            tcp_ports(body);
            for_each(body, "endpoints", |endpoint| set(endpoint, "conditions", json!({})));
        }
        "Pod" => with_spec(body, pod_spec),
        "Deployment" => with_spec(body, deployment),
        "StatefulSet" => with_spec(body, stateful_set),
        "DaemonSet" => with_spec(body, daemon_set),
        "ReplicaSet" => with_spec(body, |spec| {
            set(spec, "replicas", 1);
            template(spec);
        }),
        "Job" => with_spec(body, job),
        "CronJob" => with_spec(body, cron_job),
        "Ingress" => set(body, "status", json!({"loadBalancer": {}})),
        "CustomResourceDefinition" => crd(body),
        "PersistentVolume" => with_spec(body, |spec| {
            set(spec, "persistentVolumeReclaimPolicy", "Retain");
            set(spec, "volumeMode", "Filesystem");
        }),
        "PriorityClass" => set(body, "preemptionPolicy", "PreemptLowerPriority"),
        "PersistentVolumeClaim" => with_spec(body, |spec| set(spec, "volumeMode", "Filesystem")),
        "StorageClass" => {
            set(body, "reclaimPolicy", "Delete");
            set(body, "volumeBindingMode", "Immediate");
        }
        "HorizontalPodAutoscaler" => with_spec(body, |spec| set(spec, "minReplicas", 1)),
        "RoleBinding" | "ClusterRoleBinding" => subjects(body),
        _ => {}
    }
}

/// Fills in what the server chooses when an object is created.
pub fn allocate(body: &mut Json, def: &ResourceDef, cluster_ip: impl FnOnce() -> String) {
    match &*def.key {
        "services" => with_spec(body, |spec| allocate_address(spec, cluster_ip)),
        "pods" => set(body, "status", json!({"phase": "Pending", "qosClass": "BestEffort"})),
        "persistentvolumes" | "persistentvolumeclaims" => set(body, "status", json!({"phase": "Pending"})),
        "daemonsets.apps" => set(
            body,
            "status",
            zeros(&["currentNumberScheduled", "desiredNumberScheduled", "numberMisscheduled", "numberReady"]),
        ),
        "poddisruptionbudgets.policy" => {
            set(
                body,
                "status",
                zeros(&["currentHealthy", "desiredHealthy", "disruptionsAllowed", "expectedPods"]),
            );
        }
        _ if matches!(&*def.group, "apps" | "batch") && def.generation => set(body, "status", json!({})),
        _ => {}
    }
}

fn zeros(fields: &[&str]) -> Value {
    Value::Object(fields.iter().map(|field| ((*field).to_owned(), json!(0))).collect())
}

fn allocate_address(spec: &mut Json, cluster_ip: impl FnOnce() -> String) {
    if spec.get("type").and_then(Value::as_str) == Some("ExternalName") {
        return;
    }
    if !spec.contains_key("clusterIP") {
        spec.insert("clusterIP".into(), cluster_ip().into());
    }
    let address = spec.get("clusterIP").cloned().unwrap_or_default();
    // A headless Service without a selector may have endpoints of both families.
    let both = address == "None" && !spec.contains_key("selector");
    set(spec, "clusterIPs", json!([address]));
    set(spec, "ipFamilies", if both { json!(["IPv4", "IPv6"]) } else { json!(["IPv4"]) });
    set(spec, "ipFamilyPolicy", json!(if both { "RequireDualStack" } else { "SingleStack" }));
}

fn service(body: &mut Json) {
    set(body, "status", json!({"loadBalancer": {}}));
    with_spec(body, |spec| {
        set(spec, "type", "ClusterIP");
        set(spec, "sessionAffinity", "None");
        if spec.get("type").and_then(Value::as_str) != Some("ExternalName") {
            set(spec, "internalTrafficPolicy", "Cluster");
        }
        for_each(spec, "ports", |port| {
            set(port, "protocol", "TCP");
            let number = port.get("port").cloned().unwrap_or_default();
            set(port, "targetPort", number);
        });
    });
}

fn secret(body: &mut Json) {
    set(body, "type", "Opaque");
    let Some(Value::Object(texts)) = body.remove("stringData") else { return };
    let data = body.entry("data").or_insert_with(|| json!({}));
    let Value::Object(data) = data else { return };
    for (key, text) in texts {
        let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
        data.insert(key, encoded.into());
    }
}

fn namespace(body: &mut Json) {
    let name = meta_str(body, "name").to_owned();
    let labels = metadata_mut(body).entry("labels").or_insert_with(|| json!({}));
    if let Value::Object(labels) = labels {
        labels.insert("kubernetes.io/metadata.name".into(), name.into());
    }
    set(body, "status", json!({"phase": "Active"}));
    with_spec(body, |spec| set(spec, "finalizers", json!(["kubernetes"])));
}

fn network_policy(body: &mut Json) {
    with_spec(body, |spec| {
        let kinds =
            if spec.contains_key("egress") { json!(["Ingress", "Egress"]) } else { json!(["Ingress"]) };
        set(spec, "policyTypes", kinds);
        for direction in ["ingress", "egress"] {
            for_each(spec, direction, |rule| for_each(rule, "ports", |port| set(port, "protocol", "TCP")));
        }
    });
}

fn tcp_ports(owner: &mut Json) {
    for_each(owner, "ports", |port| set(port, "protocol", "TCP"));
}

fn deployment(spec: &mut Json) {
    set(spec, "replicas", 1);
    set(spec, "revisionHistoryLimit", 10);
    set(spec, "progressDeadlineSeconds", 600);
    let rolling = json!({"maxSurge": "25%", "maxUnavailable": "25%"});
    set(spec, "strategy", json!({"type": "RollingUpdate", "rollingUpdate": rolling}));
    template(spec);
}

fn stateful_set(spec: &mut Json) {
    set(spec, "replicas", 1);
    set(spec, "revisionHistoryLimit", 10);
    set(spec, "podManagementPolicy", "OrderedReady");
    set(spec, "updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}));
    set(
        spec,
        "persistentVolumeClaimRetentionPolicy",
        json!({"whenDeleted": "Retain", "whenScaled": "Retain"}),
    );
    template(spec);
}

fn daemon_set(spec: &mut Json) {
    set(spec, "revisionHistoryLimit", 10);
    let rolling = json!({"maxSurge": 0, "maxUnavailable": 1});
    set(spec, "updateStrategy", json!({"type": "RollingUpdate", "rollingUpdate": rolling}));
    template(spec);
}

fn job(spec: &mut Json) {
    set(spec, "parallelism", 1);
    set(spec, "completions", 1);
    set(spec, "backoffLimit", 6);
    set(spec, "suspend", false);
    set(spec, "completionMode", "NonIndexed");
    set(spec, "podReplacementPolicy", "TerminatingOrFailed");
    template(spec);
}

fn cron_job(spec: &mut Json) {
    set(spec, "concurrencyPolicy", "Allow");
    set(spec, "suspend", false);
    set(spec, "successfulJobsHistoryLimit", 3);
    set(spec, "failedJobsHistoryLimit", 1);
    if let Some(Value::Object(job)) = spec.get_mut("jobTemplate") {
        set(job, "metadata", json!({}));
        with_spec(job, template);
    }
}

fn template(spec: &mut Json) {
    if let Some(Value::Object(template)) = spec.get_mut("template") {
        set(template, "metadata", json!({}));
        with_spec(template, pod_spec);
    }
}

fn pod_spec(spec: &mut Json) {
    set(spec, "restartPolicy", "Always");
    set(spec, "terminationGracePeriodSeconds", 30);
    set(spec, "dnsPolicy", "ClusterFirst");
    set(spec, "schedulerName", "default-scheduler");
    set(spec, "securityContext", json!({}));
    for list in ["containers", "initContainers"] {
        for_each(spec, list, container);
    }
}

fn container(container: &mut Json) {
    set(container, "resources", json!({}));
    set(container, "terminationMessagePath", "/dev/termination-log");
    set(container, "terminationMessagePolicy", "File");
    let image = container.get("image").and_then(Value::as_str).unwrap_or_default();
    let tag = image.rsplit('/').next().and_then(|name| name.split_once(':')).map(|(_, tag)| tag);
    let always = tag.is_none_or(|tag| tag == "latest") && !image.contains('@');
    set(container, "imagePullPolicy", json!(if always { "Always" } else { "IfNotPresent" }));
    for_each(container, "ports", |port| set(port, "protocol", "TCP"));
}

fn crd(body: &mut Json) {
    with_spec(body, |spec| {
        set(spec, "conversion", json!({"strategy": "None"}));
        if let Some(Value::Object(names)) = spec.get_mut("names") {
            let kind = names.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
            set(names, "singular", json!(kind.to_lowercase()));
            set(names, "listKind", json!(format!("{kind}List")));
        }
    });
}

fn subjects(body: &mut Json) {
    for_each(body, "subjects", |subject| {
        if matches!(subject.get("kind").and_then(Value::as_str), Some("User" | "Group")) {
            set(subject, "apiGroup", "rbac.authorization.k8s.io");
        }
    });
}

fn with_spec(body: &mut Json, change: impl FnOnce(&mut Json)) {
    set(body, "spec", json!({}));
    if let Some(Value::Object(spec)) = body.get_mut("spec") {
        change(spec);
    }
}

/// Sets a field that is missing; a field that is there costs nothing.
fn set(map: &mut Json, field: &str, value: impl Into<Value>) {
    if !map.contains_key(field) {
        map.insert(field.to_owned(), value.into());
    }
}

fn for_each(map: &mut Json, list: &str, change: impl FnMut(&mut Json)) {
    if let Some(Value::Array(items)) = map.get_mut(list) {
        items.iter_mut().filter_map(Value::as_object_mut).for_each(change);
    }
}
