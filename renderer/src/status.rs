//! The `status` table as a feed: it is small, and every shard looks for its own rows in it.

use std::sync::Arc;
use std::time::Duration;

use sluice_bus::{Bus, Feed, Load, ReadEvent, read};
use sluice_protocol::{Row, Table};
use tokio_util::sync::CancellationToken;

/// Rows by subject.
pub(crate) type Statuses = Feed<String, Arc<Row>>;

/// Follows the table until `stop`.
pub(crate) fn follow(bus: &Bus, stop: CancellationToken) -> Statuses {
    let feed = Statuses::new();
    let (bus, out) = (bus.clone(), feed.clone());
    tokio::spawn(async move {
        let load = Load { stream: Table::Status.stream(0), filters: Vec::new(), heads_only: false };
        while !stop.is_cancelled() {
            if let Ok(mut reader) = read(&bus, &load).await {
                while let Some(event) = reader.next().await {
                    take(&out, event);
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    feed
}

fn take(feed: &Statuses, event: ReadEvent) {
    match event {
        ReadEvent::CaughtUp => feed.set_synced(),
        ReadEvent::Row(row, _) => {
            let (key, tombstone, row) = (row.subject.to_string(), row.head.tombstone, Arc::new(row));
            if tombstone {
                feed.remove(&key, row);
            } else {
                feed.put(key, row);
            }
        }
        ReadEvent::Entry(..) | ReadEvent::Unreadable(..) | ReadEvent::Malformed(..) => {}
    }
}
