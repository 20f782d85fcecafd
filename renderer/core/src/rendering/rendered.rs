//! A profile with everything that follows from it: what events and user-written profiles are rendered to.

use std::collections::BTreeSet;

use serde_json::{Map, Value};
use sluice_api::model::{HelmChart, ResourceRef, SpecCommon};
use sluice_api::{ClusterRef, ProfileId, ServiceAccount};

use sluice_protocol::Fault;

use crate::error::Error;
use crate::rendering::part::Part;
use crate::rendering::projection::Projection;

/// A profile with everything that follows from it.
#[derive(Debug)]
pub(crate) struct Rendered {
    /// Which.
    pub(crate) id: ProfileId,
    /// Whether the profile of this name is somebody else's: nothing of this one is deployed.
    pub(crate) is_refused: bool,
    /// Where it goes, and what it deploys there.
    pub(crate) parts: Vec<Part>,
    /// Charts that it deploys before its sources.
    pub(crate) charts: Vec<HelmChart>,
    /// Profiles that it takes over from.
    pub(crate) succeeds: BTreeSet<ProfileId>,
    /// Who gets the roles in its sources, which hold nothing else then.
    pub(crate) grants_to: Option<ServiceAccount>,
    /// What its templates read of the management cluster.
    pub(crate) resources: Vec<ResourceRef>,
    /// Where it goes as well, once this is mended.
    pub(crate) failed: Vec<(ClusterRef, Error)>,
    /// Why it is not known where it goes besides: nothing of it is withdrawn then.
    pub(crate) unsure: Option<String>,
    /// What is wrong and stops nothing.
    pub(crate) warnings: Vec<Fault>,
    /// Its spec, for the ClusterProfile and the ClusterSummary.
    pub(crate) spec: Map<String, Value>,
    /// What is written to the management cluster because of it.
    pub(crate) projections: Vec<Projection>,
}

// === impl Rendered ===

impl Rendered {
    /// What becomes of a profile whose name is that of somebody else's.
    pub(crate) fn refused(id: ProfileId, spec: Map<String, Value>) -> Self {
        let text = format!(
            "spec.profileNameFormat: {id} is somebody else's, and is not written over; nothing is deployed; make the name differ"
        );
        Self {
            id,
            is_refused: true,
            parts: Vec::new(),
            charts: Vec::new(),
            succeeds: BTreeSet::new(),
            grants_to: None,
            resources: Vec::new(),
            failed: Vec::new(),
            unsure: None,
            warnings: vec![text.into()],
            spec,
            projections: Vec::new(),
        }
    }

    /// Whether something of it is for the management cluster because of its destinations.
    pub(crate) fn is_for_management(&self, common: &SpecCommon) -> bool {
        let has_parts = self.parts.iter().any(|part| !part.destinations.is_empty());
        let has_destinations = has_parts || !self.failed.is_empty() || self.unsure.is_some();
        common.is_partly_local() && has_destinations
    }
}
