//! Objects whose names no API server takes, and texts with very many documents.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_dryrun::{Input, Options, Output, build_at, make};

fn input(text: &str) -> Input {
    let management = vec![
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": {},
            "metadata": {"name": "c1", "namespace": "default", "labels": {"env": "fv"}}}),
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"},
            "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}},
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"objects.yaml": text},
            "metadata": {"name": "content", "namespace": "default"}}),
    ];
    Input { management, ..Input::default() }
}

fn config_maps(names: impl Iterator<Item = String>) -> String {
    names
        .map(|name| format!("---\napiVersion: v1\nkind: ConfigMap\nmetadata: {{name: \"{name}\"}}\n"))
        .collect()
}

fn names(output: &Output) -> Vec<&str> {
    output.clusters["default/c1"].iter().map(|object| object["metadata"]["name"].as_str().unwrap()).collect()
}

#[test]
fn a_name_that_no_server_takes_is_a_problem_and_the_others_are_there() {
    let bad = ["a/b", "../x", " ", "front p1"];
    let text = config_maps(["good"].iter().chain(&bad).map(|name| (*name).to_owned()));
    let output = build_at(&input(&text), 0);
    assert_eq!(names(&output), ["good"]);
    let said = serde_json::to_string(&output.problems).unwrap();
    for name in bad {
        let wanted = format!("ConfigMap default/content: ConfigMap {name}: metadata.name");
        assert!(said.contains(&wanted), "{name}: {said}");
    }
}

#[test]
fn five_thousand_documents_of_one_text_are_deployed() {
    let output = build_at(&input(&config_maps((0..5_000).map(|i| format!("c{i:04}")))), 0);
    assert_eq!(output.problems, [] as [Value; 0]);
    assert_eq!(names(&output).len(), 5_000);
}

#[test]
fn what_is_printed_is_what_is_computed() {
    let (input, options) =
        (input(&config_maps(["a".to_owned()].into_iter())), Options { now: 0, ..Options::default() });
    let (output, made) = (build_at(&input, 0), make(input, &options));
    assert!(made.is_well());
    let (mut yaml, mut json) = (Vec::new(), Vec::new());
    made.write_yaml(&mut yaml).unwrap();
    made.write_json(&mut json).unwrap();
    let read: Value = serde_json::from_slice(&json).unwrap();
    assert_eq!(read["clusters"]["default/c1"].as_array().unwrap(), &output.clusters["default/c1"]);
    assert_eq!(read["management"].as_array().unwrap(), &output.management);
    assert!(String::from_utf8(yaml).unwrap().contains("\n# cluster default/c1\napiVersion: v1\n"));
}
