//! The `problems` bucket: what cannot be done, until it can.

use std::collections::HashMap;
use std::time::Duration;

use sluice_api::Digest;
use sluice_protocol::Problem;
use sluice_protocol::report::ProblemRow;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::clock::now_micros;
use crate::feed::Feed;
use crate::layout::{Bus, PROBLEMS};
use crate::reader::{Load, ReadEvent, read};

/// Problems that wait to be written: a storm of them is one row for each object, and the newest text wins.
const QUEUE: usize = 1024;
/// How often problems are written.
const PERIOD: Duration = Duration::from_millis(100);

/// Takes problems of one process and writes them, never in the path of an event. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Problems {
    sender: mpsc::Sender<Problem>,
}

fn subject(problem: &Problem) -> String {
    let digest =
        Digest::of(&[problem.stage.as_bytes(), problem.cluster.as_bytes(), problem.object.as_bytes()]);
    format!("$KV.{PROBLEMS}.{digest}")
}

impl Problems {
    /// Begins to write.
    pub fn start(bus: &Bus) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        tokio::spawn(write(bus.clone(), receiver));
        Self { sender }
    }

    /// Takes a problem, or the end of one. When the queue is full it is dropped here and comes again with the
    /// next attempt.
    pub fn report(&self, problem: Problem) {
        if let Err(error) = self.sender.try_send(problem) {
            tracing::warn!(%error, "too many problems at once");
        }
    }
}

async fn write(bus: Bus, mut receiver: mpsc::Receiver<Problem>) {
    let mut known: HashMap<String, ProblemRow> = HashMap::new();
    let mut batch = Vec::new();
    while receiver.recv_many(&mut batch, QUEUE).await > 0 {
        let newest: HashMap<String, Problem> =
            batch.drain(..).map(|problem| (subject(&problem), problem)).collect();
        for (subject, problem) in newest {
            let row = next_row(known.get(&subject), &problem);
            let mut headers = async_nats::HeaderMap::new();
            let body = match &row {
                Some(row) => serde_json::to_vec(row).unwrap_or_default(),
                None => {
                    headers.insert("KV-Operation", "DEL");
                    headers.insert("Nats-TTL", "60s");
                    Vec::new()
                }
            };
            match row {
                Some(row) => drop(known.insert(subject.clone(), row)),
                None => drop(known.remove(&subject)),
            }
            let sent = bus.js.publish_with_headers(subject, headers, body.into()).await;
            if let Err(error) = sent {
                tracing::warn!(%error, object = problem.object, "a problem cannot be written");
            }
        }
        tokio::time::sleep(PERIOD).await;
    }
}

fn next_row(known: Option<&ProblemRow>, problem: &Problem) -> Option<ProblemRow> {
    Some(ProblemRow {
        stage: problem.stage.to_owned(),
        cluster: problem.cluster.clone(),
        object: problem.object.clone(),
        error: problem.error.clone()?,
        since: known.map_or_else(now_micros, |row| row.since),
        attempts: known.map_or(0, |row| row.attempts) + 1,
    })
}

/// Follows the bucket until `stop`; healed problems come with an empty error.
pub fn problem_feed(bus: &Bus, stop: CancellationToken) -> Feed<String, ProblemRow> {
    let feed = Feed::new();
    let (bus, out) = (bus.clone(), feed.clone());
    tokio::spawn(async move {
        let load = Load { stream: format!("KV_{PROBLEMS}"), filters: Vec::new(), heads_only: false };
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

fn take(feed: &Feed<String, ProblemRow>, event: ReadEvent) {
    match event {
        ReadEvent::CaughtUp => feed.set_synced(),
        ReadEvent::Entry(subject, head, body, _) => {
            if head.tombstone {
                if let Some(mut last) = feed.get(&subject) {
                    last.error.clear();
                    feed.remove(&subject, last);
                }
            } else if let Ok(row) = serde_json::from_slice(&body) {
                feed.put(subject, row);
            }
        }
        _ => {}
    }
}
