//! Releases of charts that Sveltos manages: its ClusterSummaries say which.

use serde_json::Value;
use sluice_api::{ClusterKind, ClusterRef, object};

/// A release in a cluster, and the profile whose it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReleaseClaim {
    /// Where it is installed.
    pub(super) cluster: ClusterRef,
    /// Kind of the profile.
    pub(super) kind: String,
    /// Its name, of a Profile without its namespace.
    pub(super) profile: String,
    /// Namespace of the cluster's registration.
    pub(super) namespace: String,
    /// Namespace of the release.
    pub(super) release_namespace: String,
    /// Name of the release.
    pub(super) release: String,
    /// Where the chart is from, where that is known.
    pub(super) repository: String,
}

impl ReleaseClaim {
    /// `namespace/name` of the release.
    pub(super) fn path(&self) -> String {
        format!("{}/{}", self.release_namespace, self.release)
    }
}

/// Of all ClusterSummaries among these objects.
pub(super) fn of(objects: &[Value]) -> Vec<ReleaseClaim> {
    let summaries = objects.iter().filter(|object| object::text(object, &["kind"]) == "ClusterSummary");
    summaries.flat_map(of_summary).collect()
}

fn of_summary(summary: &Value) -> Vec<ReleaseClaim> {
    let spec = |field: &str| object::text(summary, &["spec", field]).to_owned();
    let kind = if spec("clusterType") == "Capi" { ClusterKind::Capi } else { ClusterKind::Sveltos };
    let cluster = ClusterRef { kind, namespace: spec("clusterNamespace"), name: spec("clusterName") };
    let owners = object::at(summary, &["metadata", "ownerReferences"]).and_then(Value::as_array);
    let is_profile = |owner: &&Value| ["ClusterProfile", "Profile"].contains(&object::text(owner, &["kind"]));
    let Some(owner) = owners.into_iter().flatten().find(is_profile) else { return Vec::new() };
    let releases = object::at(summary, &["status", "helmReleaseSummaries"]).and_then(Value::as_array);
    let managed =
        releases.into_iter().flatten().filter(|release| object::text(release, &["status"]) == "Managing");
    let of_profile = object::at(summary, &["spec", "clusterProfileSpec"]);
    let charts = of_profile.and_then(|spec| spec.get("helmCharts")).and_then(Value::as_array);
    let claim = |release: &Value| {
        let text = |field: &str| object::text(release, &[field]).to_owned();
        let is_it = |chart: &&Value| object::text(chart, &["releaseName"]) == text("releaseName");
        let chart = charts.and_then(|charts| charts.iter().find(is_it));
        let of_chart = |field: &str| chart.map(|chart| object::text(chart, &[field])).unwrap_or_default();
        let is_local = of_chart("deploymentType") == "Local";
        ReleaseClaim {
            cluster: if is_local { ClusterRef::management() } else { cluster.clone() },
            kind: object::text(owner, &["kind"]).to_owned(),
            profile: object::text(owner, &["name"]).to_owned(),
            namespace: cluster.namespace.clone(),
            release_namespace: text("releaseNamespace"),
            release: text("releaseName"),
            repository: of_chart("repositoryURL").to_owned(),
        }
    };
    managed.map(claim).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn releases_that_a_profile_manages_are_claimed_where_they_are_installed() {
        let summary = json!({"kind": "ClusterSummary", "metadata": {"namespace": "n", "name": "p-sveltos-c",
                "ownerReferences": [{"kind": "ClusterProfile", "name": "p"}]},
            "spec": {"clusterNamespace": "n", "clusterName": "c", "clusterType": "Sveltos", "clusterProfileSpec": {"helmCharts": [
                {"releaseName": "a", "repositoryURL": "https://charts.example.com"}, {"releaseName": "b", "deploymentType": "Local"}]}},
            "status": {"helmReleaseSummaries": [
                {"releaseName": "a", "releaseNamespace": "web", "status": "Managing"},
                {"releaseName": "b", "releaseNamespace": "web", "status": "Managing"},
                {"releaseName": "c", "releaseNamespace": "web", "status": "Conflict"}]}});
        let claims = of(&[summary]);
        let told: Vec<_> = claims.iter().map(|claim| (claim.cluster.clone(), claim.path())).collect();
        let of_cluster = (ClusterRef::sveltos("n", "c"), "web/a".to_owned());
        assert_eq!(told, [of_cluster, (ClusterRef::management(), "web/b".to_owned())]);
        assert_eq!(claims.first().map(|claim| &*claim.repository), Some("https://charts.example.com"));
        assert_eq!(of(&[json!({"kind": "ClusterSummary"})]), []);
    }
}
