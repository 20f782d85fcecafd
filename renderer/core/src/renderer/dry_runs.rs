//! With `syncMode: DryRun` nothing changes in a cluster, also where a profile is not wanted any more: its row stays, without content, and
//! the report of the deployer says what would go.

// D-1058: what a dry run would change is tried on the server, and nothing is written.

use std::collections::BTreeSet;

use sluice_api::model::SpecCommon;
use sluice_protocol::Step;
use sluice_protocol::rows::{Cause, Desired};

use super::{Effect, Renderer};
use crate::error::Result;
use crate::planning::row_ledger::Place;
use crate::rendering::row::body_of;

impl Renderer {
    /// Whether what a cause leads to is only tried.
    pub(super) fn is_dry_run(&self, cause: &Cause) -> bool {
        self.knowledge.common(cause).is_ok_and(|common| common.dry_run)
    }

    /// Where something of a dry run is, or came of it before it was one, besides these places.
    pub(super) fn emptied(&self, cause: &Cause, places: &BTreeSet<Place>) -> Vec<Place> {
        if !self.is_dry_run(cause) {
            return Vec::new();
        }
        let clusters = self.knowledge.catalog.fleet.clusters();
        let is_there = |place: &Place| {
            !places.contains(place) && (place.0.is_management() || clusters.contains_key(&place.0))
        };
        self.planning.ledger.everywhere(cause).into_iter().filter(is_there).collect()
    }

    /// Writes rows without content in these places.
    ///
    /// # Errors
    /// That such a row cannot be written.
    pub(super) fn empty(
        &mut self,
        cause: &Cause,
        places: Vec<Place>,
        time: i64,
        step: &mut Step<Effect>,
    ) -> Result<()> {
        for (cluster, profile) in places {
            let desired = {
                let common = self.knowledge.common(cause)?;
                let account = self.knowledge.account(cause).cloned();
                Desired { account, ..without_content(common, cause, &profile) }
            };
            let row = self.row(cause, &cluster, &profile, body_of(&desired, false)?.bytes, time);
            step.publish(row);
        }
        Ok(())
    }

    /// A cause is not wanted any more and would be withdrawn. As long as it is a dry run, its rows lose their content instead.
    pub(super) fn empty_in_place(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) -> bool {
        let places = self.emptied(cause, &BTreeSet::new());
        if places.is_empty() {
            return false;
        }
        let stale = self.planning.ledger.set(cause, places.iter().cloned().collect(), step.now);
        let is_emptied = self.empty(cause, places, time, step).is_ok();
        // What is left is of clusters that are not registered.
        self.withdraw_places(stale, time, step);
        is_emptied
    }
}

fn without_content(common: &SpecCommon, cause: &Cause, profile: &sluice_api::ProfileId) -> Desired {
    Desired {
        owner_kind: profile.kind().to_owned(),
        owner_namespace: profile.namespace.clone(),
        owner_name: profile.name.clone(),
        tier: common.tier,
        leave: common.leave,
        dry_run: true,
        hidden: true,
        allow_prune: String::new(),
        succeeds: BTreeSet::new(),
        one_time: false,
        staged: false,
        redeploy: BTreeSet::new(),
        extra_labels: common.extra_labels.clone(),
        extra_annotations: common.extra_annotations.clone(),
        account: None,
        lacks: common.lacks(),
        cause: cause.clone(),
        spec: common.raw.clone(),
        policies: Vec::new(),
        jobs: Vec::new(),
    }
}
