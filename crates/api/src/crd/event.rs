//! Schemas of event sources, reports and triggers.

use super::addon;
use super::common::{cluster_info, cluster_selector, label_filters, object_reference, resource_selector};
use super::helm::helm_charts;
use super::schema::{Schema, array, boolean, bytes, int_or_percent, map, name, object, off, one_of, string};

/// Spec of EventSource: selectors of today beside the flat form of `v1alpha1`.
pub(super) fn source_spec() -> Schema {
    let criteria = object([
        ("subject", string()),
        ("cloudEventSource", string()),
        ("cloudEventType", string()),
        ("cloudEventSubject", string()),
    ]);
    object([
        (
            "resourceSelectors",
            array(resource_selector()).doc("An object that any of these selects is an event."),
        ),
        ("aggregatedSelection", string().doc("Lua over all selected objects.")),
        ("collectResources", off().doc("Whether reports carry whole objects.")),
        ("messagingMatchCriteria", array(criteria).doc("Messages that are an event.")),
        ("group", string().doc("v1alpha1: API group.")),
        ("version", string().doc("v1alpha1: API version.")),
        ("kind", string().doc("v1alpha1: kind.")),
        ("namespace", string().doc("v1alpha1: namespace; empty means all.")),
        ("labelFilters", label_filters().doc("v1alpha1: label conditions.")),
        ("labelsFilters", label_filters().doc("The spelling of older examples of labelFilters.")),
        ("script", string().doc("v1alpha1: Lua per object.")),
    ])
}

/// Status of EventSource.
pub(super) fn source_status() -> Schema {
    object([("agentFailureMessage", string())])
}

/// Spec of EventReport.
pub(super) fn report_spec() -> Schema {
    object([
        ("clusterNamespace", string()),
        ("clusterName", string()),
        ("clusterType", string()),
        ("eventSourceName", string()),
        ("matchingResources", array(object_reference()).atomic()),
        ("resources", bytes()),
        ("cloudEvents", array(bytes())),
    ])
    .require(&["clusterNamespace", "clusterName", "clusterType", "eventSourceName"])
}

/// Status of EventReport.
pub(super) fn report_status() -> Schema {
    object([
        ("phase", one_of(&["WaitingForDelivery", "Delivering", "Processed"])),
        ("failureMessage", string()),
    ])
}

/// Spec of EventTrigger and EventBasedAddOn.
pub(super) fn trigger_spec() -> Schema {
    object([
        ("sourceClusterSelector", cluster_selector("Clusters whose events count.")),
        ("clusterSelector", cluster_selector("The first spelling of sourceClusterSelector.")),
        ("clusterSetRefs", array(string())),
        ("destinationClusterSelector", cluster_selector("Clusters that get the add-ons.")),
        ("destinationCluster", object_reference()),
        ("eventSourceName", name()),
        ("oneForEvent", boolean().rule("self == oldSelf", "Value is immutable")),
        ("profileNameFormat", string()),
        ("configMapGenerator", generators()),
        ("secretGenerator", generators()),
        ("syncMode", addon::sync_mode()),
        ("tier", addon::tier()),
        ("continueOnConflict", off()),
        ("maxUpdate", int_or_percent()),
        ("stopMatchingBehavior", addon::stop_matching_behavior()),
        ("reloader", off()),
        ("dependsOn", array(string())),
        ("templateResourceRefs", addon::template_resource_refs()),
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
        ("cloudEventAction", string().default("Create")),
        ("extraLabels", map()),
        ("extraAnnotations", map()),
    ])
    .require(&["eventSourceName"])
}

/// Status of EventTrigger and EventBasedAddOn.
pub(super) fn trigger_status() -> Schema {
    object([
        ("matchingClusters", array(object_reference()).atomic()),
        ("destinationMatchingClusterRefs", array(object_reference()).atomic()),
        ("clusterInfo", cluster_info()),
    ])
}

fn generators() -> Schema {
    array(
        object([("namespace", string()), ("name", name()), ("nameFormat", name()), ("optional", off())])
            .require(&["name", "nameFormat"]),
    )
}
