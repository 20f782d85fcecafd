//! The one row of a cause that goes to the management cluster: the references that are for it, over all destinations.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::ClusterRef;
use sluice_api::model::{Deployment, SpecCommon};
use sluice_protocol::Fault;
use sluice_protocol::rows::{Cause, Desired, Policy};

use crate::error::{Error, Result};
use crate::knowledge::Knowledge;
use crate::knowledge::reads::Reads;
use crate::rendering::Rendering;
use crate::rendering::jobs;
use crate::rendering::policies;
use crate::rendering::rendered::Rendered;
use crate::rendering::resources;
use crate::rendering::row::{NoRow, Rendition, Taken, body_of, name_taken};
use crate::rendering::union::Union;

/// In the management cluster a check is asked once, because of all destinations.
const ONE_JOB: &str = "is another one for another destination, and is run once in the management cluster; write one that is the same for all";

/// What the management cluster gets because of all destinations.
struct ForManagement {
    policies: Vec<Policy>,
    /// With whether there may be something secret in them.
    jobs: (Vec<Arc<Value>>, bool),
    /// What is said of it that stops nothing.
    notes: Vec<Fault>,
}

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
            Ok(ForManagement { policies, jobs: (jobs, is_secret), notes }) => {
                let desired = policies::desired(rendered, common, cause, (None, policies));
                let desired = Desired { account, jobs, ..desired };
                (body_of(&desired, is_secret).map_err(NoRow::Failed), notes)
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
    ) -> Result<ForManagement, NoRow> {
        // Why, is said of the destination, or of the reference to it.
        if !rendered.failed.is_empty() || rendered.unsure.is_some() {
            return Err(NoRow::Unknown);
        }
        let templates = &self.templates_of(knowledge, cause);
        let (name, known) = (&rendered.id.name, (&knowledge.catalog, templates));
        let (mut because, mut jobs) = (BTreeMap::new(), None);
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
                let failed = |error: Error| NoRow::Failed(error.within(format!("for {id}")));
                let asked = jobs::jobs(part, destination, name, kept).map_err(failed)?;
                if jobs.get_or_insert_with(|| asked.clone()).0 != asked.0 {
                    return Err(failed(Error::value("the Job of a check", ONE_JOB)));
                }
                let policies = policies::policies(common, part, what, destination, name, kept);
                because.insert(id, policies.map_err(failed)?);
            }
        }
        let mut union = Union::default();
        because.into_iter().for_each(|(of, policies)| union.add(of, policies));
        let (policies, notes) = union.end();
        Ok(ForManagement { policies, jobs: jobs.unwrap_or_default(), notes })
    }
}
