//! CloudEvents that are sent to clusters: a log that keeps what came lately.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::HeaderMap;
use sluice_api::ClusterRef;
use sluice_protocol::{Sequence, subject};

use crate::bus::Bus;
use crate::error::BusError;
use crate::layout::CLOUD_EVENTS;
use crate::shard::read_spec::ReadSpec;
use crate::shard::reader::{ReadEvent, read};

/// Pause before a log whose reader has ended is read again.
const AGAIN: Duration = Duration::from_millis(200);

/// What was sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its subject.
    pub subject: String,
    /// Its headers; of several values of one name the first.
    pub headers: BTreeMap<String, String>,
    /// What it says.
    pub body: Vec<u8>,
    /// Its place in the stream.
    pub sequence: Sequence,
    /// When the bus took it, microseconds since 1970.
    pub time: i64,
}

/// Reads what is sent to a cluster, from the first message that is still there, again and again. `None` stands for: everything
/// has come that had been sent before. Ends when `tell` says that nobody listens.
pub async fn read_cloud_events(bus: &Bus, cluster: &ClusterRef, tell: impl Fn(Option<Message>) -> bool) {
    let spec = ReadSpec::log(CLOUD_EVENTS.to_owned(), subject::cloud_events_of(cluster));
    loop {
        if let Ok(mut reader) = read(bus, &spec).await {
            while let Some(event) = reader.next().await {
                let goes_on = match event {
                    ReadEvent::Sent(message) => tell(Some(message)),
                    ReadEvent::CaughtUp(_) => tell(None),
                    _ => true,
                };
                if !goes_on {
                    return;
                }
            }
        }
        tokio::time::sleep(AGAIN).await;
    }
}

/// Sends a CloudEvent to a cluster, and waits until the bus has it. The same event (source and id) that is sent again within two
/// minutes is there once; whoever reads it knows it by itself when it comes later.
///
/// # Errors
/// When the bus does not take it.
pub async fn send_cloud_event(
    bus: &Bus,
    cluster: &ClusterRef,
    channel: &str,
    (identity, body): (&str, Vec<u8>),
) -> Result<(), BusError> {
    let named = || format!("send a CloudEvent to {cluster}");
    let mut headers = HeaderMap::new();
    headers.insert("Content-Type", "application/cloudevents+json");
    headers.insert("Nats-Msg-Id", subject::token(identity));
    let subject = subject::cloud_event(cluster, channel);
    let sent = bus.js.publish_with_headers(subject, headers, body.into()).await;
    sent.map_err(BusError::request(named()))?.await.map_err(BusError::request(named())).map(drop)
}

/// The headers of a message, each with its first value.
pub(crate) fn headers(headers: Option<&HeaderMap>) -> BTreeMap<String, String> {
    let all = headers.into_iter().flat_map(HeaderMap::iter);
    all.filter_map(|(name, values)| Some((name.to_string(), values.first()?.to_string()))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_several_values_of_a_header_the_first_one_is_told() {
        let mut several = HeaderMap::new();
        ["first", "second"].iter().for_each(|value| several.append("ce-type", *value));
        several.insert("ce-id", "1");
        let told = headers(Some(&several));
        assert_eq!(told.get("ce-type").map(String::as_str), Some("first"));
        assert_eq!(told.len(), 2);
    }

    #[test]
    fn a_message_without_headers_has_none() {
        assert!(headers(None).is_empty());
    }
}
