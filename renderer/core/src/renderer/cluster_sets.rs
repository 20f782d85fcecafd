//! ClusterSets and Sets: what they select, and who must know when that changes.

// D-0910: what a cluster set selects is a function.

use std::sync::Arc;

use sluice_api::model::{ClusterSetId, LIB_GROUP, Selections};
use sluice_api::{Gvk, ObjectKey};
use sluice_protocol::{About, Fault, ProblemKey, Step};

use super::{Effect, Renderer};

impl Renderer {
    /// What sets select differs from `before`, or may: triggers and profiles over sets are looked at again.
    pub(super) fn sets_changed(&mut self, before: &Arc<Selections>, step: &mut Step<Effect>) {
        let now = self.knowledge.catalog.fleet.selections().clone();
        self.write_sets(step);
        if *before == now {
            return;
        }
        let triggers = self.knowledge.triggers_where(|trigger| !trigger.source_sets.is_empty());
        for id in triggers {
            self.check_trigger(&id, step);
            self.rebind_trigger(&id, step);
            self.refresh_trigger(&id, step);
        }
        let has_sets = |profile: &Arc<Result<sluice_api::model::Profile, _>>| matches!(profile.as_ref(), Ok(profile) if !profile.sets.is_empty());
        let profiles = self.knowledge.catalog.profiles.iter().filter(|(_, profile)| has_sets(profile));
        let profiles: Vec<_> =
            profiles.map(|(id, _)| id.clone()).chain(self.knowledge.catalog.prerequisites()).collect();
        for id in profiles {
            self.refresh_profile(&id, step);
        }
    }

    /// Writes into the sets whose names are its own what they match and select, and what is wrong with them, where that is not what
    /// they say.
    pub(super) fn write_sets(&mut self, step: &mut Step<Effect>) {
        let mut problems = Vec::new();
        for (id, known) in self.knowledge.catalog.fleet.sets() {
            if !self.owns_name(&id.to_string()) {
                continue;
            }
            let (status, error) =
                sluice_status_core::set_status(known, &self.knowledge.catalog.fleet, step.now);
            if let Some(status) = status {
                step.effect(Effect::WriteStatus(key(id), status));
            }
            problems.push((id.clone(), error));
        }
        for (id, error) in problems {
            self.outgoing.note(ProblemKey::everywhere(About::ClusterSet(id)), error.map(Fault::new), step);
        }
    }

    /// Nothing is wrong with a set that is gone.
    pub(super) fn set_gone(&mut self, id: &ClusterSetId, step: &mut Step<Effect>) {
        if !self.knowledge.catalog.fleet.sets().contains_key(id) {
            self.outgoing.note(ProblemKey::everywhere(About::ClusterSet(id.clone())), None, step);
        }
    }
}

fn key(id: &ClusterSetId) -> ObjectKey {
    let gvk = Gvk::new(LIB_GROUP, "v1beta1", id.kind());
    ObjectKey { gvk, namespace: id.namespace.clone(), name: id.name.clone() }
}
