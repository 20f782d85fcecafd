//! The `interest` bucket: who watches what where.

use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::LastRawMessageErrorKind;
use sluice_api::{ClusterKind, ClusterRef};
use sluice_protocol::interest::Interest;
use sluice_protocol::{Head, Revision, Sequence, json};
use tokio_util::sync::CancellationToken;

use crate::buckets::feed::Feed;
use crate::buckets::follow::{Follower, follow};
use crate::bus::Bus;
use crate::codec::{self, Limit};
use crate::error::BusError;
use crate::layout::INTEREST;
use crate::shard::reader::ReadEvent;
use crate::shard::writer::{TTL, ttl};

const EXPECTED: &str = "Nats-Expected-Last-Subject-Sequence";
/// The revision of a row, for those who cannot read it.
const REVISION: &str = "Sluice-Revision";

/// Rows by cluster.
pub type InterestFeed = Feed<ClusterRef, (ClusterRef, Interest)>;

/// Writes interest rows, each only over the one it was made from.
#[derive(Clone, Debug)]
pub struct InterestWriter {
    bus: Bus,
}

pub(crate) fn subject(cluster: &ClusterRef) -> String {
    format!("$KV.{INTEREST}.{}.{}.{}", cluster.kind.lower(), cluster.namespace, cluster.name)
}

fn cluster(subject: &str) -> Option<ClusterRef> {
    let mut parts = subject.strip_prefix("$KV.")?.strip_prefix(INTEREST)?.strip_prefix('.')?.splitn(3, '.');
    let kind = if parts.next()? == "capi" { ClusterKind::Capi } else { ClusterKind::Sveltos };
    Some(ClusterRef { kind, namespace: parts.next()?.to_owned(), name: parts.next()?.to_owned() })
}

/// Rows of before have no format byte.
fn decode(body: &[u8]) -> Option<Interest> {
    match body.first() {
        Some(b'{') => serde_json::from_slice(body).ok(),
        _ => serde_json::from_slice(&codec::decode(body, Limit::LARGEST).ok()?).ok(),
    }
}

fn revision(headers: &async_nats::HeaderMap) -> Option<Revision> {
    headers.get(REVISION)?.as_str().parse().ok()
}

struct Rows;

/// Follows the bucket until `stop`. A row that is lost with its bucket comes as the default one, which is older than any:
/// who reads it keeps what it knows, who writes it writes it again.
pub fn interest_feed(bus: &Bus, stop: CancellationToken) -> InterestFeed {
    follow::<Rows>(bus, format!("KV_{INTEREST}"), Vec::new(), stop)
}

/// The same for the row of one cluster.
pub fn interest_feed_of(bus: &Bus, cluster: &ClusterRef, stop: CancellationToken) -> InterestFeed {
    follow::<Rows>(bus, format!("KV_{INTEREST}"), vec![subject(cluster)], stop)
}

impl Follower for Rows {
    type Key = ClusterRef;
    type Value = (ClusterRef, Interest);

    fn take(feed: &InterestFeed, event: ReadEvent) -> Option<ClusterRef> {
        let ReadEvent::Entry(subject, head, body, _) = event else { return None };
        if head.tombstone {
            if let Some(cluster) = cluster(&subject) {
                Self::lost(feed, &cluster);
            }
            return None;
        }
        let Some((cluster, row)) = cluster(&subject).zip(decode(&body)) else {
            tracing::warn!(subject, "an interest row cannot be read; it is rewritten when triggers change");
            return None;
        };
        feed.put(cluster.clone(), (cluster.clone(), row));
        Some(cluster)
    }

    fn lost(feed: &InterestFeed, cluster: &ClusterRef) {
        feed.remove(cluster, (cluster.clone(), Interest::default()));
    }
}

impl InterestWriter {
    /// A writer on this bus.
    pub fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone() }
    }

    /// Writes the row unless a newer one is there. Over one that this version cannot read, or that was taken away lately, it is
    /// written under a later revision.
    ///
    /// # Errors
    /// When the server does not answer, or somebody else wrote at the same time; their row comes with the feed.
    pub async fn write(&self, cluster: &ClusterRef, row: &Interest) -> Result<(), BusError> {
        let subject = subject(cluster);
        let named = || format!("write interest of {cluster}");
        let known = last(&self.bus, &subject, &named).await?;
        let row = match known.as_ref().map(|known| (decode(&known.payload), revision(&known.headers))) {
            Some((Some(there), _)) if there.revision >= row.revision => return Ok(()),
            Some((None, Some(there))) => row.clone().later_than(there),
            _ => row.clone(),
        };
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(REVISION, row.revision.to_string());
        headers.insert(
            EXPECTED,
            known.map_or(Sequence::NONE, |known| Sequence::new(known.sequence)).to_string(),
        );
        let body = codec::encode(&json::bytes(&row));
        let limit = self.bus.js.client().server_info().max_payload;
        if body.len() > limit {
            return Err(BusError::TooLarge(format!(
                "{cluster}: the EventSources for it take {} bytes, compressed, and a message of the bus may have {limit}; use fewer or smaller ones, or raise max_payload of nats-server",
                body.len()
            )));
        }
        let ack = self
            .bus
            .js
            .publish_with_headers(subject, headers, body)
            .await
            .map_err(BusError::request(named()))?;
        ack.await.map_err(BusError::request(named())).map(drop)
    }
}

/// Takes the row of a cluster away that is no longer registered, when everything else of the cluster has gone.
#[derive(Clone, Debug)]
pub struct InterestRemover {
    bus: Bus,
}

impl InterestRemover {
    /// A remover on this bus.
    pub fn new(bus: &Bus) -> Self {
        Self { bus: bus.clone() }
    }

    /// Takes the row of this revision away; another one, as of a cluster that is registered again, stays.
    ///
    /// # Errors
    /// When the server does not answer, or somebody else wrote at the same time.
    pub async fn remove(&self, cluster: &ClusterRef, revision: Revision) -> Result<(), BusError> {
        let subject = subject(cluster);
        let named = || format!("remove interest of {cluster}");
        let Some(known) = last(&self.bus, &subject, &named).await? else { return Ok(()) };
        let is_it = |row: Interest| row.gone && row.revision == revision;
        if !decode(&known.payload).is_some_and(is_it) {
            return Ok(());
        }
        let mut headers = codec::headers(&Head { tombstone: true, ..Head::default() });
        headers.insert(EXPECTED, known.sequence.to_string());
        headers.insert(TTL, ttl(&self.bus));
        // Tombstones of the cluster's rows may be there for as long, and are made from this revision or an older one: the row of a
        // cluster that is registered again must be a later one, whatever the clock of its writer says.
        headers.insert(REVISION, revision.to_string());
        let sent = self.bus.js.publish_with_headers(subject, headers, Vec::new().into()).await;
        sent.map_err(BusError::request(named()))?.await.map_err(BusError::request(named())).map(drop)
    }
}

/// What is there under a subject.
async fn last(
    bus: &Bus,
    subject: &str,
    named: &impl Fn() -> String,
) -> Result<Option<StreamMessage>, BusError> {
    let stream = bus.js.get_stream_no_info(format!("KV_{INTEREST}")).await;
    let stream = stream.map_err(BusError::request(named()))?;
    match stream.get_last_raw_message_by_subject(subject).await {
        Ok(known) => Ok(Some(known)),
        Err(error) if error.kind() == LastRawMessageErrorKind::NoMessageFound => Ok(None),
        Err(error) => Err(BusError::Request { what: named(), source: error.into() }),
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

    #[test]
    fn what_is_no_key_of_the_bucket_is_no_cluster() {
        for other in
            ["$KV.interests.sveltos.a.b", "$KV.interest", "$KV.interest.sveltos.a", "interest.sveltos.a.b"]
        {
            assert_eq!(cluster(other), None, "{other}");
        }
    }

    #[test]
    fn a_row_is_read_with_and_without_a_format_byte() {
        let row = Interest { revision: Revision::new(7), ..Interest::default() };
        let text = json::bytes(&row);
        for body in [text.to_vec(), codec::encode(&text).to_vec()] {
            assert_eq!(decode(&body), Some(row.clone()));
        }
        for none in [&b""[..], b"{", b"\0{", b"\x09{}"] {
            assert_eq!(decode(none), None, "{none:?}");
        }
    }

    #[test]
    fn a_revision_is_a_number_or_is_not_known() {
        let of = |text: &str| {
            let mut headers = async_nats::HeaderMap::new();
            headers.insert(REVISION, text);
            revision(&headers)
        };
        assert_eq!((of("12"), of("-1"), of("new")), (Some(Revision::new(12)), None, None));
        assert_eq!(revision(&async_nats::HeaderMap::new()), None);
    }

    #[test]
    fn the_row_of_a_cluster_that_has_gone_is_told_as_one_that_is_older_than_any() {
        let (a, feed) = (ClusterRef::sveltos("default", "a"), InterestFeed::new());
        let row = Interest { revision: Revision::new(7), ..Interest::default() };
        feed.put(a.clone(), (a.clone(), row));
        let mut news = feed.subscribe();
        let gone = ReadEvent::Entry(
            subject(&a),
            Head { tombstone: true, ..Head::default() },
            Vec::new(),
            Sequence::new(2),
        );
        assert_eq!(Rows::take(&feed, gone), None);
        let told: Vec<u64> =
            std::iter::from_fn(|| news.try_recv().ok()).map(|(_, row)| row.revision.get()).collect();
        assert_eq!((told, feed.get(&a)), (vec![7, 0], None));
    }
}
