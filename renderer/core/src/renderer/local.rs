//! The one row of a cause that goes to the management cluster: the references that are for it, over all destinations.

use std::collections::BTreeMap;

use sluice_api::ClusterRef;
use sluice_api::model::{Deployment, SpecCommon};
use sluice_protocol::rows::{Cause, Desired, Policy};

use super::Renderer;
use super::lacks::Lack;
use super::rows::{Rendition, body_of, name_taken};
use crate::knowledge::reads::Reads;
use crate::local::Union;
use crate::render::{self, Rendered};
use crate::resources;

impl Renderer {
    /// The row, and what is said of it that stops nothing; nothing where nothing is for the management cluster, or there is no
    /// destination. Where one destination's part is not known, all of it stays as it is: without that part, what it has there
    /// would go.
    ///
    /// # Errors
    /// That the cause does not exist.
    pub(super) fn local_row(
        &mut self,
        cause: &Cause,
        rendered: &Rendered,
        reads: &mut Reads,
    ) -> Result<Option<(Rendition, Vec<String>)>, String> {
        let common = self.knowledge.common(cause)?;
        let has_parts = rendered.parts.iter().any(|part| !part.destinations.is_empty());
        let has_destinations = has_parts || !rendered.failed.is_empty() || rendered.unsure.is_some();
        if !(common.is_partly_local() && has_destinations) {
            return Ok(None);
        }
        let place = (ClusterRef::management(), rendered.id.clone());
        if let Some(user) = self.ledger.ask_for(&place, cause) {
            let taken = Lack::Wrong(name_taken(&rendered.id, user));
            return Ok(Some(((place.0, Err(taken)), Vec::new())));
        }
        let account = self.knowledge.account(cause).cloned();
        let (body, told) = match self.for_management(common, cause, rendered, reads) {
            Ok((policies, told)) => {
                let desired = render::desired(rendered, common, cause, (None, policies));
                (body_of(&Desired { account, ..desired }).map_err(Lack::Wrong), told)
            }
            Err(lack) => (Err(lack), Vec::new()),
        };
        Ok(Some(((place.0, body), told)))
    }

    /// What it gets, and what is said of that.
    fn for_management(
        &self,
        common: &SpecCommon,
        cause: &Cause,
        rendered: &Rendered,
        reads: &mut Reads,
    ) -> Result<(Vec<Policy>, Vec<String>), Lack> {
        // Why, is said of the destination, or of the reference to it.
        if !rendered.failed.is_empty() || rendered.unsure.is_some() {
            return Err(Lack::Unknown);
        }
        let templates = &self.templates_of(cause);
        let (name, known) = (&rendered.id.name, (&self.knowledge.catalog, templates));
        let mut because = BTreeMap::new();
        for part in &rendered.parts {
            let same = render::sources_are_same(common, part, Deployment::Local);
            for (index, id) in part.destinations.iter().enumerate() {
                let Some(cluster) = self.knowledge.catalog.fleet.clusters().get(id) else {
                    return Err(Lack::Unknown);
                };
                let sight = resources::seen(rendered, part, cluster, known, reads);
                let sight = sight.map_err(|_| Lack::Unknown)?;
                if same && index > 0 {
                    continue;
                }
                let destination = sight.of(cluster);
                let (what, kept) = ((Deployment::Local, Vec::new()), (templates, &self.manifests));
                let policies = render::policies(common, part, what, destination, name, kept);
                because.insert(id, policies.map_err(|error| Lack::Wrong(format!("for {id}: {error}")))?);
            }
        }
        let mut union = Union::default();
        because.into_iter().for_each(|(of, policies)| union.add(of, policies));
        Ok(union.end())
    }
}
