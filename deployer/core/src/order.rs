//! In which order a profile is applied.
//!
//! ```text
//! lane charts:   release 1 ─► release 2 ─► …            lanes go side by side
//! lane policies: reference 1: namespaces ─► definitions ─► … ─► webhooks ─► reference 2: …
//! ```

// D-1050: lanes go side by side, and in a lane one reference after another, in waves of kinds.

use sluice_api::Gvk;
use sluice_api::model::Feature;
use sluice_protocol::rows::{Desired, Policy};

use crate::prepare::DEFINITION;
use crate::releases::CHART;
use crate::request::Live;

/// What waits for nothing in another one: a hook of a chart may need what a reference brings, and the other way round.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Lane {
    /// `spec.helmCharts`.
    Charts,
    /// `spec.policyRefs`.
    Policies,
}

/// Kinds that are applied at the same time, after those that they need.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Wave {
    /// What others are in.
    Namespaces,
    /// What makes kinds of others.
    Definitions,
    /// Who may do what.
    Accounts,
    /// What workloads read, and what limits them.
    Configuration,
    /// What they store on.
    Volumes,
    /// How they are reached: pods see the addresses of those that were there first.
    Services,
    /// What runs.
    Workloads,
    /// Everything else, and all kinds that are defined in the cluster.
    Others,
    /// What the server asks about everything that comes after: it must run by then.
    Admission,
}

/// When an object has its turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Turn {
    /// Its lane.
    pub lane: Lane,
    /// The how manieth of the row's policies it comes from.
    pub reference: usize,
    /// Its wave.
    pub wave: Wave,
}

/// What of a profile's order its author can choose.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Persistence {
    /// `spec.continueOnError`: what follows something that failed is applied all the same.
    pub(crate) on_error: bool,
    /// `spec.continueOnConflict`: also what follows something that another profile has.
    pub(crate) on_conflict: bool,
}

// === impl Lane ===

impl Lane {
    /// All lanes.
    pub(crate) const ALL: [Self; 2] = [Self::Charts, Self::Policies];

    pub(crate) fn of(policy: &Policy) -> Self {
        if policy.kind == CHART { Self::Charts } else { Self::Policies }
    }

    /// The one that deploys a feature, if any does.
    pub(crate) fn of_feature(feature: Feature) -> Option<Self> {
        match feature {
            Feature::Helm => Some(Self::Charts),
            Feature::Resources => Some(Self::Policies),
            Feature::Kustomize => None,
        }
    }

    /// The one that an object was deployed in, as it says.
    pub(crate) fn of_live(live: &Live) -> Self {
        let reference = live.owner.as_ref().map(|owner| owner.reference.as_str()).unwrap_or_default();
        if reference.starts_with(CHART) { Self::Charts } else { Self::Policies }
    }
}

// === impl Wave ===

impl Wave {
    /// The wave of a kind.
    pub fn of(gvk: &Gvk) -> Self {
        match (gvk.group.as_str(), gvk.kind.as_str()) {
            ("", "Namespace") => Self::Namespaces,
            ("apiextensions.k8s.io", DEFINITION) => Self::Definitions,
            ("", "ServiceAccount") | ("rbac.authorization.k8s.io", _) => Self::Accounts,
            ("", "ConfigMap" | "Secret" | "ResourceQuota" | "LimitRange")
            | ("scheduling.k8s.io" | "policy" | "node.k8s.io", _)
            | ("networking.k8s.io", "NetworkPolicy" | "IngressClass") => Self::Configuration,
            ("", "PersistentVolume" | "PersistentVolumeClaim") | ("storage.k8s.io", _) => Self::Volumes,
            ("", "Service" | "Endpoints") | ("discovery.k8s.io", _) => Self::Services,
            ("", "Pod" | "ReplicationController" | "PodTemplate") | ("apps" | "batch", _) => Self::Workloads,
            ("admissionregistration.k8s.io" | "apiregistration.k8s.io", _) => Self::Admission,
            _ => Self::Others,
        }
    }
}

// === impl Persistence ===

impl Persistence {
    /// Of a profile. The rights of a tenant are none of each other's.
    pub(crate) fn of(desired: &Desired) -> Self {
        let is_always = desired.profile().is_role_request();
        let says = |field: &str| {
            is_always || desired.spec.get(field).and_then(serde_json::Value::as_bool) == Some(true)
        };
        Self { on_error: says("continueOnError"), on_conflict: says("continueOnConflict") }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_come_after_those_that_they_need() {
        let wave = |version: &str, kind: &str| Wave::of(&Gvk::parse(version, kind));
        let order = [
            wave("v1", "Namespace"),
            wave("apiextensions.k8s.io/v1", "CustomResourceDefinition"),
            wave("rbac.authorization.k8s.io/v1", "ClusterRoleBinding"),
            wave("v1", "Secret"),
            wave("v1", "PersistentVolumeClaim"),
            wave("v1", "Service"),
            wave("apps/v1", "DaemonSet"),
            wave("autoscaling/v2", "HorizontalPodAutoscaler"),
            wave("apiregistration.k8s.io/v1", "APIService"),
        ];
        assert!(order.is_sorted() && order.first() != order.last());
        assert_eq!(wave("example.com/v1", "Namespace"), Wave::Others, "somebody else's kind of that name");
    }
}
