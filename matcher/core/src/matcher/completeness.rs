//! How much of a cluster is known, and what follows from that: absence counts only where everything is.

use sluice_api::ClusterRef;
use sluice_api::cloud_event::is_event;
use sluice_protocol::{Row, Step};

use super::{Effect, Matcher};

impl Matcher {
    /// Once everything of a cluster is known: withdraws what has no cause, and tells the renderer.
    pub(super) fn withdraw_absent(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let Some(live) = self.clusters.get_mut(cluster) else { return };
        let complete = live.complete.clone().filter(|complete| live.revision == Some(complete.revision));
        let Some(complete) = complete.filter(|_| !live.gone) else { return };
        if !self.caught_up || live.replay.is_some() {
            return;
        }
        let complete = live.told_by(complete);
        let mut said = complete.clone();
        said.lacking.extend(live.lacking());
        said.lacking.sort();
        said.lacking.dedup();
        let told = live.told.replace(said.clone()) == Some(said.clone());
        let absent = |source: &str, seen: bool| !seen && complete.covers(source);
        for (object, source) in self.reported.of_cluster(cluster, absent) {
            // Of CloudEvents the agent knows only those that are still in the stream that they are sent to.
            if is_event(&object) {
                continue;
            }
            self.withdraw(cluster, &object, &source, 0, step);
        }
        if !told {
            step.publish(self.complete_row(cluster, &said));
        }
    }

    // D-0403: a completeness row counts from the end of the table on.
    /// Rows that were replaced since the agent wrote this may still follow: it counts from the end of the table on.
    pub(super) fn completed(&mut self, cluster: &ClusterRef, row: &Row, step: &mut Step<Effect>) {
        if row.head.tombstone {
            return self.agent_left(cluster, step);
        }
        if let Some(live) = self.clusters.get_mut(cluster) {
            live.left = false;
        }
        if let Some(complete) =
            row.head.meta.complete().filter(|complete| complete.incarnation == self.config.input)
        {
            self.announced.insert(cluster.clone(), (row.sequence, complete.clone()));
        }
    }
}
