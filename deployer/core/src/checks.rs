//! Which checks of a cluster are asked, and for whom.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_api::model::{Check, ClusterCheck};
use sluice_api::{ProfileId, ServiceAccount};

/// What came of a check: nothing, or why it fails.
pub type Outcome = Result<(), String>;

/// A check that is asked on a cluster. No other one of the cluster has, or had, the same number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CheckId(u64);

/// What is to be asked from now on, or no longer.
#[derive(Debug, PartialEq)]
pub(crate) enum Asking {
    Begin(CheckId, Arc<Check>, Option<ServiceAccount>),
    BeginGuard(CheckId, Arc<ClusterCheck>),
    End(CheckId),
}

/// For whom a check is asked.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Asker {
    Profile(ProfileId),
    /// The cluster as a whole.
    Cluster,
}

/// The checks of one cluster.
#[derive(Debug, Default)]
pub(crate) struct CheckBook {
    last: u64,
    /// For whom each of them is asked.
    of: BTreeMap<CheckId, Asker>,
    news: Vec<Asking>,
}

// === impl CheckBook ===

impl CheckBook {
    /// Asks a check for a profile, as this account.
    pub(crate) fn begin(
        &mut self,
        profile: &ProfileId,
        check: Arc<Check>,
        account: Option<ServiceAccount>,
    ) -> CheckId {
        let id = self.next(Asker::Profile(profile.clone()));
        self.news.push(Asking::Begin(id, check, account));
        id
    }

    /// Asks a check of the cluster as a whole.
    pub(crate) fn begin_guard(&mut self, check: Arc<ClusterCheck>) -> CheckId {
        let id = self.next(Asker::Cluster);
        self.news.push(Asking::BeginGuard(id, check));
        id
    }

    fn next(&mut self, asker: Asker) -> CheckId {
        self.last += 1;
        let id = CheckId(self.last);
        self.of.insert(id, asker);
        id
    }

    /// It is asked no longer.
    pub(crate) fn end(&mut self, id: CheckId) {
        self.of.remove(&id);
        self.news.push(Asking::End(id));
    }

    /// Who asks it, if anybody does.
    pub(crate) fn asker(&self, id: CheckId) -> Option<&Asker> {
        self.of.get(&id)
    }

    /// What has changed since this was asked last.
    pub(crate) fn take_news(&mut self) -> Vec<Asking> {
        std::mem::take(&mut self.news)
    }

    /// Nothing is asked any more, as the cluster is reached in another way.
    pub(crate) fn forget(&mut self) {
        self.of.clear();
        self.news.clear();
    }
}
