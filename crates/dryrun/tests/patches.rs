//! `patches` and `patchesFrom`: what they make of what is deployed, and what is said where they are wrong.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_dryrun::{Input, Output, build_at};

const WEB: &str = "apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop, labels: {app: web}}
spec:
  replicas: 1
  template:
    spec:
      containers: [{name: web, image: 'web:1'}, {name: proxy, image: 'proxy:1'}]
---
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop}
data: {a: '1'}
---
apiVersion: example.com/v1
kind: Shop
metadata: {name: shop, namespace: shop}
spec: {items: [{name: a}, {name: b}], open: true}
";

fn cluster(name: &str) -> Value {
    json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": {},
        "metadata": {"name": name, "namespace": "default", "labels": {"env": "fv", "size": name}}})
}

fn config_map(name: &str, annotations: Value, data: Value) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": data,
        "metadata": {"name": name, "namespace": "default", "annotations": annotations}})
}

/// A profile on two clusters with this in its spec, and these objects beside it.
fn profile(spec: Value, more: Vec<Value>) -> Output {
    let mut whole = json!({"clusterSelector": {"matchLabels": {"env": "fv"}},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let mut management = vec![
        cluster("c1"),
        cluster("c2"),
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": whole}),
        config_map("content", json!({}), json!({"objects.yaml": WEB})),
    ];
    management.extend(more);
    build_at(&Input { management, ..Input::default() }, 0)
}

fn find<'o>(output: &'o Output, cluster: &str, kind: &str) -> &'o Value {
    assert_eq!(output.problems, [] as [Value; 0]);
    let objects = output.clusters[&format!("default/{cluster}")].iter();
    objects.clone().find(|object| object["kind"] == kind).unwrap_or(&Value::Null)
}

fn problem(output: &Output) -> &str {
    assert_eq!(output.problems.len(), 1, "{:?}", output.problems);
    output.problems[0]["error"].as_str().unwrap()
}

#[test]
fn patches_change_what_they_are_for_in_order() {
    let output = profile(
        json!({"patches": [
            {"patch": "- {op: replace, path: /spec/replicas, value: 2}\n- {op: remove, path: /spec/paused}",
                "target": {"group": "apps", "kind": "Deployment", "labelSelector": "app=web"}},
            {"patch": "spec: {template: {spec: {containers: [{name: web, image: 'web:2'}, {name: proxy, $patch: delete}]}}}",
                "target": {"kind": "Deployment", "name": "^w"}},
            {"patch": "- {op: test, path: /spec/replicas, value: 2}\n- {op: replace, path: /spec/replicas, value: 3}",
                "target": {"kind": "Deployment"}},
            {"patch": "spec: {items: [{name: c}]}", "target": {"kind": "Shop"}},
            {"patch": "data: {b: '2'}", "target": {"kind": "ConfigMap", "namespace": "other"}},
        ]}),
        Vec::new(),
    );
    let web = find(&output, "c1", "Deployment");
    assert_eq!(web["spec"]["replicas"], 3);
    assert_eq!(web["spec"]["template"]["spec"]["containers"], json!([{"name": "web", "image": "web:2"}]));
    assert_eq!(find(&output, "c2", "Shop")["spec"], json!({"items": [{"name": "c"}], "open": true}));
    assert_eq!(find(&output, "c2", "ConfigMap")["data"], json!({"a": "1"}));
}

#[test]
fn the_hash_is_that_of_the_patched_object() {
    let hash = |output: &Output| {
        find(output, "c1", "ConfigMap")["metadata"]["annotations"]["projectsveltos.io/hash"].clone()
    };
    let patched = profile(
        json!({"patches": [{"patch": "data: {a: '2'}", "target": {"kind": "ConfigMap"}}]}),
        Vec::new(),
    );
    let written = WEB.replace("{a: '1'}", "{a: '2'}");
    let same = profile(
        json!({"policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "written"}]}),
        vec![config_map("written", json!({}), json!({"objects.yaml": written}))],
    );
    assert_eq!(hash(&patched), hash(&same));
    assert_ne!(hash(&patched), hash(&profile(json!({}), Vec::new())));
}

#[test]
fn a_patch_is_a_template_over_the_destination() {
    let output = profile(
        json!({"patches": [{"patch": "data: {size: '{{ .Cluster.metadata.labels.size }}'}", "target": {"kind": "ConfigMap"}}]}),
        Vec::new(),
    );
    for cluster in ["c1", "c2"] {
        assert_eq!(find(&output, cluster, "ConfigMap")["data"], json!({"a": "1", "size": cluster}));
    }
}

#[test]
fn a_patch_can_leave_an_object_out() {
    let output = profile(
        json!({"patches": [{"patch": "$patch: delete\nkind: Shop\nmetadata: {name: shop}"}]}),
        Vec::new(),
    );
    assert!(find(&output, "c1", "Shop").is_null());
    assert!(!find(&output, "c1", "ConfigMap").is_null());
}

#[test]
fn patches_from_come_after_patches_and_may_differ_by_cluster() {
    let rule = |value: &str| {
        json!({"a.yaml": format!("patch: |\n  data: {{a: '{value}'}}\ntarget: {{kind: ConfigMap}}\n"),
            "b.yaml": "- {patch: '- {op: copy, from: /data/a, path: /data/copy}', target: {kind: ConfigMap}}\n"})
    };
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "type": "addons.projectsveltos.io/cluster-profile",
        "metadata": {"name": "all", "namespace": "default", "annotations": {"projectsveltos.io/template": "ok"}},
        "stringData": {"x": "metadata: {labels: {at: '{{ .Cluster.metadata.name }}'}}"}});
    let output = profile(
        json!({"patches": [{"patch": "data: {a: before}", "target": {"kind": "ConfigMap"}}],
            "patchesFrom": [
                {"kind": "ConfigMap", "namespace": "default", "name": "for-{{ .Cluster.metadata.name }}", "optional": true},
                {"kind": "Secret", "namespace": "default", "name": "all"}]}),
        vec![config_map("for-c2", json!({}), rule("after")), secret],
    );
    assert_eq!(find(&output, "c1", "ConfigMap")["data"], json!({"a": "before"}));
    assert_eq!(find(&output, "c2", "ConfigMap")["data"], json!({"a": "after", "copy": "after"}));
    assert_eq!(find(&output, "c1", "Deployment")["metadata"]["labels"]["at"], "c1");
}

#[test]
fn mistakes_of_a_profile_are_said_with_their_place() {
    let from =
        |name: &str| json!({"patchesFrom": [{"kind": "ConfigMap", "namespace": "default", "name": name}]});
    for (spec, part) in [
        (
            json!({"patches": [{"patch": "a: 1", "target": {"name": "web["}}]}),
            "ClusterProfile p: spec.patches[0].target.name: \"web[\" is no regular expression",
        ),
        (
            json!({"patches": [{"patch": "a: 1", "target": {"labelSelector": "app like web"}}]}),
            "spec.patches[0].target.labelSelector: ",
        ),
        (json!({"patches": [{"patch": "a: ["}]}), "spec.patches[0].patch: "),
        (
            json!({"patches": [{"patch": "a: 1"}, {"patch": "- {op: replace, path: /data/missing, value: x}", "target": {"kind": "ConfigMap"}}]}),
            "spec.patches[1]: ConfigMap shop/settings: operation 1, replace \"/data/missing\": path is invalid",
        ),
        (json!({"patches": [{"patch": "a: {{ .Cluster.nope }}"}]}), "spec.patches[0].patch: "),
        (json!({"patches": [{"patch": "{{ .Cluster.metadata.name }}: ["}]}), "spec.patches[0].patch: "),
        (
            from("missing"),
            "spec.patchesFrom[0]: ConfigMap default/missing does not exist in the management cluster; create it, or set optional: true",
        ),
        (
            from("wrong"),
            "spec.patchesFrom: ConfigMap default/wrong: data.a.yaml: target.kind: \"[\" is no regular expression",
        ),
        (
            from("misfit"),
            "spec.patchesFrom: ConfigMap default/misfit: data.a.yaml: Deployment shop/web: operation 1, test",
        ),
    ] {
        let more = vec![
            config_map("wrong", json!({}), json!({"a.yaml": "{patch: 'a: 1', target: {kind: '['}}"})),
            config_map(
                "misfit",
                json!({}),
                json!({"a.yaml": "[{op: test, path: /spec/replicas, value: 7}]"}),
            ),
        ];
        let output = profile(spec.clone(), more);
        assert!(problem(&output).contains(part), "{spec}: {}", problem(&output));
        assert_eq!(output.clusters["default/c1"], [] as [Value; 0]);
    }
}

/// A trigger on cluster c1 whose events are Services, deploying to both clusters.
fn trigger(spec: Value, more: Vec<Value>) -> Output {
    let mut whole = json!({"sourceClusterSelector": {"matchLabels": {"size": "c1"}}, "oneForEvent": true,
        "destinationClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "services",
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let text = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: 'of-{{ .Resource.metadata.name }}', namespace: shop}\ndata: {a: '1'}";
    let mut management = vec![
        cluster("c1"),
        cluster("c2"),
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventSource", "metadata": {"name": "services"},
            "spec": {"collectResources": true, "resourceSelectors": [{"group": "", "version": "v1", "kind": "Service"}]}}),
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "EventTrigger", "metadata": {"name": "t"}, "spec": whole}),
        config_map("content", json!({"projectsveltos.io/instantiate": "ok"}), json!({"objects.yaml": text})),
    ];
    management.extend(more);
    let service =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "svc", "namespace": "default"}});
    let clusters = BTreeMap::from([(("default".to_owned(), "c1".to_owned()), vec![service])]);
    build_at(&Input { management, clusters, ..Input::default() }, 0)
}

#[test]
fn patches_of_a_trigger_are_rendered_for_the_destination() {
    let output = trigger(
        json!({"patches": [{"patch": "data: {at: '{{ .Cluster.metadata.name }}'}", "target": {"name": "^of-svc$"}}]}),
        Vec::new(),
    );
    for cluster in ["c1", "c2"] {
        assert_eq!(find(&output, cluster, "ConfigMap")["data"], json!({"a": "1", "at": cluster}));
    }
}

#[test]
fn patches_from_of_a_trigger_are_named_by_the_event_and_by_the_destination() {
    let patch = |text: &str| json!({"a.yaml": text});
    let output = trigger(
        json!({"patchesFrom": [
            {"kind": "ConfigMap", "namespace": "default", "name": "by-{{ .Resource.metadata.name }}"},
            {"kind": "ConfigMap", "namespace": "default", "name": "on-{{ \"{{ .Cluster.metadata.name }}\" }}", "optional": true}]}),
        vec![
            config_map(
                "by-svc",
                json!({"projectsveltos.io/instantiate": "ok"}),
                patch("data: {event: '{{ .Resource.kind }}'}"),
            ),
            config_map("on-c2", json!({}), patch("data: {a: c2}")),
        ],
    );
    assert_eq!(find(&output, "c1", "ConfigMap")["data"], json!({"a": "1", "event": "Service"}));
    assert_eq!(find(&output, "c2", "ConfigMap")["data"], json!({"a": "c2", "event": "Service"}));
    let made = output.management.iter().find(|object| object["kind"] == "ClusterProfile").unwrap();
    assert_eq!(made["spec"]["patchesFrom"][0]["name"], "by-svc");
}

#[test]
fn mistakes_of_a_trigger_are_said_with_their_place() {
    for (spec, part) in [
        (
            json!({"patchesFrom": [{"kind": "ConfigMap", "namespace": "default", "name": "{{ .Resource.metadata.name }}"}]}),
            "spec.patchesFrom[0]: ConfigMap default/svc does not exist",
        ),
        (
            json!({"patchesFrom": [{"kind": "ConfigMap", "namespace": "default", "name": "{{ \"{{ .Cluster.metadata.name }}\" }}"}]}),
            "spec.patchesFrom[0]: ConfigMap default/c1 does not exist",
        ),
        (
            json!({"patchesFrom": [{"kind": "ConfigMap", "name": "{{ .Nope }}"}]}),
            "spec.patchesFrom[0].name: ",
        ),
        (
            json!({"patches": [{"patch": "- {op: replace, path: /data/x, value: x}"}]}),
            "spec.patches[0]: ConfigMap shop/of-svc: operation 1",
        ),
        (json!({"patches": [{"patch": "data: {a: '{{ .Resource.kind }}'}"}]}), "spec.patches[0].patch: "),
        (
            json!({"patches": [{"patch": "a: 1", "target": {"kind": "("}}]}),
            "EventTrigger t: spec.patches[0].target.kind: ",
        ),
    ] {
        let output = trigger(spec.clone(), Vec::new());
        assert!(problem(&output).contains(part), "{spec}: {}", problem(&output));
        assert_eq!(output.clusters["default/c1"], [] as [Value; 0]);
    }
}
