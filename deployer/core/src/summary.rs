//! The ClusterSummary: what people see of a profile on a cluster.

use serde_json::{Map, Value, json};
use sluice_api::model::CONFIG_GROUP;
use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId, names};
use sluice_protocol::rows::State;

/// What a ClusterSummary says.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    /// The cluster.
    pub cluster: ClusterRef,
    /// The profile.
    pub profile: ProfileId,
    /// The profile's spec.
    pub spec: Map<String, Value>,
    /// What came of it; `None` when it is withdrawn and the summary goes.
    pub state: Option<State>,
    /// One error for each object that could not be applied.
    pub errors: Vec<String>,
}

/// What is said of a profile that nothing is applied of.
const DRY_RUN: &str = "syncMode is DryRun: nothing is applied; change it to apply what the profile says";

impl Summary {
    /// That there is no such profile on the cluster any more.
    pub(crate) fn gone(cluster: &ClusterRef, profile: &ProfileId) -> Self {
        Self {
            cluster: cluster.clone(),
            profile: profile.clone(),
            spec: Map::new(),
            state: None,
            errors: Vec::new(),
        }
    }
}

/// The key of the ClusterSummary and the object; `None` when it should not exist.
pub fn cluster_summary(summary: &Summary) -> (ObjectKey, Option<Value>) {
    let Summary { cluster, profile, spec, state, errors } = summary;
    let prefix = if profile.namespace.is_empty() { "" } else { "p--" };
    let name = format!("{prefix}{}-{}-{}", profile.name, cluster.kind.lower(), cluster.name);
    let key = ObjectKey {
        gvk: Gvk::new(CONFIG_GROUP, "v1beta1", "ClusterSummary"),
        namespace: cluster.namespace.clone(),
        name,
    };
    let Some(state) = state else { return (key, None) };
    let status = match state {
        State::Provisioned => "Provisioned",
        State::Failed => "Failed",
        State::Held | State::DryRun => "Provisioning",
    };
    let mut feature = json!({"featureID": "Resources", "status": status});
    if !errors.is_empty() {
        feature["failureMessage"] = errors.join("\n").into();
    } else if *state == State::DryRun {
        // Sveltos has no word of its own for it here.
        feature["failureMessage"] = DRY_RUN.into();
    }
    let profile_label = match profile.kind() {
        "Profile" => "projectsveltos.io/profile-name",
        _ => "projectsveltos.io/cluster-profile-name",
    };
    let labels: Map<String, Value> = [
        (profile_label, profile.name.as_str()),
        ("projectsveltos.io/cluster-name", &cluster.name),
        ("projectsveltos.io/cluster-type", cluster.kind.title()),
    ]
    .into_iter()
    .filter(|(_, value)| names::is_label_value(value))
    .map(|(key, value)| (key.to_owned(), value.into()))
    .collect();
    let object = json!({
        "apiVersion": key.gvk.api_version(),
        "kind": "ClusterSummary",
        "metadata": {"name": key.name, "namespace": key.namespace, "labels": labels},
        "spec": {
            "clusterNamespace": cluster.namespace,
            "clusterName": cluster.name,
            "clusterType": cluster.kind.title(),
            "clusterProfileSpec": spec,
        },
        "status": {"featureSummaries": [feature]},
    });
    (key, Some(object))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_dry_run_is_not_called_provisioned() {
        let summary = |state| Summary {
            cluster: ClusterRef::sveltos("default", "c"),
            profile: ProfileId::cluster("p"),
            spec: Map::new(),
            state: Some(state),
            errors: Vec::new(),
        };
        let feature =
            |state| cluster_summary(&summary(state)).1.unwrap()["status"]["featureSummaries"][0].clone();
        assert_eq!(feature(State::Provisioned), json!({"featureID": "Resources", "status": "Provisioned"}));
        let dry = feature(State::DryRun);
        assert_eq!(dry["status"], "Provisioning");
        assert!(dry["failureMessage"].as_str().unwrap().starts_with("syncMode is DryRun"));
    }
}
