//! What watches of what pods read show, and what is told of restarted workloads.

use sluice_api::ClusterRef;
use sluice_protocol::{JournalEntry, Step};

use super::watching::Watching;
use super::{Deployer, STAGE};
use crate::cluster::Reloads;
use crate::messages::Effect;
use crate::reload::Glimpse;

impl Deployer {
    /// A watch of what pods can read shows something.
    pub(super) fn glimpse(&mut self, cluster: &ClusterRef, glimpse: Glimpse, step: &mut Step<Effect>) {
        if !self.clusters.contains_key(cluster) {
            return;
        }
        if let Glimpse::Trouble(gvk, trouble) = &glimpse {
            let kind = &gvk.kind;
            let text = trouble.as_ref().map(|error| {
                format!("no workload restarts when a {kind} changes, as that is not seen: {error}")
            });
            return self.note_watch(cluster, gvk, Watching::Sources, text, step);
        }
        let now = step.steady;
        self.with(cluster, step, |state, next_id| state.glimpse(glimpse, now, next_id));
    }

    /// Which kinds are to be watched, what cannot be read, and what was restarted.
    pub(super) fn tell_reloads(&mut self, cluster: &ClusterRef, reloads: Reloads, step: &mut Step<Effect>) {
        let Reloads { watched, troubles, done } = reloads;
        for (gvk, is_watched) in watched {
            if is_watched {
                step.effect(Effect::WatchSources(cluster.clone(), gvk));
            } else {
                self.note_watch(cluster, &gvk, Watching::Sources, None, step);
                self.note_watch(cluster, &gvk, Watching::Contents, None, step);
                step.effect(Effect::EndWatchSources(cluster.clone(), gvk));
            }
        }
        for (gvk, trouble) in troubles {
            let text = trouble
                .map(|error| format!("no workload restarts when it changes: {error}; it is tried again"));
            self.note_watch(cluster, &gvk, Watching::Contents, text, step);
        }
        for workload in done {
            let object = workload.to_string();
            let line = JournalEntry::new(STAGE, "reloaded", cluster, &object, step.now, step.now);
            step.effect(Effect::Journal(line));
        }
    }
}
