//! Which triggers listen to which EventSource on which cluster.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::{Cluster, Trigger};
use sluice_api::{ClusterRef, TriggerId};
use sluice_template::Stage;

use crate::catalog::Catalog;
use crate::templates::{Templates, cluster_only};

/// The triggers of one cluster.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterBindings {
    /// The EventSource of each trigger that selects the cluster, or why its name cannot be told.
    pub(crate) by_trigger: BTreeMap<TriggerId, Result<String, String>>,
    by_source: BTreeMap<String, BTreeSet<TriggerId>>,
}

impl ClusterBindings {
    /// Binds every trigger that selects `cluster`. A trigger that cannot be read keeps its former binding:
    /// what it made stays until it can be read again.
    pub(crate) fn of(
        cluster: &Cluster,
        catalog: &Catalog,
        templates: &Templates,
        before: Option<&Self>,
    ) -> Self {
        let mut bindings = Self::default();
        for (id, trigger) in &catalog.triggers {
            let bound = match trigger.as_ref() {
                Ok(trigger) => source_name(trigger, cluster, catalog, templates),
                Err(_) => before.and_then(|before| before.by_trigger.get(id)).cloned(),
            };
            let Some(bound) = bound else { continue };
            if let Ok(source) = &bound {
                bindings.by_source.entry(source.clone()).or_default().insert(id.clone());
            }
            bindings.by_trigger.insert(id.clone(), bound);
        }
        bindings
    }

    /// The triggers that listen to `source`.
    pub(crate) fn listeners(&self, source: &str) -> Vec<TriggerId> {
        self.by_source.get(source).into_iter().flatten().cloned().collect()
    }

    /// The EventSources somebody listens to.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &String> {
        self.by_source.keys()
    }

    /// What the interest row of the cluster should list.
    pub(crate) fn interest(&self, catalog: &Catalog) -> Vec<(String, Arc<Value>)> {
        let manifest =
            |name: &String| catalog.sources.get(name).map(|manifest| (name.clone(), manifest.clone()));
        self.sources().filter_map(manifest).collect()
    }
}

/// Whether events of `cluster` count for `trigger`.
///
/// # Errors
/// A cluster set that cannot be read, and why.
pub(crate) fn selects(trigger: &Trigger, cluster: &Cluster, catalog: &Catalog) -> Result<bool, String> {
    let by_label = !trigger.source_selector.is_empty() && trigger.source_selector.matches(cluster.labels());
    let selected = if by_label { Ok(true) } else { catalog.is_in(&trigger.source_sets, cluster) };
    selected.map_err(|error| format!("spec.clusterSetRefs: {error}"))
}

/// The EventSource that `trigger` listens to on `cluster`; `None` when it does not select the cluster.
fn source_name(
    trigger: &Trigger,
    cluster: &Cluster,
    catalog: &Catalog,
    templates: &Templates,
) -> Option<Result<String, String>> {
    match selects(trigger, cluster, catalog) {
        Ok(true) => {}
        Ok(false) => return None,
        Err(error) => return Some(Err(error)),
    }
    let dot = cluster_only(&cluster.object);
    let name =
        templates.render(&template_name(&cluster.id, trigger), &trigger.event_source, Stage::Event, &dot);
    Some(name.map_err(|error| format!("spec.eventSourceName: {error}")))
}

/// The name that Sveltos gives to every template of a trigger; it is part of error messages.
pub(crate) fn template_name(cluster: &ClusterRef, trigger: &Trigger) -> String {
    format!("{}-{}-{}", cluster.namespace, cluster.name, trigger.name)
}
