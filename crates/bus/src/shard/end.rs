//! Where a stream ends.
//!
//! How many messages follow one is an estimate of the server's: while a row is being replaced it is counted neither in
//! its old nor in its new place. Since absence at the end of a table is a reason to withdraw, the stream itself is
//! asked whether it has any message after the last one that came.

// D-0312: the end of a table is asked of the leader.

use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{DirectGetErrorKind, RawMessageErrorKind, Stream};
use bytes::Bytes;
use sluice_protocol::Sequence;

use crate::bus::Bus;
use crate::error::BusError;
use crate::layout::streams::Streams;
use crate::shard::read_spec::ReadSpec;
use crate::shard::writer::{TTL, ttl};

/// How long the stream's leader may take to answer.
const ANSWER: Duration = Duration::from_secs(1);

/// The end of what a [`ReadSpec`] reads, asked of the stream and never estimated.
#[derive(Clone, Debug)]
pub(crate) struct End {
    js: Context,
    name: String,
    stream: Stream<()>,
    /// When the stream was made, nanoseconds since 1970.
    created: i128,
    filters: Vec<String>,
    /// Whether the stream may be asked by its name.
    may_ask: bool,
    /// Where a mark is written, for who may not ask.
    mark: Option<Mark>,
}

// D-0318: who reads the rows of one cluster writes a mark to see their end.
/// Where who may read the rows of one cluster only writes a mark: once the reader delivers it, everything before it has come, on
/// whichever node the reader's consumer is.
#[derive(Clone, Debug)]
pub(crate) struct Mark {
    js: Context,
    subject: String,
    ttl: String,
}

/// What is known of the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Found {
    /// Nothing follows.
    Yes,
    /// Something follows.
    No,
    /// The reader will say so by itself.
    Later,
}

// === impl Mark ===

impl Mark {
    /// Where `spec` says.
    pub(crate) fn of(bus: &Bus, spec: &ReadSpec) -> Option<Self> {
        let subject = spec.mark.clone()?;
        Some(Self { js: bus.js.clone(), subject, ttl: ttl(bus) })
    }

    /// Writes it anew; its sequence.
    ///
    /// # Errors
    /// When the server does not take it.
    pub(crate) async fn write(&self) -> Result<Sequence, BusError> {
        let named = || format!("write the mark {}", self.subject);
        let mut headers = HeaderMap::new();
        headers.insert(TTL, self.ttl.clone());
        let sent = self.js.publish_with_headers(self.subject.clone(), headers, Bytes::new()).await;
        let stored = sent.map_err(BusError::request(named()))?.await.map_err(BusError::request(named()))?;
        Ok(Sequence::new(stored.sequence))
    }
}

impl End {
    /// The end of the stream in its present life.
    ///
    /// # Errors
    /// When the server does not answer or the stream does not exist.
    pub(crate) async fn of(bus: &Bus, spec: &ReadSpec) -> Result<Self, BusError> {
        let named = || format!("read stream {}", spec.stream);
        let stream = bus.js.get_stream_no_info(&spec.stream).await.map_err(BusError::request(named()))?;
        let all = || vec![">".to_owned()];
        let filters = if spec.filters.is_empty() { all() } else { spec.filters.clone() };
        let (js, name, may_ask) = (bus.js.clone(), spec.stream.clone(), bus.may_list_subjects());
        let mark = Mark::of(bus, spec);
        let end = Self { js, name, stream, created: 0, filters, may_ask, mark };
        Ok(Self { created: end.made_at().await?, ..end })
    }

    /// When the stream was made that there is now.
    async fn made_at(&self) -> Result<i128, BusError> {
        let named = || format!("read stream {}", self.name);
        let info = if self.may_ask {
            Some(self.stream.get_info().await.map_err(BusError::request(named()))?)
        } else {
            Streams::of_subject(&self.js, &self.name, &self.filters[0]).await?
        };
        let made = info.map(|info| info.created.unix_timestamp_nanos());
        made.ok_or_else(|| BusError::Request { what: named(), source: "it has no leader now".into() })
    }

    /// When the stream was made that this is the end of.
    pub(crate) fn created(&self) -> i128 {
        self.created
    }

    /// Whether nothing follows `sequence`, or the reader will see it.
    ///
    /// # Errors
    /// As [`End::is_at`].
    pub(crate) async fn find(&self, sequence: Sequence) -> Result<Found, BusError> {
        match &self.mark {
            Some(mark) => mark.write().await.map(|_| Found::Later),
            None => Ok(if self.is_at(sequence).await? { Found::Yes } else { Found::No }),
        }
    }

    /// Whether nothing follows `sequence` now.
    ///
    /// # Errors
    /// When the server does not answer, or the stream has been made anew.
    pub(crate) async fn is_at(&self, sequence: Sequence) -> Result<bool, BusError> {
        // While there is no leader nobody answers.
        let asked = tokio::time::timeout(ANSWER, self.ask(sequence)).await;
        asked.unwrap_or_else(|_| {
            let what = format!("look for the end of stream {}", self.name);
            Err(BusError::Request { what, source: "no answer".into() })
        })
    }

    async fn ask(&self, sequence: Sequence) -> Result<bool, BusError> {
        let named = || format!("look for the end of stream {}", self.name);
        for filter in &self.filters {
            if self
                .has_after(filter, sequence)
                .await
                .map_err(|source| BusError::Request { what: named(), source })?
            {
                return Ok(false);
            }
        }
        if self.made_at().await? != self.created {
            return Err(BusError::Unsuitable(format!("{}: it has been made anew", named())));
        }
        Ok(true)
    }

    /// Asks the leader; for a single subject any replica, which a user may be allowed who may not read all of the stream.
    async fn has_after(&self, filter: &str, sequence: Sequence) -> Result<bool, async_nats::Error> {
        if !filter.contains(['*', '>']) {
            return match self.stream.direct_get_last_for_subject(filter).await {
                Ok(message) => Ok(message.sequence > sequence.get()),
                Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(false),
                Err(error) => Err(error.into()),
            };
        }
        match self.stream.get_first_raw_message_by_subject(filter, sequence.next().get()).await {
            Ok(_) => Ok(true),
            Err(error) if error.kind() == RawMessageErrorKind::NoMessageFound => Ok(false),
            Err(error) => Err(error.into()),
        }
    }
}
