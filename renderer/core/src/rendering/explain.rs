//! Why something exists: what a cause leads to, with the reference and the key of each object. Only who asks pays for it: rows
//! do not carry it, and it is worked out anew.

use sluice_api::model::Deployment;
use sluice_api::{ClusterRef, ObjectKey, ProfileId};
use sluice_protocol::rows::Cause;

use crate::knowledge::Knowledge;
use crate::knowledge::catalog::described;
use crate::knowledge::reads::Reads;
use crate::rendering::Rendering;
use crate::rendering::rendered::Rendered;
use crate::rendering::resources;
use crate::rendering::text::for_destination;
use crate::rendering::veil::ReadAs;

/// What a cause leads to.
#[derive(Clone, Debug, PartialEq)]
pub struct Explanation {
    /// The profile that it makes.
    pub profile: ProfileId,
    /// What that deploys, part by part.
    pub origins: Vec<Origin>,
    /// What is made of it in the management cluster.
    pub projected: Vec<ObjectKey>,
}

/// Objects that come from one place, for one cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct Origin {
    /// The cluster that they are for.
    pub cluster: ClusterRef,
    /// The referenced object, as a user wrote it: `ConfigMap namespace/name`.
    pub reference: String,
    /// Which of its values.
    pub key: String,
    /// The objects, as they are written there.
    pub objects: Vec<ObjectKey>,
}

impl Rendering {
    /// What each object of a rendered cause comes from.
    pub(crate) fn origins(
        &self,
        knowledge: &Knowledge,
        cause: &Cause,
        rendered: &Rendered,
        reads: &mut Reads,
    ) -> Vec<Origin> {
        let (name, templates) = (&rendered.id.name, &self.templates_of(knowledge, cause));
        let mut origins = Vec::new();
        for part in &rendered.parts {
            for cluster in
                part.destinations.iter().filter_map(|id| knowledge.catalog.fleet.clusters().get(id))
            {
                let known = (&knowledge.catalog, templates);
                let Ok(visible) = resources::visible(rendered, part, cluster, known, reads) else { continue };
                let destination = visible.of(cluster);
                for source in &part.sources {
                    for (key, text) in &source.texts {
                        let held = (ReadAs::Manifests, text.as_str());
                        let text = for_destination(source, held, destination, name, templates);
                        let objects = text.and_then(|text| {
                            let texts = [(key.clone(), text)].into();
                            self.manifests.objects(&texts, source.shared).map_err(|error| error.told(true))
                        });
                        let place = match source.deployment {
                            Deployment::Remote => cluster.id.clone(),
                            Deployment::Local => ClusterRef::management(),
                        };
                        origins.push(Origin {
                            cluster: place,
                            reference: described(&source.from),
                            key: key.clone(),
                            objects: objects.iter().flatten().filter_map(ObjectKey::of).collect(),
                        });
                    }
                }
            }
        }
        origins
    }
}
