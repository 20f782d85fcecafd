//! An agent, this matcher or a predecessor may have worked with a newer interest row than there is: its bucket was lost, and who wrote the row
//! again had a clock that is behind. What was published stays as it is until the row is as new as that, so the renderer, which does not
//! read `changes`, is told of it.

use sluice_api::ClusterRef;
use sluice_protocol::interest::{Complete, Interest};
use sluice_protocol::{Head, Incarnation, Revision, Row, Step, Subject};

use super::{Effect, Matcher};
use crate::live::Live;

// D-0511: a matcher reports a newer interest row that does not come.
/// How long the newer row may be on its way, microseconds.
pub(super) const ON_ITS_WAY: i64 = 5_000_000;
/// So far ahead of this clock a revision may be, microseconds: clocks differ. An agent may claim any, and the interest row must follow
/// what is believed: after the highest there is there would be none.
const FURTHEST: i64 = 366 * 24 * 3600 * 1_000_000;

impl Live {
    /// Somebody has worked with this revision.
    fn hear(&mut self, revision: Revision, step: &mut Step<Effect>) {
        if self.revision.unwrap_or(Revision::NONE) < revision {
            self.wait_for(revision, step);
        }
    }

    /// A row of this revision, or a newer one, must come. What is waited for is the newest that anybody has worked with.
    fn wait_for(&mut self, revision: Revision, step: &mut Step<Effect>) {
        let waits = self.ahead.filter(|(awaited, _)| *awaited >= revision);
        let (_, due) = *self.ahead.insert(waits.unwrap_or((revision, step.now + ON_ITS_WAY)));
        step.wake_at(due);
    }

    /// The interest row went. That of a cluster that is gone is taken away by its agent, last; if the agent has not left this shard, the
    /// row was lost, and must be written again: also of a cluster that is not registered any more and was not said to be gone yet.
    fn miss_agent(&mut self, step: &mut Step<Effect>) {
        if let Some(revision) = self.revision.filter(|_| !self.left) {
            self.present = Revision::NONE;
            self.wait_for(revision, step);
        }
    }

    /// A row came that is not newer than the one that is worked with. Whether it is that one, and the renderer was told meanwhile
    /// that it has not come: then what is complete must be said again.
    pub(super) fn fall_back(&mut self, row: &Interest, step: &mut Step<Effect>) -> bool {
        if row.is_lost() {
            self.miss_agent(step);
            return false;
        }
        self.present = row.revision;
        if let Some(known) = self.revision.filter(|known| *known > row.revision) {
            self.wait_for(known, step);
        }
        self.revision == Some(row.revision) && self.told.is_none()
    }
}

impl Matcher {
    /// A row of the agent came, of an object or about completeness.
    pub(super) fn hear(&mut self, cluster: &ClusterRef, row: &Row, step: &mut Step<Effect>) {
        if row.head.tombstone && row.head.view.version(&cluster.to_string()) == Revision::NONE {
            // Of a cluster that has gone, or from a former version.
            return;
        }
        if !self.clusters.contains_key(cluster) {
            self.clusters.insert(cluster.clone(), Live::default());
        }
        let Some(live) = self.clusters.get_mut(cluster) else { return };
        let is_object = matches!(row.subject, Subject::Change { .. });
        if is_object && live.view == row.head.view {
            return;
        }
        live.view = row.head.view.clone();
        let about = row.head.meta.complete().map_or(Revision::NONE, |complete| complete.revision);
        let furthest = Revision::of_time(step.now.saturating_add(FURTHEST));
        let believed = |revision: &Revision| *revision <= furthest;
        let heard = [about, row.head.view.version(&cluster.to_string())];
        live.hear(heard.into_iter().filter(believed).max().unwrap_or(Revision::NONE), step);
    }

    /// A row of a predecessor is there, or its tombstone, which may be gone from the stream before anybody else reads it.
    pub(super) fn found_row(&mut self, cluster: &ClusterRef, head: &Head) {
        let revision = head.view.version(&cluster.to_string());
        let live = self.clusters.entry(cluster.clone()).or_default();
        live.found = live.found.max(revision);
    }

    /// What predecessors have worked with is to be waited for from now on.
    pub(super) fn hear_predecessors(&mut self, step: &mut Step<Effect>) {
        self.clusters.values_mut().for_each(|live| live.hear(live.found, step));
    }

    /// Tells the renderer of revisions that have not come: a completeness row of no life of the stream, which proves nothing.
    pub(super) fn tell_ahead(&mut self, step: &mut Step<Effect>) {
        let mut rows = Vec::new();
        for (cluster, live) in &mut self.clusters {
            let Some((revision, due)) = live.ahead else { continue };
            if live.present >= revision {
                live.ahead = None;
            } else if step.now < due {
                step.wake_at(due);
            } else {
                (live.ahead, live.told) = (None, None);
                rows.push((cluster.clone(), Complete::of_all(Incarnation::NONE, revision)));
            }
        }
        rows.into_iter().for_each(|(cluster, complete)| step.publish(self.row_of(&cluster, complete)));
    }
}
