//! The `problems` bucket: what cannot be done, until it can.
//!
//! A row lives as long as somebody says it again. Who reported it and has ended does not: its successor reports what it
//! meets itself. The rows of a shard that moved are taken back, unless somebody else has said them since; those of a process
//! that died expire.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::{Duration, Instant};

use sluice_api::Digest;
use sluice_protocol::{About, Problem, ProblemRow, Sequence, json, subject};
use sluice_tasks::{End, Once};
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use crate::buckets::feed::Feed;
use crate::buckets::follow::{Follower, follow};
use crate::bus::Bus;
use crate::clock::now_micros;
use crate::layout::PROBLEMS;
use crate::shard::publish_outcome::PublishOutcome;
use crate::shard::reader::ReadEvent;

/// Problems that wait to be written: a storm of them is one row for each object, and the newest text wins.
const QUEUE: usize = 1024;
/// How often a row is sent, and how long the server may take to answer: it may be electing.
const ATTEMPTS: usize = 4;
const PATIENCE: Duration = Duration::from_secs(2);
/// How often problems are written.
const PERIOD: Duration = Duration::from_millis(100);

// D-0603: a problem lives as long as its owner says it again.
/// How long a row lives when nobody says it again, and how often it is said.
const LIFE: Duration = Duration::from_secs(300);
const AGAIN: Duration = Duration::from_secs(100);
/// How often it is looked for what is to be said again, or taken back.
const LOOK: Duration = Duration::from_secs(2);
/// How long a row stays whose source has ended: longer than a shard rests before it begins again and says it itself.
const GRACE: Duration = Duration::from_secs(10);

/// Takes problems of one process and writes them, never in the path of an event. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Problems {
    sender: mpsc::Sender<(Problem, Weak<()>)>,
    open: Open,
}

/// How many problems are open, by the word for what they are about.
type Open = Arc<Mutex<BTreeMap<String, usize>>>;

/// Somebody who reports problems. Cheap to clone; with the last clone its problems are no longer said.
#[derive(Clone, Debug)]
pub struct ProblemSource {
    sender: mpsc::Sender<(Problem, Weak<()>)>,
    alive: Arc<()>,
}

/// Stage and cluster are in it, so that a user can be given the right to its own.
fn key(stage: &str, cluster: &str, object: &str) -> String {
    let digest = Digest::of(&[stage.as_bytes(), cluster.as_bytes(), object.as_bytes()]);
    format!("$KV.{PROBLEMS}.{stage}.{}.{digest}", subject::token(cluster))
}

impl Problems {
    /// Begins to write.
    pub fn start(bus: &Bus) -> Self {
        let (sender, receiver) = mpsc::channel(QUEUE);
        let open = Open::default();
        let writer = Writer { bus: bus.clone(), known: HashMap::new(), open: open.clone() };
        bus.tasks.spawn(Once::Problems, writer.run(receiver));
        Self { sender, open }
    }

    /// How many problems of this process are open, by the word for what they are about: a kind, `shard`, `row` or `message`.
    pub fn open(&self) -> BTreeMap<String, usize> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Somebody new who reports.
    pub fn source(&self) -> ProblemSource {
        ProblemSource { sender: self.sender.clone(), alive: Arc::default() }
    }
}

impl ProblemSource {
    /// Takes a problem, or the end of one. When the queue is full it is dropped here and comes again with the
    /// next attempt.
    pub fn report(&self, problem: Problem) {
        if self.sender.try_send((problem, Arc::downgrade(&self.alive))).is_err() {
            tracing::warn!("too many problems at once");
        }
    }
}

struct Known {
    row: ProblemRow,
    source: Weak<()>,
    said: Instant,
    /// When it was noticed that its source has ended.
    ended: Option<Instant>,
    /// Sequence under which it was stored last, when that is known.
    sequence: Option<Sequence>,
}

/// What is written under a key.
enum Entry<'a> {
    Row(&'a ProblemRow),
    Resolved,
    /// The row that has this sequence is nobody's any more. Another one stays.
    TakenBack(Sequence),
}

struct Writer {
    bus: Bus,
    known: HashMap<String, Known>,
    open: Open,
}

impl Writer {
    async fn run(mut self, mut receiver: mpsc::Receiver<(Problem, Weak<()>)>) -> End {
        let mut batch = Vec::new();
        let mut again = tokio::time::interval(LOOK);
        loop {
            tokio::select! {
                count = receiver.recv_many(&mut batch, QUEUE) => if count == 0 { return End::Done },
                _ = again.tick() => self.say_again().await,
            }
            let newest: HashMap<String, (Problem, Weak<()>)> = batch
                .drain(..)
                .map(|(problem, source)| {
                    let object = problem.about.to_string();
                    (key(problem.stage, &problem.cluster, &object), (problem, source))
                })
                .collect();
            for (subject, (problem, source)) in newest {
                match next_row(self.known.get(&subject).map(|known| &known.row), &problem) {
                    Some(row) => self.say(subject, row, source).await,
                    None => self.heal(subject).await,
                }
            }
            self.count();
            tokio::time::sleep(PERIOD).await;
        }
    }

    async fn say(&mut self, subject: String, row: ProblemRow, source: Weak<()>) {
        let sequence = self.publish(&subject, &Entry::Row(&row)).await;
        self.known.insert(subject, Known { row, source, said: Instant::now(), ended: None, sequence });
    }

    fn count(&self) {
        let mut open = BTreeMap::<String, usize>::new();
        let open_ones = self.known.values().filter(|known| known.ended.is_none());
        // What is only to be known waits for nobody.
        for known in open_ones.filter(|known| known.row.severity.is_error()) {
            let word = known.row.about.as_ref().map(About::word).unwrap_or_default();
            *open.entry(word.to_owned()).or_default() += 1;
        }
        *self.open.lock().unwrap_or_else(PoisonError::into_inner) = open;
    }

    async fn heal(&mut self, subject: String) {
        self.known.remove(&subject);
        self.publish(&subject, &Entry::Resolved).await;
    }

    async fn say_again(&mut self) {
        let ended = self.known.extract_if(|_, known| {
            known.source.strong_count() == 0
                && known.ended.get_or_insert_with(Instant::now).elapsed() >= GRACE
        });
        let ended: Vec<_> = ended.filter_map(|(subject, known)| Some((subject, known.sequence?))).collect();
        for (subject, sequence) in ended {
            self.publish(&subject, &Entry::TakenBack(sequence)).await;
        }
        let due: Vec<String> = self
            .known
            .iter()
            .filter(|(_, known)| known.ended.is_none() && known.said.elapsed() >= AGAIN)
            .map(|(subject, _)| subject.clone())
            .collect();
        for subject in due {
            if let Some(Known { row, source, .. }) = self.known.remove(&subject) {
                self.say(subject, row, source).await;
            }
        }
    }

    /// Writes it until it is stored, with this sequence, or another row has come in between.
    async fn publish(&self, subject: &str, entry: &Entry<'_>) -> Option<Sequence> {
        let (headers, body) = message(entry);
        for _ in 0..ATTEMPTS {
            let sent = self.bus.js.publish_with_headers(subject.to_owned(), headers.clone(), body.clone());
            let stored = async { sent.await?.await };
            match tokio::time::timeout(PATIENCE, stored).await {
                Ok(Ok(ack)) => return Some(Sequence::new(ack.sequence)),
                Ok(Err(error)) if matches!(PublishOutcome::of(&error), PublishOutcome::Replaced(_)) => {
                    return None;
                }
                Ok(Err(error)) => tracing::debug!(%error, subject, "a problem is not written yet"),
                Err(_) => tracing::debug!(subject, "a problem is not written yet"),
            }
            tokio::time::sleep(PERIOD).await;
        }
        tracing::warn!(subject, "a problem cannot be written");
        None
    }
}

fn message(entry: &Entry<'_>) -> (async_nats::HeaderMap, bytes::Bytes) {
    let mut headers = async_nats::HeaderMap::new();
    let (life, body) = match entry {
        Entry::Row(row) => (LIFE, json::bytes(*row)),
        Entry::Resolved | Entry::TakenBack(_) => (Duration::from_secs(60), Vec::new()),
    };
    headers.insert("Nats-TTL", format!("{}s", life.as_secs()));
    if !matches!(entry, Entry::Row(_)) {
        headers.insert("KV-Operation", "DEL");
    }
    if let Entry::TakenBack(sequence) = entry {
        headers.insert("Nats-Expected-Last-Subject-Sequence", sequence.to_string());
    }
    (headers, body.into())
}

fn next_row(known: Option<&ProblemRow>, problem: &Problem) -> Option<ProblemRow> {
    let since = known.map_or_else(now_micros, |row| row.since);
    let (about, fault) = (problem.about.clone(), problem.fault.clone()?);
    let row = ProblemRow::new(problem.stage, &problem.cluster, about, fault, since);
    Some(ProblemRow { attempts: known.map_or(0, |row| row.attempts) + 1, ..row })
}

// D-0608: an agent speaks of its cluster only.
// D-0611: a problem is a value.
/// The row under a subject. Rights are given by subjects, so a row that speaks for somebody else than its subject names is nobody's.
fn read(subject: &str, body: &[u8]) -> Result<ProblemRow, String> {
    let row: ProblemRow = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    let is_one = row.about.as_ref().is_none_or(|about| about.to_string() == row.object);
    match is_one && key(&row.stage, &row.cluster, &row.object) == subject {
        true => Ok(row),
        false => Err("it speaks of another stage, cluster or object than its subject".to_owned()),
    }
}

struct Rows;

/// Follows the bucket until `stop`; resolved problems come with an empty error.
pub fn problem_feed(bus: &Bus, stop: CancellationToken) -> Feed<String, ProblemRow> {
    follow::<Rows>(bus, format!("KV_{PROBLEMS}"), Vec::new(), stop)
}

impl Follower for Rows {
    type Key = String;
    type Value = ProblemRow;

    fn take(feed: &Feed<String, ProblemRow>, event: ReadEvent) -> Option<String> {
        let ReadEvent::Entry(subject, head, body, _) = event else { return None };
        if head.tombstone {
            Self::lost(feed, &subject);
            return None;
        }
        match read(&subject, &body) {
            Ok(row) => feed.put(subject.clone(), row),
            Err(error) => {
                tracing::warn!(
                    error,
                    subject,
                    "a problem row is not heard; it expires unless its stage says it again"
                );
                return None;
            }
        }
        Some(subject)
    }

    fn lost(feed: &Feed<String, ProblemRow>, subject: &String) {
        if let Some(mut last) = feed.get(subject) {
            last.error.clear();
            feed.remove(subject, last);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn a_row_that_speaks_for_others_than_its_subject_is_nobodys() {
        let problem = Problem::open("agent", "sveltos:default/a", About::Kubeconfig, "it is broken");
        let row = next_row(None, &problem).unwrap();
        let at = key(problem.stage, &problem.cluster, &row.object);
        assert_eq!(read(&at, &json::bytes(&row)).unwrap(), row);
        let forged = [
            ProblemRow { stage: "deployer".into(), ..row.clone() },
            ProblemRow { cluster: "sveltos:default/b".into(), ..row.clone() },
            ProblemRow { object: "EventTrigger t".into(), ..row.clone() },
            ProblemRow { about: Some(About::Source("s".into())), ..row },
        ];
        assert!(forged.iter().all(|row| read(&at, &json::bytes(row)).is_err()));
        assert!(read(&at, b"[]").is_err());
    }

    #[test]
    fn a_problem_that_is_met_again_is_the_same_one_with_its_newest_text() {
        let first = next_row(None, &Problem::open("agent", "c", About::Kubeconfig, "first")).unwrap();
        let again =
            next_row(Some(&first), &Problem::open("agent", "c", About::Kubeconfig, "second")).unwrap();
        assert_eq!((again.since, again.attempts, again.error.as_str()), (first.since, 2, "second"));
        assert!(next_row(Some(&first), &Problem::resolved("agent", "c", About::Kubeconfig)).is_none());
    }

    #[test]
    fn each_stage_cluster_and_object_has_its_own_key() {
        let keys: std::collections::BTreeSet<String> = [
            key("agent", "a", "x"),
            key("deployer", "a", "x"),
            key("agent", "b", "x"),
            key("agent", "a", "y"),
            key("agent", "", "ax"),
        ]
        .into();
        assert_eq!(keys.len(), 5);
    }

    #[test]
    fn whatever_a_cluster_is_called_its_key_has_five_tokens() {
        for cluster in ["", "sveltos:default/a.b", "a b", "*", ">"] {
            let key = key("agent", cluster, "Service default/x.y");
            assert_eq!(key.split('.').count(), 5, "{key}");
            assert!(!key.contains(['*', '>', ' ']), "{key}");
        }
    }

    /// A header of what is written.
    fn header(entry: &Entry<'_>, name: &str) -> Option<String> {
        message(entry).0.get(name).map(|value| value.as_str().to_owned())
    }

    #[test]
    fn a_problem_lives_longer_than_the_time_after_which_it_is_said_again() {
        let row = next_row(None, &Problem::open("agent", "c", About::Kubeconfig, "x")).unwrap();
        assert_eq!(header(&Entry::Row(&row), "Nats-TTL").unwrap(), "300s");
        let attempts = u32::try_from(ATTEMPTS).unwrap();
        assert!(AGAIN + PATIENCE * attempts < LIFE);
        assert_eq!(header(&Entry::Row(&row), "KV-Operation"), None);
    }

    #[test]
    fn what_is_taken_back_is_taken_back_only_while_it_is_the_last_one() {
        let expected = "Nats-Expected-Last-Subject-Sequence";
        assert_eq!(header(&Entry::TakenBack(Sequence::new(7)), expected).as_deref(), Some("7"));
        assert_eq!(header(&Entry::Resolved, expected), None, "who resolves it knows that it is");
        for end in [Entry::Resolved, Entry::TakenBack(Sequence::new(7))] {
            assert_eq!(header(&end, "KV-Operation").as_deref(), Some("DEL"));
            assert!(message(&end).1.is_empty());
        }
    }

    #[test]
    fn who_follows_hears_of_the_end_of_a_problem_once() {
        let row = next_row(None, &Problem::open("agent", "c", About::Kubeconfig, "x")).unwrap();
        let at = key("agent", "c", &row.object);
        let (feed, gone) = (Feed::new(), sluice_protocol::Head { tombstone: true, ..Default::default() });
        let entry = |head, body| ReadEvent::Entry(at.clone(), head, body, Sequence::new(1));
        assert_eq!(
            Rows::take(&feed, entry(Default::default(), json::bytes(&row).to_vec())),
            Some(at.clone())
        );
        let mut news = feed.subscribe();
        for _ in 0..2 {
            assert_eq!(Rows::take(&feed, entry(gone.clone(), Vec::new())), None);
        }
        let heard: Vec<String> = std::iter::from_fn(|| news.try_recv().ok()).map(|row| row.error).collect();
        assert_eq!(heard, ["x", ""]);
    }

    #[test]
    fn a_row_that_cannot_be_heard_takes_nothing_away() {
        let row = next_row(None, &Problem::open("agent", "c", About::Kubeconfig, "x")).unwrap();
        let at = key("agent", "c", &row.object);
        let feed = Feed::new();
        feed.put(at.clone(), row.clone());
        assert_eq!(
            Rows::take(
                &feed,
                ReadEvent::Entry(at.clone(), Default::default(), b"?".to_vec(), Sequence::new(2))
            ),
            None
        );
        assert_eq!(feed.get(&at), Some(row));
    }
}
