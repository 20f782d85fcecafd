//! What comes to the loop of a shard: the rows of its input, read ahead of the core, and what its tasks have to say.

use std::sync::Arc;
use std::time::Duration;

use sluice_protocol::{Event, Row, Stop};
use sluice_tasks::End as TaskEnd;
use tokio::sync::{AcquireError, OwnedSemaphorePermit, Semaphore, mpsc};

use crate::bus::Bus;
use crate::shard::end::End;
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, read};

/// Rows read ahead of the core: one batch of the server and a little more.
pub(super) const READ_AHEAD: usize = 1024;
/// And their bodies, bytes; a single one may be larger.
const READ_AHEAD_BYTES: usize = 8 << 20;
/// Pause before the input is read again that could not be.
const AGAIN: Duration = Duration::from_millis(200);

/// What tasks of a shard send to its loop.
pub(crate) enum Inner<S> {
    Event(Event<S>),
    /// With how many follow, and the room that its body takes until it has been taken.
    Row(Row, u64, OwnedSemaphorePermit),
    Unreadable(Row, u64, String),
    Malformed(String, String),
    /// The input is being read; where it ends.
    Opened(Box<End>),
}

/// The last that a task does, or one thing of many.
pub(super) async fn send<S>(sender: &mpsc::Sender<Inner<S>>, event: Event<S>) -> TaskEnd {
    if sender.send(Inner::Event(event)).await.is_err() {
        tracing::trace!("the shard has ended");
    }
    TaskEnd::Done
}

/// Reads the input until nobody wants it any more, or the reader ends.
pub(super) async fn deliver<S>(bus: Bus, input: ReadSpec, sender: mpsc::Sender<Inner<S>>) -> TaskEnd {
    let mut reader = loop {
        match read(&bus, &input).await {
            Ok(reader) => break reader,
            Err(error) => tracing::info!(%error, "the input cannot be read yet"),
        }
        tokio::time::sleep(AGAIN).await;
    };
    if sender.send(Inner::Opened(Box::new(reader.end()))).await.is_err() {
        return TaskEnd::Done;
    }
    let room = Arc::new(Semaphore::new(READ_AHEAD_BYTES));
    while let Some(event) = reader.next().await {
        let inner = match event {
            ReadEvent::Row(row, pending) => {
                let Ok(taken) = take(&room, row.body.len()).await else { return TaskEnd::Done };
                Inner::Row(row, pending, taken)
            }
            ReadEvent::Unreadable(row, pending, reason) => Inner::Unreadable(row, pending, reason),
            ReadEvent::CaughtUp(sequence) => Inner::Event(Event::CaughtUp(sequence)),
            ReadEvent::Malformed(subject, reason) => Inner::Malformed(subject, reason),
            ReadEvent::Entry(..) | ReadEvent::Sent(..) => continue,
        };
        if sender.send(inner).await.is_err() {
            return TaskEnd::Done;
        }
    }
    // It is another stream, which is seen elsewhere too, or it was silent for too long.
    send(&sender, Event::Ended(Stop::Lagging)).await
}

/// Room for a body, once those before it have left enough.
async fn take(room: &Arc<Semaphore>, bytes: usize) -> Result<OwnedSemaphorePermit, AcquireError> {
    let bytes = u32::try_from(bytes.min(READ_AHEAD_BYTES)).unwrap_or(u32::MAX);
    room.clone().acquire_many_owned(bytes).await
}
