//! Rows whose bodies are sealed, as a reader comes upon them.

use std::sync::Arc;

use async_nats::jetstream::Message;
use bytes::Bytes;
use sluice_api::Digest;
use sluice_protocol::{Row, Subject};

use super::Reader;
use crate::codec;
use crate::seal::envelope::KeyId;
pub(super) use crate::seal::recipients::ids;
use crate::shard::late::Settled;

impl Reader {
    /// The body of a row, which may be sealed.
    pub(super) fn opened(
        &self,
        row: &Row,
        body: Arc<[u8]>,
        (sealed, content): (Option<Bytes>, Option<Digest>),
    ) -> Result<Arc<[u8]>, String> {
        match sealed {
            Some(payload) => self.bus.sealing.open(&self.spec.stream, row, &payload, (content, &body)),
            None => Ok(body),
        }
    }

    /// Which rows that came are sealed, and for which keys; only where bodies are left out.
    pub(crate) fn take_sealed(&mut self) -> Vec<(Subject, Vec<KeyId>)> {
        std::mem::take(&mut self.sealed)
    }

    /// A row whose body is found; or why it cannot be read all the same.
    pub(super) fn settled(&mut self, found: Settled) -> Result<Row, Box<(Row, String)>> {
        let Settled { row, stored, sealed, content } = found;
        self.stored = stored;
        match self.opened(&row, row.body.clone(), (sealed, Some(content))) {
            Ok(body) => Ok(Row { body, ..row }),
            Err(reason) => Err(Box::new((Row { body: Row::no_content(&reason), ..row }, reason))),
        }
    }
}

/// What is sealed in a message, also where its content is elsewhere.
pub(super) fn payload(message: &Message) -> Option<Bytes> {
    (message.payload.first() == Some(&codec::SEALED)).then(|| message.payload.clone())
}
