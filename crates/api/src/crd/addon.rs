//! Schemas of the building blocks of add-ons: references, charts, kustomizations, patches and checks.

use super::common::{cel_rules, feature_id, label_filters, object_reference, secret_reference};
use super::schema::{Schema, array, boolean, int, map, name, object, off, one_of, string};

const EITHER_RULE: &str = "has(self.remoteURL) != has(self.kind)";
const EITHER_MESSAGE: &str = "either remoteURL or kind must be set, but not both";

/// The lower number wins when two want one object.
pub(super) fn tier() -> Schema {
    int().at_least(1).default(100).doc("Who wins when two want one object; the lower number does.")
}

/// How a profile is kept in step.
pub(super) fn sync_mode() -> Schema {
    one_of(&["OneTime", "Continuous", "ContinuousWithDriftDetection", "DryRun"]).default("Continuous")
}

/// What happens to a cluster that no longer matches.
pub(super) fn stop_matching_behavior() -> Schema {
    one_of(&["WithdrawPolicies", "LeavePolicies"]).default("WithdrawPolicies")
}

/// Management objects that templates read.
pub(super) fn template_resource_refs() -> Schema {
    array(
        object([
            ("resource", object_reference()),
            ("identifier", string()),
            ("optional", off()),
            ("ignoreStatusChanges", off()),
            ("watchFields", array(string())),
        ])
        .require(&["resource", "identifier"]),
    )
}

/// ConfigMaps, Secrets and other sources of manifests.
pub(super) fn policy_refs() -> Schema {
    array(
        object([
            ("kind", source_kind()),
            ("namespace", string()),
            ("name", string()),
            ("path", string()),
            ("remoteURL", remote_url()),
            ("deploymentType", deployment_type()),
            ("optional", off()),
            ("tier", tier()),
            ("skipNamespaceCreation", off()),
            ("force", off()),
        ])
        .rule(EITHER_RULE, EITHER_MESSAGE),
    )
    .atomic()
}

/// Kustomizations.
pub(super) fn kustomization_refs() -> Schema {
    array(
        object([
            ("kind", source_kind()),
            ("namespace", string()),
            ("name", string()),
            ("path", string()),
            ("remoteURL", remote_url()),
            ("targetNamespace", name().at_most_long(63)),
            ("components", array(string())),
            ("values", map()),
            ("valuesFrom", values_from()),
            ("deploymentType", deployment_type()),
            ("optional", off()),
            ("tier", tier()),
            ("skipNamespaceCreation", off()),
            ("force", off()),
        ])
        .rule(EITHER_RULE, EITHER_MESSAGE),
    )
    .atomic()
}

/// ConfigMaps and Secrets with values.
pub(super) fn values_from() -> Schema {
    array(config_or_secret())
}

/// ConfigMaps and Secrets with patches.
pub(super) fn patches_from() -> Schema {
    array(config_or_secret()).atomic()
}

/// Patches on what is deployed.
pub(super) fn patches() -> Schema {
    array(object([("patch", string()), ("target", patch_selector())]).require(&["patch"])).atomic()
}

/// Fields whose changes are not drift.
pub(super) fn drift_exclusions() -> Schema {
    array(object([("paths", array(string())), ("target", patch_selector())]).require(&["paths"])).atomic()
}

/// Checks before or after a step.
pub(super) fn checks() -> Schema {
    let query = object([("name", name()), ("query", name())]).require(&["name", "query"]);
    array(
        object([
            ("name", string()),
            ("featureID", feature_id()),
            ("group", string()),
            ("version", string()),
            ("kind", string()),
            ("namespace", string()),
            ("labelFilters", label_filters()),
            ("script", string().doc("Lua: function evaluate() returns {healthy, message}.")),
            ("evaluateCEL", cel_rules()),
            ("metricSource", metric_source()),
            ("metricQueries", array(query)),
            ("jobCheck", job_check()),
        ])
        .require(&["name", "featureID"])
        .rule(
            "!has(self.jobCheck) || (!has(self.script) && !has(self.evaluateCEL))",
            "jobCheck cannot be set together with script or evaluateCEL",
        ),
    )
    .atomic()
}

fn source_kind() -> Schema {
    one_of(&["GitRepository", "OCIRepository", "Bucket", "ConfigMap", "Secret"])
}

fn deployment_type() -> Schema {
    one_of(&["Local", "Remote"]).default("Remote")
}

fn remote_url() -> Schema {
    object([
        ("url", string().pattern("^(https?|oci)://")),
        ("interval", string()),
        ("secretRef", secret_reference()),
        ("template", boolean()),
        ("insecureSkipTLSVerify", off()),
        ("plainHTTP", off()),
    ])
    .require(&["url"])
}

fn config_or_secret() -> Schema {
    object([
        ("kind", one_of(&["ConfigMap", "Secret"])),
        ("namespace", string()),
        ("name", name()),
        ("optional", off()),
    ])
    .require(&["kind", "name"])
}

fn patch_selector() -> Schema {
    object([
        ("group", string()),
        ("version", string()),
        ("kind", string()),
        ("namespace", string()),
        ("name", string()),
        ("labelSelector", string()),
        ("annotationSelector", string()),
    ])
}

fn metric_source() -> Schema {
    object([("url", name()), ("path", string()), ("secretRef", secret_reference())]).require(&["url"])
}

fn job_check() -> Schema {
    let job = object([("kind", one_of(&["Secret", "ConfigMap"])), ("namespace", string()), ("name", name())])
        .require(&["kind", "namespace", "name"]);
    object([("jobRef", job), ("timeout", string())]).require(&["jobRef"])
}
