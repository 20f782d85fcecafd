//! The ClusterConfiguration: everything that is deployed in one cluster, by profile.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::model::{CONFIG_GROUP, Deployment};
use sluice_api::wire::OF_ROWS;
use sluice_api::{ClusterRef, Digest, Gvk, ObjectKey, ProfileId};

use crate::inventory::Inventory;
use crate::summary::seconds;

/// Bytes of resources that fit into one object; etcd refuses requests above 1.5 MiB.
const BYTES: usize = 900 * 1024;
/// Says how much is left out of one that would be larger.
pub(crate) const LEFT_OUT: &str = "sluice.dev/left-out";

/// What profiles own in a cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Configuration {
    /// The cluster.
    pub cluster: ClusterRef,
    /// Profiles in the order of their names.
    pub profiles: Vec<Owned>,
    /// Digest of what was wanted of the cluster, when all of it has been worked off.
    pub of_rows: Option<Digest>,
}

/// What one profile owns.
#[derive(Clone, Debug, PartialEq)]
pub struct Owned {
    /// The profile.
    pub profile: ProfileId,
    /// When something of it was applied last, microseconds since 1970; 0 when unknown.
    pub applied_at: i64,
    /// What it may have created.
    pub inventory: Arc<Inventory>,
    /// What of that is not there.
    pub missing: BTreeSet<ObjectKey>,
}

/// The key of the ClusterConfiguration and the object; `None` when there is nothing in the cluster.
pub fn cluster_configuration(configuration: &Configuration) -> (ObjectKey, Option<Value>) {
    let cluster = &configuration.cluster;
    let deployment = if cluster.is_management() { Deployment::Local } else { Deployment::Remote };
    let (key, mut object) = skeleton(cluster);
    if configuration.profiles.is_empty() {
        return (key, None);
    }
    let (mut cluster_profiles, mut profiles) = (Vec::new(), Vec::new());
    let (mut bytes, mut left_out) = (0, 0_usize);
    for owned in &configuration.profiles {
        let mut resources = Vec::new();
        for resource in owned.resources(deployment) {
            bytes += resource.to_string().len();
            if bytes <= BYTES {
                resources.push(resource);
            } else {
                left_out += 1;
            }
        }
        let mut features = vec![json!({"featureID": "Resources", "resources": resources})];
        let charts: Vec<_> = owned.charts().collect();
        bytes += charts.iter().map(|chart| chart.to_string().len()).sum::<usize>();
        if !charts.is_empty() {
            features.push(json!({"featureID": "Helm", "charts": charts}));
        }
        // The name alone, as Sveltos has it: the namespace is that of the ClusterConfiguration.
        if owned.profile.namespace.is_empty() {
            cluster_profiles.push(json!({"clusterProfileName": owned.profile.name, "Features": features}));
        } else {
            profiles.push(json!({"profileName": owned.profile.name, "Features": features}));
        }
    }
    object["status"] = json!({});
    for (field, list) in [("clusterProfileResources", cluster_profiles), ("profileResources", profiles)] {
        if !list.is_empty() {
            object["status"][field] = list.into();
        }
    }
    let left_out = (left_out > 0)
        .then(|| (LEFT_OUT, format!("{left_out} more objects do not fit; they are deployed all the same")));
    for (name, text) in
        configuration.of_rows.map(|rows| (OF_ROWS, rows.to_string())).into_iter().chain(left_out)
    {
        object["metadata"]["annotations"][name] = text.into();
    }
    (key, Some(object))
}

/// What the ClusterConfiguration of a cluster is called.
pub(crate) fn skeleton(cluster: &ClusterRef) -> (ObjectKey, Value) {
    let key = ObjectKey {
        gvk: Gvk::new(CONFIG_GROUP, "v1beta1", "ClusterConfiguration"),
        namespace: cluster.namespace.clone(),
        name: format!("{}--{}", cluster.kind.lower(), cluster.name),
    };
    let object = json!({
        "apiVersion": key.gvk.api_version(),
        "kind": key.gvk.kind,
        "metadata": {"name": key.name, "namespace": key.namespace},
    });
    (key, object)
}

impl Owned {
    /// The releases that are its. Their objects are among the resources.
    fn charts(&self) -> impl Iterator<Item = Value> {
        self.inventory.releases.iter().map(|(path, release)| {
            let (namespace, name) = path.split_once('/').unwrap_or(("", path));
            let mut chart = json!({
                "repoURL": release.repository,
                "releaseName": name,
                "namespace": namespace,
                "chartVersion": release.version,
                "lastAppliedTime": seconds(self.applied_at),
            });
            if !release.app_version.is_empty() {
                chart["appVersion"] = release.app_version.clone().into();
            }
            chart
        })
    }

    fn resources(&self, deployment: Deployment) -> impl Iterator<Item = Value> {
        let there = self.inventory.objects.iter().filter(|key| !self.missing.contains(*key));
        there.map(move |key| {
            let mut resource = json!({
                "group": key.gvk.group,
                "version": key.gvk.version,
                "kind": key.gvk.kind,
                "name": key.name,
                "deploymentType": deployment.title(),
            });
            if !key.namespace.is_empty() {
                resource["namespace"] = key.namespace.clone().into();
            }
            if self.applied_at > 0 {
                resource["lastAppliedTime"] = seconds(self.applied_at).into();
            }
            resource
        })
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use std::collections::BTreeMap;

    use sluice_protocol::rows::{Cause, Release};

    use super::*;
    use crate::inventory::RemovalChecks;

    fn key(name: &str) -> ObjectKey {
        ObjectKey { gvk: Gvk::new("apps", "v1", "Deployment"), namespace: "n".into(), name: name.into() }
    }

    fn owned(profile: ProfileId, objects: impl IntoIterator<Item = ObjectKey>) -> Owned {
        let inventory = Inventory {
            profile: profile.name.clone(),
            owner_kind: profile.kind().into(),
            owner_namespace: profile.namespace.clone(),
            cause: Cause::Profile(profile.clone()),
            leave: false,
            depends_on: BTreeSet::new(),
            checks: RemovalChecks::default(),
            complete: false,
            redeployed: BTreeSet::new(),
            keeps: false,
            renewed: 0,
            releases: BTreeMap::new(),
            formerly: String::new(),
            adopted: BTreeMap::new(),
            fields: Vec::new(),
            reloads: BTreeMap::new(),
            objects: objects.into_iter().map(Arc::new).collect(),
            stay: None,
        };
        let inventory = Arc::new(inventory);
        Owned { profile, applied_at: 1_700_000_000_000_000, inventory, missing: BTreeSet::new() }
    }

    fn of(profiles: Vec<Owned>) -> (ObjectKey, Option<Value>) {
        let cluster = ClusterRef::sveltos("default", "c");
        cluster_configuration(&Configuration { cluster, profiles, of_rows: None })
    }

    #[test]
    fn it_says_of_which_rows_it_is_beside_what_does_not_fit() {
        let many = (0..10_000).map(|number| key(&format!("object-{number:05}")));
        let rows = Digest::of(&[b"rows"]);
        let configuration = |of_rows| Configuration {
            cluster: ClusterRef::sveltos("default", "c"),
            profiles: vec![owned(ProfileId::cluster("p"), many.clone())],
            of_rows,
        };
        let annotations = |of_rows| {
            let object = cluster_configuration(&configuration(of_rows)).1.unwrap();
            let names = object["metadata"]["annotations"].as_object().unwrap().keys().cloned();
            (names.collect::<Vec<_>>(), object["metadata"]["annotations"][OF_ROWS].clone())
        };
        assert_eq!(annotations(None), (vec![LEFT_OUT.to_owned()], Value::Null));
        let both = vec![LEFT_OUT.to_owned(), OF_ROWS.to_owned()];
        assert_eq!(annotations(Some(rows)), (both, rows.to_string().into()));
    }

    #[test]
    fn it_says_what_is_there_by_profile_in_the_form_of_sveltos() {
        let mut failing = owned(ProfileId::cluster("p"), [key("a"), key("b")]);
        failing.missing = [key("b")].into();
        let (of_cluster, object) = of(vec![failing, owned(ProfileId::new("default", "q"), [key("d")])]);
        assert_eq!((of_cluster.namespace.as_str(), of_cluster.name.as_str()), ("default", "sveltos--c"));
        let resource = |name: &str| {
            json!({"group": "apps", "version": "v1", "kind": "Deployment", "namespace": "n", "name": name,
                "deploymentType": "Remote", "lastAppliedTime": "2023-11-14T22:13:20Z"})
        };
        let feature = |name: &str| json!([{"featureID": "Resources", "resources": [resource(name)]}]);
        let status = json!({
            "clusterProfileResources": [{"clusterProfileName": "p", "Features": feature("a")}],
            "profileResources": [{"profileName": "q", "Features": feature("d")}],
        });
        assert_eq!(object.unwrap()["status"], status);
    }

    #[test]
    fn what_is_in_the_management_cluster_is_told_from_what_is_elsewhere() {
        let profiles = vec![owned(ProfileId::cluster("p"), [key("a")])];
        let (of_cluster, object) = cluster_configuration(&Configuration {
            cluster: ClusterRef::management(),
            profiles,
            of_rows: None,
        });
        assert_eq!((&*of_cluster.namespace, &*of_cluster.name), ("projectsveltos", "local--management"));
        let status = &object.unwrap()["status"];
        let resource = &status["clusterProfileResources"][0]["Features"][0]["resources"][0];
        assert_eq!(resource["deploymentType"], "Local");
    }

    #[test]
    fn releases_have_a_feature_of_their_own() {
        let mut of_chart = owned(ProfileId::cluster("p"), [key("a")]);
        let release = |app_version: &str| Release {
            repository: "https://charts.example.com".into(),
            version: "1.2.0".into(),
            app_version: app_version.into(),
            values: "0".into(),
        };
        let inventory = Arc::make_mut(&mut of_chart.inventory);
        inventory.releases = [("n/r".into(), release("7")), ("n/s".into(), release(""))].into();
        let object = of(vec![of_chart]).1.unwrap();
        let features = &object["status"]["clusterProfileResources"][0]["Features"];
        let chart = json!({"repoURL": "https://charts.example.com", "releaseName": "r", "namespace": "n",
            "chartVersion": "1.2.0", "appVersion": "7", "lastAppliedTime": "2023-11-14T22:13:20Z"});
        assert_eq!((&features[1]["featureID"], &features[1]["charts"][0]), (&json!("Helm"), &chart));
        assert_eq!(features[1]["charts"][1].get("appVersion"), None);
    }

    #[test]
    fn a_cluster_without_profiles_has_none() {
        assert_eq!(of(Vec::new()).1, None);
    }

    #[test]
    fn one_that_would_not_fit_says_what_is_left_out() {
        let many = (0..10_000).map(|number| key(&format!("object-{number:05}")));
        let object = of(vec![owned(ProfileId::cluster("p"), many)]).1.unwrap();
        assert!(object.to_string().len() < 1_200_000);
        let listed = &object["status"]["clusterProfileResources"][0]["Features"][0]["resources"];
        let left_out = 10_000 - listed.as_array().unwrap().len();
        let text = object["metadata"]["annotations"][LEFT_OUT].as_str().unwrap();
        assert!(left_out > 0 && text.starts_with(&format!("{left_out} more objects")), "{text}");
    }
}
