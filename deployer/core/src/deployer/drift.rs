//! What watches of deployed objects show, and what is told of it.

use sluice_api::{ClusterRef, Gvk, ObjectKey};
use sluice_protocol::{About, Fault, JournalEntry, ProblemKey, Step};

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
            let about = About::Watch(gvk.clone());
            return self.note(ProblemKey::on(cluster, about), text.map(Fault::from), step);
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
                self.note(ProblemKey::on(cluster, About::Watch(gvk.clone())), None, step);
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
