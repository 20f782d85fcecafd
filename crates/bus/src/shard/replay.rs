//! Reading present rows once more.

use std::time::Duration;

use sluice_protocol::Row;
use tokio::sync::mpsc;

use crate::bus::Bus;
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, read};

/// Pause before a replay that failed restarts.
const AGAIN: Duration = Duration::from_millis(200);

async fn all(bus: &Bus, spec: &ReadSpec) -> Option<Vec<ReadEvent>> {
    match read(bus, spec).await {
        Ok(mut reader) => reader.all().await,
        Err(error) => {
            tracing::warn!(%error, stream = spec.stream, "replay failed; trying again");
            None
        }
    }
}

/// Reads present rows once more, as external inputs of a shard; `row` wraps each, `done` ends them.
pub async fn replay<S>(
    bus: &Bus,
    spec: &ReadSpec,
    sender: &mpsc::UnboundedSender<S>,
    row: impl Fn(Row) -> S,
    done: S,
) {
    while !sender.is_closed() {
        let turn = bus.turn().await;
        // Boxed, since it is large and thousands may wait for their turn.
        let events = Box::pin(all(bus, spec)).await;
        drop(turn);
        if let Some(events) = events {
            let rows = events.into_iter().filter_map(|event| match event {
                ReadEvent::Row(found, _) | ReadEvent::Unreadable(found, ..) => Some(row(found)),
                _ => None,
            });
            // A closed channel means that the shard has ended: there is nobody to tell.
            if rows
                .into_iter()
                .try_for_each(|input| sender.send(input))
                .and_then(|()| sender.send(done))
                .is_err()
            {
                tracing::debug!("the shard ended during a replay");
            }
            return;
        }
        tokio::time::sleep(AGAIN).await;
    }
}
