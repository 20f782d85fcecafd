//! Clusters that are no longer registered.
//!
//! ```text
//! not registered ── 60 s ──► interest row says "gone" ─► its agent and the matchers take their rows away ─► no interest row ─► forgotten
//! ```
//!
//! That a registration is gone is a fact that the management cluster tells; a pause, a missing Secret or a restart is none. What came
//! of the cluster's events is withdrawn at once; what the bus and people are told of the cluster stays for a while, since whoever
//! deletes a registration may be about to write it again.

// D-0507: a lost interest row is written again.

use sluice_api::ClusterRef;
use sluice_protocol::interest::Interest;
use sluice_protocol::{Revision, Step};

use super::{Effect, Renderer};

impl Renderer {
    /// Notes whether a cluster is registered, and forgets one of which nothing is left.
    pub(super) fn mind_registration(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        if self.knowledge.catalog.fleet.clusters().contains_key(cluster) {
            self.outgoing.departures.remove(cluster);
            return;
        }
        match self.knowledge.completeness.interest(cluster) {
            Some(row) if row.gone && !self.knowledge.completeness.is_behind(cluster) => {
                self.outgoing.departures.remove(cluster);
            }
            None if !self.knowledge.completeness.is_spoken_of(cluster) => self.forget(cluster),
            // Also where the row was lost with its bucket: a matcher still has something to take back, or waits for a later row than
            // the one that was written anew by a clock that is behind.
            _ => {
                let due = step.steady.saturating_add(self.config.forget_after);
                let due = *self.outgoing.departures.entry(cluster.clone()).or_insert(due);
                step.wake_at_steady(due);
            }
        }
    }

    fn forget(&mut self, cluster: &ClusterRef) {
        self.outgoing.departures.remove(cluster);
        self.planning.bindings.remove(cluster);
        self.outgoing.unwritten.remove(cluster);
        self.knowledge.completeness.forget(cluster);
        self.knowledge.sets.forget_empty(cluster);
    }

    /// Says of which clusters nothing is wanted any more.
    pub(super) fn report_departures(&mut self, step: &mut Step<Effect>) {
        if !self.outgoing.is_asking() {
            // It does not know yet which revision the row must follow.
            return;
        }
        let now = step.steady;
        for (cluster, _) in self.outgoing.departures.extract_if(.., |_, due| *due <= now).collect::<Vec<_>>()
        {
            let last = self.knowledge.completeness.last_revision(&cluster);
            let revision = self.config.revision(Revision::of_time(step.now).max(last.next()));
            let row = Interest::of_gone(revision);
            self.knowledge.completeness.write(&cluster, &row);
            step.effect(Effect::WriteInterest(cluster.clone(), row));
            // Nothing that its events led to is wanted: what a former owner has left goes.
            step.effect(Effect::Projected(cluster));
        }
        self.outgoing.departures.values().min().into_iter().for_each(|due| step.wake_at_steady(*due));
    }
}
