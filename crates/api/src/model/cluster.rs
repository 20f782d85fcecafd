//! Registered clusters.

use std::sync::Arc;

use serde_json::Value;

use super::cluster_check::{ClusterChecks, Guards};
use super::on_delete::{Farewell, OnDelete};
use super::pause::Pause;
use super::read::Field;
use super::token_renewal::{Renewal, TokenRenewal};
use super::workload_identity::{Identity, WorkloadIdentity};
use crate::cluster::{ClusterKind, ClusterRef};
use crate::identity;
use crate::object::{self, Gvk, ObjectKey};

/// A managed cluster as it is registered in the management cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Cluster {
    /// Kind, namespace and name of the registration.
    pub id: ClusterRef,
    /// When it is left alone.
    pub pause: Pause,
    /// What is asked of it as a whole; a mistake is told where they are asked.
    pub checks: Guards,
    /// Where its kubeconfig is.
    pub kubeconfig: KubeconfigRef,
    /// How the token in it is renewed; a mistake is told where that is done.
    pub renewal: Renewal,
    /// What becomes of its add-ons when the registration is deleted.
    pub farewell: Farewell,
    /// How it is reached where it has no kubeconfig; a mistake is told where it is reached.
    pub identity: Identity,
    /// Whether nobody reaches it from outside: its own deployer fetches what is for it.
    pub pulls: bool,
    /// The registration, which templates see as `.Cluster`.
    pub object: Arc<Value>,
}

/// The Secret with a cluster's kubeconfig, in the namespace of the registration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KubeconfigRef {
    /// Name of the Secret.
    pub secret: String,
    /// Key under which a renewed one is put. It counts from then on.
    pub renewed: Option<String>,
    /// Key in it; `None` takes the only one.
    pub key: Option<String>,
}

impl Cluster {
    /// Reads a `SveltosCluster` or a Cluster API `Cluster`; `None` for other kinds.
    pub fn read(object: &Arc<Value>) -> Option<Self> {
        let (kind, suffix) = match object::text(object, &["kind"]) {
            "SveltosCluster" => (ClusterKind::Sveltos, "sveltos-kubeconfig"),
            "Cluster" => (ClusterKind::Capi, "kubeconfig"),
            _ => return None,
        };
        let id = ClusterRef {
            kind,
            namespace: object::namespace(object).to_owned(),
            name: object::name(object).to_owned(),
        };
        let spec = Field::spec(object);
        let own = |field: &str| spec.get(field).text().ok().filter(|text| !text.is_empty());
        let standard = format!("{}-{suffix}", id.name);
        let standard_key = (kind == ClusterKind::Capi).then(|| "value".to_owned());
        let renewed = spec.get("tokenRequestRenewalOption").get("kubeconfigKeyName").text();
        let kubeconfig = KubeconfigRef {
            secret: own("kubeconfigName").unwrap_or(standard),
            renewed: renewed.ok().filter(|key| !key.is_empty() && kind == ClusterKind::Sveltos),
            key: own("kubeconfigKeyName").or(standard_key),
        };
        let is_own = kind == ClusterKind::Sveltos;
        let identity = || WorkloadIdentity::read(object).transpose().map(Arc::new);
        let identity = is_own.then(identity).flatten();
        let renewal = || TokenRenewal::read(object, &kubeconfig).transpose().map(Arc::new);
        let pulls = is_own && object::at(object, &["spec", "pullMode"]) == Some(&Value::Bool(true));
        Some(Self {
            pulls,
            pause: Pause::read(object),
            checks: ClusterChecks::read(object).transpose().map(Arc::new),
            // Tokens of an identity are renewed without being asked.
            renewal: (is_own && identity.is_none()).then(renewal).flatten(),
            farewell: is_own.then(|| OnDelete::read(object).map(Arc::new)).flatten(),
            identity,
            kubeconfig,
            id,
            object: object.clone(),
        })
    }

    /// Whether it can be worked with: a Cluster API cluster from the time on when its control plane is initialised. Each version of
    /// that API says so in another place.
    pub fn is_registered(&self) -> bool {
        if self.id.kind != ClusterKind::Capi {
            return true;
        }
        let is_true = |path: &[&str]| object::at(&self.object, path) == Some(&Value::Bool(true));
        let says = |conditions: &[&str]| {
            let conditions = object::at(&self.object, conditions).and_then(Value::as_array);
            conditions.into_iter().flatten().any(|condition| {
                object::text(condition, &["type"]) == "ControlPlaneInitialized"
                    && object::text(condition, &["status"]) == "True"
            })
        };
        is_true(&["status", "initialization", "controlPlaneInitialized"])
            || is_true(&["status", "controlPlaneReady"])
            || says(&["status", "conditions"])
            || says(&["status", "v1beta2", "conditions"])
    }

    /// The object that a field of a Cluster API cluster's spec names; in the version that the server prefers where none is named. It is
    /// one of its own namespace, and of no core kind: whoever may write a Cluster reads no Secret by it, nor anything of others.
    pub fn referenced(&self, field: &str) -> Option<ObjectKey> {
        let reference =
            object::at(&self.object, &["spec", field]).filter(|_| self.id.kind == ClusterKind::Capi)?;
        let text = |field: &str| object::text(reference, &[field]);
        let (kind, name) = (text("kind"), text("name"));
        if name.is_empty() {
            return None;
        }
        let (group, version) = text("apiVersion").split_once('/').unwrap_or((text("apiGroup"), ""));
        let own = &self.id.namespace;
        let gvk = Gvk::new(group, version, kind);
        let key = ObjectKey { gvk, namespace: own.clone(), name: name.to_owned() };
        let is_own = ["", own].contains(&text("namespace")) && !group.is_empty();
        (is_own && identity::validate_reference(&key).is_ok()).then_some(key)
    }

    /// What the deployer in a cluster that pulls must know of its registration: when it is left alone, what is asked of it, and what its
    /// user asks for.
    pub fn told_inside(&self) -> Value {
        let annotations = object::at(&self.object, &["metadata", "annotations"]).and_then(Value::as_object);
        let own = annotations.into_iter().flatten().filter(|(name, _)| name.starts_with("sluice.dev/"));
        let annotations: serde_json::Map<_, _> =
            own.map(|(name, value)| (name.clone(), value.clone())).collect();
        let mut metadata = serde_json::json!({"namespace": self.id.namespace, "name": self.id.name});
        if !annotations.is_empty() {
            metadata["annotations"] = annotations.into();
        }
        let field = |name: &str| self.object.get(name).cloned().unwrap_or_default();
        serde_json::json!({"apiVersion": field("apiVersion"), "kind": field("kind"), "metadata": metadata, "spec": field("spec")})
    }

    /// With what its user last asked for everything on it to be applied once more; empty where nobody has.
    pub fn redeploy(&self) -> String {
        super::profile::asked(&self.object)
    }

    /// Whether it leaves: its add-ons are withdrawn, and its registration goes then.
    pub fn is_leaving(&self) -> bool {
        self.farewell.as_deref().is_some_and(OnDelete::is_leaving)
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
    use serde_json::json;

    use super::*;

    #[test]
    fn the_kubeconfig_has_a_standard_place_and_may_be_elsewhere() {
        let read = |spec: Value| {
            Cluster::read(&Arc::new(json!({"kind": "SveltosCluster", "metadata": {"namespace": "default", "name": "c"}, "spec": spec}))).unwrap()
        };
        assert_eq!(
            read(json!({})).kubeconfig,
            KubeconfigRef { secret: "c-sveltos-kubeconfig".into(), renewed: None, key: None }
        );
        let own = read(json!({"kubeconfigName": "k", "kubeconfigKeyName": "value", "paused": true}));
        assert_eq!(
            own.kubeconfig,
            KubeconfigRef { secret: "k".into(), renewed: None, key: Some("value".into()) }
        );
        assert!(own.pause.at(0).is_some() && own.id.to_string() == "sveltos:default/c");
        let option = json!({"renewTokenRequestInterval": "1h", "kubeconfigKeyName": "r"});
        let renewing = read(json!({"kubeconfigKeyName": "value", "tokenRequestRenewalOption": option}));
        let both = (renewing.kubeconfig.renewed.as_deref(), renewing.kubeconfig.key.as_deref());
        assert_eq!(both, (Some("r"), Some("value")));
        let renewal = Result::clone(&renewing.renewal.unwrap()).unwrap();
        assert_eq!(renewal.kubeconfig, renewing.kubeconfig);
    }

    fn capi(spec: Value, status: Value) -> Cluster {
        let object = json!({"apiVersion": "cluster.x-k8s.io/v1beta2", "kind": "Cluster",
            "metadata": {"namespace": "team", "name": "c"}, "spec": spec, "status": status});
        Cluster::read(&Arc::new(object)).unwrap()
    }

    #[test]
    fn a_cluster_api_cluster_counts_once_its_control_plane_is_initialised_in_every_version_of_that_api() {
        let condition = |status: &str| json!([{"type": "Ready", "status": "True"}, {"type": "ControlPlaneInitialized", "status": status}]);
        for status in [
            json!({"initialization": {"controlPlaneInitialized": true}}),
            json!({"controlPlaneReady": true}),
            json!({"conditions": condition("True")}),
            json!({"v1beta2": {"conditions": condition("True")}}),
        ] {
            assert!(capi(json!({}), status.clone()).is_registered(), "{status}");
        }
        for status in [
            json!(null),
            json!({"initialization": {"controlPlaneInitialized": false}, "controlPlaneReady": false}),
            json!({"conditions": condition("False")}),
            json!({"phase": "Provisioned"}),
        ] {
            assert!(!capi(json!({}), status.clone()).is_registered(), "{status}");
        }
        let sveltos = json!({"kind": "SveltosCluster", "metadata": {"namespace": "n", "name": "c"}});
        assert!(Cluster::read(&Arc::new(sveltos)).unwrap().is_registered());
        let kubeconfig =
            KubeconfigRef { secret: "c-kubeconfig".into(), renewed: None, key: Some("value".into()) };
        assert_eq!(capi(json!({}), json!({})).kubeconfig, kubeconfig);
    }

    #[test]
    fn what_a_cluster_api_cluster_is_made_of_is_named_by_version_or_by_group() {
        let old = json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane", "namespace": "team", "name": "p"});
        let new =
            json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DockerCluster", "name": "i"});
        let cluster = capi(
            json!({"controlPlaneRef": old, "infrastructureRef": new, "other": {"kind": "A"}}),
            json!({}),
        );
        let found = |field: &str| cluster.referenced(field).map(|key| (key.to_string(), key.gvk.to_string()));
        let plane =
            ("KubeadmControlPlane team/p", "controlplane.cluster.x-k8s.io/v1beta1/KubeadmControlPlane");
        assert_eq!(found("controlPlaneRef"), Some((plane.0.into(), plane.1.into())));
        let provider = cluster.referenced("infrastructureRef").unwrap();
        assert_eq!(
            (&*provider.namespace, &*provider.gvk.version, &*provider.gvk.kind),
            ("team", "", "DockerCluster")
        );
        assert_eq!((found("other"), found("topology")), (None, None));
        for hostile in [
            json!({"apiVersion": "controlplane.cluster.x-k8s.io/v1beta1", "kind": "KubeadmControlPlane", "namespace": "x", "name": "p"}),
            json!({"apiVersion": "v1", "kind": "Secret", "name": "p"}),
            json!({"apiGroup": "infrastructure.cluster.x-k8s.io", "kind": "DockerCluster", "name": "../../secrets/p"}),
        ] {
            let cluster = capi(json!({"controlPlaneRef": hostile}), json!({}));
            assert_eq!(cluster.referenced("controlPlaneRef"), None, "{hostile}");
        }
    }
}
