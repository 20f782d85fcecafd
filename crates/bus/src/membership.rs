//! This replica's row in `members`, and who else is there.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sluice_protocol::members::Members;
use tokio_util::sync::CancellationToken;

use crate::clock::mono_micros;
use crate::error::BusError;
use crate::heart::Heart;
use crate::layout::{Bus, MEMBERS};

/// A member that was not seen for this long is gone.
pub const MEMBER_TTL: Duration = Duration::from_secs(3);
/// How long a replica that leaves waits for the server to know it.
const LEAVING: Duration = Duration::from_secs(1);

/// Membership of one replica in one stage. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Membership {
    members: Arc<Mutex<Members>>,
    /// Cancelled when the row is not refreshed any more.
    gone: CancellationToken,
}

impl Membership {
    /// Joins: keeps the row fresh until `stop`, then deletes it.
    ///
    /// # Errors
    /// When the name cannot be part of a key, or the system has no thread to spare.
    pub fn join(bus: &Bus, stage: &str, name: &str, stop: CancellationToken) -> Result<Self, BusError> {
        let good =
            !name.is_empty() && name.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-' || c == b'_');
        if !good {
            return Err(BusError::Unsuitable(format!(
                "--name {name:?}: use letters, digits, '-' and '_' only"
            )));
        }
        let ttl = i64::try_from(MEMBER_TTL.as_micros()).unwrap_or(i64::MAX);
        let membership =
            Self { members: Arc::new(Mutex::new(Members::new(name, ttl))), gone: CancellationToken::new() };
        let heart = Heart {
            membership: membership.clone(),
            prefix: format!("$KV.{MEMBERS}.{stage}."),
            name: name.to_owned(),
            stop,
        };
        heart.start(bus.clone())?;
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

    /// After it was stopped: waits until others know that this replica has left, or must find out.
    pub async fn left(&self) {
        if tokio::time::timeout(LEAVING, self.gone.cancelled()).await.is_err() {
            tracing::debug!("the membership row stays until it expires");
        }
    }

    pub(crate) fn has_left(&self) {
        self.gone.cancel();
    }

    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut Members) -> R) -> R {
        f(&mut self.members.lock().unwrap_or_else(PoisonError::into_inner))
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
