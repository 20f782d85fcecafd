//! The one row of a cause that goes to the management cluster: the references that are for it, over all destinations.

use std::collections::BTreeMap;

use sluice_api::ClusterRef;
use sluice_api::model::{Deployment, SpecCommon};
use sluice_protocol::Fault;
use sluice_protocol::rows::{Cause, Desired, Policy};

use crate::error::Result;
use crate::knowledge::Knowledge;
use crate::knowledge::reads::Reads;
use crate::rendering::Rendering;
use crate::rendering::policies;
use crate::rendering::rendered::Rendered;
use crate::rendering::resources;
use crate::rendering::row::{NoRow, Rendition, Taken, body_of, name_taken};
use crate::rendering::union::Union;

impl Rendering {
    /// The row, and what is said of it that stops nothing; nothing where nothing is for the management cluster, or there is no
    /// destination. Where one destination's part is not known, all of it stays as it is: without that part, what it has there
    /// would go.
    ///
    /// # Errors
    /// That the cause does not exist.
    pub(crate) fn management_row(
        &self,
        knowledge: &Knowledge,
        cause: &Cause,
        rendered: &Rendered,
        taken: &Taken,
        reads: &mut Reads,
    ) -> Result<Option<(Rendition, Vec<Fault>)>> {
        let common = knowledge.common(cause)?;
        if !rendered.is_for_management(common) {
            return Ok(None);
        }
        let place = ClusterRef::management();
        if let Some(user) = taken.get(&place) {
            let taken = NoRow::Failed(name_taken(&rendered.id, user));
            return Ok(Some(((place, Err(taken)), Vec::new())));
        }
        let account = knowledge.account(cause).cloned();
        let (body, notes) = match self.for_management(knowledge, (common, cause), rendered, reads) {
            Ok((policies, notes)) => {
                let desired = policies::desired(rendered, common, cause, (None, policies));
                (body_of(&Desired { account, ..desired }).map_err(NoRow::Failed), notes)
            }
            Err(why) => (Err(why), Vec::new()),
        };
        Ok(Some(((place, body), notes)))
    }

    /// What it gets, and what is said of that.
    fn for_management(
        &self,
        knowledge: &Knowledge,
        (common, cause): (&SpecCommon, &Cause),
        rendered: &Rendered,
        reads: &mut Reads,
    ) -> Result<(Vec<Policy>, Vec<Fault>), NoRow> {
        // Why, is said of the destination, or of the reference to it.
        if !rendered.failed.is_empty() || rendered.unsure.is_some() {
            return Err(NoRow::Unknown);
        }
        let templates = &self.templates_of(knowledge, cause);
        let (name, known) = (&rendered.id.name, (&knowledge.catalog, templates));
        let mut because = BTreeMap::new();
        for part in &rendered.parts {
            let same = policies::sources_are_same(common, part, Deployment::Local);
            for (index, id) in part.destinations.iter().enumerate() {
                let Some(cluster) = knowledge.catalog.fleet.clusters().get(id) else {
                    return Err(NoRow::Unknown);
                };
                let visible = resources::visible(rendered, part, cluster, known, reads);
                let visible = visible.map_err(|_| NoRow::Unknown)?;
                if same && index > 0 {
                    continue;
                }
                let destination = visible.of(cluster);
                let (what, kept) = ((Deployment::Local, Vec::new()), (templates, &self.manifests));
                let policies = policies::policies(common, part, what, destination, name, kept);
                because
                    .insert(id, policies.map_err(|error| NoRow::Failed(error.within(format!("for {id}"))))?);
            }
        }
        let mut union = Union::default();
        because.into_iter().for_each(|(of, policies)| union.add(of, policies));
        Ok(union.end())
    }
}
