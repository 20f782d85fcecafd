//! The limit of the machine: rows are consumed and published, and nothing is done in between.
//!
//! Measurements put this beside the pipeline's own rate. It uses the tables themselves, so it needs a bus that
//! nothing else works on.
//!
//! Messages are bare, or have what the protocol demands of every row: the difference is what the server does for heads
//! and fences. Streams with copies admit one message in process for each fence, so that rows go to them in groups.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::Message;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use async_nats::jetstream::context::PublishAckFuture;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use sluice_api::Digest;
use sluice_protocol::rows::ReportMeta;
use sluice_protocol::{Head, Meta, Sequence, Shard, Subject, Table, View};
use tokio::task::JoinSet;

use crate::Bus;
use crate::clock::now_micros;
use crate::codec;
use crate::error::BusError;
use crate::shard::fence;

/// Publishes in flight over all shards.
const IN_FLIGHT: usize = 2048;
/// Messages asked for at once, as readers do.
const BATCH: usize = 512;
/// Rows of a group: the server takes no larger one.
const GROUP: usize = 1000;

/// What the messages of the loop have besides a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareForm {
    /// Nothing.
    Bare,
    /// The head of a row, and the fence that the server compares. Streams with copies refuse it.
    Fenced,
    /// The head of each row, and one fence for the rows that have come while the group before was stored.
    Grouped,
}

/// What the loop did.
#[derive(Clone, Copy, Debug)]
pub struct BareRun {
    /// Rows that were read and published.
    pub rows: u64,
    /// From the first read to the last acknowledgement.
    pub elapsed: Duration,
}

/// Fills `changes` with rows of `size` bytes, then moves them to `reports`, all shards at once.
///
/// # Errors
/// When the server does not answer or refuses a row.
pub async fn bare_loop(bus: &Bus, rows: u64, size: usize, form: BareForm) -> Result<BareRun, BusError> {
    fill(bus, rows, size, form).await?;
    let started = Instant::now();
    let mut shards = JoinSet::new();
    for shard in Shard::all(bus.shards) {
        #[expect(clippy::disallowed_methods, reason = "every result is awaited below")]
        shards.spawn(pass(bus.clone(), shard, form));
    }
    let mut moved = 0;
    while let Some(done) = shards.join_next().await {
        moved += done.map_err(BusError::request("run the bare loop"))??;
    }
    Ok(BareRun { rows: moved, elapsed: started.elapsed() })
}

type Acks = FuturesUnordered<Ack>;
pub(crate) type Ack = <PublishAckFuture as IntoFuture>::IntoFuture;

/// Publishes without waiting, until too many acknowledgements are missing.
struct Pipe {
    acks: Acks,
    room: usize,
}

impl Pipe {
    fn new(room: usize) -> Self {
        Self { acks: Acks::new(), room: room.max(1) }
    }

    async fn send(
        &mut self,
        bus: &Bus,
        subject: String,
        headers: Option<HeaderMap>,
        body: Bytes,
    ) -> Result<(), BusError> {
        while self.acks.len() >= self.room {
            self.one().await?;
        }
        let sent = match headers {
            Some(headers) => bus.js.publish_with_headers(subject, headers, body).await,
            None => bus.js.publish(subject, body).await,
        };
        let sent = sent.map_err(BusError::request("publish a row"))?;
        self.acks.push(sent.into_future());
        Ok(())
    }

    async fn one(&mut self) -> Result<(), BusError> {
        match self.acks.next().await {
            Some(ack) => ack.map(drop).map_err(BusError::request("publish a row")),
            None => Ok(()),
        }
    }

    async fn finish(mut self) -> Result<(), BusError> {
        while !self.acks.is_empty() {
            self.one().await?;
        }
        Ok(())
    }
}

async fn fill(bus: &Bus, rows: u64, size: usize, form: BareForm) -> Result<(), BusError> {
    let body = Bytes::from(vec![b'x'; size]);
    let mut pipe = Pipe::new(IN_FLIGHT);
    for row in 0..rows {
        let shard = row % u64::from(bus.shards.max(1));
        let subject = format!("{}.{shard:02}.bare.{row}", Table::Changes.name());
        let headers = (form != BareForm::Bare).then(|| codec::headers(&head(row)));
        pipe.send(bus, subject, headers, body.clone()).await?;
    }
    pipe.finish().await
}

/// A head as rows have it.
pub(crate) fn head(row: u64) -> Head {
    Head {
        digest: Digest::of(&[&row.to_le_bytes()]),
        time: now_micros(),
        view: View::parse("default/cluster=7"),
        meta: Meta::Report(ReportMeta { selectors: vec![0], ..ReportMeta::default() }),
        tombstone: false,
    }
}

/// The rows of one shard, and where they go.
struct Lane {
    bus: Bus,
    shard: Shard,
    rows: u64,
    messages: pull::Stream,
}

/// The fence that this loop holds in the stream that it writes to.
pub(crate) struct BareFence {
    pub(crate) subject: String,
    pub(crate) sequence: Sequence,
}

/// Moves one shard; returns how many rows it had.
async fn pass(bus: Bus, shard: Shard, form: BareForm) -> Result<u64, BusError> {
    let config = pull::Config {
        deliver_policy: DeliverPolicy::All,
        ack_policy: AckPolicy::None,
        memory_storage: true,
        num_replicas: 1,
        ..pull::Config::default()
    };
    let name = Table::Changes.stream(shard);
    let stream = bus.js.get_stream_no_info(&name).await.map_err(BusError::request("find the stream"))?;
    let consumer = stream.create_consumer(config).await.map_err(BusError::request("make a consumer"))?;
    let rows = consumer.cached_info().num_pending;
    let reader = consumer.stream().max_messages_per_batch(BATCH);
    let messages = reader.messages().await.map_err(BusError::request("read the stream"))?;
    let lane = Lane { bus, shard, rows, messages };
    match form {
        BareForm::Bare => lane.pipelined(None).await?,
        BareForm::Fenced => {
            let fence = BareFence::claim(&lane.bus, Table::Reports, shard).await?;
            lane.pipelined(Some(fence)).await?;
        }
        BareForm::Grouped => {
            let fence = BareFence::claim(&lane.bus, Table::Reports, shard).await?;
            lane.grouped(&fence).await?;
        }
    }
    Ok(rows)
}

impl Lane {
    /// Each row by itself, many in flight.
    async fn pipelined(mut self, fence: Option<BareFence>) -> Result<(), BusError> {
        let mut pipe = Pipe::new(IN_FLIGHT / usize::from(self.bus.shards.max(1)));
        for row in 0..self.rows {
            let message = self.next().await?;
            let headers = fence.as_ref().map(|fence| {
                let mut headers = codec::headers(&codec::head(message.headers.as_ref()));
                fence::demand(&mut headers, fence.sequence, &fence.subject);
                headers
            });
            let subject = self.subject(row);
            pipe.send(&self.bus, subject, headers, message.payload.clone()).await?;
        }
        pipe.finish().await
    }

    /// What has come while the group before was stored is the next group.
    async fn grouped(mut self, fence: &BareFence) -> Result<(), BusError> {
        let (mut read, mut groups, mut waiting) = (0, 0, Vec::new());
        // One group at most.
        let mut stored = Acks::new();
        while read < self.rows || !waiting.is_empty() || !stored.is_empty() {
            tokio::select! {
                Some(ack) = stored.next(), if !stored.is_empty() => {
                    ack.map(drop).map_err(BusError::request("publish a group"))?;
                }
                message = self.messages.next(), if read < self.rows && waiting.len() < GROUP => {
                    waiting.push((self.subject(read), self.present(message)?));
                    read += 1;
                }
            }
            if stored.is_empty() && !waiting.is_empty() {
                groups += 1;
                let ack = self.publish(fence, groups, std::mem::take(&mut waiting)).await?;
                stored.push(ack);
            }
        }
        Ok(())
    }

    /// Publishes a group; its last message is answered for all. A group of one is a plain publish.
    async fn publish(
        &self,
        fence: &BareFence,
        group: u64,
        rows: Vec<(String, Message)>,
    ) -> Result<Ack, BusError> {
        let (count, client, mut last) = (rows.len(), self.bus.js.client(), None);
        for (number, (subject, message)) in (1..).zip(rows) {
            let mut headers = codec::headers(&codec::head(message.headers.as_ref()));
            if number == 1 {
                fence::demand(&mut headers, fence.sequence, &fence.subject);
            }
            if count > 1 {
                headers.insert("Nats-Batch-Id", format!("bare-{}-{group}", self.shard));
                headers.insert("Nats-Batch-Sequence", number.to_string());
            }
            let body = message.payload.clone();
            if number < count {
                let sent = client.publish_with_headers(subject, headers, body).await;
                sent.map_err(BusError::request("publish a group"))?;
                continue;
            }
            if count > 1 {
                headers.insert("Nats-Batch-Commit", "1");
            }
            let sent = self.bus.js.publish_with_headers(subject, headers, body).await;
            last = Some(sent.map_err(BusError::request("publish a group"))?);
        }
        let last =
            last.ok_or_else(|| BusError::Unsuitable("a group without rows was published".to_owned()))?;
        Ok(last.into_future())
    }

    fn subject(&self, row: u64) -> String {
        format!("{}.{:02}.bare.{row}", Table::Reports.name(), self.shard)
    }

    async fn next(&mut self) -> Result<Message, BusError> {
        let message = self.messages.next().await;
        self.present(message)
    }

    fn present(&self, message: Option<Result<Message, pull::MessagesError>>) -> Result<Message, BusError> {
        let ended = || {
            let name = Table::Changes.stream(self.shard);
            BusError::Unsuitable(format!("stream {name} ended before its {} rows were read", self.rows))
        };
        message.ok_or_else(ended)?.map_err(BusError::request("read the stream"))
    }
}

impl BareFence {
    /// Nothing else works on this bus, so the row is replaced whoever has it.
    pub(crate) async fn claim(bus: &Bus, table: Table, shard: Shard) -> Result<Self, BusError> {
        let owner = Subject::Owner { table, shard, owner: "bare".to_owned() };
        let (subject, failed) = (owner.to_string(), || BusError::request("claim a fence"));
        let sent = bus.js.publish(subject.clone(), Bytes::new()).await.map_err(failed())?;
        Ok(Self { subject, sequence: Sequence::new(sent.await.map_err(failed())?.sequence) })
    }
}
