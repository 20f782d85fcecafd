//! The kinds that every API server has, and those of Sveltos: names in paths and for people, and whether they live in namespaces.

use std::collections::{BTreeSet, HashMap};
use std::sync::LazyLock;

use serde_json::Value;

use crate::crd;
use crate::object::{self, Gvk, ObjectKey};

mod table;

/// A kind of object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kind {
    /// API group, empty for core kinds.
    pub group: String,
    /// The version that is preferred.
    pub version: String,
    /// As manifests write it.
    pub kind: String,
    /// As paths write it.
    pub plural: String,
    /// Abbreviations.
    pub short: Vec<String>,
    /// Whether its objects live outside namespaces.
    pub is_cluster_scoped: bool,
    /// What the names of its objects may be.
    pub naming: Naming,
    /// Whether data, or other objects, go with an object of it: it is never deleted to be made anew.
    pub holds_others: bool,
}

/// What the names of a kind's objects may be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Naming {
    /// Labels of DNS with dots between them.
    #[default]
    Subdomain,
    /// One label of DNS.
    Label,
    /// Anything that is one segment of a path.
    Segment,
}

static BUILT_IN: LazyLock<Vec<Kind>> = LazyLock::new(|| table::ROWS.iter().map(Kind::of_row).collect());

static GROUPS: LazyLock<BTreeSet<&str>> =
    LazyLock::new(|| BUILT_IN.iter().map(|kind| &*kind.group).collect());

static OF_SVELTOS: LazyLock<Vec<Kind>> =
    LazyLock::new(|| crd::all().iter().filter_map(Kind::of_definition).collect());

/// All of them by group and kind.
static BY_NAME: LazyLock<HashMap<(&str, &str), &Kind>> = LazyLock::new(|| {
    let all = BUILT_IN.iter().chain(OF_SVELTOS.iter());
    all.map(|kind| ((kind.group.as_str(), kind.kind.as_str()), kind)).collect()
});

// === impl Kind ===

impl Kind {
    /// The kind that a CustomResourceDefinition defines.
    pub fn of_definition(definition: &Value) -> Option<Self> {
        let gvk = Gvk::parse(object::text(definition, &["apiVersion"]), object::text(definition, &["kind"]));
        if gvk.group != "apiextensions.k8s.io" || gvk.kind != "CustomResourceDefinition" {
            return None;
        }
        let text = |path: &[&str]| object::text(definition, path).to_owned();
        let versions = definition.pointer("/spec/versions").and_then(Value::as_array);
        let served =
            versions.into_iter().flatten().filter(|version| version.get("served") != Some(&false.into()));
        let stored = served.clone().find(|version| version.get("storage") == Some(&true.into()));
        let version = stored.or_else(|| served.clone().next());
        let short = definition.pointer("/spec/names/shortNames").and_then(Value::as_array);
        let kind = text(&["spec", "names", "kind"]);
        (!kind.is_empty()).then(|| Self {
            group: text(&["spec", "group"]),
            version: version.map(|version| object::text(version, &["name"])).unwrap_or_default().to_owned(),
            plural: text(&["spec", "names", "plural"]),
            short: short.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect(),
            is_cluster_scoped: text(&["spec", "scope"]) == "Cluster",
            naming: Naming::default(),
            holds_others: false,
            kind,
        })
    }

    fn of_row(&(api_version, kind, plural, short, flags): &table::Row) -> Self {
        let Gvk { group, version, kind } = Gvk::parse(api_version, kind);
        let short = short.split(',').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        let naming = match flags {
            _ if flags & table::LABEL != 0 => Naming::Label,
            _ if flags & table::SEGMENT != 0 => Naming::Segment,
            _ => Naming::Subdomain,
        };
        Self {
            group,
            version,
            kind,
            plural: plural.to_owned(),
            short,
            is_cluster_scoped: flags & table::CLUSTER != 0,
            naming,
            holds_others: flags & table::HOLDS != 0,
        }
    }

    /// As it is preferred.
    pub fn gvk(&self) -> Gvk {
        Gvk::new(&self.group, &self.version, &self.kind)
    }

    /// Whether `gvk` is of it, in whatever version.
    pub fn is_kind_of(&self, gvk: &Gvk) -> bool {
        self.group == gvk.group && self.kind == gvk.kind
    }

    /// Whether people mean it by this name, in any case: the kind, its plural, or an abbreviation.
    pub fn is_called(&self, name: &str) -> bool {
        let is = |other: &str| other.eq_ignore_ascii_case(name);
        is(&self.kind) || is(&self.plural) || self.short.iter().any(|short| is(short))
    }
}

/// The kinds that API servers have without a definition.
pub fn built_in_kinds() -> &'static [Kind] {
    &BUILT_IN
}

/// Whether every API server has the kinds of this group. Those of other groups can come and go.
pub fn is_built_in_group(group: &str) -> bool {
    GROUPS.contains(group)
}

/// The kinds of the Sveltos API.
pub fn sveltos_kinds() -> &'static [Kind] {
    &OF_SVELTOS
}

/// The built-in kind, or the one of Sveltos, if it is one.
pub fn known(gvk: &Gvk) -> Option<&'static Kind> {
    BY_NAME.get(&(gvk.group.as_str(), gvk.kind.as_str())).copied()
}

/// Which object it is once its namespace is completed: that of a kind that lives in none has none. Of a kind that only a server
/// knows it is as it is.
pub fn key_of(object: &Value) -> Option<ObjectKey> {
    let mut key = ObjectKey::of(object)?;
    match known(&key.gvk).map(|kind| kind.is_cluster_scoped) {
        Some(true) => key.namespace.clear(),
        Some(false) if key.namespace.is_empty() => key.namespace = "default".to_owned(),
        _ => {}
    }
    Some(key)
}

/// Whether people mean a kind by this name, as kubectl takes it: the kind, its plural or an abbreviation in any case, and after a
/// dot its group, or its version and group. Of a kind that is defined elsewhere the plural is guessed as Kubernetes does.
pub fn is_called(gvk: &Gvk, name: &str) -> bool {
    let (name, rest) = name.split_once('.').map_or((name, None), |(name, rest)| (name, Some(rest)));
    let is_core = |rest: &str| gvk.group.is_empty() && (rest == gvk.version || rest == "core");
    let in_version = |rest: &str| rest.split_once('.') == Some((gvk.version.as_str(), gvk.group.as_str()));
    let in_group = rest.is_none_or(|rest| rest == gvk.group || is_core(rest) || in_version(rest));
    let is = |other: &str| other.eq_ignore_ascii_case(name);
    let is_known = || known(gvk).is_some_and(|kind| kind.is_called(name));
    in_group && (is(&gvk.kind) || is(&plural(&gvk.kind)) || is_known())
}

/// The kind that people mean by a name, among those that every server has and those of Sveltos.
pub fn meant(name: &str) -> Option<&'static Kind> {
    built_in_kinds().iter().chain(sveltos_kinds()).find(|kind| is_called(&kind.gvk(), name))
}

/// The plural of a kind that nobody knows.
fn plural(kind: &str) -> String {
    let kind = kind.to_ascii_lowercase();
    let before = |last: char| kind.strip_suffix(last).and_then(|rest| rest.chars().last());
    match before('y') {
        Some(letter) if !"aeiou".contains(letter) => format!("{}ies", &kind[..kind.len() - 1]),
        _ if ["s", "x", "z", "ch", "sh"].iter().any(|end| kind.ends_with(end)) => format!("{kind}es"),
        _ => format!("{kind}s"),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    fn is_cluster_scoped(api_version: &str, kind: &str) -> Option<bool> {
        known(&Gvk::parse(api_version, kind)).map(|kind| kind.is_cluster_scoped)
    }

    #[test]
    fn every_kind_has_a_scope_in_whatever_version() {
        assert_eq!(is_cluster_scoped("v1", "ConfigMap"), Some(false));
        assert_eq!(is_cluster_scoped("autoscaling/v1", "HorizontalPodAutoscaler"), Some(false));
        assert_eq!(is_cluster_scoped("rbac.authorization.k8s.io/v1beta1", "ClusterRole"), Some(true));
        assert_eq!(is_cluster_scoped("config.projectsveltos.io/v1alpha1", "ClusterProfile"), Some(true));
        assert_eq!(is_cluster_scoped("config.projectsveltos.io/v1beta1", "Profile"), Some(false));
        assert_eq!(is_cluster_scoped("lib.projectsveltos.io/v1beta1", "ClusterSet"), Some(true));
        assert_eq!(is_cluster_scoped("example.com/v1", "Node"), None, "the group counts");
    }

    #[test]
    fn no_kind_is_there_twice() {
        let names: BTreeSet<_> = built_in_kinds().iter().map(|kind| (&kind.group, &kind.kind)).collect();
        assert_eq!(names.len(), built_in_kinds().len());
    }

    #[test]
    fn people_call_kinds_as_kubectl_does() {
        let deployment = known(&Gvk::parse("apps/v1", "Deployment")).unwrap();
        for name in ["deploy", "Deployments", "deployment", "DEPLOYMENT"] {
            assert!(deployment.is_called(name), "{name}");
        }
        assert!(!deployment.is_called("dep"));
        let gvk = Gvk::parse("apps/v1", "Deployment");
        for name in ["deploy.apps", "deployments.v1.apps", "Deployment.apps", "DEPLOY"] {
            assert!(is_called(&gvk, name), "{name}");
        }
        for name in ["deploy.extensions", "deployments.v2.apps", "deploys.apps", ""] {
            assert!(!is_called(&gvk, name), "{name}");
        }
        let route = Gvk::parse("gateway.networking.k8s.io/v1", "HTTPRoute");
        assert!(is_called(&route, "httproutes") && is_called(&route, "HTTPRoute.gateway.networking.k8s.io"));
        assert!(is_called(&Gvk::parse("example.com/v1", "Policy"), "policies"));
        assert!(is_called(&Gvk::parse("v1", "ConfigMap"), "cm.core"));
    }

    #[test]
    fn a_name_means_the_first_kind_that_has_it() {
        let meant = |name: &str| meant(name).map(|kind| (kind.group.as_str(), kind.kind.as_str()));
        assert_eq!(meant("deploy"), Some(("apps", "Deployment")));
        assert_eq!(meant("ev"), Some(("", "Event")));
        assert_eq!(meant("clusterprofiles"), Some(("config.projectsveltos.io", "ClusterProfile")));
        assert_eq!(meant("widgets"), None);
    }
}
