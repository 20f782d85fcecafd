//! What watches of deployed objects show, and what is told of it.

use sluice_api::{ClusterRef, Gvk, ObjectKey, ProfileId};
use sluice_protocol::{JournalEntry, Step};

use super::watching::Watching;
use super::{Deployer, STAGE};
use crate::drift::Shown;
use crate::drift_event::{DriftEvent, Drifted};
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

    /// Which kinds are to be watched, and what was put right or is left alone.
    pub(super) fn tell_drift(
        &mut self,
        cluster: &ClusterRef,
        watched: Vec<(Gvk, bool)>,
        drifted: Vec<(ProfileId, ObjectKey, Drifted)>,
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
        for (profile, object, what) in drifted {
            if matches!(what, Drifted::Righted { .. }) {
                let name = object.to_string();
                let line = JournalEntry::new(STAGE, "drifted", cluster, &name, step.now, step.now);
                step.effect(Effect::Journal(line));
            }
            // A RoleRequest has no ClusterSummary.
            if !profile.is_role_request() {
                let cluster = cluster.clone();
                step.effect(Effect::Drifted(DriftEvent { cluster, profile, object, what }));
            }
        }
    }
}
