//! What a reader is asked besides its next event.

use std::collections::HashMap;

use sluice_api::Digest;
use sluice_protocol::{Row, Subject};

use super::{ReadEvent, Reader};

impl Reader {
    /// Which rows that came name a body in the `content` bucket; only where bodies are left out.
    pub(crate) fn take_named(&mut self) -> HashMap<Subject, Digest> {
        std::mem::take(&mut self.named)
    }

    /// When the server stored what came last, microseconds since 1970.
    pub(crate) fn stored(&self) -> i64 {
        self.stored
    }

    /// A row that came without its body, once that is found; `None` when none is late any more.
    pub(crate) async fn settle(&mut self) -> Option<Row> {
        loop {
            let next = self.late.next(&self.bus.contents).await?;
            if let Ok(row) = self.settled(next) {
                return Some(row);
            }
        }
    }

    /// Every event until everything that was there has been delivered; `None` when the reader ended before.
    pub async fn all(&mut self) -> Option<Vec<ReadEvent>> {
        let mut events = Vec::new();
        loop {
            match self.next().await? {
                ReadEvent::CaughtUp(_) => return Some(events),
                event => events.push(event),
            }
        }
    }
}
