//! What every new cluster has.

use std::sync::Arc;

use serde_json::{Value, json};

use super::collection::ObjectKey;
use super::namespaces::builtin;
use super::state::{State, now};
use crate::object::{Json, Object};

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

    /// Makes so many Services that are no event of anything, as bytes: a cluster is full, and costs little.
    pub(crate) fn fill(&mut self, services: usize) {
        let def = builtin("services");
        let (first, created) = (self.resource_version(), now());
        let last = first + services as u64;
        let objects: Vec<_> = (1..=services as u64)
            .map(|number| {
                let name = format!("resting-{number}");
                let body = resting(&name, &self.new_uid(), &created, &self.cluster_ip());
                (ObjectKey::new("default", &name), Arc::new(Object::at_rest(body, first + number)))
            })
            .collect();
        self.skip_to(last);
        self.collection_mut(&def).fill(objects.into_iter(), last);
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

fn resting(name: &str, uid: &str, created: &str, address: &str) -> Json {
    let metadata = json!({
        "name": name, "namespace": "default", "uid": uid, "creationTimestamp": created,
        "labels": {"app.kubernetes.io/name": name, "sveltos": "none"},
    });
    let spec = json!({
        "clusterIP": address, "clusterIPs": [address], "type": "ClusterIP", "sessionAffinity": "None",
        "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
        "ports": [{"name": "http", "port": 80, "protocol": "TCP", "targetPort": 9376}],
        "selector": {"app.kubernetes.io/name": name},
    });
    Json::from_iter([
        ("metadata".to_owned(), metadata),
        ("spec".to_owned(), spec),
        ("status".to_owned(), json!({"loadBalancer": {}})),
    ])
}
