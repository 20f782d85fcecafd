//! The `status` table as a feed: it is small, and every shard looks for its own rows in it.

use std::sync::Arc;

use sluice_bus::{Bus, Feed, Follower, ReadEvent};
use sluice_protocol::{Row, Table};
use tokio_util::sync::CancellationToken;

/// Rows by subject.
pub(crate) type Statuses = Feed<String, Arc<Row>>;

struct Rows;

/// Follows the table until `stop`.
pub(crate) fn follow(bus: &Bus, stop: CancellationToken) -> Statuses {
    sluice_bus::follow::<Rows>(bus, Table::Status.stream(0), stop)
}

impl Follower for Rows {
    type Key = String;
    type Value = Arc<Row>;

    fn take(feed: &Statuses, event: ReadEvent) -> Option<String> {
        let ReadEvent::Row(row, _) = event else { return None };
        let (key, tombstone, row) = (row.subject.to_string(), row.head.tombstone, Arc::new(row));
        if tombstone {
            feed.remove(&key, row);
            return None;
        }
        feed.put(key.clone(), row);
        Some(key)
    }

    /// A lost row says nothing of what its cluster holds: deployers read their inventories and tell it again.
    fn lost(_: &Statuses, _: &String) {}
}
