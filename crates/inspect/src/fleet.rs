//! The whole fleet as it is now: what users wrote, and the objects of managed clusters that agents have told of.

use std::collections::BTreeMap;

use kube::Client;
use serde_json::Value;
use sluice_api::cloud_event::is_event;
use sluice_api::model::management_kinds;
use sluice_bus::{Bus, BusError, ReadSpec, look};
use sluice_protocol::{Capabilities, Shard, Subject, Table};

/// Objects of managed clusters, by namespace and name of their registration.
pub type ObjectsOfClusters = BTreeMap<(String, String), Vec<Value>>;

/// Everything in the management cluster that says what goes where. What was generated is among it.
///
/// # Errors
/// When the server does not answer, or refuses it.
pub async fn manifests(client: &Client) -> Result<Vec<Value>, kube::Error> {
    let mut found = Vec::new();
    for gvk in management_kinds() {
        found.extend(sluice_kube::list(client, &gvk, None).await?.into_iter().flatten());
    }
    Ok(found)
}

/// The objects that agents have told of: of the kinds that EventSources select. CloudEvents are not among them.
///
/// # Errors
/// When the bus does not answer.
pub async fn held(bus: &Bus) -> Result<ObjectsOfClusters, BusError> {
    let mut seen = BTreeMap::new();
    for shard in Shard::all(bus.shards()) {
        for stored in look(bus, &ReadSpec::all(Table::Changes.stream(shard))).await? {
            let Subject::Change { cluster, object, .. } = stored.row.subject else { continue };
            let counts = !is_event(&object) && !Capabilities::is_key(&object);
            if counts
                && !stored.row.head.tombstone
                && let Ok(body) = serde_json::from_slice(&stored.row.body)
            {
                // Who saw it last knows it best.
                seen.insert(((cluster.namespace, cluster.name), object), body);
            }
        }
    }
    let mut held = ObjectsOfClusters::new();
    for ((cluster, _), body) in seen {
        held.entry(cluster).or_default().push(body);
    }
    Ok(held)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;
    use sluice_bus::kit::{Server, write};

    use super::*;
    use crate::kit::{connect, rows, service};

    #[tokio::test]
    async fn what_agents_have_told_of_is_held_by_its_cluster() {
        let server = Server::start();
        let (bus, _tasks) = connect(&server).await;
        write(&bus, rows(Some(service()))).await;
        let place = ("default".to_owned(), "a".to_owned());
        assert_eq!(held(&bus).await.unwrap(), [(place, vec![json!({})])].into());
    }
}
