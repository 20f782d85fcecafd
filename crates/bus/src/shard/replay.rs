//! Reading present rows once more.

use std::collections::VecDeque;
use std::sync::{Arc, Weak};
use std::time::Duration;

use sluice_protocol::Row;
use tokio::sync::mpsc;

use crate::bus::Bus;
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, Reader, read};

/// Pause before a replay that failed restarts.
const AGAIN: Duration = Duration::from_millis(200);

/// Bytes of bodies that are on their way to the shard; more wait until it has taken those.
const ON_THE_WAY: usize = 8 << 20;
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(2);

/// Reads present rows once more, as external inputs of a shard; `row` wraps each, `done` ends them. What failed on its way is
/// read again from the beginning. The shard does not keep the bodies: those that it has taken make room for others.
pub async fn replay<S>(
    bus: &Bus,
    spec: &ReadSpec,
    sender: &mpsc::UnboundedSender<S>,
    row: impl Fn(Row) -> S,
    done: S,
) {
    while !sender.is_closed() {
        let (mut sent, turn) = (Sent::default(), bus.turn().await);
        // Boxed, since it is large and thousands may wait for their turn.
        let reader = Box::pin(once(bus, spec, sender, &row, &mut sent)).await;
        drop(turn);
        let Some(mut reader) = reader else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        // What lacks its body takes nobody's turn while that is looked for.
        while let Some(found) = reader.settle().await {
            if sent.send(sender, found, &row).await.is_none() {
                break;
            }
        }
        // A closed channel means that the shard has ended: there is nobody to tell.
        if sender.send(done).is_err() {
            tracing::debug!("the shard ended during a replay");
        }
        return;
    }
}

/// The reader at its end, whose last rows may lack their bodies; `None` when it did not come so far.
async fn once<S>(
    bus: &Bus,
    spec: &ReadSpec,
    sender: &mpsc::UnboundedSender<S>,
    row: &impl Fn(Row) -> S,
    sent: &mut Sent,
) -> Option<Reader> {
    let mut reader = read(bus, spec)
        .await
        .inspect_err(|error| tracing::warn!(%error, stream = spec.stream, "replay failed; trying again"))
        .ok()?;
    loop {
        match reader.next().await? {
            ReadEvent::Row(found, _) | ReadEvent::Unreadable(found, ..) => {
                sent.send(sender, found, row).await?;
            }
            ReadEvent::CaughtUp(_) => return Some(reader),
            _ => {}
        }
    }
}

/// Bodies that were sent, until they have been taken.
#[derive(Default)]
struct Sent {
    bodies: VecDeque<(Weak<[u8]>, usize)>,
    bytes: usize,
}

impl Sent {
    async fn send<S>(
        &mut self,
        sender: &mpsc::UnboundedSender<S>,
        found: Row,
        row: &impl Fn(Row) -> S,
    ) -> Option<()> {
        while self.bytes > ON_THE_WAY {
            while let Some((_, bytes)) = self.bodies.pop_front_if(|(body, _)| body.strong_count() == 0) {
                self.bytes -= bytes;
            }
            if self.bytes > ON_THE_WAY {
                tokio::time::sleep(LOOK).await;
            }
            if sender.is_closed() {
                return None;
            }
        }
        self.bytes += found.body.len();
        self.bodies.push_back((Arc::downgrade(&found.body), found.body.len()));
        sender.send(row(found)).ok()
    }
}
