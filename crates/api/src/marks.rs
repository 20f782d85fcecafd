//! What is written onto deployed objects about who deployed them. It is no content: a copy of such an object is the object.

// D-1047: marks of the owner are no content.

use serde_json::Value;

use crate::model::CONFIG_GROUP;
use crate::object;

/// What the names of these labels and annotations begin with.
pub const PREFIX: &str = "projectsveltos.io/";
/// Labels of Sluice, after the prefix; Sveltos has had all of them.
pub const LABELS: [&str; 4] = ["reason", "reference-kind", "reference-name", "reference-namespace"];
/// Annotations of Sluice, after the prefix.
pub const ANNOTATIONS: [&str; 8] = [
    "hash",
    "owner-kind",
    "owner-name",
    "owner-tier",
    "reference-kind",
    "reference-name",
    "reference-namespace",
    "reference-tier",
];
/// Annotation: the digest of the labels and annotations that the profile has added.
pub const EXTRA: &str = "sluice.projectsveltos.io/extra";
/// Annotation of a workload and of its pod template: what tells the ConfigMaps and Secrets with which its pods were started last.
pub const RELOAD: &str = "sluice.dev/reload";

/// Annotations that Sveltos alone writes, after the prefix.
const OF_SVELTOS: [&str; 2] = ["clustersummary", "deploymenttype"];

/// Takes what Sluice writes off an object that is at hand.
pub fn take(object: &mut Value) {
    take_names(object, "labels", &LABELS);
    take_names(object, "annotations", &ANNOTATIONS);
}

/// Takes everything off that Sluice or Sveltos has ever written about who deployed an object: what is left is its content. What
/// has no marks stays to the letter as it is.
pub fn take_all(object: &mut Value) {
    take(object);
    take_names(object, "annotations", &OF_SVELTOS);
    take_owners(object);
    take_reload(object);
}

/// Takes off what makes pods start anew. A copy of a workload that was restarted is the workload.
fn take_reload(object: &mut Value) {
    for path in ["/metadata", "/spec/template/metadata"] {
        let Some(metadata) = object.pointer_mut(path).and_then(Value::as_object_mut) else { continue };
        let Some(annotations) = metadata.get_mut("annotations").and_then(Value::as_object_mut) else {
            continue;
        };
        if annotations.remove(RELOAD).is_some() && annotations.is_empty() {
            metadata.remove("annotations");
        }
    }
}

fn take_names(object: &mut Value, field: &str, names: &[&str]) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(map) = metadata.get_mut(field).and_then(Value::as_object_mut) else { return };
    let before = map.len();
    map.retain(|name, _| {
        name != EXTRA && name.strip_prefix(PREFIX).is_none_or(|name| !names.contains(&name))
    });
    // A map that was made for marks alone goes with them.
    if map.is_empty() && before > 0 {
        metadata.remove(field);
    }
}

/// In 2023 what was deployed was called the property of its profile, of a kind that the cluster does not have.
fn take_owners(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    let Some(owners) = metadata.get_mut("ownerReferences").and_then(Value::as_array_mut) else { return };
    let before = owners.len();
    owners.retain(|owner| {
        let (group, _) = object::text(owner, &["apiVersion"]).split_once('/').unwrap_or_default();
        let kind = object::text(owner, &["kind"]);
        group != CONFIG_GROUP || !["ClusterProfile", "Profile", "ClusterSummary"].contains(&kind)
    });
    if owners.is_empty() && before > 0 {
        metadata.remove("ownerReferences");
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_copy_of_what_was_deployed_is_what_was_deployed() {
        let plain = json!({"kind": "ConfigMap", "metadata": {"name": "a", "labels": {"mine": "1"}}});
        let mut copy = plain.clone();
        copy["metadata"]["labels"] = json!({"mine": "1", "projectsveltos.io/reason": "Resources",
            "projectsveltos.io/reference-name": "c"});
        copy["metadata"]["annotations"] = json!({"projectsveltos.io/hash": "x", "projectsveltos.io/owner-name": "p",
            "projectsveltos.io/clustersummary": "sveltos-n-c", "projectsveltos.io/deploymenttype": "Remote", EXTRA: "y"});
        copy["metadata"]["ownerReferences"] = json!([{"apiVersion": "config.projectsveltos.io/v1alpha1", "kind": "ClusterProfile", "name": "p"}]);
        take_all(&mut copy);
        assert_eq!(copy, plain);
    }

    #[test]
    fn what_users_write_stays() {
        let object = json!({"kind": "ConfigMap", "metadata": {"name": "a", "labels": {}, "annotations": {
            "projectsveltos.io/forceRecreate": "", "projectsveltos.io/template": "ok", "helm.sh/resource-policy": "keep"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "d"}]}});
        let mut taken = object.clone();
        take_all(&mut taken);
        assert_eq!(taken, object);
    }
}
