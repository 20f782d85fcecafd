//! Rows that are judged once more.

// D-0809: a changed EventSource replays rows.

use std::collections::{BTreeSet, HashMap};

use sluice_api::ClusterRef;
use sluice_protocol::{Core as _, Head, Step, Subject};

use super::{Effect, Matcher};
use crate::live::Replay;

impl Matcher {
    /// Judges all rows of a cluster once more.
    pub(super) fn replay(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let Some(live) = self.clusters.get_mut(cluster) else { return };
        self.replays += 1;
        // Rows of a replay that this one replaces may still come: what was newer than they stays newer.
        let newer = live.replay.take().map_or_else(HashMap::new, |former| former.newer);
        live.replay = Some(Replay { id: self.replays, newer });
        step.effect(Effect::Replay(cluster.clone(), self.replays));
    }

    /// Judges anew what a former owner knew better.
    pub(super) fn judge_anew(&mut self, rows: &[(Subject, Head)], step: &mut Step<Effect>) {
        let mut clusters = BTreeSet::new();
        for (subject, head) in rows {
            self.found(subject, head);
            if let Subject::Report { cluster, .. } | Subject::Complete { cluster, .. } = subject {
                clusters.insert(cluster);
            }
        }
        clusters.into_iter().for_each(|cluster| self.replay(cluster, step));
    }
}
