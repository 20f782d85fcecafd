//! The ClusterSummary: what people see of a profile on a cluster.

// D-1410: no shared object that many writers update.

use std::collections::{BTreeMap, BTreeSet};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};
use sluice_api::model::{CONFIG_GROUP, Feature};
use sluice_api::{ClusterRef, Digest, Gvk, ObjectKey, ProfileId, names};
use sluice_protocol::rows::State;

use crate::releases::{Helm, ReleaseSummary};

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
    /// Whether it is to be removed.
    pub is_leaving: bool,
    /// One error for each object that could not be applied, apart from those of charts.
    pub errors: Vec<String>,
    /// What is said of its charts; `None` when it has none.
    pub helm: Option<Helm>,
    /// What it asks for and nobody can do yet, by the feature that lacks it.
    pub lacks: BTreeMap<Feature, Vec<String>>,
    /// Whether it has anything else than charts.
    pub has_resources: bool,
    /// Digest of the row that it stands for.
    pub digest: Option<Digest>,
    /// When something was applied last, microseconds since 1970; 0 when unknown.
    pub applied_at: i64,
    /// Attempts in a row that failed.
    pub failures: u32,
    /// Whether there are no more.
    pub given_up: bool,
    /// What is said of the profiles that it depends on.
    pub dependencies: String,
    /// Kinds of what it owns in the cluster.
    pub kinds: BTreeSet<Gvk>,
}

/// What is said of a profile that nothing is applied of.
const DRY_RUN: &str = "syncMode is DryRun: nothing is applied, and the ClusterReport says what would be; change it to apply what the profile says";

impl Summary {
    /// That there is no such profile on the cluster any more.
    pub(crate) fn gone(cluster: &ClusterRef, profile: &ProfileId) -> Self {
        Self {
            cluster: cluster.clone(),
            profile: profile.clone(),
            spec: Map::new(),
            state: None,
            is_leaving: false,
            errors: Vec::new(),
            helm: None,
            lacks: BTreeMap::new(),
            has_resources: true,
            digest: None,
            applied_at: 0,
            failures: 0,
            given_up: false,
            dependencies: String::new(),
            kinds: BTreeSet::new(),
        }
    }

    /// What it says of each feature.
    fn features(&self, state: State) -> Vec<Value> {
        let wrong = self.wrong();
        let has_errors = |feature| wrong.get(&feature).is_some_and(|errors| !errors.is_empty());
        let there = [
            (Feature::Resources, self.has_resources || has_errors(Feature::Resources)),
            (Feature::Helm, self.helm.is_some() || has_errors(Feature::Helm)),
            (Feature::Kustomize, has_errors(Feature::Kustomize)),
        ];
        let there = there.into_iter().filter(|(_, is_there)| *is_there);
        // Where one of them failed the others did not.
        let any = wrong.values().any(|errors| !errors.is_empty());
        there.map(|(id, _)| self.feature(id, state, wrong.get(&id).map_or(&[], Vec::as_slice), any)).collect()
    }

    /// What is wrong with each feature, or lacking.
    fn wrong(&self) -> BTreeMap<Feature, Vec<String>> {
        let of_charts = self.helm.iter().flat_map(|helm| helm.errors.iter().cloned()).collect();
        let mut wrong =
            BTreeMap::from([(Feature::Resources, self.errors.clone()), (Feature::Helm, of_charts)]);
        for (feature, texts) in &self.lacks {
            wrong.entry(*feature).or_default().extend(texts.iter().cloned());
        }
        wrong
    }

    fn feature(&self, id: Feature, state: State, errors: &[String], any: bool) -> Value {
        let other = state == State::Failed && errors.is_empty() && any;
        let status = match state {
            _ if self.is_leaving => "Removing",
            State::Failed if other => "Provisioned",
            State::Provisioned => "Provisioned",
            State::Failed if self.given_up => "FailedNonRetriable",
            State::Failed => "Failed",
            State::Held | State::Provisioning | State::DryRun => "Provisioning",
        };
        let mut feature = json!({"featureID": id.title(), "status": status});
        if !errors.is_empty() {
            feature["failureMessage"] = errors.join("\n").into();
        } else if state == State::DryRun {
            // Sveltos has no word of its own for it here.
            feature["failureMessage"] = DRY_RUN.into();
        }
        if let Some(digest) = self.digest {
            feature["hash"] = STANDARD.encode(digest.to_string()).into();
        }
        if self.applied_at > 0 && !self.kinds.is_empty() {
            feature["lastAppliedTime"] = seconds(self.applied_at).into();
        }
        if self.failures > 0 && !other {
            feature["consecutiveFailures"] = shown_failures(self.failures).into();
        }
        feature
    }
}

/// From the fourth on only every power of two is shown: each would be a write, for as long as it fails.
fn shown_failures(failures: u32) -> u32 {
    if failures < 4 { failures } else { 1 << failures.ilog2() }
}

/// A time in the form of the API.
pub(crate) fn seconds(micros: i64) -> String {
    let second = Timestamp::from_second(micros.div_euclid(1_000_000)).unwrap_or(Timestamp::UNIX_EPOCH);
    second.to_string()
}

/// The key of the ClusterSummary of a profile on a cluster.
pub(crate) fn summary_key(cluster: &ClusterRef, profile: &ProfileId) -> ObjectKey {
    let prefix = if profile.namespace.is_empty() { "" } else { "p--" };
    ObjectKey {
        gvk: Gvk::new(CONFIG_GROUP, "v1beta1", "ClusterSummary"),
        namespace: cluster.namespace.clone(),
        name: format!("{prefix}{}-{}-{}", profile.name, cluster.kind.lower(), cluster.name),
    }
}

/// The key of the ClusterSummary and the object; `None` when it should not exist.
pub fn cluster_summary(summary: &Summary) -> (ObjectKey, Option<Value>) {
    let Summary { cluster, profile, spec, state, kinds, .. } = summary;
    let (key, mut object) = skeleton(cluster, profile);
    let Some(state) = state else { return (key, None) };
    let mut status =
        json!({"dependencies": summary.dependencies, "featureSummaries": summary.features(*state)});
    if let Some(helm) = &summary.helm {
        status["helmReleaseSummaries"] = helm.releases.iter().map(release).collect();
    }
    if !kinds.is_empty() {
        let kinds: Vec<_> =
            kinds.iter().map(|gvk| format!("{}.{}.{}", gvk.kind, gvk.version, gvk.group)).collect();
        let feature = if summary.has_resources { Feature::Resources } else { Feature::Helm };
        status["deployedGVKs"] = json!([{"featureID": feature.title(), "deployedGroupVersionKind": kinds}]);
    }
    object["spec"]["clusterProfileSpec"] = spec.clone().into();
    object["status"] = status;
    (key, Some(object))
}

/// What the ClusterSummary of a profile on a cluster is called, and whose it is.
pub(crate) fn skeleton(cluster: &ClusterRef, profile: &ProfileId) -> (ObjectKey, Value) {
    let key = summary_key(cluster, profile);
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
        },
    });
    (key, object)
}

fn release(release: &ReleaseSummary) -> Value {
    let status = if release.conflict.is_some() { "Conflict" } else { "Managing" };
    let mut shown = json!({
        "releaseName": release.name,
        "releaseNamespace": release.namespace,
        "status": status,
        "valuesHash": STANDARD.encode(&release.values),
    });
    if let Some(conflict) = &release.conflict {
        shown["conflictMessage"] = conflict.clone().into();
        shown["failureMessage"] = conflict.clone().into();
    }
    shown
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn gone() -> Summary {
        Summary::gone(&ClusterRef::sveltos("default", "c"), &ProfileId::cluster("p"))
    }

    #[test]
    fn it_is_called_as_sveltos_calls_it() {
        let of = |profile: ProfileId| {
            let cluster = ClusterRef::sveltos("default", "c");
            let summary = Summary { state: Some(State::Provisioned), ..Summary::gone(&cluster, &profile) };
            let (key, object) = cluster_summary(&summary);
            (key.namespace, key.name, object.unwrap()["metadata"]["labels"].clone())
        };
        let (namespace, name, labels) = of(ProfileId::cluster("p"));
        assert_eq!((namespace.as_str(), name.as_str()), ("default", "p-sveltos-c"));
        assert_eq!(labels["projectsveltos.io/cluster-profile-name"], "p");
        let (_, name, labels) = of(ProfileId::new("default", "p"));
        assert_eq!(
            (name.as_str(), &labels["projectsveltos.io/profile-name"]),
            ("p--p-sveltos-c", &json!("p"))
        );
    }

    #[test]
    fn a_dry_run_is_not_called_provisioned() {
        let summary = |state| Summary { state: Some(state), ..gone() };
        let feature =
            |state| cluster_summary(&summary(state)).1.unwrap()["status"]["featureSummaries"][0].clone();
        assert_eq!(feature(State::Provisioned), json!({"featureID": "Resources", "status": "Provisioned"}));
        let dry = feature(State::DryRun);
        assert_eq!(dry["status"], "Provisioning");
        assert!(dry["failureMessage"].as_str().unwrap().starts_with("syncMode is DryRun"));
    }

    #[test]
    fn charts_are_a_feature_of_their_own_and_each_release_says_whose_it_is() {
        let release = |name: &str, conflict: Option<&str>| ReleaseSummary {
            namespace: "n".into(),
            name: name.into(),
            values: "0".into(),
            conflict: conflict.map(str::to_owned),
        };
        let of = |errors: &[&str], has_resources| {
            let releases = vec![release("r", None), release("s", errors.first().copied())];
            let errors = errors.iter().map(|error| (*error).to_owned()).collect();
            let helm = Some(Helm { releases, errors });
            let state = Some(if has_resources { State::Failed } else { State::Provisioned });
            cluster_summary(&Summary { state, helm, has_resources, ..gone() }).1.unwrap()["status"].clone()
        };
        let status = of(&["taken"], true);
        let features = json!([{"featureID": "Resources", "status": "Provisioned"},
            {"featureID": "Helm", "status": "Failed", "failureMessage": "taken"}]);
        assert_eq!(status["featureSummaries"], features);
        let shown = json!([
            {"releaseName": "r", "releaseNamespace": "n", "status": "Managing", "valuesHash": "MA=="},
            {"releaseName": "s", "releaseNamespace": "n", "status": "Conflict", "valuesHash": "MA==",
                "conflictMessage": "taken", "failureMessage": "taken"}]);
        assert_eq!(status["helmReleaseSummaries"], shown);
        let alone = of(&[], false);
        assert_eq!(alone["featureSummaries"], json!([{"featureID": "Helm", "status": "Provisioned"}]));
    }

    #[test]
    fn what_cannot_be_done_yet_is_a_failed_feature_with_its_reason() {
        let lacks = BTreeMap::from([
            (Feature::Kustomize, vec!["spec.kustomizationRefs: not yet".to_owned()]),
            (Feature::Resources, vec!["spec.dependsOn: not yet".to_owned()]),
        ]);
        let of = |errors: Vec<String>, has_resources, lacks: &BTreeMap<_, _>| {
            let lacks = lacks.clone();
            let summary = Summary { state: Some(State::Failed), errors, has_resources, lacks, ..gone() };
            cluster_summary(&summary).1.unwrap()["status"]["featureSummaries"].clone()
        };
        let failed =
            |id: &str, text: &str| json!({"featureID": id, "status": "Failed", "failureMessage": text});
        let kustomize = failed("Kustomize", "spec.kustomizationRefs: not yet");
        assert_eq!(
            of(vec!["no".into()], true, &lacks),
            json!([failed("Resources", "no\nspec.dependsOn: not yet"), kustomize])
        );
        let lacks = BTreeMap::from([(Feature::Kustomize, lacks[&Feature::Kustomize].clone())]);
        let resources = json!({"featureID": "Resources", "status": "Provisioned"});
        assert_eq!(of(Vec::new(), true, &lacks), json!([resources, kustomize]));
        assert_eq!(of(Vec::new(), false, &lacks), json!([kustomize]));
    }

    #[test]
    fn it_says_what_is_deployed_since_when_and_how_often_it_failed() {
        let summary = Summary {
            state: Some(State::Failed),
            errors: vec!["no".into()],
            digest: Some(Digest::default()),
            applied_at: 1_700_000_000_000_000,
            failures: 3,
            given_up: false,
            dependencies: "no dependencies".into(),
            kinds: [Gvk::new("", "v1", "Service"), Gvk::new("apps", "v1", "Deployment")].into(),
            ..gone()
        };
        let status = cluster_summary(&summary).1.unwrap()["status"].clone();
        let hash = STANDARD.encode("0".repeat(32));
        let feature = json!({"featureID": "Resources", "status": "Failed", "failureMessage": "no", "hash": hash,
            "lastAppliedTime": "2023-11-14T22:13:20Z", "consecutiveFailures": 3});
        assert_eq!(status["featureSummaries"], json!([feature]));
        let kinds = json!(["Service.v1.", "Deployment.v1.apps"]);
        assert_eq!(status["deployedGVKs"][0]["deployedGroupVersionKind"], kinds);
        assert_eq!([1, 4, 7, 8, 1_000].map(shown_failures), [1, 4, 4, 8, 512]);
    }
}
