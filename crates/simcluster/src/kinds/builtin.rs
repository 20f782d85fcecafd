//! The kinds that every cluster serves without a CRD.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock};

use sluice_api::Gvk;

use super::{ResourceDef, VersionDef, api_version};
use crate::object::TypePrefix;
use crate::schema;

/// Serves `/status`.
const STATUS: u8 = 1;
/// Counts changes of its spec in `metadata.generation`.
const GENERATION: u8 = 2;
/// Belongs to the category `all`.
const ALL: u8 = 4;
/// `(group, Kind, flags)`; names and scopes are those of [`sluice_api::kinds`].
type Row = (&'static str, &'static str, u8);

const ROWS: &[Row] = &[
    ("", "ConfigMap", 0),
    ("", "Endpoints", 0),
    ("", "Event", 0),
    ("", "LimitRange", 0),
    ("", "Namespace", STATUS),
    ("", "Node", STATUS),
    ("", "PersistentVolumeClaim", STATUS),
    ("", "PersistentVolume", STATUS),
    ("", "Pod", STATUS | GENERATION | ALL),
    ("", "PodTemplate", GENERATION),
    ("", "ReplicationController", STATUS | GENERATION | ALL),
    ("", "ResourceQuota", STATUS),
    ("", "Secret", 0),
    ("", "ServiceAccount", 0),
    ("", "Service", STATUS | ALL),
    ("apps", "ControllerRevision", 0),
    ("apps", "DaemonSet", STATUS | GENERATION | ALL),
    ("apps", "Deployment", STATUS | GENERATION | ALL),
    ("apps", "ReplicaSet", STATUS | GENERATION | ALL),
    ("apps", "StatefulSet", STATUS | GENERATION | ALL),
    ("batch", "CronJob", STATUS | GENERATION | ALL),
    ("batch", "Job", STATUS | GENERATION | ALL),
    ("autoscaling", "HorizontalPodAutoscaler", STATUS | ALL),
    ("networking.k8s.io", "IngressClass", GENERATION),
    ("networking.k8s.io", "Ingress", STATUS | GENERATION),
    ("networking.k8s.io", "NetworkPolicy", GENERATION),
    ("policy", "PodDisruptionBudget", STATUS | GENERATION),
    ("rbac.authorization.k8s.io", "ClusterRoleBinding", 0),
    ("rbac.authorization.k8s.io", "ClusterRole", 0),
    ("rbac.authorization.k8s.io", "RoleBinding", 0),
    ("rbac.authorization.k8s.io", "Role", 0),
    ("coordination.k8s.io", "Lease", 0),
    ("discovery.k8s.io", "EndpointSlice", GENERATION),
    ("scheduling.k8s.io", "PriorityClass", GENERATION),
    ("node.k8s.io", "RuntimeClass", 0),
    ("storage.k8s.io", "CSIDriver", GENERATION),
    ("storage.k8s.io", "CSINode", 0),
    ("storage.k8s.io", "StorageClass", 0),
    ("storage.k8s.io", "VolumeAttachment", STATUS),
    ("apiextensions.k8s.io", "CustomResourceDefinition", STATUS | GENERATION),
    ("admissionregistration.k8s.io", "MutatingWebhookConfiguration", GENERATION),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicy", STATUS | GENERATION),
    ("admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding", GENERATION),
    ("admissionregistration.k8s.io", "ValidatingWebhookConfiguration", GENERATION),
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
        let list: Vec<Arc<ResourceDef>> = ROWS.iter().filter_map(define).map(Arc::new).collect();
        let by_key = list.iter().map(|def| (def.key.clone(), def.clone())).collect();
        Builtins { list, by_key }
    });
    &BUILTINS
}

fn define(&(group, kind, flags): &Row) -> Option<ResourceDef> {
    let known = sluice_api::kinds::known(&Gvk::new(group, "", kind))?;
    let api_version = api_version(group, &known.version);
    Some(ResourceDef {
        group: group.into(),
        kind: kind.into(),
        list_kind: format!("{kind}List").into(),
        plural: known.plural.as_str().into(),
        singular: kind.to_lowercase().into(),
        short_names: known.short.iter().map(|name| name.as_str().into()).collect(),
        categories: if flags & ALL != 0 { vec!["all".into()] } else { Vec::new() },
        namespaced: !known.is_cluster_scoped,
        custom: false,
        generation: flags & GENERATION != 0,
        versions: vec![VersionDef {
            name: known.version.as_str().into(),
            prefix: TypePrefix::new(&api_version, kind),
            api_version: api_version.into(),
            schema: schema::builtin(kind),
            structural: None,
            status: flags & STATUS != 0,
            columns: Vec::new(),
        }],
        key: ResourceDef::key_of(group, &known.plural).into(),
    })
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
