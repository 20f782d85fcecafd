//! What is withdrawn of a profile that others take over from: its tombstone names them, and its deployer waits for them.
//!
//! ```text
//! blue is not wanted on a cluster any more ─► tombstone "after green" ─► green is there ─► what it does not want goes
//!                  green does not match, is gone or paused ─► tombstone ─┘
//! its cluster is not registered any more ─► tombstone "unregistered" ─► what is there stays
//! ```

// D-0928: a predecessor goes when its successors are there.

use std::collections::BTreeSet;

use sluice_api::ProfileId;
use sluice_protocol::rows::{Cause, Departure};
use sluice_protocol::{Body, Fault, Meta, Publish, Step};

use super::{Effect, Renderer};
use crate::knowledge::catalog::Catalog;
use crate::planning::row_ledger::Place;

impl Renderer {
    /// Says that nothing is wanted at this place, and when what is there goes.
    pub(super) fn publish_withdrawal(&mut self, place: Place, time: i64, step: &mut Step<Effect>) {
        let departure = departure(&self.knowledge.catalog, &place);
        let gone = Publish::new(self.desired(&place.0, &place.1), Body::Tombstone, time)
            .view(self.knowledge.catalog.view().clone())
            .forced();
        if departure == Departure::default() {
            self.planning.departing.remove(&place);
            return step.publish(gone);
        }
        self.planning.departing.insert(place, departure.clone());
        step.publish(gone.meta(Meta::Departure(departure)));
    }

    /// Somebody else may take over by now from what is being withdrawn, or nobody any more; and its cluster may be registered again.
    pub(super) fn review_departing(&mut self, step: &mut Step<Effect>) {
        let (ledger, catalog) = (&self.planning.ledger, &self.knowledge.catalog);
        if catalog.transitions.is_empty() && self.planning.departing.is_empty() {
            return;
        }
        // Where something is wanted again its row says so.
        self.planning.departing.retain(|place, _| !ledger.is_used(place));
        let departing = &self.planning.departing;
        let has_successor = |place: &&Place| catalog.transitions.has_successor(&place.1);
        let withdrawn = ledger.being_withdrawn().filter(has_successor);
        let places: BTreeSet<&Place> = departing.keys().chain(withdrawn).collect();
        let said = |place: &Place| departing.get(place).cloned().unwrap_or_default();
        let others = places.into_iter().filter(|place| departure(catalog, place) != said(place));
        let (back, others): (Vec<_>, Vec<_>) = others.cloned().partition(|place| self.is_back(place));
        for place in others {
            self.publish_withdrawal(place, step.now, step);
        }
        // Only its cause says what becomes of it: it may be paused, or wait for its turn, and the tombstone stays as it is as long. Of what
        // its deployer has not said yet that it is there, that comes when it does.
        for place in back {
            if let Some(cause) = self.planning.ledger.ask_again(&place) {
                self.act(&cause, step.now, step);
            }
        }
    }

    /// Whether something was withdrawn at a place since its cluster was not registered, which it is by now.
    pub(super) fn is_back(&self, place: &Place) -> bool {
        let is_registered = || self.knowledge.catalog.fleet.clusters().contains_key(&place.0);
        self.planning.departing.get(place).is_some_and(|said| said.unregistered) && is_registered()
    }

    /// A profile takes over from itself, over others: it does from nobody then.
    pub(super) fn transition_circle(&self, cause: &Cause) -> Option<Fault> {
        let Cause::Profile(id) = cause else { return None };
        let circle = self.knowledge.catalog.transitions.circle(id)?;
        let way: Vec<_> = circle.iter().map(ProfileId::to_string).collect();
        Some(Fault::new(format!(
            "spec.transitionFrom: {} is a circle, in which nobody takes anything over; take one of them out",
            way.join(" -> ")
        )))
    }
}

// D-0514: a tombstone says that its cluster is not registered.
/// When what is withdrawn at a place goes.
fn departure(catalog: &Catalog, place: &Place) -> Departure {
    let (cluster, profile) = place;
    // D-0515: what a cluster holds that leaves goes while it can still be reached.
    let fleet = &catalog.fleet;
    let unregistered =
        !cluster.is_management() && !fleet.clusters().contains_key(cluster) && !fleet.is_leaving(cluster);
    let after = if unregistered { BTreeSet::new() } else { catalog.successors(cluster, profile) };
    Departure { after, unregistered }
}
