//! Registered clusters.

use serde_json::Value;

use super::read::Field;
use crate::cluster::{ClusterKind, ClusterRef};
use crate::object;

/// A managed cluster as it is registered in the management cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Kind, namespace and name of the registration.
    pub id: ClusterRef,
    /// Whether its user asked to leave it alone.
    pub paused: bool,
    /// Where its kubeconfig is.
    pub kubeconfig: KubeconfigRef,
    /// The registration, which templates see as `.Cluster`.
    pub object: std::sync::Arc<Value>,
}

/// The Secret with a cluster's kubeconfig, in the namespace of the registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeconfigRef {
    /// Name of the Secret.
    pub secret: String,
    /// Key in it; `None` takes the only one.
    pub key: Option<String>,
}

impl Cluster {
    /// Reads a `SveltosCluster` or a Cluster API `Cluster`; `None` for other kinds.
    pub fn read(object: &std::sync::Arc<Value>) -> Option<Self> {
        let kind = match object::text(object, &["kind"]) {
            "SveltosCluster" => ClusterKind::Sveltos,
            "Cluster" => ClusterKind::Capi,
            _ => return None,
        };
        let id = ClusterRef {
            kind,
            namespace: object::namespace(object).to_owned(),
            name: object::name(object).to_owned(),
        };
        let spec = Field::spec(object);
        let own = |field: &str| spec.get(field).text().ok().filter(|text| !text.is_empty());
        let standard = match kind {
            ClusterKind::Sveltos => format!("{}-sveltos-kubeconfig", id.name),
            ClusterKind::Capi => format!("{}-kubeconfig", id.name),
        };
        Some(Self {
            paused: spec.get("paused").flag().unwrap_or(false),
            kubeconfig: KubeconfigRef {
                secret: own("kubeconfigName").unwrap_or(standard),
                key: own("kubeconfigKeyName"),
            },
            id,
            object: object.clone(),
        })
    }

    /// Whether its status says that it does not answer.
    pub fn is_down(&self) -> bool {
        object::text(&self.object, &["status", "connectionStatus"]) == "Down"
    }

    /// Its labels, for selectors.
    pub fn labels(&self) -> Option<&Value> {
        object::at(&self.object, &["metadata", "labels"])
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    #[test]
    fn the_kubeconfig_has_a_standard_place_and_may_be_elsewhere() {
        let read = |spec: Value| {
            Cluster::read(&Arc::new(json!({"kind": "SveltosCluster", "metadata": {"namespace": "default", "name": "c"}, "spec": spec}))).unwrap()
        };
        assert_eq!(
            read(json!({})).kubeconfig,
            KubeconfigRef { secret: "c-sveltos-kubeconfig".into(), key: None }
        );
        let own = read(json!({"kubeconfigName": "k", "kubeconfigKeyName": "value", "paused": true}));
        assert_eq!(own.kubeconfig, KubeconfigRef { secret: "k".into(), key: Some("value".into()) });
        assert!(own.paused && own.id.to_string() == "sveltos:default/c");
    }
}
