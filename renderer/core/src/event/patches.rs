//! What `patchesFrom` of a trigger names, for the destinations of an event.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use sluice_api::ClusterRef;
use sluice_api::model::{Cluster, PolicyRef};
use sluice_template::{Data, Stage};

use super::{Destinations, EventRender};
use crate::language::Language;
use crate::project::Projection;
use crate::reads::Reads;
use crate::render::{Part, PolicySource};
use crate::templates::cluster_only;

/// What destinations get, with the patches for them.
#[derive(Default)]
pub(super) struct Patched {
    pub(super) parts: Vec<Part>,
    /// Destinations for which what is named is not there.
    pub(super) failed: Vec<(ClusterRef, String)>,
    /// What is named, for the spec of the profile.
    pub(super) refs: Vec<Value>,
    pub(super) projections: Vec<Projection>,
}

impl EventRender<'_> {
    /// Finds what is named. A name in which a template survives the event is one over the destination.
    ///
    /// # Errors
    /// The reference, or the template's message.
    pub(super) fn patched(
        &self,
        profile: &str,
        sources: Vec<PolicySource>,
        destinations: Destinations,
        dot: &Data<'_>,
        reads: &mut Reads,
    ) -> Result<Patched, String> {
        let items = self.trigger.common.patches_from.iter().map(|item| self.named_by_event(item, dot));
        let items: Vec<PolicyRef> = items.collect::<Result<_, _>>()?;
        let mut patched = Patched { refs: items.iter().map(reference).collect(), ..Patched::default() };
        patched.failed = destinations.missing;
        if !items.iter().any(has_actions) {
            let (patches, projections) = self.patch_sources(&items, dot, reads)?;
            patched.projections = projections;
            patched.parts.push(Part { destinations: destinations.clusters, sources, patches });
            return Ok(patched);
        }
        let mut projections = BTreeMap::new();
        for id in destinations.clusters {
            let Some(cluster) = self.catalog.clusters.get(&id) else { continue };
            let named = items.iter().map(|item| self.named_by_destination(item, profile, cluster));
            let found = named.collect::<Result<Vec<_>, _>>();
            match found.and_then(|items| self.patch_sources(&items, dot, reads)) {
                Ok((patches, made)) => {
                    projections.extend(made.into_iter().map(|one| (one.key.clone(), one)));
                    patched.parts.push(Part { destinations: vec![id], sources: sources.clone(), patches });
                }
                Err(error) => patched.failed.push((id, error)),
            }
        }
        patched.projections = projections.into_values().collect();
        Ok(patched)
    }

    fn patch_sources(
        &self,
        items: &[PolicyRef],
        dot: &Data<'_>,
        reads: &mut Reads,
    ) -> Result<(Vec<PolicySource>, Vec<Projection>), String> {
        let (mut sources, mut projections) = (Vec::new(), Vec::new());
        for item in items {
            if let Some((source, projection)) = self.policy(item, dot, reads)? {
                sources.push(source);
                projections.extend(projection);
            }
        }
        Ok((sources, projections))
    }

    fn named_by_event(&self, item: &PolicyRef, dot: &Data<'_>) -> Result<PolicyRef, String> {
        named(item, |text| self.template(text, dot))
    }

    fn named_by_destination(
        &self,
        item: &PolicyRef,
        profile: &str,
        cluster: &Cluster,
    ) -> Result<PolicyRef, String> {
        let dot = cluster_only(&cluster.object);
        named(item, |text| self.templates.render(profile, text, Stage::Deploy, &dot))
    }
}

fn named(item: &PolicyRef, render: impl Fn(&str) -> Result<String, String>) -> Result<PolicyRef, String> {
    let field =
        |field: &str, text: &str| render(text).map_err(|error| format!("{}.{field}: {error}", item.path));
    let (namespace, name) = (field("namespace", &item.namespace)?, field("name", &item.name)?);
    Ok(PolicyRef { namespace, name, ..item.clone() })
}

fn has_actions(item: &PolicyRef) -> bool {
    [&item.namespace, &item.name].into_iter().any(|text| Language::Go.has_actions(text))
}

fn reference(item: &PolicyRef) -> Value {
    let mut value = json!({"kind": item.kind, "name": item.name});
    if !item.namespace.is_empty() {
        value["namespace"] = item.namespace.clone().into();
    }
    if item.optional {
        value["optional"] = true.into();
    }
    value
}
