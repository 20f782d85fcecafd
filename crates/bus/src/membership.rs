//! This replica's row in `members`, and who else is there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_protocol::members::Members;
use tokio_util::sync::CancellationToken;

use crate::clock::mono_micros;
use crate::error::BusError;
use crate::layout::{Bus, MEMBERS};
use crate::reader::{Load, ReadEvent, read};

/// A member that was not seen for this long is gone.
pub const MEMBER_TTL: Duration = Duration::from_secs(3);
/// How often a row is refreshed.
const REFRESH: Duration = Duration::from_secs(1);

/// Membership of one replica in one stage. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Membership {
    members: Arc<Mutex<Members>>,
    subject: String,
}

impl Membership {
    /// Joins: keeps the row fresh until `stop`, then deletes it.
    ///
    /// # Errors
    /// When the name cannot be part of a key.
    pub async fn join(bus: &Bus, stage: &str, name: &str, stop: CancellationToken) -> Result<Self, BusError> {
        let good =
            !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_');
        if !good {
            return Err(BusError::Unsuitable(format!(
                "--name {name:?}: use letters, digits, '-' and '_' only"
            )));
        }
        let ttl = i64::try_from(MEMBER_TTL.as_micros()).unwrap_or(i64::MAX);
        let membership = Self {
            members: Arc::new(Mutex::new(Members::new(name, ttl))),
            subject: format!("$KV.{MEMBERS}.{stage}.{name}"),
        };
        tokio::spawn(membership.clone().refresh(bus.clone(), stop.clone()));
        tokio::spawn(membership.clone().follow(bus.clone(), format!("$KV.{MEMBERS}.{stage}."), stop));
        Ok(membership)
    }

    /// The lease that this replica holds now, or the last one that it held.
    pub fn lease(&self) -> Lease {
        Lease { lapses: self.with(|members| members.lapses()), membership: self.clone() }
    }

    /// Whether this replica owns a shard, by its key.
    pub fn owns(&self, key: &str) -> bool {
        self.with(|members| members.owns(key, mono_micros()))
    }

    /// How many replicas are live.
    pub fn live(&self) -> usize {
        self.with(|members| members.live())
    }

    fn with<R>(&self, f: impl FnOnce(&mut Members) -> R) -> R {
        f(&mut self.members.lock().unwrap_or_else(PoisonError::into_inner))
    }

    async fn refresh(self, bus: Bus, stop: CancellationToken) {
        loop {
            let sent = mono_micros();
            match self.write(&bus, "Nats-TTL", &format!("{}s", MEMBER_TTL.as_secs())).await {
                Ok(()) => self.with(|members| members.confirmed(sent, mono_micros())),
                Err(error) => tracing::warn!(%error, "the membership row cannot be refreshed"),
            }
            tokio::select! {
                () = tokio::time::sleep(REFRESH) => {}
                () = stop.cancelled() => break,
            }
        }
        if let Err(error) = self.write(&bus, "KV-Operation", "DEL").await {
            tracing::debug!(%error, "the membership row stays until it expires");
        }
    }

    async fn write(&self, bus: &Bus, header: &str, value: &str) -> Result<(), BusError> {
        let mut headers = async_nats::HeaderMap::new();
        headers.insert(header, value);
        let sent = bus.js.publish_with_headers(self.subject.clone(), headers, bytes::Bytes::new()).await;
        let ack = tokio::time::timeout(REFRESH, sent.map_err(BusError::request("join"))?.into_future()).await;
        ack.map_err(BusError::request("join"))?.map_err(BusError::request("join")).map(drop)
    }

    async fn follow(self, bus: Bus, prefix: String, stop: CancellationToken) {
        let load =
            Load { stream: format!("KV_{MEMBERS}"), filters: vec![format!("{prefix}>")], heads_only: false };
        while !stop.is_cancelled() {
            if let Ok(mut reader) = read(&bus, &load).await {
                while let Some(event) = reader.next().await {
                    self.heard(event, &prefix);
                }
            }
            self.with(Members::deaf);
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    }

    fn heard(&self, event: ReadEvent, prefix: &str) {
        let now = mono_micros();
        let (subject, head) = match event {
            ReadEvent::Entry(subject, head, ..) => (subject, head),
            ReadEvent::CaughtUp(_) => return self.with(|members| members.caught_up(now)),
            _ => return,
        };
        match subject.strip_prefix(prefix) {
            Some(member) if head.tombstone => self.with(|members| members.left(member)),
            Some(member) => self.with(|members| members.refreshed(member, now)),
            None => {}
        }
    }
}

/// The right to do a replica's work, until its membership lapses: a membership that is confirmed again later is
/// another lease. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Lease {
    membership: Membership,
    lapses: u64,
}

impl Lease {
    /// Whether this replica may write: others must have taken it for live ever since the lease began.
    pub fn is_held(&self) -> bool {
        self.membership.with(|members| members.lapses() == self.lapses && members.holds_lease(mono_micros()))
    }

    /// Whether both are the same one.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.lapses == other.lapses
    }
}
