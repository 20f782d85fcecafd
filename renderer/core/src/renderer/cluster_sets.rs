//! ClusterSets and Sets: what they select, and who must know when that changes.

use std::sync::Arc;

use serde_json::{Value, json};
use sluice_api::model::{ClusterSet, ClusterSetId, LIB_GROUP};
use sluice_api::{ClusterRef, FieldError, Gvk, ObjectKey, TriggerId, object};
use sluice_protocol::{About, ProblemKey, Step};

use super::{Effect, Renderer};
use crate::catalog::Selections;
use crate::verdict::{judgement, own_condition, reference, right, seconds, wrong};

/// The fields of a set's status besides conditions.
const LISTS: [&str; 2] = ["matchingClusterRefs", "selectedClusterRefs"];

impl Renderer {
    /// What sets select differs from `before`, or may: triggers and profiles over sets are looked at again.
    pub(super) fn sets_changed(&mut self, before: &Arc<Selections>, step: &mut Step<Effect>) {
        let now = self.catalog.selections().clone();
        self.write_sets(step);
        if *before == now {
            return;
        }
        let by_set = |id: &TriggerId| {
            let trigger = self.catalog.triggers.get(id).map(Arc::as_ref);
            matches!(trigger, Some(Ok(trigger)) if !trigger.source_sets.is_empty())
        };
        let triggers: Vec<_> = self.catalog.triggers.keys().filter(|id| by_set(id)).cloned().collect();
        for id in triggers {
            self.check_trigger(&id, step);
            self.rebind_trigger(&id, step);
            self.refresh_trigger(&id, step);
        }
        let has_sets = |profile: &Arc<Result<sluice_api::model::Profile, _>>| matches!(profile.as_ref(), Ok(profile) if !profile.sets.is_empty());
        let profiles = self.catalog.profiles.iter().filter(|(_, profile)| has_sets(profile));
        let profiles: Vec<_> = profiles.map(|(id, _)| id.clone()).collect();
        for id in profiles {
            self.refresh_profile(&id, step);
        }
    }

    /// Writes into the sets whose names are its own what they match and select, and what is wrong with them, where that is not what
    /// they say.
    pub(super) fn write_sets(&mut self, step: &mut Step<Effect>) {
        let mut problems = Vec::new();
        for (id, held) in &self.catalog.sets {
            if !self.owns_name(&id.to_string()) {
                continue;
            }
            let (status, error) = match &held.set {
                Ok(set) => {
                    let error = self.catalog.missing(&set.clusters, "spec.clusterRefs");
                    (self.set_status(set, error.as_deref(), &held.status, step.now), error)
                }
                Err(error) => (broken_status(error, &held.status, step.now), Some(error.to_string())),
            };
            if !says(&held.status, &status) {
                step.effect(Effect::WriteStatus(key(id), status));
            }
            problems.push((id.clone(), error));
        }
        for (id, error) in problems {
            self.note(ProblemKey::everywhere(About::ClusterSet(id)), error, step);
        }
    }

    /// Nothing is wrong with a set that is gone.
    pub(super) fn set_gone(&mut self, id: &ClusterSetId, step: &mut Step<Effect>) {
        if !self.catalog.sets.contains_key(id) {
            self.note(ProblemKey::everywhere(About::ClusterSet(id.clone())), None, step);
        }
    }

    fn set_status(&self, set: &ClusterSet, error: Option<&str>, said: &Value, now: i64) -> Value {
        let references =
            |clusters: &mut dyn Iterator<Item = &ClusterRef>| -> Value { clusters.map(reference).collect() };
        let matching = set.matching(self.catalog.clusters.values().map(Arc::as_ref));
        let selected = set.select(&matching);
        let condition = match error {
            Some(error) => wrong(error, &wrong_since(said, now)),
            None => right("no problem is known", Some(said), now),
        };
        json!({
            "matchingClusterRefs": references(&mut matching.iter()),
            "selectedClusterRefs": references(&mut selected.iter()),
            "conditions": [condition],
        })
    }
}

/// What a set that cannot be read says: its lists stay, since what it selected before is in them.
fn broken_status(error: &FieldError, said: &Value, now: i64) -> Value {
    let text = format!("{}: {}", error.field, error.reason);
    let condition = wrong(&text, &wrong_since(said, now));
    let mut status = json!({"conditions": [condition]});
    for field in LISTS {
        if let Some(list) = said.get(field) {
            status[field] = list.clone();
        }
    }
    status
}

/// Since when a status says that something is wrong; now, where it does not.
fn wrong_since(said: &Value, now: i64) -> String {
    let since = judgement(said).map(|condition| object::text(condition, &["lastTransitionTime"]).to_owned());
    since.unwrap_or_else(|| seconds(now))
}

/// Whether a status says this already; conditions of others count for nothing.
fn says(status: &Value, wanted: &Value) -> bool {
    LISTS.iter().all(|field| status.get(field) == wanted.get(field))
        && own_condition(status) == own_condition(wanted)
}

fn key(id: &ClusterSetId) -> ObjectKey {
    let gvk = Gvk::new(LIB_GROUP, "v1beta1", id.kind());
    ObjectKey { gvk, namespace: id.namespace.clone(), name: id.name.clone() }
}
