//! What each destination of a cause gets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::Digest;
use sluice_api::model::{Cluster, Deployment, SpecCommon};
use sluice_protocol::Fault;
use sluice_protocol::rows::{Cause, Desired, Policy};

use crate::error::Result;
use crate::knowledge::Knowledge;
use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::reads::Reads;
use crate::rendering::Rendering;
use crate::rendering::charts::ChartRender;
use crate::rendering::destination::Destination;
use crate::rendering::jobs;
use crate::rendering::part::Part;
use crate::rendering::policies;
use crate::rendering::rendered::Rendered;
use crate::rendering::resources;
use crate::rendering::roles;
use crate::rendering::row::{NoRow, Rendition, RowBody, Taken, body_of, name_taken, waiting};
use crate::rendering::templates::Templates;

/// What one destination gets.
struct Policies {
    policies: Vec<Policy>,
    /// What is said of it that stops nothing.
    notes: BTreeSet<Fault>,
    /// Whether a chart of it has drawn random values. Other templates are rendered for each destination anyway.
    has_drawn: bool,
}

/// What the rows of one cause are made with.
struct RowRender<'r> {
    rendering: &'r Rendering,
    knowledge: &'r Knowledge,
    cause: &'r Cause,
    common: &'r SpecCommon,
    templates: &'r Templates,
    rendered: &'r Rendered,
    /// What is said of rows that stops nothing.
    notes: BTreeSet<Fault>,
}

/// Bodies that destinations of a part share: by what these can do, where that counts, and what they were asked to be redeployed with.
type Shared = BTreeMap<(Option<Digest>, String), RowBody>;

// === impl Rendering ===

impl Rendering {
    /// What each destination gets.
    ///
    /// # Errors
    /// That the cause does not exist.
    pub(crate) fn rows(
        &self,
        knowledge: &Knowledge,
        cause: &Cause,
        rendered: &mut Rendered,
        taken: &Taken,
        reads: &mut Reads,
    ) -> Result<Vec<Rendition>> {
        let (common, templates) = (knowledge.common(cause)?, &self.templates_of(knowledge, cause));
        let notes = BTreeSet::new();
        let mut render = RowRender { rendering: self, knowledge, cause, common, templates, rendered, notes };
        let failed = rendered.failed.iter();
        let failed = failed.map(|(cluster, error)| (cluster.clone(), Err(NoRow::Failed(error.clone()))));
        let mut rows: Vec<Rendition> = failed.collect();
        for part in &rendered.parts {
            rows.extend(render.part(part, taken, reads));
        }
        let mut notes = render.notes;
        if let Some((row, more)) = self.management_row(knowledge, cause, rendered, taken, reads)? {
            notes.extend(more);
            rows.push(row);
        }
        rendered.warnings.extend(notes);
        rendered.warnings.extend(waiting(reads.unknown_clusters()).map(Fault::new));
        Ok(rows)
    }
}

// === impl RowRender ===

impl RowRender<'_> {
    fn part(&mut self, part: &Part, taken: &Taken, reads: &mut Reads) -> Vec<Rendition> {
        let catalog = &self.knowledge.catalog;
        let has_charts = self.rendered.charts.iter().any(|chart| !chart.uninstall);
        let same = policies::same_everywhere(self.common, self.rendered, part);
        let (mut rows, mut shared) = (Vec::with_capacity(part.destinations.len()), Shared::new());
        for id in &part.destinations {
            let Some(cluster) = catalog.fleet.clusters().get(id) else { continue };
            // Another cause of this shard makes a profile of this name there: it keeps it, and this one waits.
            if let Some(user) = taken.get(id) {
                rows.push((id.clone(), Err(NoRow::Failed(name_taken(&self.rendered.id, user)))));
                continue;
            }
            let body = match has_charts.then(|| reads.capabilities(catalog, id)) {
                Some(None) => Err(NoRow::Unknown),
                known => {
                    let place = (&**cluster, known.flatten());
                    self.row((part, same), place, &mut shared, reads).map_err(NoRow::Failed)
                }
            };
            rows.push((id.clone(), body));
        }
        rows
    }

    fn row(
        &mut self,
        (part, same): (&Part, bool),
        (cluster, capabilities): (&Cluster, Option<Arc<ClusterCapabilities>>),
        shared: &mut Shared,
        reads: &mut Reads,
    ) -> Result<RowBody> {
        let kind = (capabilities.as_ref().map(|known| known.digest()), cluster.redeploy());
        let known = (&self.knowledge.catalog, self.templates);
        let visible = resources::visible(self.rendered, part, cluster, known, reads)?;
        if let Some(body) = shared.get(&kind) {
            return Ok(body.clone());
        }
        let place = (visible.of(cluster), capabilities.as_deref());
        let kept = (self.templates, &self.rendering.manifests);
        let (jobs, is_secret) = jobs::jobs(part, place.0, &self.rendered.id.name, kept)?;
        let Policies { policies, notes, has_drawn } = self.policies(part, place, reads)?;
        self.notes.extend(notes);
        let account = self.knowledge.account(self.cause).cloned();
        let place = (Some(cluster), policies);
        let desired = policies::desired(self.rendered, self.common, self.cause, place);
        let body = body_of(&Desired { account, jobs, ..desired }, is_secret)?;
        if same && !(has_drawn && self.templates.draw_apart()) {
            shared.insert(kind, body.clone());
        }
        Ok(body)
    }

    fn policies(
        &self,
        part: &Part,
        (destination, capabilities): (Destination<'_>, Option<&ClusterCapabilities>),
        reads: &mut Reads,
    ) -> Result<Policies> {
        let id = &self.rendered.id;
        let (mut releases, mut notes, mut has_drawn) = (Vec::new(), BTreeSet::new(), false);
        if let Some(capabilities) = capabilities {
            let mut charts = ChartRender {
                catalog: &self.knowledge.catalog,
                templates: self.templates,
                outputs: &self.rendering.outputs,
                name: &id.name,
                own_namespace: &id.namespace,
                capabilities,
                notes: BTreeSet::new(),
                has_drawn: false,
            };
            releases = charts.policies(&self.rendered.charts, part, destination, reads)?;
            (notes, has_drawn) = (charts.notes, charts.has_drawn);
        }
        let kept = (self.templates, &self.rendering.manifests);
        let what = (Deployment::Remote, releases);
        let policies = policies::policies(self.common, part, what, destination, &id.name, kept)?;
        let policies = match &self.rendered.grants_to {
            Some(tenant) => roles::granted(tenant, policies)?,
            None => policies,
        };
        Ok(Policies { policies, notes, has_drawn })
    }
}
