//! By what the items of lists are told apart where a strategic merge patch changes them: a list that is not here is
//! replaced as a whole, and a map that is not here merges field by field.

use crate::kinds::is_built_in_group;

/// The lists inside of a part of a built-in object.
#[derive(Debug)]
pub(super) struct Shape(&'static [(&'static str, Part)]);

/// How one field of a part merges.
#[derive(Clone, Copy, Debug)]
pub(super) enum Part {
    /// A map with such lists in it.
    Map(&'static Shape),
    /// A list of maps: the first field tells them apart. Where a patch names the second one, that does too; an item without
    /// it has its default.
    Keyed(&'static [Key], &'static Shape),
    /// A list of texts, each once.
    Set,
}

/// A field that tells items apart, and what it is where it is missing.
pub(super) type Key = (&'static str, Option<&'static str>);

// === impl Shape ===

impl Shape {
    /// A part in which every list is replaced as a whole.
    pub(super) const PLAIN: &'static Self = &PLAIN;

    /// The shape of objects of a kind. Custom resources are plain: nobody told what their lists are.
    pub(super) fn of(group: &str, kind: &str) -> &'static Self {
        if !is_built_in_group(group) {
            return Self::PLAIN;
        }
        let kinds = KINDS.iter().find(|(names, _)| names.contains(&kind));
        kinds.map_or(&ANY_KIND, |(_, shape)| shape)
    }

    /// How a field merges; `None` where nothing special is known.
    pub(super) fn part(&self, field: &str) -> Option<Part> {
        self.0.iter().find(|(name, _)| *name == field).map(|(_, part)| *part)
    }
}

/// Kinds with lists of their own; all others have those of their metadata and their conditions.
static KINDS: [(&[&str], &Shape); 10] = [
    (&["Pod"], &POD),
    (&["PodTemplate"], &POD_TEMPLATE),
    (&["Deployment", "ReplicaSet", "DaemonSet", "StatefulSet", "ReplicationController", "Job"], &WORKLOAD),
    (&["CronJob"], &CRON_JOB),
    (&["Service"], &SERVICE),
    (&["ServiceAccount"], &SERVICE_ACCOUNT),
    (&["Node"], &NODE),
    (&["CSINode"], &CSI_NODE),
    (&["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"], &WEBHOOKS),
    (&["ValidatingAdmissionPolicy"], &ADMISSION_POLICY),
];

static PLAIN: Shape = Shape(&[]);
static ANY_KIND: Shape = Shape(&[("metadata", Part::Map(&META)), ("status", Part::Map(&STATUS))]);
static META: Shape = Shape(&[("finalizers", Part::Set), ("ownerReferences", by(&[("uid", None)]))]);
static STATUS: Shape = Shape(&[("conditions", by(&[("type", None)]))]);

static POD: Shape = Shape(&[
    ("metadata", Part::Map(&META)),
    ("spec", Part::Map(&POD_SPEC)),
    ("status", Part::Map(&Shape(&[("conditions", by(&[("type", None)])), ("podIPs", by(&[("ip", None)]))]))),
]);
static POD_TEMPLATE: Shape = Shape(&[("metadata", Part::Map(&META)), ("template", Part::Map(&TEMPLATE))]);
static TEMPLATE: Shape = Shape(&[("metadata", Part::Map(&META)), ("spec", Part::Map(&POD_SPEC))]);
static POD_SPEC: Shape = Shape(&[
    ("containers", CONTAINERS),
    ("initContainers", CONTAINERS),
    ("ephemeralContainers", CONTAINERS),
    ("volumes", BY_NAME),
    ("imagePullSecrets", BY_NAME),
    ("hostAliases", by(&[("ip", None)])),
    ("topologySpreadConstraints", by(&[("topologyKey", None)])),
    ("schedulingGates", BY_NAME),
    ("resourceClaims", BY_NAME),
]);
const CONTAINERS: Part = Part::Keyed(&[("name", None)], &CONTAINER);
static CONTAINER: Shape = Shape(&[
    ("env", BY_NAME),
    ("ports", by(&[("containerPort", None), ("protocol", Some("TCP"))])),
    ("volumeMounts", by(&[("mountPath", None)])),
    ("volumeDevices", by(&[("devicePath", None)])),
]);

static WORKLOAD: Shape = Shape(&[
    ("metadata", Part::Map(&META)),
    ("spec", Part::Map(&WORKLOAD_SPEC)),
    ("status", Part::Map(&STATUS)),
]);
static WORKLOAD_SPEC: Shape = Shape(&[("template", Part::Map(&TEMPLATE))]);
static CRON_JOB: Shape = Shape(&[
    ("metadata", Part::Map(&META)),
    ("spec", Part::Map(&Shape(&[("jobTemplate", Part::Map(&JOB_TEMPLATE))]))),
]);
static JOB_TEMPLATE: Shape = Shape(&[("metadata", Part::Map(&META)), ("spec", Part::Map(&WORKLOAD_SPEC))]);

static SERVICE: Shape = Shape(&[
    ("metadata", Part::Map(&META)),
    ("spec", Part::Map(&Shape(&[("ports", by(&[("port", None), ("protocol", Some("TCP"))]))]))),
    ("status", Part::Map(&STATUS)),
]);
static SERVICE_ACCOUNT: Shape = Shape(&[("metadata", Part::Map(&META)), ("secrets", BY_NAME)]);
static NODE: Shape = Shape(&[
    ("metadata", Part::Map(&META)),
    ("spec", Part::Map(&Shape(&[("podCIDRs", Part::Set)]))),
    (
        "status",
        Part::Map(&Shape(&[("conditions", by(&[("type", None)])), ("addresses", by(&[("type", None)]))])),
    ),
]);
static CSI_NODE: Shape =
    Shape(&[("metadata", Part::Map(&META)), ("spec", Part::Map(&Shape(&[("drivers", BY_NAME)])))]);
static WEBHOOKS: Shape = Shape(&[
    ("metadata", Part::Map(&META)),
    ("webhooks", Part::Keyed(&[("name", None)], &Shape(&[("matchConditions", BY_NAME)]))),
]);
static ADMISSION_POLICY: Shape = Shape(&[
    ("metadata", Part::Map(&META)),
    ("spec", Part::Map(&Shape(&[("matchConditions", BY_NAME), ("variables", BY_NAME)]))),
    ("status", Part::Map(&STATUS)),
]);

const BY_NAME: Part = by(&[("name", None)]);

/// A list whose items hold no such lists themselves.
const fn by(keys: &'static [Key]) -> Part {
    Part::Keyed(keys, &PLAIN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_built_in_kinds_have_keys() {
        assert!(Shape::of("apps", "Deployment").part("spec").is_some());
        assert!(Shape::of("", "ConfigMap").part("metadata").is_some());
        assert!(Shape::of("networking.k8s.io", "Ingress").part("spec").is_none());
        for group in ["example.com", "gateway.networking.k8s.io"] {
            assert!(Shape::of(group, "Deployment").part("metadata").is_none(), "{group}");
        }
    }
}
