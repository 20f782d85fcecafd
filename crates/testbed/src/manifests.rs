//! What the load consists of: the sources and triggers of the management cluster, and the Services.
//!
//! They are those of the project's examples: one NetworkPolicy for each Service, selected by a script, and one
//! profile with a NetworkPolicy for each of all Services together, selected by a label.

use serde_json::{Value, json};

/// Label of the clusters whose Services count.
pub const CLUSTER_LABEL: &str = "load";
/// Services with this value of the label `sveltos` get a profile each.
pub const EACH: &str = "fv";
/// Services with this value share one profile.
pub const ALL: &str = "all";
/// Services with this value get a profile each that goes to every cluster, once [`far`] is there.
pub const FAR: &str = "far";

const SCRIPT: &str = r#"function evaluate()
  hs = {}
  hs.matching = false
  hs.message = ""
  if obj.metadata.labels ~= nil then
    for key, value in pairs(obj.metadata.labels) do
      if key == "sveltos" then
        if value == "fv" then
          hs.matching = true
        end
      end
    end
  end
  return hs
end
"#;

const POLICY_OF_EACH: &str = r"kind: NetworkPolicy
apiVersion: networking.k8s.io/v1
metadata:
  name: front-{{ .Resource.metadata.name }}
  namespace: {{ .Resource.metadata.namespace }}
spec:
  podSelector:
    matchLabels:
      {{ range $key, $value := .Resource.spec.selector }}
      {{ $key }}: {{ $value }}
      {{ end }}
  ingress:
    - from:
      - podSelector:
          matchLabels:
            app: internal
      ports:
        {{ range $port := .Resource.spec.ports }}
        - port: {{ $port.port }}
        {{ end }}
";

const POLICIES_OF_ALL: &str = r"{{ range $resource := .Resources }}
---
kind: NetworkPolicy
apiVersion: networking.k8s.io/v1
metadata:
  name: front-{{ $resource.metadata.name }}
  namespace: {{ $resource.metadata.namespace }}
spec:
  podSelector:
    matchLabels:
      {{ range $key, $value := $resource.spec.selector }}
      {{ $key }}: {{ $value }}
      {{ end }}
  ingress:
    - from:
      - podSelector:
          matchLabels:
            app: internal
      ports:
        {{ range $port := $resource.spec.ports }}
        - port: {{ $port.port }}
        {{ end }}
{{ end }}
";

/// A Service as JSON text.
pub fn service(name: &str, label: &str) -> String {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": "default", "labels": {"sveltos": label}},
        "spec": {
            "selector": {"app.kubernetes.io/name": "MyApp"},
            "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": 9376}],
        },
    })
    .to_string()
}

/// The objects of the management cluster, each with its path.
pub fn management() -> Vec<(String, Value)> {
    let source_of_each =
        json!({"collectResources": true, "group": "", "version": "v1", "kind": "Service", "script": SCRIPT});
    [
        (("load-each", true), source_of_each, POLICY_OF_EACH),
        (("load-all", false), labelled(ALL), POLICIES_OF_ALL),
    ]
    .into_iter()
    .flat_map(|((name, one), source, template)| {
        [content(name, template), lib("EventSource", "eventsources", name, source), add_on(name, one)]
    })
    .collect()
}

/// What sends the add-on of a Service to every cluster.
pub fn far() -> [(String, Value); 3] {
    let (name, clusters) = ("load-far", json!({"matchLabels": {CLUSTER_LABEL: "true"}}));
    let spec = json!({
        "sourceClusterSelector": clusters,
        "destinationClusterSelector": clusters,
        "eventSourceName": name,
        "oneForEvent": true,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}],
    });
    let group = "lib.projectsveltos.io/v1beta1";
    let trigger =
        json!({"apiVersion": group, "kind": "EventTrigger", "metadata": {"name": name}, "spec": spec});
    let (path, mut template) = content(name, POLICY_OF_EACH);
    template["metadata"]["annotations"] = json!({"projectsveltos.io/instantiate": "ok"});
    [
        (path, template),
        lib("EventSource", "eventsources", name, labelled(FAR)),
        (format!("/apis/{group}/eventtriggers/{name}"), trigger),
    ]
}

/// A chart for every cluster: version 1.0.0 of `policies` in this repository, with so many objects.
pub fn charted(name: &str, repository: &str, objects: usize) -> (String, Value) {
    let group = "config.projectsveltos.io/v1beta1";
    let chart = json!({
        "repositoryURL": repository,
        "repositoryName": "load",
        "chartName": "load/policies",
        "chartVersion": "1.0.0",
        "releaseName": name,
        "releaseNamespace": "default",
        "values": format!("objects: {objects}\n"),
    });
    let object = json!({
        "apiVersion": group,
        "kind": "ClusterProfile",
        "metadata": {"name": name},
        "spec": {"clusterSelector": {"matchLabels": {CLUSTER_LABEL: "true"}}, "helmCharts": [chart]},
    });
    (format!("/apis/{group}/clusterprofiles/{name}"), object)
}

/// An EventSource of Services with this value of the label.
fn labelled(value: &str) -> Value {
    json!({"collectResources": true, "group": "", "version": "v1", "kind": "Service",
        "labelsFilters": [{"key": "sveltos", "operation": "Equal", "value": value}]})
}

fn content(name: &str, template: &str) -> (String, Value) {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "default"},
        "data": {"policy.yaml": template},
    });
    (format!("/api/v1/namespaces/default/configmaps/{name}"), object)
}

fn add_on(name: &str, one_for_event: bool) -> (String, Value) {
    let spec = json!({
        "clusterSelector": format!("{CLUSTER_LABEL}=true"),
        "eventSourceName": name,
        "oneForEvent": one_for_event,
        "policyRefs": [{"kind": "ConfigMap", "namespace": "default", "name": name}],
    });
    lib("EventBasedAddOn", "eventbasedaddons", name, spec)
}

fn lib(kind: &str, plural: &str, name: &str, spec: Value) -> (String, Value) {
    let group = "lib.projectsveltos.io/v1alpha1";
    let object = json!({"apiVersion": group, "kind": kind, "metadata": {"name": name}, "spec": spec});
    (format!("/apis/{group}/{plural}/{name}"), object)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn every_object_stands_at_its_own_path() {
        let objects = management();
        assert_eq!(objects.len(), 6);
        let objects: Vec<_> = objects.into_iter().chain(far()).chain([charted("c", "http://r", 1)]).collect();
        for (path, object) in &objects {
            assert!(path.ends_with(object["metadata"]["name"].as_str().unwrap()), "{path}");
        }
    }

    #[test]
    fn services_carry_the_label_that_selects_them() {
        let service: Value = serde_json::from_str(&service("a", EACH)).unwrap();
        assert_eq!(service["metadata"]["labels"]["sveltos"], "fv");
        assert!(SCRIPT.contains("\"fv\""));
    }
}
