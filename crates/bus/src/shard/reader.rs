//! Reading a stream from its first row, in order, without acknowledgements.
//!
//! The server's consumer is on one node, and goes with it. A reader whose consumer is gone, silent or out of step makes
//! another one and goes on after the last row that it has delivered. It ends when the stream is another one, or when it
//! was without a consumer for so long that it may have missed a tombstone.

// D-1406: no state of consumers on the server.

// D-0311: a reader makes another consumer and goes on.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::pull::{self, Stream as Messages};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use futures::StreamExt as _;
use sluice_api::Digest;
use sluice_protocol::{Head, Row, Sequence, Subject};
use tokio::time::Instant;

use crate::buckets::cloud_events::{Message as Sent, headers};
use crate::buckets::contents::BodyLocation;
use crate::bus::Bus;
use crate::codec::{self, Limit};
use crate::error::BusError;
use crate::layout::consumers::Consumer;
use crate::seal::envelope::KeyId;
use crate::shard::end::{End, Mark};
use crate::shard::late::Late;
use crate::shard::read_spec::ReadSpec;
use crate::shard::waiting::Waiter;

mod asked;
mod sealed;

/// Without a sign of life for twice this long the consumer counts as gone.
const HEARTBEAT: Duration = Duration::from_secs(1);
/// Messages asked for at once.
const BATCH: usize = 512;
/// Silence before the end of the first pass that makes the reader ask whether there is more.
const ASK_AFTER: Duration = Duration::from_millis(300);
/// How often a reader that waits for the next change notes that it was not stopped.
const LOOK: Duration = Duration::from_secs(5);
/// Bytes asked for at once, at least; a message that is larger than what is asked for would never come.
const BATCH_BYTES: usize = 8 << 20;
/// The server forgets a consumer that nobody asks for this long.
const FORGET: Duration = Duration::from_secs(30);
/// How long the server may take to make a consumer, or to give a body.
const ANSWER: Duration = Duration::from_secs(1);
/// Pauses before another consumer is asked for, doubled from the first to the last.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LAST_PAUSE: Duration = Duration::from_millis(500);

/// What a reader delivers.
#[derive(Debug)]
pub enum ReadEvent {
    /// A row of a table, and how many are known to follow it.
    Row(Row, u64),
    /// A row whose body cannot be read: as [`ReadEvent::Row`], with a body that nobody can take for a value, and why.
    Unreadable(Row, u64, String),
    /// A row of a bucket: its subject, head, body and sequence.
    Entry(String, Head, Vec<u8>, Sequence),
    /// A message that somebody sent where there are no rows.
    Sent(Sent),
    /// A message that is no row; why.
    Malformed(String, String),
    /// Everything that was there at a time since this sequence has been delivered. Comes once, and whenever a mark comes.
    CaughtUp(Sequence),
}

/// An open reader: knows the last row that it has delivered, whichever consumer that came from.
pub struct Reader {
    bus: Bus,
    spec: ReadSpec,
    named: HashMap<Subject, Digest>,
    late: Late,
    sealed: Vec<(Subject, Vec<KeyId>)>,
    end: End,
    open: Option<Open>,
    /// Until when nothing can have been missed.
    heard: Instant,
    /// Tries to make a consumer since then.
    tries: u32,
    /// How many follow, as the server estimates.
    pending: u64,
    /// Sequence of the message that came last.
    sequence: Sequence,
    /// When the server stored it, microseconds since 1970.
    stored: i64,
    caught_up: bool,
}

/// The server's side of it.
struct Open {
    messages: Messages,
    /// Number of the message that came last.
    last: u64,
    _consumer: Consumer,
}

/// Opens a reader.
///
/// # Errors
/// When the server does not answer or the stream does not exist.
pub async fn read(bus: &Bus, spec: &ReadSpec) -> Result<Reader, BusError> {
    let mut reader = Reader {
        bus: bus.clone(),
        spec: spec.clone(),
        named: HashMap::new(),
        late: Late::default(),
        sealed: Vec::new(),
        end: End::of(bus, spec).await?,
        open: None,
        heard: Instant::now(),
        tries: 0,
        pending: 0,
        sequence: Sequence::NONE,
        stored: 0,
        caught_up: false,
    };
    reader.open().await?;
    Ok(reader)
}

impl Reader {
    /// The next event; `None` when the reader has ended and must be opened again.
    pub async fn next(&mut self) -> Option<ReadEvent> {
        loop {
            if self.open.is_none() && !self.reopen().await {
                return None;
            }
            if self.pending == 0 && !self.caught_up && (self.spec.log || self.spec.estimated) {
                return Some(self.at_end());
            }
            if self.pending == 0 && !self.caught_up && self.spec.until.is_empty() && self.spec.mark.is_none()
            {
                match self.end.is_at(self.sequence).await {
                    Ok(true) => return Some(self.at_end()),
                    Ok(false) => self.pending = 1,
                    Err(error @ BusError::Unsuitable(_)) => {
                        self.lose(&error);
                        continue;
                    }
                    // There may be no leader now.
                    Err(_) => self.pending = 1,
                }
            }
            let (patience, began) = (if self.caught_up { LOOK } else { ASK_AFTER }, Instant::now());
            let messages = &mut self.open.as_mut()?.messages;
            let next = tokio::select! {
                next = tokio::time::timeout(patience, messages.next()) => next,
                Some(found) = self.late.next(&self.bus.contents), if !self.late.is_empty() => {
                    match self.settled(found) {
                        Ok(row) => return Some(ReadEvent::Row(row, self.pending)),
                        Err(unreadable) => {
                            let (row, reason) = *unreadable;
                            return Some(ReadEvent::Unreadable(row, self.pending, reason));
                        }
                    }
                }
            };
            match next {
                Ok(Some(Ok(message))) => {
                    if let Some(event) = self.event(message).await {
                        return Some(event);
                    }
                }
                Ok(Some(Err(error))) => self.lose(&error),
                Ok(None) => self.lose(&"the consumer has ended"),
                Err(_) => {
                    // The last rows may have been replaced or have expired before they came: then no message says that
                    // it was the last one.
                    self.pending = 0;
                    // Unless this process was stopped meanwhile, nothing was missed.
                    if began.elapsed() < patience * 2 {
                        self.heard = Instant::now();
                    }
                }
            }
        }
    }

    fn at_end(&mut self) -> ReadEvent {
        self.caught_up = true;
        ReadEvent::CaughtUp(self.sequence)
    }

    /// Where the stream ends that is read.
    pub(crate) fn end(&self) -> End {
        self.end.clone()
    }

    fn lose(&mut self, error: &impl std::fmt::Display) {
        tracing::debug!(%error, stream = self.spec.stream, "the consumer is lost");
        self.open = None;
    }

    /// Makes another consumer; whether the reader goes on.
    async fn reopen(&mut self) -> bool {
        loop {
            // What was not read for half of a tombstone's life may have come and gone.
            if self.heard.elapsed() > self.bus.tombstone_ttl / 2 {
                tracing::warn!(stream = self.spec.stream, "the stream could not be read for too long");
                return false;
            }
            if self.tries > 0 {
                let pause = FIRST_PAUSE * 2_u32.saturating_pow(self.tries.min(16) - 1);
                tokio::time::sleep(pause.min(LAST_PAUSE)).await;
            }
            self.tries += 1;
            // While there is no leader nobody answers: the next try must not wait for long.
            match tokio::time::timeout(ANSWER, self.open_again()).await {
                Ok(Ok(goes_on)) => return goes_on,
                Ok(Err(error)) => {
                    tracing::debug!(%error, stream = self.spec.stream, "the stream cannot be read now");
                }
                Err(_) => tracing::debug!(stream = self.spec.stream, "the stream does not answer"),
            }
        }
    }

    /// Whether the stream is still the same one, and is being read again.
    async fn open_again(&mut self) -> Result<bool, BusError> {
        let now = End::of(&self.bus, &self.spec).await?;
        if now.created() != self.end.created() {
            return Ok(false);
        }
        self.open().await.map(|()| true)
    }

    async fn open(&mut self) -> Result<(), BusError> {
        let named = || format!("read stream {}", self.spec.stream);
        // Nobody else can guess it, and so nobody else can read or delete it.
        let inbox = self.bus.js.client().new_inbox();
        let name = inbox.rsplit('.').next().unwrap_or_default().to_owned();
        // With a single filter the request names it, and a user can be given the right to it alone.
        let (filter_subject, filter_subjects) = match &self.spec.filters[..] {
            [one] => (one.clone(), Vec::new()),
            several => (String::new(), several.to_vec()),
        };
        let config = pull::Config {
            name: Some(name.clone()),
            deliver_policy: match self.sequence {
                Sequence::NONE => DeliverPolicy::All,
                last => DeliverPolicy::ByStartSequence { start_sequence: last.next().get() },
            },
            ack_policy: AckPolicy::None,
            filter_subject,
            filter_subjects,
            headers_only: self.spec.heads_only,
            memory_storage: true,
            num_replicas: 1,
            inactive_threshold: FORGET,
            ..pull::Config::default()
        };
        if let Some(mark) = Mark::of(&self.bus, &self.spec).filter(|_| !self.caught_up) {
            self.spec.until = self.spec.mark.clone().into_iter().zip([mark.write().await?]).collect();
        }
        let js = &self.bus.js;
        let stream = js.get_stream_no_info(&self.spec.stream).await.map_err(BusError::request(named()))?;
        let consumer = stream.create_consumer(config).await.map_err(BusError::request(named()))?;
        let kept = self.bus.consumers.note(&self.spec.stream, &name);
        self.pending = consumer.cached_info().num_pending;
        let messages = consumer
            .stream()
            .max_messages_per_batch(BATCH)
            .max_bytes_per_batch(BATCH_BYTES.max(2 * js.client().server_info().max_payload))
            .heartbeat(HEARTBEAT)
            .expires(Duration::from_secs(30));
        let messages = messages.messages().await.map_err(BusError::request(named()))?;
        self.open = Some(Open { messages, last: 0, _consumer: kept });
        Ok(())
    }

    /// What a message says; nothing when it is not the one that follows the last one, or the reading is lost.
    async fn event(&mut self, message: Message) -> Option<ReadEvent> {
        let Ok(info) = message.info() else {
            return Some(malformed(&message.subject, "not a stored message"));
        };
        let open = self.open.as_mut()?;
        open.last += 1;
        if info.consumer_sequence != open.last {
            self.lose(&"a message is missing");
            return None;
        }
        let (sequence, pending) = (Sequence::new(info.stream_sequence), info.pending);
        (self.heard, self.tries) = (Instant::now(), 0);
        let head = codec::head(message.headers.as_ref());
        let is_of = |(fence, end): &(String, Sequence)| *message.subject == **fence && sequence >= *end;
        if let Some(come) = self.spec.until.iter().position(is_of) {
            // The last one stays: without any the end would be asked for.
            if let [_] = self.spec.until[..] {
                self.sequence = sequence;
                return Some(self.at_end());
            }
            self.spec.until.swap_remove(come);
        }
        if self.spec.mark.as_deref() == Some(&*message.subject) {
            (self.sequence, self.pending) = (sequence, pending);
            // One that was written before this reading says nothing.
            return self.caught_up.then_some(ReadEvent::CaughtUp(sequence));
        }
        if self.spec.log {
            let time = i64::try_from(info.published.unix_timestamp_nanos() / 1000).unwrap_or(i64::MAX);
            (self.sequence, self.pending) = (sequence, pending);
            let (subject, headers) = (message.subject.to_string(), headers(message.headers.as_ref()));
            return Some(ReadEvent::Sent(Sent {
                subject,
                headers,
                body: message.payload.to_vec(),
                sequence,
                time,
            }));
        }
        (self.sequence, self.pending) = (sequence, pending);
        self.stored = i64::try_from(info.published.unix_timestamp_nanos() / 1000).unwrap_or_default();
        Some(self.row(&message, head, sequence, pending).await)
    }

    async fn row(&mut self, message: &Message, head: Head, sequence: Sequence, pending: u64) -> ReadEvent {
        if message.subject.starts_with('$') {
            let (subject, body) = (message.subject.to_string(), message.payload.to_vec());
            return ReadEvent::Entry(subject, head, body, sequence);
        }
        let subject = match message.subject.parse::<Subject>() {
            Ok(subject) => subject,
            Err(error) => return malformed(&message.subject, &error.to_string()),
        };
        self.late.replace(&subject);
        let limit = Limit::from(subject.table());
        let (content, sealed) = (codec::content(message.headers.as_ref()), sealed::payload(message));
        if self.spec.heads_only
            && let Some(ids) = codec::sealed_for(message.headers.as_ref())
        {
            self.sealed.push((subject.clone(), sealed::ids(ids)));
        }
        let body = match content {
            Some(digest) if self.spec.heads_only => {
                self.named.insert(subject.clone(), digest);
                Ok(Arc::from([]))
            }
            Some(digest) => {
                let place = BodyLocation::of(&subject, digest);
                let asked = if self.late.is_late(&subject) {
                    None
                } else {
                    tokio::time::timeout(ANSWER, self.bus.contents.get(&place, limit)).await.ok()
                };
                match asked {
                    Some(Ok(Some(body))) => Ok(body),
                    missing => {
                        let reason = missing
                            .and_then(Result::err)
                            .map_or("its content is not there yet".into(), |e| e.to_string());
                        let row = Row { subject, head, body: Row::no_content(&reason), sequence };
                        let waiter = Waiter { row: row.clone(), stored: self.stored, place, sealed };
                        self.late.wait(&self.bus.contents, waiter);
                        return ReadEvent::Unreadable(row, pending, reason);
                    }
                }
            }
            None if self.spec.heads_only || sealed.is_some() => Ok(Arc::from([])),
            None => codec::decode(&message.payload, limit).map_err(|error| error.to_string()),
        };
        let row = Row { subject, head, body: Arc::from([]), sequence };
        match body.and_then(|body| self.opened(&row, body, (sealed, content))) {
            Ok(body) => ReadEvent::Row(Row { body, ..row }, pending),
            Err(reason) => {
                ReadEvent::Unreadable(Row { body: Row::no_content(&reason), ..row }, pending, reason)
            }
        }
    }
}

fn malformed(subject: &str, reason: &str) -> ReadEvent {
    ReadEvent::Malformed(subject.to_owned(), reason.to_owned())
}
