//! One normalised model of what users write, whatever era the manifest is from.
//!
//! A manifest of 2023 (`EventBasedAddOn`, selectors as strings, one flat kind in an `EventSource`) and one
//! of today end up in the same types. Reading fails with a [`crate::FieldError`] that names the field.

mod annotation;
mod approvals;
mod check;
mod cluster;
mod cluster_check;
mod cluster_set;
mod criteria;
mod dependencies;
mod dependents;
mod drift;
mod event_source;
mod feature;
mod fleet;
mod helm;
mod ignored;
mod on_delete;
mod onboarding;
mod pace;
mod patch;
mod pause;
mod profile;
mod read;
mod resources;
mod role_request;
mod rollout;
mod templated;
#[cfg(test)]
mod tests;
mod token_renewal;
mod transitions;
mod trigger;
mod workload_identity;

pub use approvals::{approves, outdated};
pub use check::{Check, CheckPoint, CheckedObjects, JobCheck, MetricServer, Metrics, ServiceAddress};
pub use cluster::{Cluster, KubeconfigRef};
pub use cluster_check::{ClusterCheck, ClusterChecks, Guards};
pub use cluster_set::{ClusterSet, ClusterSetId};
pub use criteria::Criteria;
pub use dependencies::{Dependencies, prerequisites};
pub use dependents::Dependents;
pub use drift::DriftExclusion;
pub use event_source::{CelRule, EventSource, ResourceSelector};
pub use feature::Feature;
pub use fleet::{Fleet, FleetChange, KnownSet, NOTHING_WITHDRAWN, Selection, Selections, not_registered};
pub use helm::{ChartAccess, ChartOptions, HelmChart, SecretRef};
pub use ignored::{FieldLocation, IGNORED, Ignored, ignored};
pub use on_delete::{Farewell, OnDelete, USUAL_GRACE, WITHDRAW_FINALIZER, WITHDRAW_ON_DELETE};
pub use onboarding::Onboarding;
pub use pace::{DEBOUNCE, MAX_PER_MINUTE, Pace, SUSPEND, TTL};
pub use patch::{PatchContent, PatchSpec};
pub use pause::{PAUSED_UNTIL, Pause, Paused};
pub use profile::{Deployment, PolicyRef, Profile, Sharing, SpecCommon};
pub use resources::{Attention, Generator, ResourceRef};
pub use rollout::{
    Approval, DEADLINE, FAILURE_BUDGET, Portion, ROLLOUT, ROLLOUT_APPROVE, ROLLOUT_ON_FAILURE, ROLLOUT_STOP,
    ROLLOUT_UNDO, Rollout, SOAK,
};
pub use templated::{Sees, Templated, templated_fields, templates, templates_of};
pub use token_renewal::{Renewal, TokenRenewal};
pub use transitions::Transitions;
pub use trigger::{DestinationCluster, Era, Trigger, no_action};
pub use workload_identity::{AUTHORITY_KEY, Cloud, Identity, WorkloadIdentity};

use crate::{ClusterKind, ClusterRef, Gvk, ObjectKey};

/// Annotation: the content of this ConfigMap or Secret is instantiated with the event's data.
pub const INSTANTIATE: &str = "projectsveltos.io/instantiate";
/// Annotation: the content is a template, rendered when it is deployed (before 2024: when the event comes).
pub const TEMPLATE: &str = "projectsveltos.io/template";
/// Annotation: the content is a Lua script that makes it, run when it is deployed.
pub const LUA: &str = "projectsveltos.io/lua";
/// Annotation of a ConfigMap or Secret: names of subresources that its objects are written to as well, separated by commas.
pub const SUBRESOURCES: &str = "projectsveltos.io/subresources";
/// Annotation of a profile that is left as it is, whatever changes, until the annotation goes.
pub const PAUSED: &str = "profile.projectsveltos.io/paused";
/// The annotation of a deployed object that names the profile it is of.
pub const OWNER_NAME: &str = "projectsveltos.io/owner-name";
/// Annotation that names the kind of that profile.
pub const OWNER_KIND: &str = "projectsveltos.io/owner-kind";
/// Annotation of a profile, trigger or cluster registration: when its value is new, what the profile, the trigger's profiles, or
/// all profiles of the cluster have deployed is applied once more, also where nothing differs.
pub const REDEPLOY: &str = "sluice.dev/redeploy";
/// Annotation of a profile: that it may delete what is called so, although that is much of what it has.
pub const ALLOW_PRUNE: &str = "sluice.dev/allow-prune";
/// Annotation of a profile or trigger: with `true` all its destinations draw the same random values, with `as-formerly` those of the
/// versions before this annotation, as everybody did.
pub const SHARED_RANDOM: &str = "sluice.dev/shared-random";
/// Type of Secrets whose content may be deployed.
pub const SECRET_TYPE: &str = "addons.projectsveltos.io/cluster-profile";
/// Namespace of everything that is generated.
pub const NAMESPACE: &str = "projectsveltos";
/// Label of the ConfigMaps in which deployers keep what profiles own.
pub const INVENTORY: &str = "sluice.projectsveltos.io/inventory";
/// Prefix of the labels of what is made in the management cluster because of events.
pub const MADE_OF_EVENTS: &str = "eventtrigger.lib.projectsveltos.io/";
/// Secret with what random values of templates begin with, in the namespace of everything that is generated.
pub const RANDOM: &str = "sluice-random";
/// ConfigMap with a number that grows, in the same namespace: a smaller one says that the management cluster was restored.
pub const MARK: &str = "sluice-mark";
/// Its field that says that a smaller number is meant.
pub const ACCEPTED: &str = "accepted";
/// ConfigMap with what people have approved, in the same namespace.
pub const APPROVALS: &str = "sluice-approvals";
/// Secrets and ConfigMaps of the management cluster that are Sluice's own, by how their names begin, in the namespace of everything that is
/// generated: keys of the bus, who stages are on it, what random values begin with, inventories.
const OWN: [(&str, &str); 6] = [
    ("Secret", "sluice-bus-"),
    ("Secret", "sluice-nats-"),
    ("Secret", RANDOM),
    ("ConfigMap", "sluice-local-"),
    ("ConfigMap", MARK),
    ("ConfigMap", APPROVALS),
];
/// Group of event kinds and clusters.
pub const LIB_GROUP: &str = "lib.projectsveltos.io";
/// Group of profiles and their reports.
pub const CONFIG_GROUP: &str = "config.projectsveltos.io";
/// Group of the clusters of Cluster API.
pub const CAPI_GROUP: &str = "cluster.x-k8s.io";

// D-1214: names of Sluice's own are refused.
/// Whether a Secret or ConfigMap of this name in the management cluster is Sluice's own: nothing is written over it.
pub fn is_sluices_own(kind: &str, namespace: &str, name: &str) -> bool {
    namespace == NAMESPACE && OWN.iter().any(|(of, prefix)| kind == *of && name.starts_with(prefix))
}

/// The kinds of the management cluster that say what goes where. Those that a server does not have count as empty.
pub fn management_kinds() -> Vec<Gvk> {
    let lib = [
        "EventSource",
        "EventTrigger",
        "EventBasedAddOn",
        "SveltosCluster",
        "ClusterSet",
        "Set",
        "RoleRequest",
    ]
    .map(|kind| Gvk::new(LIB_GROUP, "v1beta1", kind));
    let config = ["ClusterProfile", "Profile"].map(|kind| Gvk::new(CONFIG_GROUP, "v1beta1", kind));
    let core = ["ConfigMap", "Secret"].map(|kind| Gvk::new("", "v1", kind));
    lib.into_iter().chain(config).chain(core).chain([capi_cluster()]).collect()
}

/// The key of an object of the Sveltos API that users write.
pub fn user_object(kind: &str, namespace: &str, name: &str) -> ObjectKey {
    let group = if kind.ends_with("Profile") { CONFIG_GROUP } else { LIB_GROUP };
    let gvk = Gvk::new(group, "v1beta1", kind);
    ObjectKey { gvk, namespace: namespace.to_owned(), name: name.to_owned() }
}

/// The SveltosCluster by which a cluster is registered; `None` for one that is registered otherwise.
pub fn registration(cluster: &ClusterRef) -> Option<ObjectKey> {
    let key = || user_object("SveltosCluster", &cluster.namespace, &cluster.name);
    (cluster.kind == ClusterKind::Sveltos).then(key)
}

/// The kind of Cluster API clusters, in the version that the server prefers.
pub fn capi_cluster() -> Gvk {
    Gvk::new(CAPI_GROUP, "", "Cluster")
}
