//! One simulated cluster: its objects and the rules by which requests change them.
//!
//! Everything happens under one lock per cluster and without waiting, so a request sees and makes
//! one consistent state. Network, authentication and faults are the business of `http`.

mod apply;
mod bootstrap;
mod collection;
mod crds;
mod create;
mod delete;
mod incoming;
mod list;
mod namespaces;
mod owners;
mod patch;
mod state;
#[cfg(test)]
mod tests;
mod update;
mod watch;

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::sync::watch as signal;

use crate::faults::FaultState;
use crate::kinds::{Endpoint, is_builtin_group};
use crate::status::ApiError;

pub use collection::ChangeKind;
pub use delete::{DeleteOptions, Deleted};
pub use list::{ListOptions, Page};
pub use patch::PatchKind;
pub use state::{State, Validation, Write, WriteOptions, Written};
pub use watch::{Batch, Watch, WatchOptions};

/// One simulated cluster.
#[derive(Debug)]
pub struct Cluster {
    id: Box<str>,
    token: Box<str>,
    state: Mutex<State>,
    cuts: signal::Sender<u64>,
    faults: FaultState,
}

// === impl Cluster ===

impl Cluster {
    /// A cluster with the objects that every new cluster has.
    pub fn new(id: &str, token: &str) -> Self {
        Self {
            id: id.into(),
            token: token.into(),
            state: Mutex::new(State::new(id)),
            cuts: signal::Sender::new(0),
            faults: FaultState::new(id),
        }
    }

    /// Name of the cluster in URLs.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// The bearer token that requests carry.
    pub fn token(&self) -> &str {
        &self.token
    }

    /// What goes wrong on purpose.
    pub fn faults(&self) -> &FaultState {
        &self.faults
    }

    /// The state, for one request.
    pub fn state(&self) -> MutexGuard<'_, State> {
        // A panic while the lock was held leaves at worst one half-made write of a simulation.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The endpoint of a path.
    pub fn endpoint(&self, group: &str, version: &str, plural: &str) -> Result<Endpoint, ApiError> {
        let known = self.state().registry().by_path(group, version, plural);
        known.ok_or_else(|| {
            if is_builtin_group(group) { ApiError::unknown_path() } else { ApiError::page_not_found() }
        })
    }

    /// Ends all watches; clients reconnect.
    pub fn cut_watches(&self) {
        self.cuts.send_modify(|cut| *cut += 1);
    }

    /// Forgets all changes, so that watches that run or come back get 410 and must list again.
    pub fn expire_watches(&self) {
        self.state().compact();
    }

    /// Wakes when all watches are to end.
    pub fn cuts(&self) -> signal::Receiver<u64> {
        self.cuts.subscribe()
    }
}
