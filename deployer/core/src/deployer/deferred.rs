//! Deletions that wait until every renderer has said that all its rows are there. Where a shard of the renderer has no
//! owner, or one of a former version, they wait for ever, and nothing else would show it: so people are told.

use std::collections::BTreeSet;

use sluice_api::ClusterRef;
use sluice_protocol::{About, Fault, ProblemKey, Shard, Step, Table};

use super::Deployer;
use crate::messages::Effect;

// D-0411: deletions that wait for a minute are a problem.
/// For how long a deletion may wait before people are told, microseconds: as long as a renderer waits for clusters that
/// are away before it says so in any case.
const PATIENCE: i64 = 60_000_000;
/// Shards that are named at most.
const MOST: usize = 16;

/// Where deletions wait, and since when by the clock that nobody sets.
#[derive(Debug, Default)]
pub(super) struct Deferred {
    clusters: BTreeSet<ClusterRef>,
    since: i64,
    /// What was told last.
    told: Option<String>,
}

impl Deferred {
    /// On this cluster something waits, or nothing does.
    pub(super) fn note(&mut self, cluster: &ClusterRef, waits: bool, now: i64) {
        if !waits {
            self.clusters.remove(cluster);
            return;
        }
        if self.clusters.is_empty() {
            self.since = now;
        }
        if !self.clusters.contains(cluster) {
            self.clusters.insert(cluster.clone());
        }
    }

    /// Since when something waits.
    fn since(&self) -> Option<i64> {
        (!self.clusters.is_empty()).then_some(self.since)
    }
}

impl Deployer {
    /// Says for whom deletions wait when they have waited for long, and when they no longer do.
    pub(super) fn report_deferred(&mut self, step: &mut Step<Effect>) {
        let text = match self.deferred.since().map(|since| since + PATIENCE) {
            Some(patient_until) if step.steady < patient_until => {
                return step.wake_at_steady(patient_until);
            }
            Some(_) => Some(self.missing_words()),
            None => None,
        };
        if text != self.deferred.told {
            self.deferred.told.clone_from(&text);
            let stream = Table::Desired.stream(self.config.shard);
            self.note(ProblemKey::everywhere(About::Stream(stream)), text.map(Fault::from), step);
        }
    }

    /// Who has not spoken, and what to do.
    fn missing_words(&self) -> String {
        let missing: Vec<_> =
            Shard::all(self.config.shards).filter(|shard| !self.said.contains(shard)).collect();
        let mut names: Vec<_> = missing.iter().take(MOST).map(|shard| format!("{shard:02}")).collect();
        if let more @ 1.. = missing.len() - names.len() {
            names.push(format!("{more} more"));
        }
        format!(
            "what was withdrawn waits to be deleted: renderer shards {} have not said that all their rows are in this stream; \
             see to it that replicas of the renderer run, all of this version, and that each of these shards has an owner (`sluice bus check`)",
            names.join(", ")
        )
    }
}
