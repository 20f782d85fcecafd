//! The limit of the machine: rows are consumed and published, and nothing is done in between.
//!
//! Measurements put this beside the pipeline's own rate. It uses the tables themselves, so it needs a bus that
//! nothing else works on.
//!
//! Messages are bare, or have what the protocol demands of every row: the difference is what the server does for heads
//! and fences.

use std::time::{Duration, Instant};

use async_nats::HeaderMap;
use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use async_nats::jetstream::context::PublishAckFuture;
use bytes::Bytes;
use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use sluice_api::Digest;
use sluice_protocol::{Claim, Head, Subject, Table, View};
use tokio::task::JoinSet;

use crate::bus::Bus;
use crate::clock::now_micros;
use crate::codec;
use crate::error::BusError;
use crate::fence::{self, Claimed, Fence, Holder};

/// Publishes in flight over all shards.
const IN_FLIGHT: usize = 2048;
/// Messages asked for at once, as readers do.
const BATCH: usize = 512;

/// What the messages of the loop have besides a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareForm {
    /// Nothing.
    Bare,
    /// The head of a row, and the fence that the server compares.
    Fenced,
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
    for shard in 0..bus.shards {
        shards.spawn(pass(bus.clone(), shard, form));
    }
    let mut moved = 0;
    while let Some(done) = shards.join_next().await {
        moved += done.map_err(BusError::request("run the bare loop"))??;
    }
    Ok(BareRun { rows: moved, elapsed: started.elapsed() })
}

/// Publishes without waiting, until too many acknowledgements are missing.
struct Pipe {
    acks: FuturesUnordered<<PublishAckFuture as IntoFuture>::IntoFuture>,
    room: usize,
}

impl Pipe {
    fn new(room: usize) -> Self {
        Self { acks: FuturesUnordered::new(), room: room.max(1) }
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
        let headers = (form == BareForm::Fenced).then(|| codec::headers(&head(row)));
        pipe.send(bus, subject, headers, body.clone()).await?;
    }
    pipe.finish().await
}

/// A head as rows have it.
fn head(row: u64) -> Head {
    Head {
        digest: Digest::of(&[&row.to_le_bytes()]),
        time: now_micros(),
        view: View::parse("default/cluster=7"),
        meta: r#"{"selectors":[0]}"#.to_owned(),
        tombstone: false,
    }
}

async fn claim(bus: &Bus, shard: u16, subject: &str) -> Result<u64, BusError> {
    let fence = Fence { stream: Table::Reports.stream(shard), subject: subject.to_owned() };
    let holder = Holder { member: "bare".to_owned(), life: 0, number: 1 };
    let claim = Claim { output: 0, number: 1, former: None, delay: 0 };
    match fence.claim(bus, &holder, &claim).await {
        Claimed::At(sequence) => Ok(sequence),
        other => Err(BusError::Unsuitable(format!("the fence row {subject} cannot be claimed: {other:?}"))),
    }
}

/// Moves one shard; returns how many rows it had.
async fn pass(bus: Bus, shard: u16, form: BareForm) -> Result<u64, BusError> {
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
    let mut messages = reader.messages().await.map_err(BusError::request("read the stream"))?;
    let owner = Subject::fence(Table::Reports, usize::from(shard), "bare").to_string();
    let fence = match form {
        BareForm::Bare => None,
        BareForm::Fenced => Some(claim(&bus, shard, &owner).await?),
    };
    let mut pipe = Pipe::new(IN_FLIGHT / usize::from(bus.shards.max(1)));
    for row in 0..rows {
        let Some(message) = messages.next().await else {
            return Err(BusError::Unsuitable(format!(
                "stream {name} ended before its {rows} rows were read"
            )));
        };
        let message = message.map_err(BusError::request("read the stream"))?;
        let subject = format!("{}.{shard:02}.bare.{row}", Table::Reports.name());
        let headers = fence.map(|fence| {
            let mut headers = codec::headers(&codec::head(message.headers.as_ref()));
            fence::demand(&mut headers, fence, &owner);
            headers
        });
        pipe.send(&bus, subject, headers, message.payload.clone()).await?;
    }
    pipe.finish().await?;
    Ok(rows)
}
