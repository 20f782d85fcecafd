//! What happened: small messages for people. Losing them loses no work.

use futures::StreamExt as _;
use sluice_protocol::Happened;
use tokio::sync::mpsc;

use crate::error::BusError;
use crate::layout::Bus;

/// Lines that wait to be sent; more are dropped, nothing waits for the journal.
const QUEUE: usize = 4096;

/// Sends journal lines of one process. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Journal {
    sender: mpsc::Sender<Happened>,
}

impl Journal {
    /// Begins to send.
    pub fn start(bus: &Bus) -> Self {
        let (sender, mut receiver) = mpsc::channel::<Happened>(QUEUE);
        let client = bus.js.client();
        tokio::spawn(async move {
            while let Some(line) = receiver.recv().await {
                let body = serde_json::to_vec(&line).unwrap_or_default();
                if let Err(error) =
                    client.publish(format!("journal.{}.{}", line.stage, line.what), body.into()).await
                {
                    tracing::debug!(%error, "a journal line was not sent");
                }
            }
        });
        Self { sender }
    }

    /// Takes a line, when there is room.
    pub fn happened(&self, line: Happened) {
        if self.sender.try_send(line).is_err() {
            tracing::trace!("the journal is full");
        }
    }
}

/// The journal from now on.
///
/// # Errors
/// When the server does not answer.
pub async fn journal(bus: &Bus) -> Result<mpsc::Receiver<Happened>, BusError> {
    let mut lines =
        bus.js.client().subscribe("journal.>").await.map_err(BusError::request("read the journal"))?;
    let (sender, receiver) = mpsc::channel(QUEUE);
    tokio::spawn(async move {
        while let Some(message) = lines.next().await {
            let Ok(line) = serde_json::from_slice(&message.payload) else { continue };
            if sender.send(line).await.is_err() {
                return;
            }
        }
    });
    Ok(receiver)
}
