//! Which lists of built-in kinds merge by key, and by which, as their types in Kubernetes say it.

use serde_json::{Value, json};

use super::super::Patch;

/// An object of a kind with this value at a path.
fn object(api_version: &str, kind: &str, path: &[&str], value: Value) -> Value {
    let inner = path.iter().rev().fold(value, |inner, key| json!({*key: inner}));
    let mut object = json!({"apiVersion": api_version, "kind": kind, "metadata": {"name": "x"}});
    for (key, value) in inner.as_object().unwrap() {
        if key == "metadata" {
            object[key].as_object_mut().unwrap().extend(value.as_object().unwrap().clone());
        } else {
            object[key] = value.clone();
        }
    }
    object
}

/// What becomes of a list at a path.
fn merged(api_version: &str, kind: &str, path: &[&str], list: Value, change: Value) -> Value {
    let target = object(api_version, kind, path, list);
    let patch = path.iter().rev().fold(change, |inner, key| json!({*key: inner}));
    let patched = Patch::read(patch).unwrap().apply(&target).unwrap().unwrap();
    path.iter().fold(&patched, |value, key| &value[*key]).clone()
}

/// That the items of a list are told apart by this key.
fn is_keyed(api_version: &str, kind: &str, path: &[&str], key: &str) {
    let list = json!([{key: "a", "x": 1}, {key: "b", "x": 2}]);
    let after = merged(api_version, kind, path, list, json!([{key: "b", "y": 3}]));
    let expected = json!([{key: "a", "x": 1}, {key: "b", "x": 2, "y": 3}]);
    assert_eq!(after, expected, "{kind} {path:?}");
}

/// That a list is replaced as a whole.
fn is_replaced(api_version: &str, kind: &str, path: &[&str]) {
    let after =
        merged(api_version, kind, path, json!([{"name": "a"}, {"name": "b"}]), json!([{"name": "c"}]));
    assert_eq!(after, json!([{"name": "c"}]), "{kind} {path:?}");
}

const POD: [&str; 3] = ["spec", "template", "spec"];

#[test]
fn every_workload_has_the_lists_of_a_pod() {
    for (api_version, kind) in [
        ("apps/v1", "Deployment"),
        ("apps/v1", "ReplicaSet"),
        ("apps/v1", "DaemonSet"),
        ("apps/v1", "StatefulSet"),
        ("batch/v1", "Job"),
        ("v1", "ReplicationController"),
        ("extensions/v1beta1", "Deployment"),
    ] {
        is_keyed(api_version, kind, &[&POD[..], &["containers"]].concat(), "name");
    }
}

#[test]
fn a_pod_has_its_lists_without_a_template() {
    is_keyed("v1", "Pod", &["spec", "containers"], "name");
    is_keyed("v1", "Pod", &["spec", "volumes"], "name");
    is_replaced("v1", "Pod", &["spec", "tolerations"]);
}

#[test]
fn a_template_of_pods_has_them_too() {
    is_keyed("v1", "PodTemplate", &["template", "spec", "initContainers"], "name");
}

#[test]
fn a_cron_job_has_them_below_its_job() {
    let path = ["spec", "jobTemplate", "spec", "template", "spec", "containers"];
    is_keyed("batch/v1", "CronJob", &path, "name");
}

#[test]
fn gates_and_claims_of_a_pod_are_told_apart_by_name() {
    is_keyed("v1", "Pod", &["spec", "schedulingGates"], "name");
    is_keyed("v1", "Pod", &["spec", "resourceClaims"], "name");
}

#[test]
fn lists_of_a_container_have_keys_of_their_own() {
    for (list, key) in [
        ("env", "name"),
        ("volumeMounts", "mountPath"),
        ("volumeDevices", "devicePath"),
        ("ports", "containerPort"),
    ] {
        let container = |items: Value| json!([{"name": "web", list: items}]);
        let after = merged(
            "v1",
            "Pod",
            &["spec", "containers"],
            container(json!([{key: 1, "x": 1}, {key: 2}])),
            container(json!([{key: 1, "y": 2}])),
        );
        assert_eq!(after, container(json!([{key: 1, "x": 1, "y": 2}, {key: 2}])), "{list}");
    }
}

#[test]
fn arguments_of_a_container_are_replaced() {
    let container = |args: Value| json!([{"name": "web", "args": args}]);
    let after =
        merged("v1", "Pod", &["spec", "containers"], container(json!(["a", "b"])), container(json!(["c"])));
    assert_eq!(after, container(json!(["c"])));
}

#[test]
fn ports_of_a_container_differ_by_protocol_which_is_tcp_where_none_is_said() {
    let container = |ports: Value| json!([{"name": "dns", "ports": ports}]);
    let both = json!([{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP"}]);
    for (protocol, expected) in [
        (
            "TCP",
            json!([{"containerPort": 53, "protocol": "TCP", "name": "x"}, {"containerPort": 53, "protocol": "UDP"}]),
        ),
        ("UDP", json!([{"containerPort": 53}, {"containerPort": 53, "protocol": "UDP", "name": "x"}])),
    ] {
        let change = container(json!([{"containerPort": 53, "protocol": protocol, "name": "x"}]));
        let after = merged("v1", "Pod", &["spec", "containers"], container(both.clone()), change);
        assert_eq!(after, container(expected), "{protocol}");
    }
}

#[test]
fn every_kind_has_the_lists_of_its_metadata() {
    for (api_version, kind) in
        [("v1", "ConfigMap"), ("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "Node")]
    {
        is_keyed(api_version, kind, &["metadata", "ownerReferences"], "uid");
        let after = merged(api_version, kind, &["metadata", "finalizers"], json!(["a"]), json!(["b", "a"]));
        assert_eq!(after, json!(["b", "a"]), "{kind}");
    }
}

#[test]
fn conditions_are_told_apart_by_their_type() {
    for (api_version, kind) in
        [("v1", "Pod"), ("apps/v1", "Deployment"), ("v1", "Service"), ("v1", "Node"), ("v1", "Namespace")]
    {
        is_keyed(api_version, kind, &["status", "conditions"], "type");
    }
}

#[test]
fn lists_of_single_kinds_are_told_apart_by_their_keys() {
    is_keyed("v1", "ServiceAccount", &["secrets"], "name");
    is_keyed("v1", "Node", &["status", "addresses"], "type");
    is_keyed("v1", "Pod", &["status", "podIPs"], "ip");
    is_keyed("storage.k8s.io/v1", "CSINode", &["spec", "drivers"], "name");
}

#[test]
fn webhooks_are_told_apart_by_name_and_their_conditions_too() {
    for kind in ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] {
        is_keyed("admissionregistration.k8s.io/v1", kind, &["webhooks"], "name");
        let webhook = |conditions: Value| json!([{"name": "w", "matchConditions": conditions}]);
        let (list, change) = (json!([{"name": "a", "x": 1}, {"name": "b"}]), json!([{"name": "a", "y": 2}]));
        let after =
            merged("admissionregistration.k8s.io/v1", kind, &["webhooks"], webhook(list), webhook(change));
        assert_eq!(after, webhook(json!([{"name": "a", "x": 1, "y": 2}, {"name": "b"}])));
    }
}

#[test]
fn a_policy_of_admission_has_conditions_and_variables_by_name() {
    for list in ["matchConditions", "variables"] {
        is_keyed("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", &["spec", list], "name");
    }
    is_replaced("admissionregistration.k8s.io/v1", "ValidatingAdmissionPolicy", &["spec", "validations"]);
}

#[test]
fn ranges_of_a_node_are_a_set() {
    let after = merged("v1", "Node", &["spec", "podCIDRs"], json!(["10.0.0.0/8"]), json!(["fd00::/8"]));
    let mut ranges: Vec<_> = after.as_array().unwrap().iter().map(|range| range.as_str().unwrap()).collect();
    ranges.sort_unstable();
    assert_eq!(ranges, ["10.0.0.0/8", "fd00::/8"]);
}

#[test]
fn lists_that_no_type_gives_a_key_are_replaced() {
    is_replaced("networking.k8s.io/v1", "Ingress", &["spec", "rules"]);
    is_replaced("networking.k8s.io/v1", "NetworkPolicy", &["spec", "ingress"]);
    is_replaced("rbac.authorization.k8s.io/v1", "ClusterRole", &["rules"]);
    is_replaced("rbac.authorization.k8s.io/v1", "RoleBinding", &["subjects"]);
}

#[test]
fn a_custom_resource_with_the_name_of_a_built_in_kind_has_no_keys() {
    is_replaced("example.com/v1", "Deployment", &["spec", "template", "spec", "containers"]);
    is_replaced("example.com/v1", "Pod", &["metadata", "ownerReferences"]);
}

#[test]
fn a_new_list_is_there_as_it_is_written() {
    let patch = json!({"spec": {"containers": [{"name": "b"}, {"name": "a"}]}});
    let target = object("v1", "Pod", &["spec", "restartPolicy"], json!("Never"));
    let patched = Patch::read(patch.clone()).unwrap().apply(&target).unwrap().unwrap();
    assert_eq!(patched["spec"]["containers"], patch["spec"]["containers"]);
    assert_eq!(patched["spec"]["restartPolicy"], "Never");
}

#[test]
fn a_list_that_is_null_goes() {
    let target =
        object("v1", "Pod", &["spec"], json!({"containers": [{"name": "a"}], "volumes": [{"name": "v"}]}));
    let patched = Patch::read(json!({"spec": {"volumes": null}})).unwrap().apply(&target).unwrap().unwrap();
    assert_eq!(patched["spec"], json!({"containers": [{"name": "a"}]}));
}

#[test]
fn an_empty_keyed_list_changes_nothing() {
    let list = json!([{"name": "a"}, {"name": "b"}]);
    assert_eq!(merged("v1", "Pod", &["spec", "containers"], list.clone(), json!([])), list);
}

#[test]
fn an_empty_list_without_keys_replaces_the_other() {
    assert_eq!(merged("v1", "Pod", &["spec", "tolerations"], json!([{"key": "a"}]), json!([])), json!([]));
}
