//! The kinds that every cluster serves without a CRD.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use super::{ResourceDef, VersionDef, api_version};
use crate::object::TypePrefix;
use crate::schema;

/// Serves `/status`.
const STATUS: u8 = 1;
/// Counts changes of its spec in `metadata.generation`.
const GENERATION: u8 = 2;
/// Belongs to the category `all`.
const ALL: u8 = 4;
/// Lives outside namespaces.
const CLUSTER: u8 = 8;

/// `(group, version, Kind, plural, short names separated by commas, flags)`.
type Row = (&'static str, &'static str, &'static str, &'static str, &'static str, u8);

const ROWS: &[Row] = &[
    ("", "v1", "ConfigMap", "configmaps", "cm", 0),
    ("", "v1", "Endpoints", "endpoints", "ep", 0),
    ("", "v1", "Event", "events", "ev", 0),
    ("", "v1", "LimitRange", "limitranges", "limits", 0),
    ("", "v1", "Namespace", "namespaces", "ns", STATUS | CLUSTER),
    ("", "v1", "Node", "nodes", "no", STATUS | CLUSTER),
    ("", "v1", "PersistentVolumeClaim", "persistentvolumeclaims", "pvc", STATUS),
    ("", "v1", "PersistentVolume", "persistentvolumes", "pv", STATUS | CLUSTER),
    ("", "v1", "Pod", "pods", "po", STATUS | GENERATION | ALL),
    ("", "v1", "PodTemplate", "podtemplates", "", GENERATION),
    ("", "v1", "ReplicationController", "replicationcontrollers", "rc", STATUS | GENERATION | ALL),
    ("", "v1", "ResourceQuota", "resourcequotas", "quota", STATUS),
    ("", "v1", "Secret", "secrets", "", 0),
    ("", "v1", "ServiceAccount", "serviceaccounts", "sa", 0),
    ("", "v1", "Service", "services", "svc", STATUS | ALL),
    ("apps", "v1", "ControllerRevision", "controllerrevisions", "", 0),
    ("apps", "v1", "DaemonSet", "daemonsets", "ds", STATUS | GENERATION | ALL),
    ("apps", "v1", "Deployment", "deployments", "deploy", STATUS | GENERATION | ALL),
    ("apps", "v1", "ReplicaSet", "replicasets", "rs", STATUS | GENERATION | ALL),
    ("apps", "v1", "StatefulSet", "statefulsets", "sts", STATUS | GENERATION | ALL),
    ("batch", "v1", "CronJob", "cronjobs", "cj", STATUS | GENERATION | ALL),
    ("batch", "v1", "Job", "jobs", "", STATUS | GENERATION | ALL),
    ("autoscaling", "v2", "HorizontalPodAutoscaler", "horizontalpodautoscalers", "hpa", STATUS | ALL),
    ("networking.k8s.io", "v1", "IngressClass", "ingressclasses", "", GENERATION | CLUSTER),
    ("networking.k8s.io", "v1", "Ingress", "ingresses", "ing", STATUS | GENERATION),
    ("networking.k8s.io", "v1", "NetworkPolicy", "networkpolicies", "netpol", GENERATION),
    ("policy", "v1", "PodDisruptionBudget", "poddisruptionbudgets", "pdb", STATUS | GENERATION),
    ("rbac.authorization.k8s.io", "v1", "ClusterRoleBinding", "clusterrolebindings", "", CLUSTER),
    ("rbac.authorization.k8s.io", "v1", "ClusterRole", "clusterroles", "", CLUSTER),
    ("rbac.authorization.k8s.io", "v1", "RoleBinding", "rolebindings", "", 0),
    ("rbac.authorization.k8s.io", "v1", "Role", "roles", "", 0),
    ("coordination.k8s.io", "v1", "Lease", "leases", "", 0),
    ("discovery.k8s.io", "v1", "EndpointSlice", "endpointslices", "", GENERATION),
    ("scheduling.k8s.io", "v1", "PriorityClass", "priorityclasses", "pc", GENERATION | CLUSTER),
    ("node.k8s.io", "v1", "RuntimeClass", "runtimeclasses", "", CLUSTER),
    ("storage.k8s.io", "v1", "CSIDriver", "csidrivers", "", GENERATION | CLUSTER),
    ("storage.k8s.io", "v1", "CSINode", "csinodes", "", CLUSTER),
    ("storage.k8s.io", "v1", "StorageClass", "storageclasses", "sc", CLUSTER),
    ("storage.k8s.io", "v1", "VolumeAttachment", "volumeattachments", "", STATUS | CLUSTER),
    (
        "apiextensions.k8s.io",
        "v1",
        "CustomResourceDefinition",
        "customresourcedefinitions",
        "crd,crds",
        STATUS | GENERATION | CLUSTER,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "MutatingWebhookConfiguration",
        "mutatingwebhookconfigurations",
        "",
        GENERATION | CLUSTER,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicy",
        "validatingadmissionpolicies",
        "",
        STATUS | GENERATION | CLUSTER,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingAdmissionPolicyBinding",
        "validatingadmissionpolicybindings",
        "",
        GENERATION | CLUSTER,
    ),
    (
        "admissionregistration.k8s.io",
        "v1",
        "ValidatingWebhookConfiguration",
        "validatingwebhookconfigurations",
        "",
        GENERATION | CLUSTER,
    ),
];

/// A resource that only answers a `create` and stores nothing.
#[derive(Debug)]
pub struct Virtual {
    /// API group.
    pub group: &'static str,
    /// API version.
    pub version: &'static str,
    /// Kind.
    pub kind: &'static str,
    /// Name in paths.
    pub plural: &'static str,
}

/// The reviews.
pub const VIRTUAL: &[Virtual] = &[
    Virtual {
        group: "authorization.k8s.io",
        version: "v1",
        kind: "SelfSubjectAccessReview",
        plural: "selfsubjectaccessreviews",
    },
    Virtual {
        group: "authorization.k8s.io",
        version: "v1",
        kind: "SelfSubjectRulesReview",
        plural: "selfsubjectrulesreviews",
    },
    Virtual {
        group: "authorization.k8s.io",
        version: "v1",
        kind: "SubjectAccessReview",
        plural: "subjectaccessreviews",
    },
    Virtual {
        group: "authentication.k8s.io",
        version: "v1",
        kind: "SelfSubjectReview",
        plural: "selfsubjectreviews",
    },
];

/// The built-in resources in the order of discovery, shared by all clusters.
#[derive(Debug)]
pub struct Builtins {
    /// In the order of discovery.
    pub list: Vec<Arc<ResourceDef>>,
    by_key: HashMap<Arc<str>, Arc<ResourceDef>>,
}

// === impl Builtins ===

impl Builtins {
    /// The resource named `plural.group`.
    pub fn get(&self, key: &str) -> Option<&Arc<ResourceDef>> {
        self.by_key.get(key)
    }
}

/// Whether a group is built in.
pub fn is_builtin_group(group: &str) -> bool {
    ROWS.iter().any(|row| row.0 == group)
}

/// The built-in resources.
pub fn builtins() -> &'static Builtins {
    static BUILTINS: LazyLock<Builtins> = LazyLock::new(|| {
        let list: Vec<Arc<ResourceDef>> = ROWS.iter().map(|row| Arc::new(define(row))).collect();
        let by_key = list.iter().map(|def| (def.key.clone(), def.clone())).collect();
        Builtins { list, by_key }
    });
    &BUILTINS
}

fn define(&(group, version, kind, plural, short, flags): &Row) -> ResourceDef {
    let api_version = api_version(group, version);
    ResourceDef {
        group: group.into(),
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        plural: plural.into(),
        singular: kind.to_lowercase().into(),
        short_names: short.split(',').filter(|name| !name.is_empty()).map(Into::into).collect(),
        categories: if flags & ALL != 0 { vec!["all".into()] } else { Vec::new() },
        namespaced: flags & CLUSTER == 0,
        custom: false,
        generation: flags & GENERATION != 0,
        versions: vec![VersionDef {
            name: version.into(),
            prefix: TypePrefix::new(&api_version, kind),
            api_version: api_version.into(),
            schema: schema::builtin(kind),
            structural: None,
            status: flags & STATUS != 0,
            columns: Vec::new(),
        }],
        key: ResourceDef::key_of(group, plural).into(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn every_builtin_is_found_by_its_key() {
        assert_eq!(builtins().list.len(), ROWS.len());
        let def = builtins().get("networkpolicies.networking.k8s.io").unwrap();
        assert_eq!(def.versions[0].api_version.as_ref(), "networking.k8s.io/v1");
        assert!(def.namespaced && def.generation && !def.versions[0].status);
    }
}
