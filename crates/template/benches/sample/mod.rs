//! What the benchmarks of the template engines render: one template, many Services.

use serde_json::{Value as Json, json};

/// A NetworkPolicy for a Service.
pub const NETWORK_POLICY: &str = r"kind: NetworkPolicy
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

/// Services of about 3 KB, managed fields included.
pub fn services() -> Vec<Json> {
    (0..64).map(service).collect()
}

fn service(i: usize) -> Json {
    let fields: serde_json::Map<String, Json> = (0..14)
        .map(|f| (format!("f:field-{f}-{i}"), json!({".": {}, "f:value": {}, "f:kind": {}})))
        .collect();
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": format!("service-{i}"),
            "namespace": format!("namespace-{}", i % 7),
            "uid": format!("6f1c2f0e-{i:04}-4a37-9d55-000000000000"),
            "resourceVersion": (100_000 + i).to_string(),
            "generation": 3,
            "creationTimestamp": "2025-06-01T10:20:30Z",
            "labels": {"app.kubernetes.io/name": format!("app-{i}"), "tier": "web", "team": "payments", "sveltos": "fv"},
            "annotations": {
                "kubectl.kubernetes.io/last-applied-configuration": "{\"apiVersion\":\"v1\",\"kind\":\"Service\"}".repeat(12),
                "example.com/owner": "team payments, on call: yes",
            },
            "managedFields": [{"manager": "kubectl", "operation": "Apply", "fieldsV1": fields}],
        },
        "spec": {
            "clusterIP": format!("10.0.{}.{}", i / 8, i % 8),
            "type": "LoadBalancer",
            "selector": {"app.kubernetes.io/name": format!("app-{i}"), "tier": "web"},
            "ports": [
                {"name": "http", "port": 80, "protocol": "TCP", "targetPort": 9376},
                {"name": "https", "port": 443, "protocol": "TCP", "targetPort": "tls"},
            ],
        },
        "status": {"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}},
    })
}
