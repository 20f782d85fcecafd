//! What is used where: ConfigMaps, Secrets and whatever else profiles and triggers name, and these themselves.

use std::collections::{BTreeMap, BTreeSet};

use kube::Client;
use serde::Serialize;
use serde_json::Value;
use sluice_api::model::{CONFIG_GROUP, LIB_GROUP};
use sluice_api::{Gvk, object};
use sluice_bus::{Bus, BusError, ReadSpec, look_each};
use sluice_protocol::rows::{Desired, Policy};
use sluice_protocol::{Row, Shard, Subject, Table};

use crate::error::InspectError;
use crate::explain::instead;
use crate::inspector::{Inspector, LONG_PATIENCE, Listed, in_time_of};

/// Something that is used, and where.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Usage {
    /// Its kind: `ConfigMap`, `Secret`, or that of a profile or trigger.
    pub kind: String,
    /// Its namespace. Where it is a template, as it is written.
    pub namespace: String,
    /// Its name. Where it is a template, as it is written.
    pub name: String,
    /// The clusters that it is used for, as `namespace/name`.
    pub clusters: Vec<String>,
    /// Who names it, as `Kind/name`, or `Kind/namespace/name`.
    pub used_by: Vec<String>,
}

/// Which of it is asked for.
#[derive(Clone, Debug, Default)]
pub struct UsageFilter {
    /// Only this kind.
    pub kind: Option<String>,
    /// Only in this namespace.
    pub namespace: Option<String>,
    /// Only with this name.
    pub name: Option<String>,
}

/// Kind, namespace and name.
type Used = (String, String, String);

/// Who uses what, and for which clusters.
#[derive(Debug, Default)]
struct Uses(BTreeMap<Used, (BTreeSet<String>, BTreeSet<String>)>);

// === impl Inspector ===

impl Inspector {
    /// What is used where. While the management cluster is away, what the bus tells of it.
    ///
    /// # Errors
    /// When both are away, or what is asked for is used by nobody.
    pub async fn usage(&self, filter: &UsageFilter) -> Result<Listed<Usage>, InspectError> {
        let written = async {
            let client = self.management()?;
            in_time_of(LONG_PATIENCE, "the management cluster", written(&client)).await
        };
        let error = match written.await {
            Ok(uses) => return Ok(Listed { found: filter.choose(uses.all())?, missing: Vec::new() }),
            Err(error) => error,
        };
        let rendered = async { in_time_of(LONG_PATIENCE, "the bus", Box::pin(rendered(&self.bus()?))).await };
        let Ok(uses) = rendered.await else { return Err(error) };
        let missing = format!(
            "what is named and not deployed, such as values of charts, and what is for no cluster ({error}): these are the \
             contents that renderers have put together"
        );
        Ok(Listed { found: filter.choose(uses.all())?, missing: vec![missing] })
    }
}

// === impl UsageFilter ===

impl UsageFilter {
    fn choose(&self, mut all: Vec<Usage>) -> Result<Vec<Usage>, InspectError> {
        let counts = |wanted: &Option<String>, is: &str| wanted.as_deref().is_none_or(|wanted| wanted == is);
        if let Some(kind) = &self.kind
            && !all.iter().any(|usage| usage.kind == *kind)
        {
            let kinds = instead(kind, all.iter().map(|usage| usage.kind.as_str()));
            return Err(InspectError::NotFound(format!("nothing of kind {kind} is used; {kinds}")));
        }
        all.retain(|usage| counts(&self.kind, &usage.kind));
        if let Some(name) = &self.name
            && !all.iter().any(|usage| usage.name == *name && counts(&self.namespace, &usage.namespace))
        {
            let others = all.iter().filter(|usage| counts(&self.namespace, &usage.namespace));
            let others = instead(name, others.map(|usage| usage.name.as_str()));
            let place = self.namespace.as_ref().map(|namespace| format!(" in namespace {namespace}"));
            let says = format!("nothing called {name}{} is used; {others}", place.unwrap_or_default());
            return Err(InspectError::NotFound(says));
        }
        all.retain(|usage| counts(&self.namespace, &usage.namespace) && counts(&self.name, &usage.name));
        Ok(all)
    }
}

// === impl Uses ===

impl Uses {
    fn add(&mut self, used: Used, by: Option<&str>, cluster: Option<&str>) {
        let (clusters, used_by) = self.0.entry(used).or_default();
        clusters.extend(cluster.map(str::to_owned));
        used_by.extend(by.map(str::to_owned));
    }

    /// What one profile or trigger names, and itself.
    fn add_user(&mut self, user: &Value) {
        let (kind, namespace, name) =
            (object::text(user, &["kind"]), object::namespace(user), object::name(user));
        let (by, clusters) = (path(kind, namespace, name), clusters_of(user));
        let used = (kind.to_owned(), namespace.to_owned(), name.to_owned());
        self.0
            .entry(used)
            .or_default()
            .0
            .extend(clusters.iter().map(|(space, name)| format!("{space}/{name}")));
        for (kind, in_namespace, name) in named_by(&user["spec"]) {
            let place = if in_namespace.is_empty() { namespace } else { &in_namespace };
            if clusters.is_empty() {
                self.add((kind.clone(), place.to_owned(), name.clone()), Some(&by), None);
            }
            for (space, cluster) in &clusters {
                // Without a namespace the cluster's is meant.
                let place = if place.is_empty() { space } else { place };
                let used = (kind.clone(), place.to_owned(), name.clone());
                self.add(used, Some(&by), Some(&format!("{space}/{cluster}")));
            }
        }
    }

    /// The contents that a renderer has put together for one cluster, and their profile.
    fn add_row(&mut self, row: &Row) {
        let Subject::Desired { cluster, profile, .. } = &row.subject else { return };
        let Ok(desired) = Desired::of_row(row) else { return };
        let (by, cluster) = (path(profile.kind(), &profile.namespace, &profile.name), cluster.path());
        let own = (profile.kind().to_owned(), profile.namespace.clone(), profile.name.clone());
        self.add(own, None, Some(&cluster));
        let is_content = |policy: &&Policy| ["ConfigMap", "Secret"].contains(&policy.kind.as_str());
        for policy in desired.policies.iter().filter(is_content) {
            let used = (policy.kind.clone(), policy.namespace.clone(), policy.name.clone());
            self.add(used, Some(&by), Some(&cluster));
        }
    }

    fn all(self) -> Vec<Usage> {
        let usage =
            |((kind, namespace, name), (clusters, used_by)): (Used, (BTreeSet<_>, BTreeSet<_>))| Usage {
                kind,
                namespace,
                name,
                clusters: clusters.into_iter().collect(),
                used_by: used_by.into_iter().collect(),
            };
        self.0.into_iter().map(usage).collect()
    }
}

fn path(kind: &str, namespace: &str, name: &str) -> String {
    if namespace.is_empty() { format!("{kind}/{name}") } else { format!("{kind}/{namespace}/{name}") }
}

/// The clusters that a profile or trigger is about, by its status: namespace and name.
fn clusters_of(user: &Value) -> BTreeSet<(String, String)> {
    let status = &user["status"];
    let lists = ["matchingClusters", "matchingClusterRefs", "destinationMatchingClusterRefs"];
    let items = lists.iter().filter_map(|list| status[list].as_array()).flatten();
    let place = |item: &Value| {
        (object::text(item, &["namespace"]).to_owned(), object::text(item, &["name"]).to_owned())
    };
    items.map(place).filter(|(_, name)| !name.is_empty()).collect()
}

/// The lists of a spec whose items name objects.
const LISTS: [&str; 3] = ["policyRefs", "patchesFrom", "kustomizationRefs"];

/// What a spec names: kind, namespace and name. As it is written, so that a spec that cannot be used counts too.
fn named_by(spec: &Value) -> BTreeSet<Used> {
    let items = |of: &Value, list: &str| of[list].as_array().cloned().unwrap_or_default();
    let mut found: Vec<Value> = LISTS.iter().flat_map(|list| items(spec, list)).collect();
    for of in ["helmCharts", "kustomizationRefs"] {
        for item in items(spec, of) {
            found.extend(items(&item, "valuesFrom"));
            let access = &item["registryCredentialsConfig"];
            let secrets = ["credentials", "ca"].map(|field| with_kind("Secret", &access[field]));
            found.extend(secrets);
        }
    }
    found.extend(items(spec, "templateResourceRefs").iter().map(|item| item["resource"].clone()));
    for (list, kind) in [("configMapGenerator", "ConfigMap"), ("secretGenerator", "Secret")] {
        found.extend(items(spec, list).iter().map(|item| with_kind(kind, item)));
    }
    let used = |item: &Value| {
        let [kind, namespace, name] =
            ["kind", "namespace", "name"].map(|field| object::text(item, &[field]).to_owned());
        (!kind.is_empty() && !name.is_empty()).then_some((kind, namespace, name))
    };
    found.iter().filter_map(used).collect()
}

fn with_kind(kind: &str, item: &Value) -> Value {
    let mut item = item.clone();
    if let Some(fields) = item.as_object_mut() {
        fields.insert("kind".to_owned(), kind.into());
    }
    item
}

/// What users wrote, and what triggers made.
async fn written(client: &Client) -> Result<Uses, String> {
    let kinds = [
        (CONFIG_GROUP, "ClusterProfile"),
        (CONFIG_GROUP, "Profile"),
        (LIB_GROUP, "EventTrigger"),
        (LIB_GROUP, "EventBasedAddOn"),
    ];
    let mut uses = Uses::default();
    for (group, kind) in kinds {
        let listed = sluice_kube::list(client, &Gvk::new(group, "v1beta1", kind), None).await;
        let listed = listed.map_err(|error| format!("listing {kind}: {error}"))?;
        listed.into_iter().flatten().for_each(|user| uses.add_user(&user));
    }
    Ok(uses)
}

/// What renderers have put together.
async fn rendered(bus: &Bus) -> Result<Uses, BusError> {
    let mut uses = Uses::default();
    for shard in Shard::all(bus.shards()) {
        let spec = ReadSpec::all(Table::Desired.stream(shard));
        look_each(bus, &spec, |stored| uses.add_row(&stored.row)).await?;
    }
    Ok(uses)
}

#[cfg(test)]
mod tests;
