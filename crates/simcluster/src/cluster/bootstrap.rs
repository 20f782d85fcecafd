//! What every new cluster has.

use serde_json::{Value, json};

use super::namespaces::builtin;
use super::state::{State, now};
use crate::object::Json;

// === impl State ===

impl State {
    /// Makes the namespaces and the service that the API server itself makes.
    pub(super) fn bootstrap(&mut self) {
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            let metadata = json!({"name": name, "labels": {"kubernetes.io/metadata.name": name}});
            self.seed(
                "namespaces",
                metadata,
                json!({"spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}),
            );
        }
        let labels = json!({"component": "apiserver", "provider": "kubernetes"});
        let metadata = json!({"name": "kubernetes", "namespace": "default", "labels": labels});
        let spec = json!({
            "clusterIP": "10.96.0.1", "clusterIPs": ["10.96.0.1"], "type": "ClusterIP", "sessionAffinity": "None",
            "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        });
        self.seed("services", metadata, json!({"spec": spec, "status": {"loadBalancer": {}}}));
    }

    fn seed(&mut self, resource: &str, mut metadata: Value, rest: Value) {
        let uid = self.new_uid();
        if let Value::Object(metadata) = &mut metadata {
            metadata.insert("uid".into(), uid.into());
            metadata.insert("creationTimestamp".into(), now().into());
        }
        let mut body = Json::from_iter([("metadata".to_owned(), metadata)]);
        if let Value::Object(rest) = rest {
            body.extend(rest);
        }
        self.put(&builtin(resource), body, Vec::new());
    }
}
