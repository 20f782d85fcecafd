//! The profile that goes back when a content fails.

use serde_json::{Value, json};
use sluice_api::model::{FAILURE_BUDGET, ROLLOUT_ON_FAILURE};

use super::{config_map, content_ref, few_at_a_time};
use crate::management::Addon;

/// What asks whether its content works.
pub(crate) const SOUND: &str = "sound";

/// The profile.
pub(crate) fn back_profile() -> Value {
    let check = json!({"name": SOUND, "featureID": "Resources", "version": "v1", "kind": "ConfigMap"});
    let spec = json!({"clusterSelector": {"matchLabels": {"tier": "x"}}, "maxUpdate": 1, "validateHealths": [check],
        "policyRefs": [content_ref(Addon::Back.name())]});
    let mut annotations = few_at_a_time();
    annotations[FAILURE_BUDGET] = "0".into();
    annotations[ROLLOUT_ON_FAILURE] = "rollback".into();
    json!({"apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterProfile",
        "metadata": {"name": Addon::Back.name(), "annotations": annotations}, "spec": spec})
}

/// The ConfigMap that it is made of: it does not work on the clusters whose names are letters of `sick`.
pub(crate) fn back_content(edit: u64, sick: &str) -> Value {
    let text = format!(
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {{namespace: default, name: back}}\ndata: {{edit: \"{edit}\", sick: \"{sick}\"}}\n"
    );
    config_map(Addon::Back.name(), &text, false)
}
