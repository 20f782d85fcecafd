//! Why something exists: what a cause leads to, with the reference and the key of each object. Only who asks pays for it: rows
//! do not carry it, and it is worked out anew.

use sluice_api::model::Deployment;
use sluice_api::{ClusterRef, ObjectKey, ProfileId};
use sluice_protocol::rows::Cause;

use super::Renderer;
use crate::knowledge::reads::Reads;
use crate::render::{self, Rendered};
use crate::resources;
use crate::veil::Held;

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

impl Renderer {
    /// What this cause leads to; nothing when it cannot be rendered.
    pub fn explain(&mut self, cause: &Cause) -> Option<Explanation> {
        let mut reads = self.knowledge.reads_of(cause);
        let (rendered, _) = self.make(cause, &mut reads).ok()?;
        let origins = self.origins(cause, &rendered, &mut reads);
        let projected = rendered.projections.iter().map(|projection| projection.key.clone()).collect();
        Some(Explanation { profile: rendered.id, origins, projected })
    }

    fn origins(&self, cause: &Cause, rendered: &Rendered, reads: &mut Reads) -> Vec<Origin> {
        let (name, templates) = (&rendered.id.name, &self.templates_of(cause));
        let mut origins = Vec::new();
        for part in &rendered.parts {
            for cluster in
                part.destinations.iter().filter_map(|id| self.knowledge.catalog.fleet.clusters().get(id))
            {
                let known = (&self.knowledge.catalog, templates);
                let Ok(sight) = resources::seen(rendered, part, cluster, known, reads) else { continue };
                let destination = sight.of(cluster);
                for source in &part.sources {
                    for (key, text) in &source.texts {
                        let held = (Held::Manifests, text.as_str());
                        let text = render::for_destination(source, held, destination, name, templates);
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
                            reference: render::described(&source.from),
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
