//! Whether and how a cluster can be reached, and what is forgotten when that changes.

use sluice_api::model::Guards;
use sluice_protocol::CallId;

use super::{Cluster, Outcome};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reachability {
    /// Nobody said how to reach it.
    None,
    /// Its inventories are to be read at this time.
    OpenAt(i64),
    Opening,
    /// Objects of so many kinds are being listed.
    Looking(usize),
    Open,
}

impl Cluster {
    /// Whether its server does not answer as it should.
    pub(crate) fn is_in_trouble(&self) -> bool {
        self.calls.is_broken() || self.reopen_failures > 0
    }

    /// Whether somebody said how to reach it.
    pub(crate) fn is_known(&self) -> bool {
        self.reachability != Reachability::None
    }

    /// Whether its inventories are known.
    pub(crate) fn is_open(&self) -> bool {
        self.reachability == Reachability::Open
    }

    // D-1011: another kubeconfig is another server.
    /// It can be reached from now on, and before perhaps in another way: nothing that is known of it need be so any more. This is asked
    /// of it.
    pub(crate) fn reachable(&mut self, checks: Guards, now: i64, next_id: &mut CallId) -> Outcome {
        self.guard.begin(checks);
        self.forget(now);
        self.reachability = Reachability::OpenAt(now);
        self.tick(now, next_id)
    }

    /// It cannot be reached any more: nobody knows how.
    pub(crate) fn unreachable(&mut self, now: i64) -> Outcome {
        self.guard.begin(None);
        self.forget(now);
        self.reachability = Reachability::None;
        let mut outcome = Outcome { trouble: Some(None), ..Outcome::default() };
        self.mind_guard(now, &mut outcome);
        outcome
    }

    /// Forgets everything but the rows: the next server may be another one.
    fn forget(&mut self, now: i64) {
        self.live.clear();
        self.claims.clear();
        self.checks.forget();
        self.watched.clear();
        self.sources.forget();
        self.calls.forget(now);
        self.retries.clear();
        self.deferred.clear();
        self.asks_again = false;
        self.jobs.values_mut().for_each(|job| job.forget());
        (self.reopen_failures, self.custom_kinds) = (0, false);
    }

    /// Compares everything with the cluster once more.
    pub(super) fn verify(&mut self, now: i64) {
        self.live.clear();
        self.jobs.values_mut().for_each(|job| job.doubt_inventory());
        // The server may have made the list that is under way before the last late call came.
        self.asks_again = self.reachability == Reachability::Opening;
        if matches!(self.reachability, Reachability::Open | Reachability::Looking(_)) {
            self.reachability = Reachability::OpenAt(now);
        }
    }
}
