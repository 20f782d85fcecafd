//! The `interest` bucket: who watches what where.

use std::time::Duration;

use sluice_api::{ClusterKind, ClusterRef};
use sluice_protocol::interest::Interest;
use tokio_util::sync::CancellationToken;

use crate::error::BusError;
use crate::feed::Feed;
use crate::layout::{Bus, INTEREST};
use crate::reader::{Load, ReadEvent, read};

/// Rows by cluster.
pub type InterestFeed = Feed<ClusterRef, (ClusterRef, Interest)>;

/// Writes interest rows, each only over the one it was made from.
#[derive(Clone, Debug)]
pub struct InterestWriter {
    bus: Bus,
}

fn subject(cluster: &ClusterRef) -> String {
    format!("$KV.{INTEREST}.{}.{}.{}", cluster.kind.lower(), cluster.namespace, cluster.name)
}

fn cluster(subject: &str) -> Option<ClusterRef> {
    let mut parts = subject.strip_prefix("$KV.")?.strip_prefix(INTEREST)?.strip_prefix('.')?.splitn(3, '.');
    let kind = if parts.next()? == "capi" { ClusterKind::Capi } else { ClusterKind::Sveltos };
    Some(ClusterRef { kind, namespace: parts.next()?.to_owned(), name: parts.next()?.to_owned() })
}

/// Follows the bucket until `stop`. A deleted row tells nothing: "missing" means unknown.
pub fn interest_feed(bus: &Bus, stop: CancellationToken) -> InterestFeed {
    let feed = InterestFeed::new();
    let (bus, out) = (bus.clone(), feed.clone());
    tokio::spawn(async move {
        let load = Load { stream: format!("KV_{INTEREST}"), filters: Vec::new(), heads_only: false };
        while !stop.is_cancelled() {
            if let Ok(mut reader) = read(&bus, &load).await {
                while let Some(event) = reader.next().await {
                    take(&out, event);
                }
            }
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    });
    feed
}

fn take(feed: &InterestFeed, event: ReadEvent) {
    match event {
        ReadEvent::CaughtUp => feed.set_synced(),
        ReadEvent::Entry(subject, head, body, _) if !head.tombstone => {
            let row = cluster(&subject).zip(serde_json::from_slice::<Interest>(&body).ok());
            match row {
                Some((cluster, row)) => feed.put(cluster.clone(), (cluster, row)),
                None => tracing::warn!(
                    subject,
                    "an interest row cannot be read; it is rewritten when triggers change"
                ),
            }
        }
        _ => {}
    }
}

impl InterestWriter {
    /// A writer on this bus.
    pub fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone() }
    }

    /// Writes the row unless a newer one is there.
    ///
    /// # Errors
    /// When the server does not answer, or somebody else wrote at the same time; their row comes with the feed.
    pub async fn write(&self, cluster: &ClusterRef, row: &Interest) -> Result<(), BusError> {
        let subject = subject(cluster);
        let named = || format!("write interest of {cluster}");
        let stream = self
            .bus
            .js
            .get_stream_no_info(format!("KV_{INTEREST}"))
            .await
            .map_err(BusError::request(named()))?;
        let known = stream.direct_get_last_for_subject(&subject).await.ok();
        let newer = known.as_ref().and_then(|known| serde_json::from_slice::<Interest>(&known.payload).ok());
        if newer.is_some_and(|newer| newer.revision >= row.revision) {
            return Ok(());
        }
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(
            "Nats-Expected-Last-Subject-Sequence",
            known.map_or(0, |known| known.sequence).to_string(),
        );
        let body = serde_json::to_vec(row).map_err(BusError::request(named()))?;
        let ack = self
            .bus
            .js
            .publish_with_headers(subject, headers, body.into())
            .await
            .map_err(BusError::request(named()))?;
        ack.await.map_err(BusError::request(named())).map(drop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_read_back() {
        let expected = ClusterRef { kind: ClusterKind::Capi, namespace: "a".into(), name: "b.c".into() };
        assert_eq!(cluster(&subject(&expected)), Some(expected));
        assert_eq!(cluster("$KV.interest.sveltos"), None);
    }
}
