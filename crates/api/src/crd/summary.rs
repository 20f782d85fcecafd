//! Schemas of what is made of profiles: ClusterSummary, ClusterConfiguration and ClusterReport.

use super::common::{feature_id, secret_reference};
use super::profile;
use super::schema::{Schema, array, boolean, bytes, int, name, object, off, one_of, string, time};

/// Spec of ClusterSummary.
pub(super) fn summary_spec() -> Schema {
    object([
        ("clusterNamespace", string()),
        ("clusterName", string()),
        ("clusterType", string()),
        ("clusterProfileSpec", profile::spec()),
    ])
    .require(&["clusterNamespace", "clusterName", "clusterType"])
}

/// Status of ClusterSummary.
pub(super) fn summary_status() -> Schema {
    let gvks = object([("featureID", feature_id()), ("deployedGroupVersionKind", array(string()))])
        .require(&["featureID"]);
    object([
        ("dependencies", string()),
        ("featureSummaries", array(feature_summary()).keyed_by(&["featureID"])),
        ("deployedGVKs", array(gvks).keyed_by(&["featureID"])),
        ("helmReleaseSummaries", array(helm_release_summary()).atomic()),
        ("nextReconcileTime", time()),
        ("reconciliationSuspended", boolean()),
        ("suspensionReason", string()),
        ("failureMessage", string()),
    ])
}

/// Spec of ClusterConfiguration: there is none.
pub(super) fn configuration_spec() -> Schema {
    object([])
}

/// Status of ClusterConfiguration.
pub(super) fn configuration_status() -> Schema {
    let by =
        |field| array(object([(field, string()), ("Features", array(feature()))]).require(&[field])).atomic();
    object([("clusterProfileResources", by("clusterProfileName")), ("profileResources", by("profileName"))])
}

/// Spec of ClusterReport.
pub(super) fn report_spec() -> Schema {
    object([("clusterNamespace", string()), ("clusterName", string())])
        .require(&["clusterNamespace", "clusterName"])
}

/// Status of ClusterReport.
pub(super) fn report_status() -> Schema {
    let release = object([
        ("chartName", name()),
        ("chartVersion", string()),
        ("releaseNamespace", name()),
        ("action", one_of(&["No Action", "Install", "Upgrade", "Delete", "Conflict", "Update Values"])),
        ("message", string()),
    ])
    .require(&["chartName", "chartVersion", "releaseNamespace"]);
    object([
        ("releaseReports", array(release).atomic()),
        ("resourceReports", resource_reports()),
        ("helmResourceReports", resource_reports()),
        ("kustomizeResourceReports", resource_reports()),
    ])
}

fn resource_reports() -> Schema {
    let resource = object([
        ("group", string()),
        ("version", name()),
        ("kind", name()),
        ("namespace", string()),
        ("name", name()),
        ("lastAppliedTime", time()),
        ("ignoreForConfigurationDrift", off()),
    ])
    .require(&["group", "version", "kind", "name"]);
    let action = one_of(&["No Action", "Create", "Update", "Delete", "Conflict", "Error"]);
    array(object([("resource", resource), ("action", action), ("message", string())]).require(&["resource"]))
        .atomic()
}

fn feature_summary() -> Schema {
    let state = one_of(&[
        "Provisioning",
        "Provisioned",
        "Failed",
        "FailedNonRetriable",
        "Removing",
        "Removed",
        "AgentRemoving",
    ]);
    object([
        ("featureID", feature_id()),
        ("hash", bytes()),
        ("status", state),
        ("failureReason", string()),
        ("failureMessage", string()),
        ("consecutiveFailures", int()),
        ("lastAppliedTime", time()),
        ("deployedGroupVersionKind", array(string())),
        ("resourceSummaryDeployed", boolean()),
    ])
    .require(&["featureID"])
}

fn helm_release_summary() -> Schema {
    object([
        ("releaseName", name()),
        ("releaseNamespace", name()),
        ("chartName", string()),
        ("chartVersion", string()),
        ("repositoryName", string()),
        ("repoURL", string()),
        ("credentialsSecretRef", secret_reference()),
        ("status", one_of(&["Managing", "Conflict"])),
        ("valuesHash", bytes()),
        ("patchesHash", bytes()),
        ("conflictMessage", string()),
        ("failureMessage", string()),
        ("needsRedeploy", boolean()),
        ("latestVersion", string()),
        ("latestPatchVersion", string()),
        ("lastCheckedTime", time()),
    ])
    .require(&["releaseName", "releaseNamespace", "status"])
}

fn feature() -> Schema {
    let resource = object([
        ("group", string()),
        ("version", name()),
        ("kind", name()),
        ("namespace", string()),
        ("name", name()),
        ("lastAppliedTime", time()),
        ("deploymentType", one_of(&["Local", "Remote"]).default("Remote")),
    ])
    .require(&["group", "version", "kind", "name"]);
    let chart = object([
        ("repoURL", name()),
        ("releaseName", name()),
        ("namespace", string()),
        ("chartVersion", string()),
        ("appVersion", string()),
        ("icon", string()),
        ("lastAppliedTime", time()),
    ])
    .require(&["repoURL", "releaseName", "chartVersion", "lastAppliedTime"]);
    object([("featureID", feature_id()), ("resources", array(resource)), ("charts", array(chart))])
        .require(&["featureID"])
}
