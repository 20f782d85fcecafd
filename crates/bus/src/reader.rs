//! Reading a stream from its first row, in order, without acknowledgements.
//!
//! The reader does not repair anything: when a message is missing or the server is silent it ends, and who
//! uses it begins again. Reading again is the one way of recovery.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::pull::{self, MessagesError, Stream as Messages};
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use futures::StreamExt as _;
use sluice_api::Digest;
use sluice_protocol::{Head, Row, Subject};

use crate::codec;
use crate::end::End;
use crate::error::BusError;
use crate::layout::Bus;

/// Without a sign of life for twice this long the server counts as gone.
const HEARTBEAT: Duration = Duration::from_secs(2);
/// Messages asked for at once.
const BATCH: usize = 512;
/// Silence before the end of the first pass that makes the reader ask whether there is more.
const ASK_AFTER: Duration = Duration::from_millis(300);
/// How long a row waits for its content.
const CONTENT_PATIENCE: Duration = Duration::from_secs(20);
/// Stands for a body that cannot be read; no row has it, since bodies are JSON.
const UNREADABLE: &[u8] = b"\0";
/// The server forgets a consumer that nobody asks for this long.
const FORGET: Duration = Duration::from_secs(30);

/// What to read.
#[derive(Clone, Debug)]
pub struct Load {
    /// The stream.
    pub stream: String,
    /// Only subjects that match one of these; empty for all.
    pub filters: Vec<String>,
    /// Whether bodies are left out: for an owner's own rows, which it has claimed so that nobody adds to them.
    pub heads_only: bool,
}

/// What a reader delivers.
#[derive(Debug)]
pub enum ReadEvent {
    /// A row of a table, and how many are known to follow it.
    Row(Row, u64),
    /// A row whose body cannot be read: as [`ReadEvent::Row`], with a body that nobody can take for a value, and why.
    Unreadable(Row, u64, String),
    /// A row of a bucket: its subject, head, body and sequence.
    Entry(String, Head, Vec<u8>, u64),
    /// A message that is no row; why.
    Malformed(String, String),
    /// Everything that was there at a time since this sequence has been delivered. Comes once.
    CaughtUp(u64),
}

/// An open reader. See the module's text.
pub struct Reader {
    bus: Bus,
    load: Load,
    named: HashMap<Subject, Digest>,
    end: Option<End>,
    /// How many there were when it was opened.
    found: u64,
    messages: Option<Messages>,
    /// How many follow, as the server estimates.
    pending: u64,
    /// Number of the message that came last, and its sequence in the stream.
    last: u64,
    sequence: u64,
    caught_up: bool,
}

/// Opens a reader.
///
/// # Errors
/// When the server does not answer or the stream does not exist.
pub async fn read(bus: &Bus, load: &Load) -> Result<Reader, BusError> {
    let named = || format!("read stream {}", load.stream);
    let config = pull::Config {
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::None,
        filter_subjects: load.filters.clone(),
        headers_only: load.heads_only,
        memory_storage: true,
        num_replicas: 1,
        inactive_threshold: FORGET,
        ..pull::Config::default()
    };
    let end = if load.heads_only { None } else { Some(End::of(bus, load).await?) };
    let stream = bus.js.get_stream_no_info(&load.stream).await.map_err(BusError::request(named()))?;
    let consumer = stream.create_consumer(config).await.map_err(BusError::request(named()))?;
    let pending = consumer.cached_info().num_pending;
    let messages =
        consumer.stream().max_messages_per_batch(BATCH).heartbeat(HEARTBEAT).expires(Duration::from_secs(30));
    let messages = messages.messages().await.map_err(BusError::request(named()))?;
    Ok(Reader {
        bus: bus.clone(),
        load: load.clone(),
        named: HashMap::new(),
        end,
        found: pending,
        messages: Some(messages),
        pending,
        last: 0,
        sequence: 0,
        caught_up: false,
    })
}

impl Reader {
    /// The next event; `None` when the reader has ended and must be opened again.
    pub async fn next(&mut self) -> Option<ReadEvent> {
        loop {
            if self.pending == 0 && !self.caught_up {
                match self.is_at_end().await {
                    Ok(true) => {
                        self.caught_up = true;
                        return Some(ReadEvent::CaughtUp(self.sequence));
                    }
                    Ok(false) => self.pending = 1,
                    Err(error) => return self.ended(&error),
                }
            }
            let next = self.messages.as_mut()?.next();
            if self.caught_up {
                let next = next.await;
                return self.received(next).await;
            }
            match tokio::time::timeout(ASK_AFTER, next).await {
                Ok(next) => return self.received(next).await,
                // The last rows may have been replaced or have expired before they came: then no message says that
                // it was the last one.
                Err(_) => self.pending = 0,
            }
        }
    }

    /// Where the stream ends that is read; own rows end where they are.
    pub(crate) fn end(&self) -> Option<End> {
        self.end.clone()
    }

    async fn is_at_end(&self) -> Result<bool, BusError> {
        match &self.end {
            Some(end) => end.is_at(self.sequence).await,
            None if self.last >= self.found => Ok(true),
            // Some may have expired since.
            None => End::of(&self.bus, &self.load).await?.is_at(self.sequence).await,
        }
    }

    async fn received(&mut self, next: Option<Result<Message, MessagesError>>) -> Option<ReadEvent> {
        match next {
            Some(Ok(message)) => self.event(message).await,
            Some(Err(error)) => self.ended(&error),
            None => None,
        }
    }

    fn ended(&mut self, error: &impl std::fmt::Display) -> Option<ReadEvent> {
        tracing::debug!(%error, "reader ended");
        self.messages = None;
        None
    }

    async fn event(&mut self, message: Message) -> Option<ReadEvent> {
        let Ok(info) = message.info() else {
            return Some(malformed(&message.subject, "not a stored message"));
        };
        self.last += 1;
        if info.consumer_sequence != self.last {
            tracing::debug!(expected = self.last, found = info.consumer_sequence, "reader missed a message");
            self.messages = None;
            return None;
        }
        let (sequence, pending) = (info.stream_sequence, info.pending);
        (self.sequence, self.pending) = (sequence, pending);
        let head = codec::head(message.headers.as_ref());
        if message.subject.starts_with('$') {
            let (subject, body) = (message.subject.to_string(), message.payload.to_vec());
            return Some(ReadEvent::Entry(subject, head, body, sequence));
        }
        let subject = match message.subject.parse::<Subject>() {
            Ok(subject) => subject,
            Err(error) => return Some(malformed(&message.subject, &error.to_string())),
        };
        let body = match codec::content(message.headers.as_ref()) {
            Some(digest) if self.load.heads_only => {
                self.named.insert(subject.clone(), digest);
                Ok(Arc::from([]))
            }
            Some(digest) => self.fetch(digest).await?,
            None => codec::decode(&message.payload).map_err(|error| error.to_string()),
        };
        Some(match body {
            Ok(body) => ReadEvent::Row(Row { subject, head, body, sequence }, pending),
            Err(reason) => {
                let body = UNREADABLE.into();
                ReadEvent::Unreadable(Row { subject, head, body, sequence }, pending, reason)
            }
        })
    }

    /// A body of the `content` bucket. A new bucket is filled again by those whose rows name it: wait for them.
    async fn fetch(&self, digest: Digest) -> Option<Result<Arc<[u8]>, String>> {
        let deadline = tokio::time::Instant::now() + CONTENT_PATIENCE;
        loop {
            match self.bus.contents.get(digest).await {
                Ok(Some(body)) => return Some(Ok(body)),
                Ok(None) if tokio::time::Instant::now() < deadline => {}
                Ok(None) => return Some(Err(format!("its content {digest} has expired"))),
                Err(error) => {
                    tracing::debug!(%error, "reader ended");
                    return None;
                }
            }
            tokio::time::sleep(ASK_AFTER).await;
        }
    }

    /// Which rows that came name a body in the `content` bucket; only where bodies are left out.
    pub(crate) fn take_named(&mut self) -> HashMap<Subject, Digest> {
        std::mem::take(&mut self.named)
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

fn malformed(subject: &str, reason: &str) -> ReadEvent {
    ReadEvent::Malformed(subject.to_owned(), reason.to_owned())
}
