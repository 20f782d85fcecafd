//! What the templates of one destination see.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::model::Cluster;
use sluice_api::secrets::is_secret;
use sluice_template::Data;

/// Objects by their identifiers, in the order of the references.
pub(crate) type Resources = Vec<(String, Arc<Value>)>;

/// What the templates of one destination see.
#[derive(Clone, Copy)]
pub(crate) struct Destination<'a> {
    /// The cluster that the add-ons go to.
    pub(crate) cluster: &'a Cluster,
    /// What is read of the management cluster by an identifier.
    pub(crate) resources: &'a Resources,
    /// What the cluster is made of, by the names of variables.
    pub(crate) provider: &'a Resources,
}

/// What is read for one destination.
pub(crate) struct Visible {
    pub(crate) resources: Resources,
    pub(crate) provider: Resources,
}

impl Visible {
    /// What the templates of the destination see.
    pub(crate) fn of<'a>(&'a self, cluster: &'a Cluster) -> Destination<'a> {
        Destination { cluster, resources: &self.resources, provider: &self.provider }
    }
}

impl<'a> Destination<'a> {
    /// Whether a template or a script for it reads a Secret.
    pub(crate) fn reads_secret(self) -> bool {
        self.resources.iter().any(|(_, object)| is_secret(object))
    }

    /// The variables.
    pub(crate) fn dot(self) -> Data<'a> {
        let provider = self.provider.iter().map(|(name, object)| (name.as_str(), Data::Json(object)));
        let own =
            [("Cluster", Data::Json(&self.cluster.object)), ("MgmtResources", variables(self.resources))];
        Data::Map(own.into_iter().chain(provider).collect())
    }
}

/// `.MgmtResources`.
pub(crate) fn variables(resources: &Resources) -> Data<'_> {
    Data::Map(
        resources.iter().map(|(identifier, object)| (identifier.as_str(), Data::Json(object))).collect(),
    )
}
