//! What the page asks, as it stands in an address.

use serde::Deserialize;
use sluice_api::ClusterRef;
use sluice_inspect::{AddonFilter, InspectError, JournalFilter, ProblemFilter, Target, cluster};

/// Which clusters.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Namespace {
    namespace: Option<String>,
    cluster: Option<String>,
}

/// One cluster as `namespace/name`, or all.
#[derive(Debug, Default, Deserialize)]
pub(super) struct Cluster {
    cluster: Option<String>,
}

/// An object of a cluster.
#[derive(Debug, Deserialize)]
pub(super) struct Object {
    cluster: String,
    kind: String,
    #[serde(default)]
    namespace: String,
    name: String,
}

fn named(text: &str) -> Result<ClusterRef, InspectError> {
    cluster(text).map_err(|error| InspectError::Invalid(format!("cluster: {error}")))
}

impl Namespace {
    pub(super) fn filter(self) -> AddonFilter {
        AddonFilter { namespace: self.namespace, cluster: self.cluster, ..AddonFilter::default() }
    }
}

impl Cluster {
    fn named(&self) -> Result<Option<ClusterRef>, InspectError> {
        self.cluster.as_deref().map(named).transpose()
    }

    pub(super) fn problems(self) -> Result<ProblemFilter, InspectError> {
        Ok(ProblemFilter { stage: None, cluster: self.named()? })
    }

    pub(super) fn journal(self) -> Result<JournalFilter, InspectError> {
        Ok(JournalFilter { cluster: self.named()?, ..JournalFilter::default() })
    }
}

impl Object {
    pub(super) fn target(self) -> Result<Target, InspectError> {
        let cluster = named(&self.cluster)?;
        Ok(Target { cluster, kind: self.kind, namespace: self.namespace, name: self.name })
    }
}
