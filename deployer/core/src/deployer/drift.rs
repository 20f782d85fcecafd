//! What watches of deployed objects show, and what is told of it.

use sluice_api::{ClusterRef, Gvk, ObjectKey};
use sluice_protocol::{JournalEntry, Step};

use super::watching::Watching;
use super::{Deployer, STAGE};
use crate::drift::Shown;
use crate::messages::Effect;

impl Deployer {
    /// A watch shows something.
    pub(super) fn shown(&mut self, cluster: &ClusterRef, shown: Shown, step: &mut Step<Effect>) {
        if !self.clusters.contains_key(cluster) {
            return;
        }
        if let Shown::Trouble(gvk, trouble) = &shown {
            let text = trouble.as_ref().map(|error| format!("drift of {} is not seen: {error}", gvk.kind));
            return self.note_watch(cluster, gvk, Watching::Drift, text, step);
        }
        let now = step.steady;
        self.with(cluster, step, |state, next_id| state.shown(shown, now, next_id));
    }

    /// Which kinds are to be watched, and what was put right.
    pub(super) fn tell_drift(
        &mut self,
        cluster: &ClusterRef,
        watched: Vec<(Gvk, bool)>,
        righted: Vec<ObjectKey>,
        step: &mut Step<Effect>,
    ) {
        for (gvk, is_watched) in watched {
            if is_watched {
                step.effect(Effect::Watch(cluster.clone(), gvk));
            } else {
                self.note_watch(cluster, &gvk, Watching::Drift, None, step);
                step.effect(Effect::EndWatch(cluster.clone(), gvk));
            }
        }
        for key in righted {
            let object = key.to_string();
            let line = JournalEntry::new(STAGE, "drifted", cluster, &object, step.now, step.now);
            step.effect(Effect::Journal(line));
        }
    }
}
