//! What Sluice itself has in the management cluster: no profile deploys over it.

// D-1045: the management cluster is one more cluster.

use serde_json::Value;
use sluice_api::model::{CONFIG_GROUP, INVENTORY, LIB_GROUP, MADE_OF_EVENTS, is_sluices_own};
use sluice_api::{ObjectKey, object};

/// Kinds of which Sluice writes every object.
const KINDS: [(&str, &str); 3] =
    [(CONFIG_GROUP, "ClusterSummary"), (CONFIG_GROUP, "ClusterConfiguration"), (LIB_GROUP, "EventReport")];

/// Whether an object of the management cluster is Sluice's own, or would be taken for it.
pub fn is_own(object: &Value) -> bool {
    let Some(key) = ObjectKey::of(object) else { return false };
    let is_kept = key.gvk.group.is_empty() && is_sluices_own(&key.gvk.kind, &key.namespace, &key.name);
    let labels = object::at(object, &["metadata", "labels"]).and_then(Value::as_object);
    let is_marked = |label: &String| label == INVENTORY || label.starts_with(MADE_OF_EVENTS);
    is_kept
        || KINDS.iter().any(|(group, kind)| key.gvk.group == *group && key.gvk.kind == *kind)
        || labels.is_some_and(|labels| labels.keys().any(is_marked))
}

/// What is said of an object that is Sluice's own.
pub fn own(key: &ObjectKey) -> String {
    format!(
        "{key} is made by Sluice itself in the management cluster; deploy it under another name, and without its labels"
    )
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use sluice_api::model::{NAMESPACE, RANDOM};

    use super::*;

    fn config_map(namespace: &str, name: &str, labels: Value) -> Value {
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace, "name": name, "labels": labels}})
    }

    #[test]
    fn what_sluice_has_there_is_told_from_what_users_have() {
        let of = |version: &str, kind: &str| json!({"apiVersion": version, "kind": kind, "metadata": {"name": "a"}});
        assert!(is_own(&of("config.projectsveltos.io/v1beta1", "ClusterSummary")));
        assert!(is_own(&of("lib.projectsveltos.io/v1beta1", "EventReport")));
        assert!(!is_own(&of("lib.projectsveltos.io/v1beta1", "EventTrigger")));
        assert!(!is_own(&of("example.com/v1", "EventReport")));
        let label = |key: &str| json!({key: "x"});
        assert!(is_own(&config_map(NAMESPACE, "a", label("eventtrigger.lib.projectsveltos.io/clustername"))));
        assert!(is_own(&config_map(NAMESPACE, "a", label(INVENTORY))));
        assert!(!is_own(&config_map(NAMESPACE, RANDOM, json!({"team": "x"}))));
        let secret = |namespace: &str, name: &str| json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"namespace": namespace, "name": name}});
        for name in [RANDOM, "sluice-bus-matcher", "sluice-nats-operator"] {
            assert!(is_own(&secret(NAMESPACE, name)) && !is_own(&secret("default", name)), "{name}");
        }
        assert!(!is_own(&secret(NAMESPACE, "sluice")));
        assert!(is_own(&config_map(NAMESPACE, "sluice-local-1", json!({}))));
    }
}
