//! Discovery: which groups, versions and resources a cluster serves.
//!
//! The documents of a cluster without CRDs are the same for all, so they are made once.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use bytes::Bytes;
use serde_json::{Value, json};

use crate::cluster::Cluster;
use crate::http::Format;
use crate::kinds::{ResourceDef, VIRTUAL, VersionDef, api_version, builtins};

const VERBS: [&str; 8] = ["create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

const CUSTOM_VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// One resource as discovery shows it.
struct Entry<'a> {
    group: &'a str,
    version: &'a str,
    plural: &'a str,
    singular: String,
    kind: &'a str,
    short_names: &'a [Box<str>],
    categories: &'a [Box<str>],
    namespaced: bool,
    status: bool,
    storage: bool,
    custom: bool,
}

/// The answer to `/version`.
pub fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "gitVersion": "v1.36.0", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "linux/amd64",
    })
}

/// The answer to `/api`.
pub fn core(cluster: &Cluster, format: &Format) -> Bytes {
    static SHARED: LazyLock<Bytes> = LazyLock::new(|| render(&aggregated(&entries(&all(None)), true)));
    if *format == Format::Aggregated {
        return if has_custom(cluster) {
            render(&aggregated(&entries(&all(Some(cluster))), true))
        } else {
            SHARED.clone()
        };
    }
    let addresses = json!([{"clientCIDR": "0.0.0.0/0", "serverAddress": ""}]);
    render(&json!({"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": addresses}))
}

/// The answer to `/apis`.
pub fn groups(cluster: &Cluster, format: &Format) -> Bytes {
    static SHARED: LazyLock<Bytes> = LazyLock::new(|| render(&aggregated(&entries(&all(None)), false)));
    let defs = all(Some(cluster));
    if *format == Format::Aggregated {
        return if has_custom(cluster) {
            render(&aggregated(&entries(&defs), false))
        } else {
            SHARED.clone()
        };
    }
    let entries = entries(&defs);
    let groups: Vec<Value> = versions_by_group(&entries)
        .iter()
        .filter(|(group, _)| !group.is_empty())
        .map(|(group, versions)| api_group(group, versions))
        .collect();
    render(&json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}))
}

/// The answer to `/apis/<group>`.
pub fn group(cluster: &Cluster, group: &str) -> Option<Value> {
    let defs = all(Some(cluster));
    let entries = entries(&defs);
    let found = versions_by_group(&entries).into_iter().find(|(name, _)| *name == group)?;
    let mut value = api_group(group, &found.1);
    if let Value::Object(map) = &mut value {
        map.insert("kind".into(), "APIGroup".into());
        map.insert("apiVersion".into(), "v1".into());
    }
    Some(value)
}

/// The answer to `/apis/<group>/<version>`.
pub fn resources(cluster: &Cluster, group: &str, version: &str) -> Option<Value> {
    let defs = all(Some(cluster));
    let resources: Vec<Value> = entries(&defs)
        .iter()
        .filter(|entry| entry.group == group && entry.version == version)
        .flat_map(Entry::legacy)
        .collect();
    let group_version = api_version(group, version);
    (!resources.is_empty())
        .then(|| json!({"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": group_version, "resources": resources}))
}

/// All group-versions of a cluster with the resources in them, for the OpenAPI index.
pub fn group_versions(cluster: &Cluster) -> BTreeMap<(String, String), Vec<Arc<ResourceDef>>> {
    let mut found: BTreeMap<(String, String), Vec<Arc<ResourceDef>>> = BTreeMap::new();
    for def in all(Some(cluster)) {
        for version in &def.versions {
            found.entry((def.group.to_string(), version.name.to_string())).or_default().push(def.clone());
        }
    }
    found
}

fn has_custom(cluster: &Cluster) -> bool {
    cluster.state().registry().custom().next().is_some()
}

fn all(cluster: Option<&Cluster>) -> Vec<Arc<ResourceDef>> {
    match cluster {
        Some(cluster) => cluster.state().registry().iter().cloned().collect(),
        None => builtins().list.clone(),
    }
}

fn entries(defs: &[Arc<ResourceDef>]) -> Vec<Entry<'_>> {
    let stored =
        defs.iter().flat_map(|def| def.versions.iter().map(move |version| Entry::stored(def, version)));
    let reviews = VIRTUAL.iter().map(|review| Entry {
        group: review.group,
        version: review.version,
        plural: review.plural,
        singular: review.kind.to_lowercase(),
        kind: review.kind,
        short_names: &[],
        categories: &[],
        namespaced: false,
        status: false,
        storage: false,
        custom: false,
    });
    stored.chain(reviews).collect()
}

/// Groups in order of first appearance, each with its versions, preferred first.
fn versions_by_group<'a>(entries: &[Entry<'a>]) -> Vec<(&'a str, Vec<&'a str>)> {
    let mut groups: Vec<(&str, Vec<&str>)> = Vec::new();
    for entry in entries {
        match groups.iter_mut().find(|(group, _)| *group == entry.group) {
            Some((_, versions)) if versions.contains(&entry.version) => {}
            Some((_, versions)) => versions.push(entry.version),
            None => groups.push((entry.group, vec![entry.version])),
        }
    }
    groups
}

fn api_group(group: &str, versions: &[&str]) -> Value {
    let version = |name: &&str| json!({"groupVersion": api_version(group, name), "version": name});
    let preferred = versions.first().map(version);
    json!({"name": group, "versions": versions.iter().map(version).collect::<Vec<_>>(), "preferredVersion": preferred})
}

fn aggregated(entries: &[Entry<'_>], core: bool) -> Value {
    let items: Vec<Value> = versions_by_group(entries)
        .into_iter()
        .filter(|(group, _)| group.is_empty() == core)
        .map(|(group, versions)| {
            let of_version = |version: &&str| {
                let resources: Vec<Value> = entries
                    .iter()
                    .filter(|entry| entry.group == group && entry.version == *version)
                    .map(Entry::aggregated)
                    .collect();
                json!({"version": version, "freshness": "Current", "resources": resources})
            };
            let mut metadata = json!({"creationTimestamp": null});
            if !core && let Value::Object(map) = &mut metadata {
                map.insert("name".into(), group.into());
            }
            json!({"metadata": metadata, "versions": versions.iter().map(of_version).collect::<Vec<_>>()})
        })
        .collect();
    json!({"kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items})
}

fn render(value: &Value) -> Bytes {
    Bytes::from(value.to_string())
}

// === impl Entry ===

impl<'a> Entry<'a> {
    fn stored(def: &'a ResourceDef, version: &'a VersionDef) -> Self {
        Self {
            group: &def.group,
            version: &version.name,
            plural: &def.plural,
            singular: def.singular.to_string(),
            kind: &def.kind,
            short_names: &def.short_names,
            categories: &def.categories,
            namespaced: def.namespaced,
            status: version.status,
            storage: true,
            custom: def.custom,
        }
    }

    fn verbs(&self) -> Vec<&'static str> {
        match (self.storage, self.custom) {
            (false, _) => vec!["create"],
            (true, false) => VERBS.to_vec(),
            (true, true) => CUSTOM_VERBS.to_vec(),
        }
    }

    fn legacy(&self) -> Vec<Value> {
        let mut resource = json!({
            "name": self.plural, "singularName": self.singular, "namespaced": self.namespaced, "kind": self.kind,
            "verbs": self.verbs(),
        });
        if let Value::Object(map) = &mut resource {
            insert_names(map, self);
        }
        let mut found = vec![resource];
        if self.status {
            let name = format!("{}/status", self.plural);
            let verbs = ["get", "patch", "update"];
            found.push(json!({"name": name, "singularName": "", "namespaced": self.namespaced, "kind": self.kind, "verbs": verbs}));
        }
        found
    }

    fn aggregated(&self) -> Value {
        let kind = json!({"group": self.group, "version": self.version, "kind": self.kind});
        let mut resource = json!({
            "resource": self.plural, "responseKind": kind, "scope": if self.namespaced { "Namespaced" } else { "Cluster" },
            "singularResource": self.singular, "verbs": self.verbs(),
        });
        if let Value::Object(map) = &mut resource {
            insert_names(map, self);
            if self.status {
                let verbs = ["get", "patch", "update"];
                map.insert(
                    "subresources".into(),
                    json!([{"subresource": "status", "responseKind": kind, "verbs": verbs}]),
                );
            }
        }
        resource
    }
}

fn insert_names(map: &mut crate::object::Json, entry: &Entry<'_>) {
    for (field, names) in [("shortNames", entry.short_names), ("categories", entry.categories)] {
        if !names.is_empty() {
            map.insert(field.into(), json!(names));
        }
    }
}
