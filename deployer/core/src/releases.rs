//! Releases of charts. A release is one profile's on a cluster, as an object is: another one that wants it waits, with
//! everything in it.

// D-1023: a chart's release is claimed like an object.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::{Gvk, ObjectKey, ServiceAccount};
use sluice_protocol::rows::{Desired, Policy, Release};

/// The kind that objects of a chart come from.
pub(crate) const CHART: &str = "HelmChart";

/// Releases by namespace and name, as `namespace/name`.
pub(crate) type Releases = BTreeMap<String, Release>;

/// What of a profile's charts is said in its ClusterSummary.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Helm {
    /// The releases, in their order.
    pub releases: Vec<ReleaseSummary>,
    /// What is wrong with them, or with objects in them.
    pub errors: Vec<String>,
}

/// What is said of one release.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReleaseSummary {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
    /// Digest of its values.
    pub values: String,
    /// Why it is another profile's.
    pub conflict: Option<String>,
}

/// Whether two releases are of the same version of a chart, with the same values. The address that it came from is no matter.
pub(crate) fn is_same(one: &Release, other: &Release) -> bool {
    (&one.version, &one.values) == (&other.version, &other.values)
}

/// What is said of a release, under which name.
pub(crate) fn path(policy: &Policy) -> String {
    format!("{}/{}", policy.namespace, policy.name)
}

/// The name under which a release is claimed: no object of a cluster has it. A name alone gives nobody a right, so those of a tenant
/// are apart: it competes with others for objects only.
pub(crate) fn key(path: &str, account: Option<&ServiceAccount>) -> ObjectKey {
    let (namespace, name) = path.split_once('/').unwrap_or(("", path));
    let gvk = Gvk::new("meta.helm.sh", "v1", "Release");
    let name = account.map_or_else(|| name.to_owned(), |account| format!("{name} of {account}"));
    ObjectKey { gvk, namespace: namespace.to_owned(), name }
}

/// The name under which a definition is claimed that charts bring along: as long as one of them is there, it is marked.
pub(crate) fn brought_key(definition: &ObjectKey) -> ObjectKey {
    let gvk = Gvk::new("meta.helm.sh", "v1", "Definition");
    ObjectKey { gvk, ..definition.clone() }
}

/// Under this name the conflict of a release is kept among the errors of the objects.
pub(crate) fn error_key(path: &str) -> String {
    format!("{CHART} {path}")
}

/// The release that an error is about, by that name; or an object, by its reference.
pub(crate) fn path_of_error(about: &str) -> Option<&str> {
    about.strip_prefix(CHART)?.strip_prefix(' ')
}

/// The charts of a profile.
pub(crate) fn charts(desired: &Desired) -> impl Iterator<Item = &Policy> {
    desired.policies.iter().filter(|policy| policy.kind == CHART)
}

/// Whether anything else than charts is wanted.
pub(crate) fn has_resources(desired: &Desired) -> bool {
    let has_charts = desired.spec.contains_key("helmCharts") || charts(desired).next().is_some();
    let has = |field: &str| desired.spec.get(field).is_some_and(|list| list != &serde_json::json!([]));
    let has_references = has("policyRefs");
    !(has_charts || has("kustomizationRefs"))
        || has_references
        || desired.policies.iter().any(|policy| policy.kind != CHART)
}

/// What is said of a profile's charts, from the errors of its last run by what they are about; `None` when it has none. These
/// errors are taken out.
pub(crate) fn summary(desired: &Desired, errors: &mut BTreeMap<String, String>) -> Option<Helm> {
    if !desired.spec.contains_key("helmCharts") && charts(desired).next().is_none() {
        return None;
    }
    let mut helm = Helm::default();
    for policy in charts(desired) {
        let conflict = errors.get(&error_key(&path(policy))).cloned();
        let values = policy.release.as_ref().map(|release| release.values.clone()).unwrap_or_default();
        let (namespace, name) = (policy.namespace.clone(), policy.name.clone());
        helm.releases.push(ReleaseSummary { namespace, name, values, conflict });
    }
    if !errors.is_empty() {
        let objects: BTreeSet<String> = charts(desired)
            .flat_map(|policy| &policy.objects)
            .filter_map(sluice_api::kinds::key_of)
            .map(|key| key.to_string())
            .collect();
        let is_of_chart = |about: &str| {
            let object = about.strip_suffix(crate::job::HANDED_OVER).unwrap_or(about);
            about.starts_with(CHART) || objects.contains(object)
        };
        helm.errors = errors.extract_if(.., |about, _| is_of_chart(about)).map(|(_, text)| text).collect();
    }
    Some(helm)
}
