//! Content in Tera beside its twin in Go templates: the clusters must not be able to tell which one it was.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_dryrun::{Input, Options, Output, build_with};
use sluice_template::{Engine, NoEngine};
use sluice_tera::InProcess;

const NOW: i64 = 1_795_276_800_000_000;

/// One NetworkPolicy for each Service, rendered with the event and again for the destination.
const GO: &str = r#"
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: front-{{ .Resource.metadata.name }}
  namespace: {{ .Resource.metadata.namespace }}
  labels:
    seen-on: {{ .Cluster.metadata.name }}
    kind: {{ lower .MatchingResource.Kind | trunc 4 }}
    goes-to: '{{ "{{ .Cluster.metadata.name }}" }}'
spec:
  podSelector:
    matchLabels: {{ .Resource.spec.selector | toYaml | nindent 6 }}
  ingress:
  - ports:
    {{- range .Resource.spec.ports }}
    - port: {{ .port }}
    {{- end }}
"#;

const TERA: &str = r#"
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: front-{{ Resource.metadata.name }}
  namespace: {{ Resource.metadata.namespace }}
  labels:
    seen-on: {{ Cluster.metadata.name }}
    kind: {{ MatchingResource.Kind | lower | trunc(length=4) }}
    goes-to: '{% raw %}{{ Cluster.metadata.name }}{% endraw %}'
spec:
  podSelector:
    matchLabels: {{ Resource.spec.selector | toYaml | nindent(spaces=6) }}
  ingress:
  - ports:
    {%- for port in Resource.spec.ports %}
    - port: {{ port.port }}
    {%- endfor %}
"#;

fn content(engine: Option<&str>, text: &str) -> Value {
    let mut annotations = json!({"projectsveltos.io/instantiate": "ok", "projectsveltos.io/template": "ok"});
    if let Some(engine) = engine {
        annotations["sluice.dev/engine"] = json!(engine);
    }
    json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"policy.yaml": text},
        "metadata": {"name": "content", "namespace": "default", "annotations": annotations}})
}

fn input(content: Value) -> Input {
    let lib = "lib.projectsveltos.io/v1beta1";
    let management = vec![
        json!({"apiVersion": lib, "kind": "SveltosCluster", "spec": {},
            "metadata": {"name": "c1", "namespace": "default", "labels": {"env": "fv"}}}),
        json!({"apiVersion": lib, "kind": "EventSource", "metadata": {"name": "services"}, "spec": {
            "collectResources": true,
            "resourceSelectors": [{"group": "", "version": "v1", "kind": "Service"}]}}),
        json!({"apiVersion": lib, "kind": "EventTrigger", "metadata": {"name": "policies"}, "spec": {
            "sourceClusterSelector": {"matchLabels": {"env": "fv"}}, "eventSourceName": "services", "oneForEvent": true,
            "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": "content"}]}}),
        content,
    ];
    let service = |name: &str, port: u16| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name, "namespace": "shop"},
            "spec": {"selector": {"app": name, "a": "1"}, "ports": [{"port": port}, {"port": 80}]}})
    };
    let held = vec![service("web", 443), service("api", 8443)];
    Input {
        management,
        clusters: BTreeMap::from([(("default".into(), "c1".into()), held)]),
        ..Input::default()
    }
}

fn build(content: Value, tera: Arc<dyn Engine>) -> Output {
    build_with(&input(content), &Options { now: NOW, tera, ..Options::default() })
}

fn problem(output: &Output) -> String {
    assert!(!output.problems.is_empty());
    output.problems.iter().map(|problem| problem["error"].as_str().unwrap()).collect::<Vec<_>>().join("\n")
}

#[test]
fn both_renderings_give_what_the_twin_in_go_gives() {
    let go = build(content(None, GO), Arc::new(NoEngine));
    let tera = build(content(Some("tera"), TERA), Arc::new(InProcess::default()));
    assert_eq!((go.problems.as_slice(), tera.problems.as_slice()), ([].as_slice(), [].as_slice()));
    assert_eq!(go.clusters["default/c1"].len(), 2);
    assert_eq!(go.clusters, tera.clusters);
    assert_eq!(go.clusters["default/c1"][0]["metadata"]["labels"]["goes-to"], "c1");
}

#[test]
fn saying_go_is_saying_nothing() {
    let silent = build(content(None, GO), Arc::new(NoEngine));
    let said = build(content(Some("go"), GO), Arc::new(NoEngine));
    assert_eq!(silent.clusters, said.clusters);
}

#[test]
fn what_is_generated_says_its_engine() {
    let output = build(content(Some("tera"), TERA), Arc::new(InProcess::default()));
    let mut generated = output.management.iter().filter(|object| object["kind"] == "ConfigMap");
    let first = generated.next().unwrap();
    assert_eq!(first["metadata"]["annotations"]["sluice.dev/engine"], "tera");
    assert!(first["data"]["policy.yaml"].as_str().unwrap().contains("{{ Cluster.metadata.name }}"));
}

#[test]
fn an_unknown_engine_is_a_problem_with_object_annotation_and_remedy() {
    let output = build(content(Some("jinja"), TERA), Arc::new(InProcess::default()));
    let error = problem(&output);
    for part in ["ConfigMap default/content", "sluice.dev/engine", "\"jinja\"", "\"tera\" or \"go\""] {
        assert!(error.contains(part), "{part}: {error}");
    }
    assert!(output.clusters["default/c1"].is_empty());
}

#[test]
fn without_an_engine_the_content_is_a_problem() {
    let error = problem(&build(content(Some("tera"), TERA), Arc::new(NoEngine)));
    assert!(
        error.contains("ConfigMap default/content: data.policy.yaml: this process has no second"),
        "{error}"
    );
}

#[test]
fn errors_name_object_key_and_place() {
    let text = "kind: ConfigMap\nmetadata: {name: \"{{ Resource.metadata.name | nope }}\"}\n";
    let error = problem(&build(content(Some("tera"), text), Arc::new(InProcess::default())));
    let wanted = "ConfigMap default/content: data.policy.yaml: tera: Unknown filter `nope`\n --> default-c1-policies:2:";
    assert!(error.contains(wanted), "{error}");
    let late = "{% raw %}{{ Cluster.nope.name }}{% endraw %}";
    let error = problem(&build(content(Some("tera"), late), Arc::new(InProcess::default())));
    assert!(error.contains("data.policy.yaml: tera: Field `nope` is not defined"), "{error}");
}
