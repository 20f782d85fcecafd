//! Schemas of clusters and named choices of clusters.

use super::addon::policy_refs;
use super::common::{cluster_info, cluster_selector, object_reference, resource_selector};
use super::schema::{Schema, array, boolean, bytes, int, map, name, object, off, one_of, string, time};

/// Spec of SveltosCluster.
pub(super) fn cluster_spec() -> Schema {
    object([
        ("kubeconfigName", string().doc("Secret; by default <name>-sveltos-kubeconfig.")),
        ("kubeconfigKeyName", string().doc("Key inside the Secret; by default the first one.")),
        ("paused", boolean()),
        ("tokenRequestRenewalOption", token_renewal()),
        ("data", map()),
        ("activeWindow", object([("from", name()), ("to", name())]).require(&["from", "to"])),
        ("consecutiveFailureThreshold", int().default(3)),
        ("readinessChecks", checks()),
        ("livenessChecks", checks()),
        ("pullMode", off().rule("self == oldSelf", "Value is immutable")),
        ("cleanupGracePeriod", string().doc("How long a deleted registration with the annotation sluice.dev/withdraw-on-delete is kept at most; by default 5m.")),
        ("workloadIdentity", workload_identity()),
    ])
    .rule(
        "!has(self.workloadIdentity) || !has(self.kubeconfigName)",
        "workloadIdentity and kubeconfigName exclude each other",
    )
}

/// Status of SveltosCluster.
pub(super) fn cluster_status() -> Schema {
    object([
        ("ready", boolean()),
        ("version", string()),
        ("connectionStatus", one_of(&["Healthy", "Down"])),
        ("connectionFailures", int().default(0)),
        ("failureMessage", string()),
        ("agentLastReportTime", time()),
        ("lastReconciledTokenRequestAt", string()),
        ("nextPause", time()),
        ("nextUnpause", time()),
        ("activeWindowHash", bytes()),
    ])
}

/// Spec of ClusterSet and Set.
pub(super) fn set_spec() -> Schema {
    object([
        ("clusterSelector", cluster_selector("Clusters by label.")),
        ("clusterRefs", array(object_reference())),
        ("maxReplicas", int()),
    ])
}

/// Status of ClusterSet and Set.
pub(super) fn set_status() -> Schema {
    object([
        ("matchingClusterRefs", array(object_reference()).atomic()),
        ("selectedClusterRefs", array(object_reference()).atomic()),
    ])
}

/// Spec of RoleRequest.
pub(super) fn role_request_spec() -> Schema {
    object([
        ("clusterSelector", cluster_selector("Clusters by label.")),
        ("selector", cluster_selector("Clusters by label, as former versions call it.")),
        ("roleRefs", policy_refs().doc("ConfigMaps and Secrets with Roles and ClusterRoles.")),
        ("expirationSeconds", int()),
        ("serviceAccountName", name()),
        ("serviceAccountNamespace", name()),
    ])
    .require(&["serviceAccountName", "serviceAccountNamespace"])
}

/// Status of RoleRequest.
pub(super) fn role_request_status() -> Schema {
    object([
        ("matchingClusters", array(object_reference()).atomic()),
        ("clusterInfo", cluster_info()),
        ("failureMessage", string()),
    ])
}

fn token_renewal() -> Schema {
    object([
        ("renewTokenRequestInterval", string()),
        ("tokenDuration", string()),
        ("saNamespace", string()),
        ("saName", string()),
        ("kubeconfigKeyName", string()),
    ])
    .require(&["renewTokenRequestInterval"])
}

fn checks() -> Schema {
    array(
        object([
            ("name", string()),
            ("resourceSelectors", array(resource_selector())),
            ("condition", string()),
        ])
        .require(&["name", "resourceSelectors", "condition"]),
    )
}

fn workload_identity() -> Schema {
    let identity = object([
        ("provider", one_of(&["AWS", "GCP", "Azure"])),
        ("endpoint", name()),
        ("caSecretRef", object([("name", string())])),
        ("aws", aws()),
        ("gcp", gcp()),
        ("azure", azure()),
    ])
    .require(&["provider", "endpoint"]);
    [("AWS", "aws"), ("GCP", "gcp"), ("Azure", "azure")].into_iter().fold(
        identity,
        |identity, (provider, field)| {
            identity.rule(
                &format!("(self.provider == '{provider}') == has(self.{field})"),
                &format!("{field} must be set if and only if provider is {provider}"),
            )
        },
    )
}

fn aws() -> Schema {
    object([("clusterName", name()), ("region", string()), ("roleARN", string())]).require(&["clusterName"])
}

fn gcp() -> Schema {
    object([("projectID", name()), ("clusterName", name()), ("location", name())]).require(&[
        "projectID",
        "clusterName",
        "location",
    ])
}

fn azure() -> Schema {
    object([
        ("tenantID", name()),
        ("clientID", name()),
        ("subscriptionID", string()),
        ("resourceGroup", string()),
        ("clusterName", string()),
    ])
    .require(&["tenantID", "clientID"])
}
