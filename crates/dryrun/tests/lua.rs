//! Content that is a Lua script: annotation `projectsveltos.io/lua`, with and without an event before it.
#![allow(clippy::unwrap_used)]

use serde_json::{Value, json};
use sluice_dryrun::{Input, Output, build_at};

const SCRIPT: &str = r#"function evaluate()
  local cluster = getResource(resources, "Cluster")
  local out = {}
  for i = 1, 2 do
    out[i] = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: " .. cluster.metadata.name .. "-" .. i
  end
  return { resources = table.concat(out, "\n---\n") }
end
"#;

fn output(script: &str) -> Output {
    let cluster = |name: &str| {
        json!({"apiVersion": "lib.projectsveltos.io/v1beta1", "kind": "SveltosCluster", "spec": {},
            "metadata": {"name": name, "namespace": "default", "labels": {"env": "fv"}}})
    };
    let management = vec![
        cluster("c1"),
        cluster("c2"),
        json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile", "metadata": {"name": "p"},
            "spec": {"clusterSelector": {"matchLabels": {"env": "fv"}},
                "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}}),
        json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"objects.lua": script},
            "metadata": {"name": "content", "namespace": "default",
                "annotations": {"projectsveltos.io/lua": "ok"}}}),
    ];
    build_at(&Input { management, ..Input::default() }, 0)
}

#[test]
fn every_destination_gets_what_the_script_makes_for_it() {
    let output = output(SCRIPT);
    assert_eq!(output.problems, [] as [Value; 0]);
    let names = |cluster: &str| -> Vec<String> {
        let objects = output.clusters[cluster].iter();
        objects.map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names("default/c1"), ["c1-1", "c1-2"]);
    assert_eq!(names("default/c2"), ["c2-1", "c2-2"]);
}

#[test]
fn a_script_that_fails_is_a_problem_of_its_profile() {
    let output = output("function evaluate() return { resources = resources.nope.x } end");
    let error = output.problems[0]["error"].as_str().unwrap();
    assert!(error.contains("ConfigMap default/content: data.objects.lua: evaluate:1"), "{error}");
}
