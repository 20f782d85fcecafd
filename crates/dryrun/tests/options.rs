//! What profiles say of everything they deploy, and the forms in which content comes.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_dryrun::{Input, Options, Output, build_at, build_with};

const SETTINGS: &str = "apiVersion: v1
kind: ConfigMap
metadata: {name: settings, namespace: shop, labels: {team: own, app: web}}
";

/// A profile on one cluster with this in its spec, and a ConfigMap with this text.
fn profile(spec: Value, text: &str) -> Output {
    let mut whole = json!({"clusterSelector": {"matchLabels": {"env": "fv"}},
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]});
    whole.as_object_mut().unwrap().extend(spec.as_object().unwrap().clone());
    let management = vec![
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": {},
            "metadata": {"name": "c1", "namespace": "default", "labels": {"env": "fv"}}}),
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"}, "spec": whole}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"objects.yaml": text},
            "metadata": {"name": "content", "namespace": "default"}}),
    ];
    build_at(&Input { management, ..Input::default() }, 0)
}

#[test]
fn extra_labels_and_annotations_go_over_the_objects_own_and_not_into_its_hash() {
    let plain = profile(json!({}), SETTINGS);
    let extra = profile(
        json!({"extraLabels": {"team": "shop", "cost": "1"}, "extraAnnotations": {"note": "any text"}}),
        SETTINGS,
    );
    assert_eq!(extra.problems, [] as [Value; 0]);
    let metadata = |output: &Output| output.clusters["default/c1"][0]["metadata"].clone();
    let (plain, extra) = (metadata(&plain), metadata(&extra));
    assert_eq!((&plain["labels"]["team"], &plain["labels"]["cost"]), (&json!("own"), &Value::Null));
    assert_eq!((&extra["labels"]["team"], &extra["labels"]["cost"]), (&json!("shop"), &json!("1")));
    assert_eq!((&extra["labels"]["app"], &extra["annotations"]["note"]), (&json!("web"), &json!("any text")));
    let hash = "projectsveltos.io/hash";
    assert_eq!(plain["annotations"][hash], extra["annotations"][hash]);
}

#[test]
fn extras_that_no_server_takes_are_said_with_their_place() {
    for (spec, part) in [
        (
            json!({"extraLabels": {"team": "shop & co"}}),
            "ClusterProfile p: spec.extraLabels.team: \"shop & co\" is not a label value",
        ),
        (json!({"extraLabels": {"/team": "x"}}), "spec.extraLabels: \"/team\" is not a key"),
        (json!({"extraAnnotations": {"n": 1}}), "spec.extraAnnotations.n: 1 is not a string; quote it"),
    ] {
        let output = profile(spec, SETTINGS);
        let error = output.problems[0]["error"].as_str().unwrap();
        assert!(error.contains(part), "{error}");
        assert_eq!(output.clusters["default/c1"], [] as [Value; 0]);
    }
}

#[test]
fn a_list_of_texts_is_deployed_as_the_documents_in_it() {
    let indented =
        |name: &str| format!("- |\n  apiVersion: v1\n  kind: ConfigMap\n  metadata: {{name: {name}}}\n");
    let output = profile(json!({}), &format!("{}{}", indented("a"), indented("b")));
    assert_eq!(output.problems, [] as [Value; 0]);
    let objects = output.clusters["default/c1"].iter();
    let names: Vec<_> = objects.map(|object| object["metadata"]["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["a", "b"]);
    let output = profile(json!({}), "['kind: [']");
    let error = output.problems[0]["error"].as_str().unwrap();
    assert!(error.contains("ConfigMap default/content: data.objects.yaml: document 1, text 1: "), "{error}");
}

#[test]
fn a_namespace_that_is_left_missing_changes_nothing_of_what_is_computed() {
    let spec = |skip: Value| json!({"policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content", "skipNamespaceCreation": skip}]});
    let output = profile(spec(json!(true)), SETTINGS);
    assert_eq!((output.problems.len(), output.clusters["default/c1"].len()), (0, 1));
    let error = profile(spec(json!("yes")), SETTINGS).problems[0]["error"].as_str().unwrap().to_owned();
    assert!(
        error.contains("spec.policyRefs[0].skipNamespaceCreation: \"yes\" is not true or false"),
        "{error}"
    );
}

#[test]
fn where_an_annotation_is_needed_only_clusters_of_cluster_api_with_it_get_something() {
    let capi = |name: &str, annotations: Value| {
        json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster", "spec": {},
            "metadata": {"name": name, "namespace": "eu", "labels": {"env": "fv"}, "annotations": annotations}})
    };
    let management = vec![
        capi("with", json!({"onboard-capi": "x"})),
        capi("without", json!({})),
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"},
            "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}},
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"objects.yaml": SETTINGS},
            "metadata": {"name": "content", "namespace": "default"}}),
    ];
    let input = Input { management, ..Input::default() };
    let on = |onboarding: &str| -> Vec<String> {
        let options = Options { now: 0, onboarding: onboarding.parse().unwrap(), ..Options::default() };
        let made = build_with(&input, &options).clusters;
        made.into_iter().filter(|(_, objects)| !objects.is_empty()).map(|(name, _)| name).collect()
    };
    assert_eq!(on(""), ["eu/with", "eu/without"]);
    assert_eq!(on("onboard-capi"), ["eu/with"]);
}
