//! Whether a stream still has what it acknowledged, looked at after every disturbance.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use async_nats::jetstream::stream::{ClusterInfo, DirectGetErrorKind, Info};
use futures::future::try_join_all;
use sluice_protocol::subject::cluster_token;
use sluice_protocol::{Epoch, Role, Sequence};
use sluice_tasks::End;

use crate::error::BusError;
use crate::layout::CONFIG;
use crate::layout::ledger::Entry;
use crate::layout::losses;
use crate::layout::streams::Streams;

/// A row must be missing this often in a row.
const BELIEVE: usize = 8;
/// Pause in between.
const AGAIN: Duration = Duration::from_millis(500);
/// It is asked this often at most: the stream may have no leader for long.
const ATTEMPTS: usize = 120;

/// Looks for rows that the server has acknowledged; when one is lost, the stream gets another epoch.
pub(crate) async fn audit(
    js: Context,
    stream: String,
    entries: Vec<Entry>,
    epoch: Epoch,
    teller: Teller,
) -> End {
    let mut missing = 0;
    for _ in 0..ATTEMPTS {
        match is_missing(&js, &stream, &entries).await {
            Ok(Missing::Nothing) => return End::Done,
            Ok(Missing::There) => missing += 1,
            Ok(Missing::Perhaps) => {}
            // Nobody answers: that says nothing.
            Err(error) => tracing::debug!(%error, stream, "the audit of a stream waits"),
        }
        if missing == BELIEVE {
            tracing::warn!(stream, "the stream has lost rows that it had acknowledged");
            return tell(js, stream, epoch, teller).await;
        }
        tokio::time::sleep(AGAIN).await;
    }
    // The leader that answers one day is another one, and that begins another audit.
    End::Done
}

/// What a look for rows has found.
enum Missing {
    /// All are there.
    Nothing,
    /// One is not there where the answer came from, and that one may lag.
    Perhaps,
    /// One is not there.
    There,
}

async fn is_missing(js: &Context, stream: &str, entries: &[Entry]) -> Result<Missing, BusError> {
    let named = || format!("look for rows of stream {stream}");
    let from = js.get_stream_no_info(stream).await.map_err(BusError::request(named()))?;
    for entry in entries {
        let last = match from.direct_get_last_for_subject(&entry.subject).await {
            Ok(message) => Some(Sequence::new(message.sequence)),
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => None,
            Err(error) => return Err(BusError::Request { what: named(), source: error.into() }),
        };
        if entry.is_lost(last) {
            let info = Streams::of_subject(js, stream, &entry.subject).await?;
            let current = |info: Info| info.cluster.as_ref().is_none_or(are_all_current);
            return Ok(if info.is_some_and(current) { Missing::There } else { Missing::Perhaps });
        }
    }
    Ok(Missing::Nothing)
}

/// Any replica answers who looks for a row, the one on the own server first, and one that was away may lag for long. So
/// the leader is asked whether one lags. Those that are offline answer nobody.
fn are_all_current(cluster: &ClusterInfo) -> bool {
    cluster
        .replicas
        .iter()
        .all(|replica| replica.offline || (replica.current && replica.lag.is_none_or(|lag| lag == 0)))
}

/// Who says that a stream has lost rows.
#[derive(Clone, Debug)]
pub(crate) enum Teller {
    /// A stage: the stream is another one from then on.
    Stage,
    /// Who is in one cluster, as a token: it may have reasons of its own to say so, and a stage decides.
    Agent(String),
}

impl Teller {
    /// Who we are.
    pub(crate) fn of(role: &Role) -> Self {
        match role.only() {
            Some(cluster) => Self::Agent(cluster_token(cluster)),
            None => Self::Stage,
        }
    }
}

/// The stream is another one from now on, unless somebody has said so already. Who knows of a loss and cannot say so must
/// not go on as if nothing were lost: that is an early end.
pub(crate) async fn tell(js: Context, stream: String, epoch: Epoch, teller: Teller) -> End {
    for _ in 0..ATTEMPTS {
        let told = match &teller {
            Teller::Stage => raise(&js, &epoch_subject(&stream), epoch).await,
            Teller::Agent(cluster) => losses::claim(&js, &stream, cluster).await,
        };
        match told {
            Ok(()) => return End::Done,
            Err(error) => tracing::warn!(%error, stream, "the loss of a stream cannot be written yet"),
        }
        tokio::time::sleep(AGAIN).await;
    }
    End::Early
}

// D-0307: a stream that lost rows gets another epoch.
pub(super) async fn raise(js: &Context, subject: &str, epoch: Epoch) -> Result<(), BusError> {
    let named = || format!("write {subject}");
    let EpochRow { sequence, value: written, .. } = read_epoch(js, subject).await?.unwrap_or_default();
    if written > epoch {
        return Ok(());
    }
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", sequence.to_string());
    let body = written.max(epoch).next().to_string();
    let sent = js.publish_with_headers(subject.to_owned(), headers, body.into()).await;
    sent.map_err(BusError::request(named()))?.await.map_err(BusError::request(named())).map(drop)
}

/// The epochs of those of the streams that have one.
pub(crate) async fn read_epochs(
    js: &Context,
    streams: &[String],
) -> Result<BTreeMap<String, Epoch>, BusError> {
    let read = streams.iter().map(async |stream| {
        let epoch = read_epoch(js, &epoch_subject(stream)).await?;
        Ok(epoch.map(|epoch| (stream.clone(), epoch.value)))
    });
    Ok(try_join_all(read).await?.into_iter().flatten().collect())
}

/// An epoch as it is written.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EpochRow {
    pub(super) sequence: Sequence,
    /// When, by the server's clock, microseconds since 1970.
    pub(super) time: i64,
    pub(super) value: Epoch,
}

/// `None` while there is none.
pub(super) async fn read_epoch(js: &Context, subject: &str) -> Result<Option<EpochRow>, BusError> {
    let named = || format!("read {subject}");
    let bucket = js.get_stream_no_info(format!("KV_{CONFIG}")).await.map_err(BusError::request(named()))?;
    match bucket.direct_get_last_for_subject(subject).await {
        Ok(message) => {
            // Who writes nonsense must not make the next one impossible.
            let value = String::from_utf8_lossy(&message.payload).parse().unwrap_or_default();
            let time = i64::try_from(message.time.unix_timestamp_nanos() / 1000).unwrap_or_default();
            Ok(Some(EpochRow { sequence: Sequence::new(message.sequence), time, value }))
        }
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
        Err(error) => Err(BusError::Request { what: named(), source: error.into() }),
    }
}

pub(super) fn epoch_subject(stream: &str) -> String {
    format!("$KV.{CONFIG}.epoch.{stream}")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use serde_json::json;

    use super::*;

    #[test]
    fn what_is_missing_is_lost_only_where_no_replica_lags() {
        let replica = |current: bool, offline: bool, lag: u64| json!({"name": "n", "current": current, "active": 0, "offline": offline, "lag": lag});
        let believed = |replicas: &[serde_json::Value]| {
            let cluster = json!({"name": "c", "leader": "l", "replicas": replicas});
            are_all_current(&serde_json::from_value(cluster).unwrap())
        };
        let (good, offline) = (replica(true, false, 0), replica(false, true, 900));
        assert!(believed(&[]) && believed(&[good.clone(), good.clone()]));
        assert!(believed(&[good.clone(), offline]), "who is offline does not answer");
        for lagging in [replica(false, false, 0), replica(true, false, 3), replica(false, false, 25)] {
            assert!(!believed(&[good.clone(), lagging]));
        }
    }

    #[test]
    fn a_lag_that_no_server_tells_is_none() {
        let cluster =
            json!({"name": "c", "leader": "l", "replicas": [{"name": "n", "current": true, "active": 0}]});
        assert!(are_all_current(&serde_json::from_value(cluster).unwrap()));
    }

    #[test]
    fn only_the_agent_of_one_cluster_leaves_it_to_others_what_follows_from_a_loss() {
        use sluice_api::ClusterRef;
        let cluster = ClusterRef::sveltos("default", "a");
        let agent = Teller::of(&Role::Agent(Some(cluster.clone())));
        assert!(matches!(agent, Teller::Agent(token) if token == cluster_token(&cluster)));
        for role in Role::OF_ALL_CLUSTERS {
            assert!(matches!(Teller::of(&role), Teller::Stage), "{role}");
        }
    }
}
