//! Where the profile of an event goes.

use sluice_api::model::DestinationCluster;
use sluice_api::{ClusterKind, ClusterRef};
use sluice_template::Data;

use super::EventRender;

/// Where a profile goes.
pub(super) struct Destinations {
    pub(super) clusters: Vec<ClusterRef>,
    /// Where it would go as well, and why it does not.
    pub(super) missing: Vec<(ClusterRef, String)>,
}

impl Destinations {
    fn of(clusters: Vec<ClusterRef>) -> Self {
        Self { clusters, missing: Vec::new() }
    }

    pub(super) fn first(&self) -> Option<&ClusterRef> {
        self.clusters.first().or_else(|| self.missing.first().map(|(cluster, _)| cluster))
    }
}

impl EventRender<'_> {
    pub(super) fn destinations(&self, dot: &Data<'_>) -> Result<Destinations, String> {
        if let Some(destination) = &self.trigger.destination_cluster {
            let id = self.destination_cluster(destination, dot)?;
            if self.catalog.clusters.contains_key(&id) {
                return Ok(Destinations::of(vec![id]));
            }
            let error = format!(
                "spec.destinationCluster: {id} is not registered; register it, or correct the reference"
            );
            return Ok(Destinations { clusters: Vec::new(), missing: vec![(id, error)] });
        }
        let Some(selector) = &self.trigger.destination_selector else {
            return Ok(Destinations::of(vec![self.cluster.id.clone()]));
        };
        let selected = self.catalog.clusters.values().filter(|cluster| selector.matches(cluster.labels()));
        Ok(Destinations::of(selected.map(|cluster| cluster.id.clone()).collect()))
    }

    fn destination_cluster(
        &self,
        destination: &DestinationCluster,
        dot: &Data<'_>,
    ) -> Result<ClusterRef, String> {
        let field = |field: &str, text: &str| {
            let text = self.template(text, dot);
            let text = text.map_err(|error| format!("spec.destinationCluster.{field}: {error}"))?;
            let empty = || {
                format!(
                    "spec.destinationCluster.{field}: is empty; write a value, or a template that gives one"
                )
            };
            if text.is_empty() { Err(empty()) } else { Ok(text) }
        };
        let kind = match field("kind", &destination.kind)?.as_str() {
            "SveltosCluster" => ClusterKind::Sveltos,
            "Cluster" => ClusterKind::Capi,
            other => {
                return Err(format!(
                    "spec.destinationCluster.kind: unknown kind {other:?}; use SveltosCluster or Cluster"
                ));
            }
        };
        let namespace = field("namespace", &destination.namespace)?;
        Ok(ClusterRef { kind, namespace, name: field("name", &destination.name)? })
    }
}
