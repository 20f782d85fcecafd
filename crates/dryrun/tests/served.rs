//! What is read and what is rendered is what API servers would hold.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_api::{object, yaml};
use sluice_dryrun::{Input, Output, build_at, is_note};

const CLUSTER: &str = "apiVersion: lib.projectsveltos.io/v1beta1
kind: SveltosCluster
metadata: {name: c1, labels: {env: fv}}
";

const DEFINITION: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: SCOPE
  names: {kind: Thing, plural: things}
  versions:
  - name: v1
    served: true
    storage: true
    schema: {openAPIV3Schema: {type: object, properties: {spec: {type: object, properties: {size: {type: integer}}}}}}
";

const THING: &str = "apiVersion: example.com/v1
kind: Thing
metadata: {name: t, namespace: ns}
spec: {size: 1, colour: red}
";

/// Content that a profile deploys to the only cluster.
fn deploying(content: &str) -> String {
    let content = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c"}, "data": {"c.yaml": content}});
    format!(
        "{CLUSTER}---
apiVersion: config.projectsveltos.io/v1beta1
kind: ClusterProfile
metadata: {{name: p, namespace: projectsveltos}}
spec:
  clusterSelector: {{matchLabels: {{env: fv}}}}
  policyRefs: [{{kind: ConfigMap, namespace: default, name: c}}]
---
{content}
"
    )
}

fn built(management: &str, held: &str) -> Output {
    let clusters =
        BTreeMap::from([(("default".to_owned(), "c1".to_owned()), yaml::documents(held).unwrap())]);
    build_at(&Input { management: yaml::documents(management).unwrap(), clusters, ..Input::default() }, 0)
}

/// Kind, namespace and name of what is deployed to the only cluster.
fn deployed(output: &Output) -> Vec<String> {
    output.clusters["default/c1"].iter().map(object::describe).collect()
}

fn notes(output: &Output) -> Vec<String> {
    let text = |problem: &Value, field: &str| object::text(problem, &[field]).to_owned();
    output
        .problems
        .iter()
        .map(|one| {
            let note = if is_note(one) { "note: " } else { "" };
            format!("{} {}: {note}{}", text(one, "cluster"), text(one, "object"), text(one, "error"))
        })
        .collect()
}

#[test]
fn namespaces_are_dropped_and_completed_where_they_are_read() {
    let output =
        built(&deploying("{apiVersion: v1, kind: ConfigMap, metadata: {name: x, namespace: default}}"), "");
    assert_eq!(deployed(&output), ["ConfigMap default/x"]);
    assert_eq!(
        notes(&output),
        [
            "management ClusterProfile projectsveltos/p: note: metadata.namespace projectsveltos is dropped: a ClusterProfile is in no namespace; leave it out",
        ]
    );
}

/// A script of an EventSource may look into the status of a Service that has never had one.
#[test]
fn services_and_ingresses_have_the_status_that_a_server_gives_them() {
    let script = "function evaluate() return {matching = obj.status.loadBalancer.ingress == nil} end";
    let management = format!(
        "{CLUSTER}---
apiVersion: lib.projectsveltos.io/v1beta1
kind: EventSource
metadata: {{name: s}}
spec: {{resourceSelectors: [{{version: v1, kind: Service, evaluate: '{script}'}}]}}
---
apiVersion: lib.projectsveltos.io/v1beta1
kind: EventTrigger
metadata: {{name: t}}
spec:
  sourceClusterSelector: {{matchLabels: {{env: fv}}}}
  eventSourceName: s
  oneForEvent: true
  policyRefs: [{{kind: ConfigMap, namespace: default, name: c}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c, namespace: default}}
data: {{c.yaml: '{{apiVersion: v1, kind: ConfigMap, metadata: {{name: x, namespace: default}}}}'}}
"
    );
    let output = built(
        &management,
        "{apiVersion: v1, kind: Service, metadata: {name: web}, spec: {type: LoadBalancer}}",
    );
    assert_eq!((deployed(&output), notes(&output)), (vec!["ConfigMap default/x".to_owned()], Vec::new()));
}

#[test]
fn sets_are_in_no_namespace() {
    let management = format!(
        "{CLUSTER}---
apiVersion: lib.projectsveltos.io/v1beta1
kind: ClusterSet
metadata: {{name: s, namespace: projectsveltos}}
spec: {{clusterSelector: {{matchLabels: {{env: fv}}}}}}
---
apiVersion: config.projectsveltos.io/v1beta1
kind: ClusterProfile
metadata: {{name: p}}
spec: {{setRefs: [s], policyRefs: [{{kind: ConfigMap, namespace: default, name: c}}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c, namespace: default}}
data: {{c.yaml: '{{apiVersion: v1, kind: ConfigMap, metadata: {{name: x}}}}'}}
"
    );
    assert_eq!(deployed(&built(&management, "")), ["ConfigMap default/x"]);
}

#[test]
fn definitions_say_where_objects_are_and_what_they_have() {
    let things = |output: &Output| {
        let things = output.clusters["default/c1"].iter().filter(|one| one["kind"] == "Thing");
        things.map(|one| (object::describe(one), one["spec"].clone())).collect::<Vec<_>>()
    };
    let in_none = DEFINITION.replace("SCOPE", "Cluster");
    let (held, sent) =
        (built(&deploying(THING), &in_none), built(&deploying(&format!("{in_none}---\n{THING}")), ""));
    for output in [&held, &sent] {
        assert_eq!(things(output), [("Thing t".to_owned(), json!({"size": 1}))]);
        let last = notes(output).pop().unwrap();
        assert!(
            last.contains("default/c1 Thing")
                || notes(output).iter().any(|note| note.contains("spec.colour is dropped")),
            "{last}"
        );
    }
    let placed =
        built(&deploying(&THING.replace(", namespace: ns", "")), &DEFINITION.replace("SCOPE", "Namespaced"));
    assert_eq!(things(&placed), [("Thing default/t".to_owned(), json!({"size": 1}))]);
    let unknown = built(&deploying(THING), "");
    assert_eq!(things(&unknown), [("Thing ns/t".to_owned(), json!({"size": 1, "colour": "red"}))]);
}

#[test]
fn what_is_rendered_and_in_no_namespace_is_told() {
    let role =
        "{apiVersion: rbac.authorization.k8s.io/v1, kind: ClusterRole, metadata: {name: r, namespace: ns}}";
    let output = built(&deploying(role), "");
    assert_eq!(deployed(&output), ["ClusterRole r"]);
    let expected = "default/c1 ClusterRole ns/r: note: metadata.namespace ns is dropped: a ClusterRole is in no namespace; leave it out";
    assert!(notes(&output).contains(&expected.to_owned()), "{:?}", notes(&output));
}

#[test]
fn events_are_what_the_cluster_holds() {
    let management = format!(
        "{CLUSTER}---
apiVersion: lib.projectsveltos.io/v1beta1
kind: EventSource
metadata: {{name: s}}
spec: {{collectResources: true, resourceSelectors: [{{group: '', version: v1, kind: Service, namespace: default}}]}}
---
apiVersion: lib.projectsveltos.io/v1beta1
kind: EventTrigger
metadata: {{name: t, namespace: x}}
spec:
  sourceClusterSelector: {{matchLabels: {{env: fv}}}}
  eventSourceName: s
  oneForEvent: true
  policyRefs: [{{kind: ConfigMap, namespace: default, name: c}}]
---
apiVersion: v1
kind: ConfigMap
metadata: {{name: c, annotations: {{projectsveltos.io/instantiate: ok}}}}
data: {{c.yaml: '{{apiVersion: v1, kind: ConfigMap, metadata: {{name: \"{{{{ .Resource.metadata.namespace }}}}\"}}}}'}}
"
    );
    let output = built(&management, "apiVersion: v1\nkind: Service\nmetadata: {name: w}\n");
    assert_eq!(deployed(&output), ["ConfigMap default/default"]);
}
