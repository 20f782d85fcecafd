//! Clusters that pull, as those see them who are outside: their own deployers serve them, and what these show is written into the
//! management cluster.

// D-0214: a cluster that pulls has a deployer of its own.

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use serde_json::Value;
use sluice_api::ClusterRef;
use sluice_bus::{Bus, ReadEvent, ReadSpec, read};
use sluice_deployer_core::shown;
use sluice_protocol::subject::{cluster_shard, own_rows};
use sluice_protocol::{Row, Shard, Subject, Table};
use sluice_runtime::{ClusterFeed, Projector};
use sluice_tasks::End;

use crate::shard::Shared;

/// Pause before what cannot be read is read again.
const AGAIN: Duration = Duration::from_secs(1);

/// The clusters of a shard that pull.
pub(crate) fn pulling(feed: &ClusterFeed, shard: Shard, shards: u16) -> BTreeSet<ClusterRef> {
    let pulls = |cluster: &ClusterRef| feed.get(cluster).is_some_and(|access| access.pulls);
    feed.keys().into_iter().filter(|it| cluster_shard(it, shards) == shard && pulls(it)).collect()
}

/// Waits until other clusters of the shard pull than these.
pub(crate) async fn others(shared: &Shared, shard: Shard, known: BTreeSet<ClusterRef>) {
    if shared.outside.is_none() {
        return pending().await;
    }
    let (feed, shards) = (shared.feed.clone(), shared.context.bus.shards());
    let mut accesses = feed.subscribe();
    while let Some(access) = accesses.recv().await {
        let is_other = access.pulls != known.contains(&access.cluster);
        if is_other && cluster_shard(&access.cluster, shards) == shard {
            return;
        }
    }
    pending().await
}

/// Writes what the deployers in these clusters show.
pub(crate) async fn project(bus: Bus, shard: Shard, of: BTreeSet<ClusterRef>, projector: Projector) -> End {
    let spec = ReadSpec::some(Table::Status.stream(shard), vec![own_rows::shown(shard)]);
    let mut reader = loop {
        match read(&bus, &spec).await {
            Ok(reader) => break reader,
            Err(error) => tracing::info!(%error, "what is shown of clusters that pull cannot be read yet"),
        }
        tokio::time::sleep(AGAIN).await;
    };
    while let Some(event) = reader.next().await {
        if let ReadEvent::Row(row, _) = event {
            write(&row, &of, &projector);
        }
    }
    End::Early
}

fn write(row: &Row, of: &BTreeSet<ClusterRef>, projector: &Projector) {
    let Subject::Shown { cluster, what, profile, .. } = &row.subject else { return };
    if !of.contains(cluster) {
        return;
    }
    let said = (!row.head.tombstone).then(|| serde_json::from_slice::<Value>(&row.body));
    match said.transpose() {
        Ok(said) => {
            let (key, object) = shown(cluster, (*what, profile), said.as_ref());
            projector.project(key, object);
        }
        Err(error) => tracing::warn!(%error, subject = %row.subject, "what a cluster shows cannot be read"),
    }
}
