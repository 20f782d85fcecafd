//! What clusters can do, as a feed: every shard renders charts for any of them.

use std::sync::Arc;

use sluice_api::ClusterRef;
use sluice_bus::{Bus, Feed, Follower, ReadEvent};
use sluice_protocol::{Capabilities, Subject};
use sluice_renderer_core::ClusterCapabilities;
use tokio_util::sync::CancellationToken;

/// Rows by cluster.
pub(crate) type Known = Feed<ClusterRef, (ClusterRef, Option<Arc<ClusterCapabilities>>)>;

struct Rows;

/// Follows the rows until `stop`.
pub(crate) fn follow(bus: &Bus, stop: CancellationToken) -> Known {
    let (stream, filter) = Capabilities::rows();
    sluice_bus::follow::<Rows>(bus, stream, vec![filter], stop)
}

impl Follower for Rows {
    type Key = ClusterRef;
    type Value = (ClusterRef, Option<Arc<ClusterCapabilities>>);

    /// Nobody may read all rows for the sake of these. What is not known yet is waited for.
    const ESTIMATED: bool = true;

    fn take(feed: &Known, event: ReadEvent) -> Option<ClusterRef> {
        let ReadEvent::Row(row, _) = event else { return None };
        let Subject::Change { cluster, object, .. } = row.subject else { return None };
        if !Capabilities::is_key(&object) {
            return None;
        }
        if row.head.tombstone {
            // It is no longer registered, and its agent has left.
            feed.remove(&cluster, (cluster.clone(), None));
            return None;
        }
        match ClusterCapabilities::of_row(&row.body) {
            Ok(known) => feed.put(cluster.clone(), (cluster.clone(), Some(Arc::new(known)))),
            Err(error) => tracing::warn!(%cluster, error, "what the cluster can do cannot be read"),
        }
        Some(cluster)
    }

    /// A lost row takes no ability from its cluster: the agent writes it again.
    fn lost(_: &Known, _: &ClusterRef) {}
}
