//! Where the profile of an event goes.

use sluice_api::model::{CAPI_GROUP, DestinationCluster, LIB_GROUP, not_registered};
use sluice_api::{ClusterKind, ClusterRef, Gvk};
use sluice_template::Data;

use super::EventRender;
use crate::error::{Error, Result};

/// Where a profile goes.
pub(super) struct Destinations {
    pub(super) clusters: Vec<ClusterRef>,
    /// Why it is not known where it goes besides.
    pub(super) unsure: Option<String>,
}

impl Destinations {
    fn of(clusters: Vec<ClusterRef>) -> Self {
        Self { clusters, unsure: None }
    }
}

impl EventRender<'_> {
    pub(super) fn destinations(&self, dot: &Data<'_>) -> Result<Destinations> {
        if let Some(destination) = &self.trigger.destination_cluster {
            let id = self.destination_cluster(destination, dot)?;
            if self.catalog.fleet.clusters().contains_key(&id) {
                return Ok(Destinations::of(vec![id]));
            }
            let unsure = Some(not_registered("spec.destinationCluster", &id));
            return Ok(Destinations { clusters: Vec::new(), unsure });
        }
        let Some(selector) = &self.trigger.destination_selector else {
            return Ok(Destinations::of(vec![self.cluster.id.clone()]));
        };
        let selected =
            self.catalog.fleet.clusters().values().filter(|cluster| selector.matches(cluster.labels()));
        Ok(Destinations::of(selected.map(|cluster| cluster.id.clone()).collect()))
    }

    fn destination_cluster(&self, destination: &DestinationCluster, dot: &Data<'_>) -> Result<ClusterRef> {
        let place = |field: &str| format!("spec.destinationCluster.{field}");
        let rendered =
            |field: &str, text: &str| self.template(text, dot).map_err(|error| error.within(place(field)));
        let field = |field: &str, text: &str| {
            let empty =
                || Error::value(place(field) + ":", "is empty; write a value, or a template that gives one");
            let text = rendered(field, text)?;
            if text.is_empty() { Err(empty()) } else { Ok(text) }
        };
        let named = field("kind", &destination.kind)?;
        let (kind, group) = match named.as_str() {
            "SveltosCluster" => (ClusterKind::Sveltos, LIB_GROUP),
            "Cluster" => (ClusterKind::Capi, CAPI_GROUP),
            other => {
                return Err(Error::value(
                    format!("spec.destinationCluster.kind: unknown kind {other:?};"),
                    "use SveltosCluster or Cluster",
                ));
            }
        };
        let version = rendered("apiVersion", &destination.api_version)?;
        if !version.is_empty() && Gvk::parse(&version, &named).group != group {
            return Err(Error::value(
                format!("spec.destinationCluster.apiVersion: {version:?}"),
                format!("has no kind {named}; write {group}/<version>, or leave it out"),
            ));
        }
        let namespace = field("namespace", &destination.namespace)?;
        Ok(ClusterRef { kind, namespace, name: field("name", &destination.name)? })
    }
}
