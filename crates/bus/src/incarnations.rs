//! Which life of each stream this is: a stream that was deleted and made again holds nothing of before.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::jetstream::Context;
use futures::TryStreamExt as _;
use tokio::sync::watch;

use crate::error::BusError;
use crate::layout::{BusOptions, lay_out};
use crate::pulse::Pulse;

/// How often the server is asked.
const PERIOD: Duration = Duration::from_secs(1);

/// When each stream was made, nanoseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Incarnations(BTreeMap<String, u64>);

impl Incarnations {
    /// The incarnation of a stream, 0 while it does not exist.
    pub(crate) fn get(&self, stream: &str) -> u64 {
        self.0.get(stream).copied().unwrap_or(0)
    }
}

/// Asks the server once a second, and makes missing streams again.
pub(crate) async fn follow(
    js: Context,
    layout: BusOptions,
    pulse: Pulse,
) -> Result<watch::Receiver<Incarnations>, BusError> {
    let first = ask(&js).await?;
    let expected = first.0.len();
    let (sender, receiver) = watch::channel(first);
    tokio::spawn(async move {
        while !sender.is_closed() {
            tokio::time::sleep(PERIOD).await;
            let Ok(found) = ask(&js).await else { continue };
            pulse.beat();
            if found.0.len() < expected {
                tracing::warn!("streams are missing; making them again");
                if let Err(error) = lay_out(&js, &layout).await {
                    tracing::warn!(%error, "streams cannot be made");
                }
                continue;
            }
            sender.send_if_modified(|known| {
                let changed = *known != found;
                *known = found;
                changed
            });
        }
    });
    Ok(receiver)
}

async fn ask(js: &Context) -> Result<Incarnations, BusError> {
    let mut found = BTreeMap::new();
    let mut streams = js.streams();
    while let Some(info) = streams.try_next().await.map_err(BusError::request("list streams"))? {
        let created = info.created.unix_timestamp_nanos();
        found.insert(info.config.name, u64::try_from(created).unwrap_or(0));
    }
    Ok(Incarnations(found))
}
