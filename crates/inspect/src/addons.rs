//! What is deployed where, of ClusterConfigurations.

mod newer;
mod on_bus;

use std::collections::BTreeMap;

use kube::Client;
use serde::Serialize;
use sluice_api::model::CONFIG_GROUP;
use sluice_api::wire::{ClusterConfiguration, Feature, OF_ROWS};
use sluice_api::{ClusterKind, ClusterRef, Gvk, MANAGEMENT};
use sluice_kube::{Listing, list_each};

pub(crate) use self::newer::newer;
pub(crate) use self::on_bus::{OF_CHART, addons_on_bus};
use crate::error::InspectError;
use crate::explain::instead;

/// ClusterConfigurations of one answer of the API server: one may have a megabyte.
const PAGE: u32 = 50;

/// Something that is deployed in a cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Addon {
    /// `namespace/name` of the cluster.
    pub cluster: String,
    /// `group:Kind` of an object; of a chart [`CHART`].
    pub resource_type: String,
    /// The namespace that it is in.
    pub namespace: String,
    /// Its name; of a chart that of the release.
    pub name: String,
    /// Version of a chart, else `N/A`.
    pub version: String,
    /// When it was applied last, as it is written: RFC 3339.
    pub time: String,
    /// `Remote` or `Local`.
    pub deployment_type: String,
    /// The profiles that deploy it, as `Kind/name`.
    pub profiles: Vec<String>,
}

/// Which add-ons are asked for.
#[derive(Clone, Debug, Default)]
pub struct AddonFilter {
    /// Only clusters of this namespace.
    pub namespace: Option<String>,
    /// Only clusters of this name; `management` for what is deployed to the management cluster.
    pub cluster: Option<String>,
    /// Only what this profile deploys: `Kind/name`.
    pub profile: Option<String>,
    /// Only charts, or only objects.
    pub charts: Option<bool>,
}

/// Of which rows the configuration of a cluster is; `None` where something was under way.
pub(crate) type OfRows = BTreeMap<ClusterRef, Option<String>>;

/// What deployers have written down.
#[derive(Clone, Debug, Default)]
pub(crate) struct Configured {
    /// Each line is of one profile.
    pub(crate) found: Vec<Addon>,
    pub(crate) of_rows: OfRows,
}

/// The names of what may be asked for: of clusters, and of profiles as `Kind/name`. Empty where they are not known.
#[derive(Clone, Debug, Default)]
pub(crate) struct There {
    pub(crate) clusters: Vec<String>,
    pub(crate) profiles: Vec<String>,
}

// === impl AddonFilter ===

impl AddonFilter {
    /// The chosen ones.
    ///
    /// # Errors
    /// When a cluster or profile is asked for that does not exist, as far as that is known.
    pub(crate) fn choose(&self, mut all: Vec<Addon>, there: &There) -> Result<Vec<Addon>, InspectError> {
        let clusters = all.iter().map(|addon| split(&addon.cluster).1);
        is_there("cluster", self.cluster.as_deref(), clusters, &there.clusters)?;
        let profiles = all.iter().flat_map(|addon| &addon.profiles).map(String::as_str);
        is_there("profile", self.profile.as_deref(), profiles, &there.profiles)?;
        all.retain(|addon| self.wants(addon));
        Ok(all)
    }

    /// Whether a cluster counts, by its path.
    fn is_on(&self, path: &str) -> bool {
        let (namespace, name) = split(path);
        self.namespace.as_deref().is_none_or(|wanted| wanted == namespace)
            && self.cluster.as_deref().is_none_or(|wanted| wanted == name)
    }

    fn wants(&self, addon: &Addon) -> bool {
        self.is_on(&addon.cluster)
            && self
                .profile
                .as_deref()
                .is_none_or(|wanted| addon.profiles.iter().any(|profile| profile == wanted))
            && self.charts.is_none_or(|charts| charts == (addon.resource_type == CHART))
    }
}

/// Whether what is wanted is among those that something is deployed by, or among all of its kind.
fn is_there<'a>(
    what: &str,
    wanted: Option<&str>,
    used: impl Iterator<Item = &'a str>,
    there: &'a [String],
) -> Result<(), InspectError> {
    let Some(wanted) = wanted.filter(|_| !there.is_empty()) else { return Ok(()) };
    let names: Vec<&str> = used.chain(there.iter().map(String::as_str)).collect();
    if names.contains(&wanted) {
        return Ok(());
    }
    Err(InspectError::NotFound(format!("there is no {what} {wanted}; {}", instead(wanted, names))))
}

/// Namespace and name of a cluster's path. The management cluster has no namespace.
fn split(path: &str) -> (&str, &str) {
    path.split_once('/').unwrap_or(("", path))
}

// === impl Addon ===

impl Addon {
    /// What tells it from all others.
    fn place(&self) -> [&str; 4] {
        [&self.cluster, &self.resource_type, &self.namespace, &self.name]
    }
}

/// What deployers have written down of the clusters that are asked for. Of a cluster that is named nothing else is read.
///
/// # Errors
/// In words, when the management cluster does not answer, or what it holds has another form.
pub(crate) async fn addons(client: &Client, filter: &AddonFilter) -> Result<Configured, String> {
    let gvk = Gvk::new(CONFIG_GROUP, "v1beta1", "ClusterConfiguration");
    let names = match &filter.cluster {
        None => vec![None],
        Some(cluster) => names(cluster).map(Some).collect(),
    };
    let mut found = Configured::default();
    for name in names {
        let listing =
            Listing { namespace: filter.namespace.as_deref(), name: name.as_deref(), page: Some(PAGE) };
        let listed = list_each(client, &gvk, listing, |one| add_configuration(&mut found, &one)).await;
        if !listed.map_err(|error| format!("listing ClusterConfigurations: {error}"))? {
            let text = "the management cluster has no ClusterConfigurations: `sluice seed` installs their definition";
            return Err(text.to_owned());
        }
    }
    Ok(found)
}

/// The names that the ClusterConfiguration of a cluster may have: its kind is not known.
fn names(cluster: &str) -> impl Iterator<Item = String> {
    let kinds = [ClusterKind::Sveltos, ClusterKind::Capi, ClusterKind::Management];
    let kinds =
        kinds.into_iter().filter(move |kind| *kind != ClusterKind::Management || cluster == MANAGEMENT);
    kinds.map(move |kind| format!("{}--{cluster}", kind.lower()))
}

/// What a Helm chart is called where objects have their kind.
pub const CHART: &str = "helm chart";

fn add_configuration(configured: &mut Configured, configuration: &ClusterConfiguration) {
    let cluster = cluster_of(configuration);
    let of_rows = configuration.metadata.annotations.get(OF_ROWS).cloned();
    configured.of_rows.insert(cluster.clone(), of_rows);
    let (found, cluster) = (&mut configured.found, cluster.path());
    let Some(status) = &configuration.status else { return };
    for by in &status.cluster_profile_resources {
        add(found, &cluster, &format!("ClusterProfile/{}", by.cluster_profile_name), &by.features);
    }
    for by in &status.profile_resources {
        add(found, &cluster, &format!("Profile/{}", by.profile_name), &by.features);
    }
}

/// In order; what several profiles deploy once.
pub(crate) fn merged(mut found: Vec<Addon>) -> Vec<Addon> {
    found.sort();
    let mut merged: Vec<Addon> = Vec::new();
    for addon in found {
        match merged.last_mut() {
            Some(last) if last.place() == addon.place() => {
                last.time = last.time.clone().max(addon.time);
                last.profiles.extend(addon.profiles);
            }
            _ => merged.push(addon),
        }
    }
    merged
}

fn add(found: &mut Vec<Addon>, cluster: &str, profile: &str, features: &[Feature]) {
    for feature in features {
        let profiles = || vec![profile.to_owned()];
        found.extend(feature.resources.iter().map(|resource| Addon {
            cluster: cluster.to_owned(),
            resource_type: format!("{}:{}", resource.group, resource.kind),
            namespace: resource.namespace.clone(),
            name: resource.name.clone(),
            version: "N/A".to_owned(),
            time: resource.last_applied_time.clone(),
            deployment_type: if resource.deployment_type.is_empty() {
                "Remote".to_owned()
            } else {
                resource.deployment_type.clone()
            },
            profiles: profiles(),
        }));
        found.extend(feature.charts.iter().map(|chart| Addon {
            cluster: cluster.to_owned(),
            resource_type: CHART.to_owned(),
            namespace: chart.namespace.clone(),
            name: chart.release_name.clone(),
            version: chart.chart_version.clone(),
            time: chart.last_applied_time.clone(),
            deployment_type: "Remote".to_owned(),
            profiles: profiles(),
        }));
    }
}

/// The cluster of a ClusterConfiguration, whose name is the kind of registration, two dashes and the cluster's name. That of the
/// management cluster begins with `local`.
fn cluster_of(configuration: &ClusterConfiguration) -> ClusterRef {
    let (namespace, name) = (configuration.metadata.namespace.as_str(), configuration.metadata.name.as_str());
    match name.split_once("--") {
        Some(("local", _)) => ClusterRef::management(),
        Some((kind, cluster)) => {
            let registered = ClusterRef::sveltos(namespace, cluster);
            if kind == "capi" { ClusterRef { kind: ClusterKind::Capi, ..registered } } else { registered }
        }
        None => ClusterRef::sveltos(namespace, name),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::{Value, json};

    use super::*;

    fn configuration() -> ClusterConfiguration {
        let secret = |namespace: &str| {
            json!({"group": "", "version": "v1", "kind": "Secret", "namespace": namespace,
            "name": "login-credentials", "lastAppliedTime": "2025-02-28T13:23:08Z"})
        };
        let by = |name: &str, resources: Value| json!({"clusterProfileName": name, "Features": [{"featureID": "Resources", "resources": resources}]});
        let chart = json!({"repoURL": "https://charts.example", "releaseName": "kyverno", "namespace": "kyverno",
            "chartVersion": "v3.1.4", "lastAppliedTime": "2025-02-28T13:24:00Z"});
        serde_json::from_value(json!({
            "apiVersion": "config.projectsveltos.io/v1beta1", "kind": "ClusterConfiguration",
            "metadata": {"namespace": "default", "name": "sveltos--workload"},
            "status": {"clusterProfileResources": [by("b", json!([secret("hr"), secret("eng")])), by("a", json!([secret("eng")]))],
                "profileResources": [{"profileName": "p", "Features": [{"featureID": "Helm", "charts": [chart]}]}]}
        }))
        .unwrap()
    }

    fn read(configurations: &[ClusterConfiguration]) -> Vec<Addon> {
        let mut found = Configured::default();
        configurations.iter().for_each(|one| add_configuration(&mut found, one));
        merged(found.found)
    }

    #[test]
    fn a_cluster_that_is_named_may_be_of_any_kind() {
        assert_eq!(names("a").collect::<Vec<_>>(), ["sveltos--a", "capi--a"]);
        let all = ["sveltos--management", "capi--management", "local--management"];
        assert_eq!(names("management").collect::<Vec<_>>(), all);
    }

    fn chosen(filter: AddonFilter) -> Result<Vec<Addon>, InspectError> {
        let texts = |names: [&str; 2]| names.map(str::to_owned).to_vec();
        let (clusters, profiles) =
            (texts(["workload", "empty"]), texts(["ClusterProfile/a", "Profile/idle"]));
        filter.choose(read(&[configuration()]), &There { clusters, profiles })
    }

    #[test]
    fn what_several_profiles_deploy_stands_there_once() {
        let found = read(&[configuration()]);
        assert_eq!(found.len(), 3, "{found:?}");
        let shared = &found[0];
        assert_eq!((shared.cluster.as_str(), shared.namespace.as_str()), ("default/workload", "eng"));
        assert_eq!(shared.profiles, ["ClusterProfile/a", "ClusterProfile/b"]);
    }

    #[test]
    fn what_is_deployed_to_the_management_cluster_is_called_so() {
        let mut local = configuration();
        (local.metadata.namespace, local.metadata.name) =
            ("projectsveltos".into(), "local--management".into());
        let found = read(&[local, configuration()]);
        let clusters: std::collections::BTreeSet<_> =
            found.iter().map(|addon| addon.cluster.as_str()).collect();
        assert_eq!(clusters, ["default/workload", "management"].into());
    }

    #[test]
    fn filters_choose() {
        let count = |filter| chosen(filter).unwrap().len();
        let text = |text: &str| Some(text.to_owned());
        let all = AddonFilter::default;
        assert_eq!(count(all()), 3);
        assert_eq!(count(AddonFilter { charts: Some(true), ..all() }), 1);
        assert_eq!(count(AddonFilter { charts: Some(false), ..all() }), 2);
        assert_eq!(count(AddonFilter { cluster: text("workload"), ..all() }), 3);
        assert_eq!(count(AddonFilter { cluster: text("empty"), ..all() }), 0);
        assert_eq!(count(AddonFilter { namespace: text("default"), ..all() }), 3);
        assert_eq!(count(AddonFilter { namespace: text("other"), ..all() }), 0);
        assert_eq!(count(AddonFilter { profile: text("ClusterProfile/a"), ..all() }), 1);
        assert_eq!(count(AddonFilter { profile: text("Profile/p"), ..all() }), 1);
        assert_eq!(count(AddonFilter { profile: text("Profile/idle"), ..all() }), 0);
    }

    #[test]
    fn of_a_cluster_or_profile_that_does_not_exist_it_is_said_what_exists() {
        let wrong = AddonFilter { cluster: Some("workloat".into()), ..AddonFilter::default() };
        let error = chosen(wrong).unwrap_err().to_string();
        assert_eq!(error, "there is no cluster workloat; there is workload, empty");
        let wrong = AddonFilter { profile: Some("ClusterProfile/bb".into()), ..AddonFilter::default() };
        let error = chosen(wrong).unwrap_err().to_string();
        let others = "ClusterProfile/b, ClusterProfile/a, Profile/p, Profile/idle";
        assert_eq!(error, format!("there is no profile ClusterProfile/bb; there is {others}"));
    }
}
