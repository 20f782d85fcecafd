//! From a profile that a user wrote to what goes where.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use sluice_api::model::{Cluster, PolicyRef, Profile, ResourceRef};
use sluice_template::Stage;

use crate::error::Result;
use crate::knowledge::catalog::{Catalog, ContentKey};
use crate::knowledge::reads::Reads;
use crate::rendering::part::{Part, PolicySource};
use crate::rendering::provider;
use crate::rendering::references::{namespace_or, referenced, verbatim};
use crate::rendering::rendered::Rendered;
use crate::rendering::templates::Templates;

/// Renders a user-written profile. What it refers to may be another object for each cluster, and may be missing for
/// some of them.
pub(crate) fn render(
    profile: &Profile,
    catalog: &Catalog,
    templates: &Templates,
    reads: &mut Reads,
) -> Rendered {
    let (mut parts, mut failed) = (BTreeMap::<Vec<ContentKey>, Part>::new(), Vec::new());
    for cluster in catalog.fleet.clusters().values() {
        if !catalog.is_for(profile, cluster) {
            continue;
        }
        let keys = references(profile, cluster, (catalog, templates), reads);
        let part = keys.and_then(|keys| match parts.entry(keys) {
            Entry::Occupied(part) => Ok(part.into_mut()),
            Entry::Vacant(place) => {
                let (policies, rest) = place.key().split_at(profile.common.policy_refs.len());
                let (from, rest) = rest.split_at(profile.common.patches_from.len());
                let (jobs, mut rest) = rest.split_at(profile.common.job_refs.len());
                let sources = sources(&profile.common.policy_refs, policies, catalog, reads)?;
                let patches = self::sources(&profile.common.patches_from, from, catalog, reads)?;
                let jobs = self::sources(&profile.common.job_refs, jobs, catalog, reads)?;
                let mut values = Vec::with_capacity(profile.common.helm_charts.len());
                for chart in &profile.common.helm_charts {
                    let keys = rest.split_off(..chart.values_from.len()).unwrap_or_default();
                    values.push(self::sources(&chart.values_from, keys, catalog, reads)?);
                }
                Ok(place.insert(Part { destinations: Vec::new(), sources, patches, jobs, values }))
            }
        });
        match part {
            Ok(part) => part.destinations.push(cluster.id.clone()),
            Err(error) => failed.push((cluster.id.clone(), error)),
        }
    }
    Rendered {
        id: profile.id.clone(),
        is_refused: false,
        parts: parts.into_values().collect(),
        charts: profile.common.helm_charts.clone(),
        succeeds: catalog.transitions.predecessors(&profile.id),
        grants_to: profile.grants_to.clone(),
        resources: resources(profile),
        failed,
        unsure: catalog.unsure(profile),
        warnings: Vec::new(),
        spec: profile.common.raw.clone(),
        projections: Vec::new(),
    }
}

/// What its templates read; a Profile reads only in its own namespace.
fn resources(profile: &Profile) -> Vec<ResourceRef> {
    let mut refs = profile.common.resource_refs.clone();
    if !profile.id.namespace.is_empty() {
        refs.iter_mut().for_each(|item| item.namespace.clone_from(&profile.id.namespace));
    }
    refs
}

/// What the profile refers to for this cluster: names and namespaces may be templates over it, and over what it is made of.
fn references(
    profile: &Profile,
    cluster: &Cluster,
    (catalog, templates): (&Catalog, &Templates),
    reads: &mut Reads,
) -> Result<Vec<ContentKey>> {
    let mut keys = Vec::with_capacity(profile.common.policy_refs.len());
    let common = &profile.common;
    let values = common.helm_charts.iter().flat_map(|chart| &chart.values_from);
    let items = common.policy_refs.iter().chain(&common.patches_from).chain(&common.job_refs).chain(values);
    let provider = provider::of_names(items.clone(), cluster, catalog, reads)?;
    for item in items {
        let field = |field: &str, text: &str| {
            let dot = provider::of_cluster(cluster, &provider);
            let rendered = templates.render(&profile.id.name, text, Stage::Deploy, &dot);
            rendered.map_err(|error| error.within(format!("{}.{field}", item.path)))
        };
        let namespace = if profile.id.namespace.is_empty() {
            namespace_or(field("namespace", &item.namespace)?, &cluster.id)
        } else {
            profile.id.namespace.clone()
        };
        keys.push((item.kind.clone(), namespace, field("name", &item.name)?));
    }
    Ok(keys)
}

fn sources(
    items: &[PolicyRef],
    keys: &[ContentKey],
    catalog: &Catalog,
    reads: &mut Reads,
) -> Result<Vec<PolicySource>> {
    let mut sources = Vec::new();
    for (item, key) in items.iter().zip(keys) {
        if let Some(object) = referenced(catalog, item, key, reads)? {
            sources.push(verbatim(item, key, object)?);
        }
    }
    Ok(sources)
}
