//! Bodies that were not there when their rows were read: they are looked for beside the stream, which goes on.
//!
//! The row has come without its body by then. When the body is found the row comes once more, unless a later one of its
//! subject has come meanwhile. So many bodies of one cluster are looked for at a time: one that names many which are not
//! there keeps nobody else waiting.

use std::collections::{HashMap, VecDeque};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use sluice_api::Digest;
use sluice_protocol::{Row, Subject};
use tokio::time::Instant;

use crate::buckets::contents::{Contents, Place};

/// How long a body is looked for that is not there. A new bucket is filled again by those whose rows name it.
const PATIENCE: Duration = Duration::from_secs(20);
/// How often.
const LOOK: Duration = Duration::from_millis(100);
/// Bodies of one cluster that are looked for at a time.
const OF_ONE: usize = 4;

type Look = Pin<Box<dyn Future<Output = Found> + Send>>;

/// The rows of one reader that wait for their bodies.
#[derive(Default)]
pub(super) struct Late {
    /// The last row of each subject that waits.
    waiting: HashMap<Subject, u64>,
    /// By cluster: how many bodies are looked for, and which are the next.
    clusters: HashMap<String, (usize, VecDeque<Waiter>)>,
    looks: FuturesUnordered<Look>,
}

struct Waiter {
    row: Row,
    /// When the server stored it, microseconds since 1970.
    stored: i64,
    place: Place,
    /// What is sealed in its message.
    sealed: Option<Bytes>,
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
    cluster: String,
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
        !self.clusters.is_empty() && self.clusters.contains_key(&cluster_of(subject))
    }

    /// This row, stored at a time, has come without its body.
    pub(super) fn wait(
        &mut self,
        contents: &Contents,
        row: &Row,
        stored: i64,
        place: Place,
        sealed: Option<Bytes>,
    ) {
        self.waiting.insert(row.subject.clone(), row.sequence);
        let cluster = cluster_of(&row.subject);
        let (_, next) = self.clusters.entry(cluster.clone()).or_default();
        next.push_back(Waiter { row: row.clone(), stored, place, sealed });
        self.look_on(contents, &cluster);
    }

    /// A later row of the subject has come.
    pub(super) fn replace(&mut self, subject: &Subject) {
        if !self.waiting.is_empty() {
            self.waiting.remove(subject);
        }
    }

    /// The next row whose body is found; `None` when no row waits any more.
    pub(super) async fn next(&mut self, contents: &Contents) -> Option<Settled> {
        while let Some(Found { cluster, waiter, body }) = self.looks.next().await {
            let Waiter { row, stored, place, sealed } = waiter;
            if let Some((looked_for, _)) = self.clusters.get_mut(&cluster) {
                *looked_for -= 1;
            }
            self.look_on(contents, &cluster);
            let waits = self.waiting.get(&row.subject) == Some(&row.sequence);
            if waits {
                self.waiting.remove(&row.subject);
            }
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

    /// Looks for the next bodies of a cluster.
    fn look_on(&mut self, contents: &Contents, cluster: &str) {
        let Some((looked_for, next)) = self.clusters.get_mut(cluster) else { return };
        while *looked_for < OF_ONE
            && let Some(waiter) = next.pop_front()
        {
            // It has been replaced while it waited for its turn.
            if self.waiting.get(&waiter.row.subject) != Some(&waiter.row.sequence) {
                continue;
            }
            *looked_for += 1;
            let (contents, cluster) = (contents.clone(), cluster.to_owned());
            let limit = waiter.row.subject.table().into();
            self.looks.push(Box::pin(async move {
                let body = look(&contents, &waiter.place, limit).await;
                Found { cluster, waiter, body }
            }));
        }
        if *looked_for == 0 {
            self.clusters.remove(cluster);
        }
    }
}

fn cluster_of(subject: &Subject) -> String {
    subject.cluster().map(ToString::to_string).unwrap_or_default()
}

/// Looks for a body until it is there, or has been missing for too long. While the bucket does not answer that is not known.
async fn look(contents: &Contents, place: &Place, limit: crate::codec::Limit) -> Option<Arc<[u8]>> {
    let mut deadline = Instant::now() + PATIENCE;
    loop {
        let asked = Instant::now();
        match contents.get(place, limit).await {
            Ok(Some(body)) => return Some(body),
            Ok(None) if Instant::now() < deadline => {}
            Ok(None) => return None,
            Err(error) => {
                tracing::debug!(%error, "content cannot be read now");
                deadline += asked.elapsed() + LOOK;
            }
        }
        tokio::time::sleep(LOOK).await;
    }
}
