//! Schemas of the words that several kinds share.

use super::schema::{Schema, any, array, boolean, bytes, int, map, name, object, one_of, string, time};

/// Which cluster conditions: text in `v1alpha1`, a label selector in `v1beta1`.
pub(super) fn cluster_selector(what: &str) -> Schema {
    any().doc(&format!("{what} Text such as env=fv (v1alpha1) or a label selector (v1beta1)."))
}

/// What became of a trigger or a RoleRequest, by cluster.
pub(super) fn cluster_info() -> Schema {
    let state =
        one_of(&["Provisioning", "Provisioned", "Failed", "FailedNonRetriable", "Removing", "Removed"]);
    let info = object([
        ("cluster", object_reference()),
        ("hash", bytes()),
        ("status", state),
        ("failureMessage", string()),
    ])
    .require(&["cluster"]);
    array(info).atomic()
}

/// Kubernetes' label selector.
pub(super) fn label_selector() -> Schema {
    let requirement =
        object([("key", string()), ("operator", string()), ("values", array(string()).atomic())])
            .require(&["key", "operator"]);
    object([("matchLabels", map()), ("matchExpressions", array(requirement).atomic())])
}

/// Sveltos' own label conditions.
pub(super) fn label_filters() -> Schema {
    let operation = one_of(&["Equal", "Different", "Has", "DoesNotHave"]);
    array(
        object([("key", string()), ("operation", operation), ("value", string())])
            .require(&["key", "operation"]),
    )
}

/// CEL rules by name.
pub(super) fn cel_rules() -> Schema {
    array(object([("name", string()), ("rule", string())]).require(&["name", "rule"]))
}

/// Kubernetes' reference to an object.
pub(super) fn object_reference() -> Schema {
    object([
        ("apiVersion", string()),
        ("kind", string()),
        ("namespace", string()),
        ("name", string()),
        ("uid", string()),
        ("resourceVersion", string()),
        ("fieldPath", string()),
    ])
}

/// A Secret by name and namespace.
pub(super) fn secret_reference() -> Schema {
    object([("name", string()), ("namespace", string())])
}

/// What a feature is.
pub(super) fn feature_id() -> Schema {
    one_of(&["Resources", "Helm", "Kustomize"])
}

/// One selector of objects in a managed cluster.
pub(super) fn resource_selector() -> Schema {
    object([
        ("group", string()),
        ("version", string()),
        ("kind", name()),
        ("namespace", string().doc("Namespace; empty means all.")),
        ("name", string().doc("Name; empty means all.")),
        ("labelFilters", label_filters()),
        ("labelsFilters", label_filters().doc("The spelling of older examples of labelFilters.")),
        ("selector", label_selector()),
        ("evaluate", string().doc("Lua per object: function evaluate() returns {matching, message}.")),
        ("evaluateCEL", cel_rules().doc("CEL over the variable resource; the first true rule selects.")),
        ("includeDeletingResources", boolean()),
    ])
    .require(&["group", "version", "kind"])
}

/// Conditions as everywhere in Kubernetes.
pub(super) fn conditions() -> Schema {
    let condition = object([
        ("type", string()),
        ("status", one_of(&["True", "False", "Unknown"])),
        ("reason", string()),
        ("message", string()),
        ("observedGeneration", int()),
        ("lastTransitionTime", time()),
    ])
    .require(&["type", "status"]);
    array(condition).keyed_by(&["type"])
}
