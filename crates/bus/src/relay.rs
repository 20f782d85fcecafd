//! The limit of one event: a row of `changes`, then one of `reports`, then one of `desired`, each published once the one before
//! has come, with nothing done in between.
//!
//! Measurements put this beside one event of the pipeline. It uses the tables themselves, so it needs a bus that nothing else
//! works on.

use async_nats::jetstream::consumer::pull;
use async_nats::jetstream::consumer::{AckPolicy, DeliverPolicy};
use bytes::Bytes;
use futures::StreamExt as _;
use sluice_protocol::{Shard, Table};

use crate::Bus;
use crate::bare::{Ack, BareFence, head};
use crate::codec;
use crate::error::BusError;
use crate::shard::fence;

/// The tables that an event goes through.
const TABLES: [Table; 3] = [Table::Changes, Table::Reports, Table::Desired];

/// The tables of one bus, each of their shards read and ready to be written.
pub struct Relay {
    /// By shard.
    lanes: Vec<Vec<Leg>>,
}

/// One shard of one table.
struct Leg {
    /// Who writes it.
    writer: Bus,
    fence: BareFence,
    subject: String,
    /// What comes to who reads it.
    messages: pull::Stream,
}

// === impl Relay ===

impl Relay {
    /// Makes it of four connections to one bus: those of an agent, a matcher, a renderer and a deployer.
    ///
    /// # Errors
    /// When the server does not answer.
    pub async fn open(buses: &[Bus; 4]) -> Result<Self, BusError> {
        let [first, ..] = buses;
        let mut lanes = Vec::new();
        for shard in Shard::all(first.shards) {
            let mut lane = Vec::new();
            for ((writer, reader), table) in buses.iter().zip(buses.iter().skip(1)).zip(TABLES) {
                lane.push(Leg::open(writer, reader, table, shard).await?);
            }
            lanes.push(lane);
        }
        Ok(Self { lanes })
    }

    /// One event: returns when the last of its rows has come.
    ///
    /// # Errors
    /// When a row is not stored, or does not come.
    pub async fn pass(&mut self, number: u64, body: &Bytes) -> Result<(), BusError> {
        let count = self.lanes.len().max(1) as u64;
        let lane = usize::try_from(number % count).unwrap_or_default();
        let mut acks = Vec::new();
        for leg in self.lanes.get_mut(lane).into_iter().flatten() {
            acks.push(leg.publish(number, body.clone()).await?);
            leg.wait().await?;
        }
        for ack in acks {
            ack.await.map_err(BusError::request("publish a row"))?;
        }
        Ok(())
    }
}

// === impl Leg ===

impl Leg {
    async fn open(writer: &Bus, reader: &Bus, table: Table, shard: Shard) -> Result<Self, BusError> {
        let fence = BareFence::claim(writer, table, shard).await?;
        let subject = format!("{}.{shard:02}.bare", table.name());
        // As readers of tables do it, without what they have read before.
        let config = pull::Config {
            deliver_policy: DeliverPolicy::New,
            ack_policy: AckPolicy::None,
            memory_storage: true,
            num_replicas: 1,
            ..pull::Config::default()
        };
        let name = table.stream(shard);
        let stream =
            reader.js.get_stream_no_info(&name).await.map_err(BusError::request("find the stream"))?;
        let consumer = stream.create_consumer(config).await.map_err(BusError::request("make a consumer"))?;
        let messages = consumer.messages().await.map_err(BusError::request("read the stream"))?;
        Ok(Self { writer: writer.clone(), fence, subject, messages })
    }

    async fn publish(&self, number: u64, body: Bytes) -> Result<Ack, BusError> {
        let mut headers = codec::headers(&head(number));
        fence::demand(&mut headers, self.fence.sequence, &self.fence.subject);
        let subject = format!("{}.{number}", self.subject);
        let sent = self.writer.js.publish_with_headers(subject, headers, body).await;
        Ok(sent.map_err(BusError::request("publish a row"))?.into_future())
    }

    async fn wait(&mut self) -> Result<(), BusError> {
        let next = self.messages.next().await;
        let ended = || BusError::Unsuitable(format!("the stream of {} ended", self.subject));
        next.ok_or_else(ended)?.map(drop).map_err(BusError::request("read the stream"))
    }
}
