//! Whether the streams of a shard are still those it began with.

use sluice_protocol::Incarnation;
use tokio::sync::watch;

use crate::bus::Bus;
use crate::layout::CONTENT;
use crate::layout::incarnations::Incarnations;
use crate::shard::shard_spec::ShardSpec;

/// Sees when a stream of a shard becomes another incarnation.
pub(crate) struct IncarnationWatch {
    streams: Vec<String>,
    born: Vec<Incarnation>,
    now: watch::Receiver<Incarnations>,
}

impl IncarnationWatch {
    /// As they are now.
    pub(crate) fn of(bus: &Bus, spec: &ShardSpec) -> Self {
        let mut this =
            Self { streams: watched_streams(bus, spec), born: Vec::new(), now: bus.incarnations.clone() };
        this.born = this.look();
        this
    }

    fn look(&mut self) -> Vec<Incarnation> {
        let now = self.now.borrow_and_update();
        self.streams.iter().map(|stream| now.get(stream)).collect()
    }

    /// Waits until one of the streams is another than at the beginning.
    pub(crate) async fn ended(&mut self) {
        while self.now.changed().await.is_ok() {
            if self.look() != self.born {
                return;
            }
        }
        std::future::pending().await
    }
}

fn watched_streams(bus: &Bus, spec: &ShardSpec) -> Vec<String> {
    let mut streams = spec.output_streams(bus.shards);
    streams.extend(spec.input.as_ref().map(|input| input.stream.clone()));
    streams.push(format!("KV_{CONTENT}"));
    streams
}
