//! What a render looked at, also when it failed: a change of it is a reason to try again.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::Attention;
use sluice_api::{ClusterRef, Gvk, ObjectKey};

use crate::error::{Error, Result};
use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::catalog::{Catalog, ContentKey, Resource, content_key};
use crate::knowledge::chart_output::ChartOutput;
use crate::knowledge::chart_request::{ChartRequest, ChartState};
use crate::knowledge::rights::{Question, Tenant};

// D-0906: what templates read is watched while somebody reads it.
/// What one cause has read of the management cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reads {
    /// For whom it is read; without one everything may be.
    tenant: Option<Tenant>,
    questions: BTreeSet<Question>,
    /// Those of them that are not answered, or were before something changed.
    unanswered: BTreeSet<Question>,
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
    /// Nothing has been read yet; whatever will be is for this tenant.
    pub(crate) fn of(tenant: Option<Tenant>) -> Self {
        Self { tenant, ..Self::default() }
    }

    /// Whether it is read for a tenant.
    pub(crate) fn is_of_tenant(&self) -> bool {
        self.tenant.is_some()
    }

    /// Notes that it counts whether this content is there.
    pub(crate) fn insert(&mut self, key: ContentKey) {
        self.content.insert(key);
    }

    /// A ConfigMap or Secret; `None` when it does not exist, or when nobody knows yet whether it may be read: then the render
    /// counts for nothing.
    ///
    /// # Errors
    /// Why it may not be read.
    pub(crate) fn content<'w>(
        &mut self,
        catalog: &'w Catalog,
        key: &ContentKey,
    ) -> Result<Option<&'w Arc<Value>>> {
        self.insert(key.clone());
        let may = self.may_read(catalog, &object_key(key))?;
        Ok(catalog.content(key).filter(|_| may))
    }

    /// Whether the tenant may read this object; while nobody knows it may not, and the render counts for nothing.
    fn may_read(&mut self, catalog: &Catalog, object: &ObjectKey) -> Result<bool> {
        let maker = content_key(object).and_then(|key| catalog.maker_account(&key));
        if let Some(maker) =
            maker.filter(|maker| Some(*maker) != self.tenant.as_ref().map(|tenant| &tenant.account))
        {
            return Err(Error::OfTenant { object: Box::new(object.clone()), maker: maker.clone() });
        }
        let Some(Tenant { account, cause, since }) = &self.tenant else { return Ok(true) };
        let own = content_key(object).and_then(|key| catalog.generator_of(&key));
        if own == Some(cause) {
            return Ok(true);
        }
        let question = Question { account: account.clone(), object: object.clone() };
        let right = catalog.rights.answer(&question, *since);
        if right.is_none() {
            self.is_unknown = true;
            self.unanswered.insert(question.clone());
        }
        let verdict = right.map(|right| question.verdict(right));
        self.questions.insert(question);
        verdict.transpose().map(|known| known.is_some())
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
    ) -> Result<Option<Arc<Value>>> {
        let attentions = self.resources.entry(key.clone()).or_default();
        if !attentions.contains(attention) {
            attentions.push(attention.clone());
        }
        if !self.may_read(catalog, key)? {
            return Ok(None);
        }
        match catalog.resource(key) {
            None => {
                self.is_unknown = true;
                Ok(None)
            }
            Some(Resource::There(object)) => Ok(Some(object)),
            Some(Resource::Absent) => Ok(None),
            Some(Resource::Unavailable(error)) => Err(Error::Unavailable(error)),
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

    /// What was asked about the tenant's rights.
    pub(crate) fn questions(&self) -> &BTreeSet<Question> {
        &self.questions
    }

    /// What is to be asked now, and from which version of the catalog on answers count.
    pub(crate) fn unanswered(&self) -> (&BTreeSet<Question>, u64) {
        (&self.unanswered, self.tenant.as_ref().map_or(0, |tenant| tenant.since))
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
    pub(crate) fn contents(&self) -> &BTreeSet<ContentKey> {
        &self.content
    }

    /// The objects that were read by an identifier.
    pub(crate) fn resources(&self) -> impl Iterator<Item = &ObjectKey> {
        self.resources.keys()
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

/// A ConfigMap or Secret as any other object is called.
pub(crate) fn object_key((kind, namespace, name): &ContentKey) -> ObjectKey {
    ObjectKey { gvk: Gvk::new("", "v1", kind), namespace: namespace.clone(), name: name.clone() }
}
