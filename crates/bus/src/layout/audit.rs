//! Whether a stream still has what it acknowledged, looked at after every disturbance.

use std::collections::BTreeMap;
use std::time::Duration;

use async_nats::HeaderMap;
use async_nats::jetstream::Context;
use async_nats::jetstream::stream::DirectGetErrorKind;
use futures::TryStreamExt as _;
use sluice_tasks::End;

use crate::error::BusError;
use crate::layout::CONFIG;
use crate::layout::ledger::Entry;

/// A row must be missing this often in a row: replicas that lag behind answer too.
const BELIEVE: usize = 8;
/// Pause in between.
const AGAIN: Duration = Duration::from_millis(500);
/// More than there will ever be.
const LAST_EPOCH: u64 = u32::MAX as u64;
/// It is asked this often at most: the stream may have no leader for long.
const ATTEMPTS: usize = 120;

/// Looks for rows that the server has acknowledged; when one is lost, the stream gets another epoch.
pub(crate) async fn audit(js: Context, stream: String, entries: Vec<Entry>, epoch: u64) -> End {
    let mut missing = 0;
    for _ in 0..ATTEMPTS {
        match is_any_lost(&js, &stream, &entries).await {
            Ok(false) => return End::Done,
            Ok(true) => missing += 1,
            // Nobody answers: that says nothing.
            Err(error) => tracing::debug!(%error, stream, "the audit of a stream waits"),
        }
        if missing == BELIEVE {
            tracing::warn!(stream, "the stream has lost rows that it had acknowledged");
            return raise_epoch(js, stream, epoch).await;
        }
        tokio::time::sleep(AGAIN).await;
    }
    // The leader that answers one day is another one, and that begins another audit.
    End::Done
}

async fn is_any_lost(js: &Context, stream: &str, entries: &[Entry]) -> Result<bool, BusError> {
    let named = || format!("look for rows of stream {stream}");
    let from = js.get_stream_no_info(stream).await.map_err(BusError::request(named()))?;
    for entry in entries {
        let last = match from.direct_get_last_for_subject(&entry.subject).await {
            Ok(message) => Some(message.sequence),
            Err(error) if error.kind() == DirectGetErrorKind::NotFound => None,
            Err(error) => return Err(BusError::Request { what: named(), source: error.into() }),
        };
        if entry.is_lost(last) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The stream is another one from now on, unless somebody has said so already. Who knows of a loss and cannot say so must
/// not go on as if nothing were lost: that is an early end.
pub(crate) async fn raise_epoch(js: Context, stream: String, epoch: u64) -> End {
    let subject = epoch_subject(&stream);
    for _ in 0..ATTEMPTS {
        match raise(&js, &subject, epoch).await {
            Ok(()) => return End::Done,
            Err(error) => tracing::warn!(%error, stream, "the epoch of a stream cannot be written yet"),
        }
        tokio::time::sleep(AGAIN).await;
    }
    End::Early
}

async fn raise(js: &Context, subject: &str, epoch: u64) -> Result<(), BusError> {
    let named = || format!("write {subject}");
    let (sequence, written) = read_epoch(js, subject).await?.unwrap_or_default();
    if written > epoch {
        return Ok(());
    }
    let mut headers = HeaderMap::new();
    headers.insert("Nats-Expected-Last-Subject-Sequence", sequence.to_string());
    let body = (written.max(epoch) + 1).to_string();
    let sent = js.publish_with_headers(subject.to_owned(), headers, body.into()).await;
    sent.map_err(BusError::request(named()))?.await.map_err(BusError::request(named())).map(drop)
}

/// The epochs of all streams that have one.
pub(crate) async fn read_epochs(js: &Context) -> Result<BTreeMap<String, u64>, BusError> {
    let named = "read the epochs of streams";
    let prefix = epoch_subject("");
    let bucket = js.get_stream(format!("KV_{CONFIG}")).await.map_err(BusError::request(named))?;
    let subjects = bucket.info_with_subjects(format!("{prefix}>")).await.map_err(BusError::request(named))?;
    let subjects: Vec<(String, usize)> = subjects.try_collect().await.map_err(BusError::request(named))?;
    let mut epochs = BTreeMap::new();
    for (subject, _) in subjects {
        if let (Some(stream), Some((_, epoch))) =
            (subject.strip_prefix(&prefix), read_epoch(js, &subject).await?)
        {
            epochs.insert(stream.to_owned(), epoch);
        }
    }
    Ok(epochs)
}

/// Sequence and value of an epoch; `None` while there is none.
async fn read_epoch(js: &Context, subject: &str) -> Result<Option<(u64, u64)>, BusError> {
    let named = || format!("read {subject}");
    let bucket = js.get_stream_no_info(format!("KV_{CONFIG}")).await.map_err(BusError::request(named()))?;
    match bucket.direct_get_last_for_subject(subject).await {
        Ok(message) => {
            let epoch: u64 = String::from_utf8_lossy(&message.payload).parse().unwrap_or(0);
            // Who writes nonsense must not make the next one impossible.
            Ok(Some((message.sequence, epoch.min(LAST_EPOCH))))
        }
        Err(error) if error.kind() == DirectGetErrorKind::NotFound => Ok(None),
        Err(error) => Err(BusError::Request { what: named(), source: error.into() }),
    }
}

fn epoch_subject(stream: &str) -> String {
    format!("$KV.{CONFIG}.epoch.{stream}")
}
