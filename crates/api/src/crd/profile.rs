//! Schemas of ClusterProfile and Profile.

use super::addon;
use super::common::{cluster_selector, object_reference};
use super::helm::helm_charts;
use super::schema::{Schema, array, boolean, bytes, int, int_or_percent, map, object, off, string, time};

/// Spec of ClusterProfile and Profile.
pub(super) fn spec() -> Schema {
    object([
        ("clusterSelector", cluster_selector("Clusters by label.")),
        ("clusterRefs", array(object_reference())),
        ("setRefs", array(string())),
        ("syncMode", addon::sync_mode()),
        ("tier", addon::tier()),
        ("continueOnConflict", off()),
        ("continueOnError", off()),
        ("maxUpdate", int_or_percent()),
        ("maxConsecutiveFailures", int()),
        ("stopMatchingBehavior", addon::stop_matching_behavior()),
        ("reloader", off()),
        ("dependsOn", array(string())),
        ("transitionFrom", array(string())),
        ("templateResourceRefs", addon::template_resource_refs().keyed_by(&["identifier"])),
        ("policyRefs", addon::policy_refs()),
        ("helmCharts", helm_charts()),
        ("kustomizationRefs", addon::kustomization_refs()),
        ("preDeployChecks", addon::checks()),
        ("validateHealths", addon::checks()),
        ("preDeleteChecks", addon::checks()),
        ("postDeleteChecks", addon::checks()),
        ("patches", addon::patches()),
        ("patchesFrom", addon::patches_from()),
        ("driftExclusions", addon::drift_exclusions()),
        ("extraLabels", map()),
        ("extraAnnotations", map()),
    ])
}

/// Status of ClusterProfile and Profile.
pub(super) fn status() -> Schema {
    let failed = object([
        ("clusterRef", object_reference()),
        ("failureMessage", string()),
        ("lastFailureTime", time()),
    ])
    .require(&["clusterRef", "failureMessage"]);
    object([
        ("matchingClusters", array(object_reference()).atomic()),
        ("updatingClusters", clusters_at_hash()),
        ("updatedClusters", clusters_at_hash()),
        ("failedClusters", array(failed).atomic()),
        ("dependenciesHash", bytes()),
        ("reconciliationSuspended", boolean()),
        ("suspensionReason", string()),
    ])
}

fn clusters_at_hash() -> Schema {
    object([("hash", bytes()), ("clusters", array(object_reference()).atomic())])
}
