//! By what objects of the management cluster that Sluice has made are known.

use serde_json::Value;
use sluice_api::model::{MADE_OF_EVENTS, NAMESPACE, OWNER_NAME};
use sluice_api::{ClusterKind, ClusterRef, object};

/// Label of what a generator has made.
pub(crate) const FROM_GENERATOR: &str = "eventtrigger.lib.projectsveltos.io/fromgenerator";
/// The label that names the trigger of what is made.
pub(crate) const TRIGGER_NAME: &str = "eventtrigger.lib.projectsveltos.io/eventtriggername";

/// Label with the name of the EventSource.
pub(crate) const EVENT_SOURCE: &str = "eventtrigger.lib.projectsveltos.io/eventsourcename";

/// The cluster that a generated object was made for, from its labels; `None` when it is not one of ours.
pub fn generated_for(object: &Value) -> Option<ClusterRef> {
    if !may_be_generated(object) {
        return None;
    }
    let label = |key: &str| object::label(object, &format!("{MADE_OF_EVENTS}{key}"));
    let kind = if label("clustertype")? == "Capi" { ClusterKind::Capi } else { ClusterKind::Sveltos };
    Some(ClusterRef {
        kind,
        namespace: label("clusterNamespace")?.to_owned(),
        name: label("clustername")?.to_owned(),
    })
}

// D-1214: labels of generated objects count on kinds that are generated only.
/// Whether it is of what is generated: profiles, and content in one namespace. Whoever puts our labels on anything else must not have it
/// deleted by us.
fn may_be_generated(object: &Value) -> bool {
    match object::text(object, &["kind"]) {
        "ClusterProfile" => true,
        "ConfigMap" | "Secret" => object::namespace(object) == NAMESPACE,
        _ => false,
    }
}

/// Whether an object of the management cluster was made by a generator: such are known to everybody, as if a user had written
/// them.
pub fn is_generator_output(object: &Value) -> bool {
    object::label(object, FROM_GENERATOR).is_some()
}

/// Whether Sluice has made an object of the management cluster: by a generator, or because a profile deploys it there.
pub(crate) fn is_made(object: &Value) -> bool {
    is_generator_output(object) || object::annotation(object, OWNER_NAME).is_some()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn our_labels_on_what_is_never_generated_mean_nothing() {
        let labelled = |kind: &str, namespace: &str| {
            let label = |key: &str| format!("{MADE_OF_EVENTS}{key}");
            let labels = json!({label("clustertype"): "Sveltos", label("clusterNamespace"): "a", label("clustername"): "b"});
            generated_for(
                &json!({"kind": kind, "metadata": {"name": "n", "namespace": namespace, "labels": labels}}),
            )
        };
        let ours = Some(ClusterRef::sveltos("a", "b"));
        assert_eq!(labelled("ClusterProfile", ""), ours);
        assert_eq!(labelled("ConfigMap", NAMESPACE), ours);
        for (kind, namespace) in
            [("Cluster", "a"), ("SveltosCluster", "a"), ("Profile", "a"), ("Secret", "a")]
        {
            assert_eq!(labelled(kind, namespace), None, "{kind}");
        }
    }
}
