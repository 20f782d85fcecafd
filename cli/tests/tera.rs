//! `sluice build` with content in Tera: by the real program and its own workers.
#![allow(clippy::unwrap_used)]

use std::path::Path;
use std::process::{Command, Output};

const MANAGEMENT: &str = r#"
apiVersion: lib.projectsveltos.io/v1beta1
kind: SveltosCluster
metadata: {name: c1, namespace: default, labels: {env: fv}}
spec: {}
---
apiVersion: lib.projectsveltos.io/v1beta1
kind: EventSource
metadata: {name: services}
spec:
  collectResources: true
  resourceSelectors: [{group: "", version: v1, kind: Service}]
---
apiVersion: lib.projectsveltos.io/v1beta1
kind: EventTrigger
metadata: {name: TRIGGER}
spec:
  sourceClusterSelector: {matchLabels: {env: fv}}
  eventSourceName: services
  oneForEvent: true
  policyRefs: [{kind: ConfigMap, namespace: default, name: TRIGGER}]
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: TRIGGER
  namespace: default
  annotations: {projectsveltos.io/instantiate: ok, sluice.dev/engine: ENGINE}
data:
  a.yaml: |
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: "TRIGGER-NAME", namespace: shop}
    data: {text: "TEXT"}
"#;

const SERVICE: &str =
    "apiVersion: v1\nkind: Service\nmetadata: {name: web, namespace: shop}\nspec: {ports: [{port: 443}]}\n";

const GO_NAME: &str = "{{ .Resource.metadata.name | upper | b64enc | lower }}";
const TERA_NAME: &str = "{{ Resource.metadata.name | upper | b64enc | lower }}";
const ENDLESS: &str =
    "{% for a in range(end=100000) %}{% for b in range(end=100000) %}{% endfor %}{% endfor %}";

fn write(dir: &Path, trigger: &str, engine: &str, name: &str, text: &str) {
    let manifests = MANAGEMENT.replace("TRIGGER-NAME", &format!("{trigger}-{name}"));
    let manifests = manifests.replace("TRIGGER", trigger).replace("ENGINE", engine).replace("TEXT", text);
    std::fs::write(dir.join(format!("{trigger}.yaml")), manifests).unwrap();
    let held = dir.join("clusters/default/c1");
    std::fs::create_dir_all(&held).unwrap();
    std::fs::write(held.join("service.yaml"), SERVICE).unwrap();
}

fn build(dir: &Path) -> (Output, serde_json::Value) {
    let output =
        Command::new(env!("CARGO_BIN_EXE_sluice")).args(["build", "-o", "json"]).arg(dir).output().unwrap();
    let result = serde_json::from_slice(&output.stdout).unwrap();
    (output, result)
}

#[test]
fn an_annotated_config_map_gives_what_its_twin_in_go_gives() {
    let (go, tera) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    write(go.path(), "t", "go", GO_NAME, "{{ range .Resource.spec.ports }}{{ .port }}{{ end }}");
    write(tera.path(), "t", "tera", TERA_NAME, "{% for p in Resource.spec.ports %}{{ p.port }}{% endfor %}");
    let ((go, expected), (tera, found)) = (build(go.path()), build(tera.path()));
    assert!(go.status.success() && tera.status.success(), "{}", String::from_utf8_lossy(&tera.stdout));
    assert_eq!(expected["clusters"], found["clusters"]);
    assert_eq!(found["clusters"]["default/c1"][0]["metadata"]["name"], "t-v0vc");
}

#[test]
fn a_hostile_template_is_a_problem_and_the_others_are_built() {
    let dir = tempfile::tempdir().unwrap();
    write(dir.path(), "hostile", "tera", TERA_NAME, ENDLESS);
    write(dir.path(), "kind", "tera", TERA_NAME, "{{ Cluster.metadata.name }}");
    let (output, result) = build(dir.path());
    assert_eq!(output.status.code(), Some(1));
    let problem = result["problems"][0]["error"].as_str().unwrap();
    assert!(
        problem.contains("ConfigMap default/hostile: data.a.yaml: limit: the render took longer than"),
        "{problem}"
    );
    let objects = result["clusters"]["default/c1"].as_array().unwrap();
    assert_eq!(
        objects.iter().map(|o| o["metadata"]["name"].as_str().unwrap()).collect::<Vec<_>>(),
        ["kind-v0vc"]
    );
}
