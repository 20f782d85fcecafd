//! What each destination of a cause gets.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use sluice_api::model::{Deployment, SpecCommon};
use sluice_api::secrets::is_secret;
use sluice_api::{ClusterRef, Digest, ProfileId};
use sluice_protocol::rows::{Cause, Desired, Policy};

use super::Renderer;
use super::lacks::{Lack, waiting};
use crate::charts::ChartRender;
use crate::knowledge::capabilities::ClusterCapabilities;
use crate::knowledge::reads::Reads;
use crate::render::{self, Part, Rendered};
use crate::resources::{self, Destination};
use crate::roles;
use crate::templates::Templates;

/// A destination and the body of its row, or why there is none.
pub(super) type Rendition = (ClusterRef, Result<RowBody, Lack>);

/// The body of a row.
#[derive(Clone)]
pub(super) struct RowBody {
    pub(super) bytes: Arc<[u8]>,
    /// Whether there is a Secret in it.
    pub(super) secret: bool,
}

/// What one destination gets.
struct Policies {
    policies: Vec<Policy>,
    /// What is said of it that stops nothing.
    notes: BTreeSet<String>,
    /// Whether a chart of it has drawn random values. Other templates are rendered for each destination anyway.
    has_drawn: bool,
}

impl Renderer {
    /// What each destination gets.
    pub(super) fn rows(
        &mut self,
        cause: &Cause,
        rendered: &mut Rendered,
        reads: &mut Reads,
    ) -> Result<Vec<Rendition>, String> {
        let common = self.knowledge.common(cause)?;
        let templates = self.templates_of(cause);
        let failed =
            rendered.failed.iter().map(|(cluster, error)| (cluster.clone(), Err(Lack::Wrong(error.clone()))));
        let (mut rows, mut notes): (Vec<Rendition>, _) = (failed.collect(), BTreeSet::new());
        for part in &rendered.parts {
            let same = render::same_everywhere(common, rendered, part);
            let has_charts = rendered.charts.iter().any(|chart| !chart.uninstall);
            // By what the destinations can do, where that counts, and what they were asked to be redeployed with.
            let mut shared = BTreeMap::<(Option<Digest>, String), RowBody>::new();
            for id in &part.destinations {
                let Some(cluster) = self.knowledge.catalog.fleet.clusters().get(id) else { continue };
                // Another cause of this shard makes a profile of this name there: it keeps it, and this one waits.
                if let Some(user) = self.ledger.ask_for(&(id.clone(), rendered.id.clone()), cause) {
                    rows.push((id.clone(), Err(Lack::Wrong(name_taken(&rendered.id, user)))));
                    continue;
                }
                let known = has_charts.then(|| reads.capabilities(&self.knowledge.catalog, id));
                if let Some(None) = known {
                    rows.push((id.clone(), Err(Lack::Unknown)));
                    continue;
                }
                let capabilities = known.flatten();
                let kind = (capabilities.as_ref().map(|known| known.digest()), cluster.redeploy());
                let known = (&self.knowledge.catalog, &templates);
                let sight = resources::seen(rendered, part, cluster, known, reads);
                let mut is_own = !same;
                let body = sight.and_then(|sight| match shared.get(&kind) {
                    Some(body) => Ok(body.clone()),
                    None => {
                        let place = (sight.of(cluster), capabilities.as_deref());
                        let policies = self.policies((common, &templates), rendered, part, place, reads);
                        let Policies { policies, notes: told, has_drawn } = policies?;
                        is_own |= has_drawn && templates.draw_apart();
                        notes.extend(told);
                        let account = self.knowledge.account(cause).cloned();
                        let place = (Some(&**cluster), policies);
                        body_of(&Desired { account, ..render::desired(rendered, common, cause, place) })
                    }
                });
                shared.extend(body.as_ref().ok().filter(|_| !is_own).map(|body| (kind, body.clone())));
                rows.push((id.clone(), body.map_err(Lack::Wrong)));
            }
        }
        if let Some(local) = self.local_row(cause, rendered, reads)? {
            notes.extend(local.1);
            rows.push(local.0);
        }
        rendered.warnings.extend(notes);
        rendered.warnings.extend(waiting(reads.unknown_clusters()));
        Ok(rows)
    }

    /// What one destination gets.
    fn policies(
        &self,
        (common, templates): (&SpecCommon, &Templates),
        rendered: &Rendered,
        part: &Part,
        (destination, capabilities): (Destination<'_>, Option<&ClusterCapabilities>),
        reads: &mut Reads,
    ) -> Result<Policies, String> {
        let id = &rendered.id;
        let (mut releases, mut notes, mut has_drawn) = (Vec::new(), BTreeSet::new(), false);
        if let Some(capabilities) = capabilities {
            let mut charts = ChartRender {
                catalog: &self.knowledge.catalog,
                templates,
                outputs: &self.outputs,
                name: &id.name,
                own_namespace: &id.namespace,
                capabilities,
                notes: BTreeSet::new(),
                has_drawn: false,
            };
            releases = charts.policies(&rendered.charts, part, destination, reads)?;
            (notes, has_drawn) = (charts.notes, charts.has_drawn);
        }
        let kept = (templates, &self.manifests);
        let what = (Deployment::Remote, releases);
        let policies = render::policies(common, part, what, destination, &id.name, kept)?;
        let policies = match &rendered.grants_to {
            Some(tenant) => roles::granted(tenant, policies)?,
            None => policies,
        };
        Ok(Policies { policies, notes, has_drawn })
    }
}

pub(super) fn body_of(desired: &Desired) -> Result<RowBody, String> {
    let mut objects = desired.policies.iter().flat_map(|policy| &policy.objects);
    let secret = objects.any(is_secret);
    Ok(RowBody { bytes: serde_json::to_vec(desired).map_err(|error| error.to_string())?.into(), secret })
}

/// What is said where two causes would make a profile of one name.
pub(super) fn name_taken(profile: &ProfileId, user: &Cause) -> String {
    format!(
        "{profile} is already made by {user}, and stays; make spec.profileNameFormat differ, or rename one of them"
    )
}
