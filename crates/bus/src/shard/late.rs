//! Bodies that were not there when their rows were read: they are looked for beside the stream, which goes on.
//!
//! The row has come without its body by then. When the body is found the row comes once more, unless a later one of its
//! subject has come meanwhile. So many bodies of one cluster are looked for at a time: one that names many which are not
//! there keeps nobody else waiting.

// D-0111: no reader waits for a missing body.

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use sluice_api::Digest;
use sluice_protocol::{Row, Subject};
use tokio::time::Instant;

use crate::buckets::contents::{BodyLocation, Contents};
use crate::codec::Limit;
use crate::shard::waiting::{Waiter, Waiting};

/// How long a body is looked for that is not there. A new bucket is filled again by those whose rows name it.
const PATIENCE: Duration = Duration::from_secs(20);
/// Pauses between two looks, doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(50);
const LAST_PAUSE: Duration = Duration::from_secs(2);

type Look = Pin<Box<dyn Future<Output = Found> + Send>>;

/// The rows of one reader that wait for their bodies.
#[derive(Default)]
pub(super) struct Late {
    waiting: Waiting,
    looks: FuturesUnordered<Look>,
}

/// A row whose body is found, and what it is opened with where that is sealed.
pub(super) struct Settled {
    pub(super) row: Row,
    /// When the server stored it, microseconds since 1970.
    pub(super) stored: i64,
    pub(super) sealed: Option<Bytes>,
    pub(super) content: Digest,
}

struct Found {
    waiter: Waiter,
    body: Option<Arc<[u8]>>,
}

impl Late {
    /// Whether no row waits.
    pub(super) fn is_empty(&self) -> bool {
        self.looks.is_empty()
    }

    /// Whether bodies of this row's cluster are missing already: then another one is not asked for in the path of the stream.
    pub(super) fn is_late(&self, subject: &Subject) -> bool {
        self.waiting.has_cluster_of(subject)
    }

    /// This row has come without its body.
    pub(super) fn wait(&mut self, contents: &Contents, waiter: Waiter) {
        let subject = waiter.row.subject.clone();
        self.waiting.wait(waiter);
        self.look_on(contents, &subject);
    }

    /// A later row of the subject has come.
    pub(super) fn replace(&mut self, subject: &Subject) {
        self.waiting.replace(subject);
    }

    /// The next row whose body is found; `None` when no row waits any more.
    pub(super) async fn next(&mut self, contents: &Contents) -> Option<Settled> {
        while let Some(Found { waiter, body }) = self.looks.next().await {
            let waits = self.waiting.end(&waiter);
            self.look_on(contents, &waiter.row.subject);
            let Waiter { row, stored, place, sealed } = waiter;
            match body {
                Some(body) if waits => {
                    let row = Row { body, ..row };
                    return Some(Settled { row, stored, sealed, content: place.digest() });
                }
                Some(_) => {}
                None => tracing::warn!(subject = %row.subject, "the content of a row was not found in time"),
            }
        }
        None
    }

    /// Looks for the next bodies of a row's cluster.
    fn look_on(&mut self, contents: &Contents, subject: &Subject) {
        while let Some(waiter) = self.waiting.begin(subject) {
            let contents = contents.clone();
            let limit = waiter.row.subject.table().into();
            self.looks.push(Box::pin(async move {
                let body = look(&contents, &waiter.place, limit).await;
                Found { waiter, body }
            }));
        }
    }
}

/// Looks for a body until it is there, or has been missing for too long. While the bucket does not answer that is not known.
async fn look(contents: &Contents, place: &BodyLocation, limit: Limit) -> Option<Arc<[u8]>> {
    let (mut deadline, mut pause) = (Instant::now() + PATIENCE, FIRST_PAUSE);
    loop {
        let asked = Instant::now();
        match contents.get(place, limit).await {
            Ok(Some(body)) => return Some(body),
            Ok(None) if Instant::now() < deadline => {}
            Ok(None) => return None,
            Err(error) => {
                tracing::debug!(%error, "content cannot be read now");
                deadline += asked.elapsed() + pause;
            }
        }
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(LAST_PAUSE);
    }
}
