//! What one renderer has in hand.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::Revision;
use sluice_protocol::rows::{Cause, Departure};

use crate::planning::agenda::Agenda;
use crate::planning::bindings::ClusterBindings;
use crate::planning::rates::Rates;
use crate::planning::renderings::Renderings;
use crate::planning::rollouts::Rollouts;
use crate::planning::row_ledger::{Place, RowLedger};
use crate::planning::withdrawals::Withdrawals;

/// What one renderer has in hand.
#[derive(Default)]
pub(crate) struct Planning {
    /// The rows of each cause.
    pub(crate) ledger: RowLedger,
    /// Who listens to what, by cluster.
    pub(crate) bindings: BTreeMap<ClusterRef, ClusterBindings>,
    /// What each cause was rendered from, and what it reads.
    pub(crate) renderings: Renderings,
    /// What goes to few clusters at a time.
    pub(crate) rollouts: Rollouts,
    /// What is withdrawn and does not go at once, and when it does, as its tombstone says.
    pub(crate) departing: BTreeMap<Place, Departure>,
    /// What goes, and what waits since so much would go.
    pub(crate) withdrawals: Withdrawals,
    /// What is done later.
    pub(crate) agenda: Agenda,
    /// How often triggers have acted.
    pub(crate) rates: Rates,
    /// What the input of a cause that leads to itself comes from.
    pub(crate) loops: BTreeMap<Cause, String>,
    /// Events that have gone, until that has been acted upon, and the revision of interest that their tombstones are of.
    pub(crate) gone: BTreeMap<Cause, Revision>,
    /// Matches whose tombstones came before the whole table had been read, and the revision of interest that each of these
    /// is of.
    pub(crate) gone_early: Vec<(ClusterRef, String, ObjectKey, Revision)>,
    /// Causes that read something that has changed.
    pub(crate) touched: BTreeSet<Cause>,
    /// Whether those are being looked at.
    pub(crate) is_following: bool,
}

// === impl Planning ===

impl Planning {
    /// Whether a trigger listens to `source` on a cluster.
    pub(crate) fn listens_to(&self, cluster: &ClusterRef, source: &str) -> bool {
        self.bindings.get(cluster).is_some_and(|bindings| bindings.listens_to(source))
    }
}
