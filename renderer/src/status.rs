//! The `status` table as a feed: it is small, and every shard looks for its own rows in it.

use std::sync::Arc;

use sluice_bus::{Bus, Feed, Follower, ReadEvent};
use sluice_protocol::subject::{NameHash, own_rows};
use sluice_protocol::{Row, Shard, Subject, Table};
use sluice_status_core::concerned_by_row;
use tokio_util::sync::CancellationToken;

/// Rows by subject.
pub(crate) type Statuses = Feed<String, Status>;

/// A row, and the shard of the renderer that it is for; `None` for a fence row.
#[derive(Clone, Debug)]
pub(crate) struct Status {
    pub(crate) origin: Option<Shard>,
    /// Whose status it counts for.
    pub(crate) concerned: [Option<NameHash>; 2],
    pub(crate) row: Arc<Row>,
}

struct Rows;

/// Follows the table until `stop`.
pub(crate) fn follow(bus: &Bus, stop: CancellationToken) -> Statuses {
    // Not what deployers show that are in their clusters.
    let of_profiles = vec![own_rows::of_profiles(Table::Status, None, None, None)];
    sluice_bus::follow::<Rows>(bus, Table::Status.stream(Shard::FIRST), of_profiles, stop)
}

impl Follower for Rows {
    type Key = String;
    type Value = Status;

    fn take(feed: &Statuses, event: ReadEvent) -> Option<String> {
        let ReadEvent::Row(row, _) = event else { return None };
        let (key, tombstone) = (row.subject.to_string(), row.head.tombstone);
        let origin = match &row.subject {
            Subject::Status { origin, .. } => Some(*origin),
            _ => None,
        };
        let status = Status { origin, concerned: concerned_by_row(&row), row: Arc::new(row) };
        if tombstone {
            feed.remove(&key, status);
            return None;
        }
        feed.put(key.clone(), status);
        Some(key)
    }

    /// A lost row says nothing of what its cluster holds: deployers read their inventories and tell it again.
    fn lost(_: &Statuses, _: &String) {}
}
