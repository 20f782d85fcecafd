//! What a render looked at, also when it failed: a change of it is a reason to try again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::Attention;
use sluice_api::{ClusterRef, ObjectKey};

use crate::catalog::{Catalog, ContentKey, Resource};
use crate::charts::{ChartOutput, ChartRequest, ChartState, ClusterCapabilities};

/// What one cause has read of the management cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    content: BTreeSet<ContentKey>,
    /// Objects that templates read by an identifier, and which of their changes count.
    resources: BTreeMap<ObjectKey, Vec<Attention>>,
    charts: BTreeSet<ChartRequest>,
    /// What charts have rendered to: it is kept while it is used.
    outputs: Vec<Arc<ChartOutput>>,
    is_unknown: bool,
    /// Destinations of which it is not known what they can do.
    unknown_clusters: BTreeSet<ClusterRef>,
}

impl Reads {
    /// Notes that this content was looked for.
    pub(crate) fn insert(&mut self, key: ContentKey) {
        self.content.insert(key);
    }

    /// An object by its key; `None` when it does not exist, or when nothing is known of it yet: then the render counts for
    /// nothing.
    ///
    /// # Errors
    /// Why it cannot be read.
    pub(crate) fn resource(
        &mut self,
        catalog: &Catalog,
        key: &ObjectKey,
        attention: &Attention,
    ) -> Result<Option<Arc<Value>>, String> {
        let attentions = self.resources.entry(key.clone()).or_default();
        if !attentions.contains(attention) {
            attentions.push(attention.clone());
        }
        match catalog.resource(key) {
            None => {
                self.is_unknown = true;
                Ok(None)
            }
            Some(Resource::There(object)) => Ok(Some(object)),
            Some(Resource::Absent) => Ok(None),
            Some(Resource::Unavailable(error)) => Err(error),
        }
    }

    /// What is known of a chart; `None` when that is nothing: then the render counts for nothing.
    pub(crate) fn chart(&mut self, catalog: &Catalog, request: &ChartRequest) -> Option<ChartState> {
        if !self.charts.contains(request) {
            self.charts.insert(request.clone());
        }
        let known = catalog.chart(request).cloned();
        self.is_unknown |= known.is_none();
        known
    }

    /// What a destination can do; `None` when that is not known yet: then it gets nothing new, and others do.
    pub(crate) fn capabilities(
        &mut self,
        catalog: &Catalog,
        cluster: &ClusterRef,
    ) -> Option<Arc<ClusterCapabilities>> {
        let known = catalog.capabilities(cluster).cloned();
        if known.is_none() {
            self.unknown_clusters.insert(cluster.clone());
        }
        known
    }

    /// Destinations of which it is not known what they can do.
    pub(crate) fn unknown_clusters(&self) -> &BTreeSet<ClusterRef> {
        &self.unknown_clusters
    }

    /// Keeps what a chart has rendered to for as long as this is what is read.
    pub(crate) fn keep(&mut self, output: Arc<ChartOutput>) {
        if !self.outputs.iter().any(|kept| Arc::ptr_eq(kept, &output)) {
            self.outputs.push(output);
        }
    }

    /// The charts that were asked for.
    pub(crate) fn charts(&self) -> &BTreeSet<ChartRequest> {
        &self.charts
    }

    /// Keeps also what was used before: where not everything is known yet, what is there stays.
    pub(crate) fn keep_outputs_of(&mut self, before: &Self) {
        before.outputs.iter().for_each(|output| self.keep(output.clone()));
    }

    /// Whether something was read of which nothing is known yet.
    pub(crate) fn is_unknown(&self) -> bool {
        self.is_unknown
    }

    /// The contents that were looked for.
    pub(crate) fn content(&self) -> &BTreeSet<ContentKey> {
        &self.content
    }

    /// The objects that were read by an identifier.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &ObjectKey> {
        self.resources.keys()
    }

    /// Whether this object was read by an identifier.
    pub(crate) fn has(&self, key: &ObjectKey) -> bool {
        self.resources.contains_key(key)
    }

    /// Whether this change of an object is a reason to render again.
    pub(crate) fn sees(&self, key: &ObjectKey, old: Option<&Value>, new: Option<&Value>) -> bool {
        let attentions = self.resources.get(key);
        attentions.into_iter().flatten().any(|attention| attention.sees(old, new))
    }

    /// Whether nothing was read.
    pub(crate) fn is_empty(&self) -> bool {
        self.content.is_empty()
            && self.resources.is_empty()
            && self.charts.is_empty()
            && self.unknown_clusters.is_empty()
    }
}
