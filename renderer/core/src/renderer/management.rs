//! What changes in the management cluster.

use std::sync::Arc;

use sluice_api::{ClusterRef, TriggerId};
use sluice_protocol::interest::Interest;
use sluice_protocol::{About, ProblemKey, Step};

use super::place::{now_millis, unsupported};
use super::{Effect, Renderer};
use crate::bindings::ClusterBindings;
use crate::catalog::{Change, Touched};
use crate::project::{self, Projection};

impl Renderer {
    pub(super) fn management(&mut self, change: &Change, step: &mut Step<Effect>) {
        if !self.is_started() {
            self.catalog.apply(change);
            return;
        }
        let selections = self.catalog.selections().clone();
        let touched = self.catalog.apply(change);
        match touched {
            Touched::Nothing => {}
            Touched::Source(_) | Touched::Trigger(_) => {
                if let Touched::Trigger(id) = &touched {
                    self.check_trigger(id, step);
                }
                let mine: Vec<_> = self.my_clusters();
                for cluster in mine {
                    self.rebind(&cluster, step);
                }
                match &touched {
                    Touched::Trigger(id) => self.refresh_trigger(id, step),
                    Touched::Source(name) => self.source_changed(name, step),
                    _ => {}
                }
            }
            Touched::Cluster(cluster) => {
                self.cluster_changed(&cluster, step);
                self.sets_changed(&selections, step);
            }
            Touched::Connection => self.sets_changed(&selections, step),
            Touched::Set(id) => {
                self.set_gone(&id, step);
                self.sets_changed(&selections, step);
            }
            Touched::Profile(id) => {
                self.refresh_profile(&id, step);
                // A trigger may make one of this name.
                for cause in self.ledger.makers_of(&id) {
                    self.refresh(&cause, step.now, step);
                }
            }
            Touched::Content(key, old, new) => {
                self.content_changed(&key, old.as_deref(), new.as_deref(), step);
            }
        }
    }

    /// Events of a source that is gone are none, whether or not their tombstones come.
    fn source_changed(&mut self, name: &str, step: &mut Step<Effect>) {
        if self.catalog.sources.contains_key(name) {
            return;
        }
        for cluster in self.my_clusters() {
            let listeners = self.bindings.get(&cluster).map(|bindings| bindings.listeners(name));
            for trigger in listeners.unwrap_or_default() {
                self.refresh_binding(&trigger, &cluster, name, step);
            }
        }
    }

    pub(super) fn my_clusters(&self) -> Vec<ClusterRef> {
        self.catalog.clusters.keys().filter(|cluster| self.is_mine(cluster)).cloned().collect()
    }

    pub(super) fn cluster_changed(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        if self.is_mine(cluster) {
            self.rebind(cluster, step);
            self.refresh_cluster(cluster, step);
        }
        let crosses = |id: &TriggerId| {
            let trigger = self.catalog.triggers.get(id).map(Arc::as_ref);
            matches!(trigger, Some(Ok(trigger)) if trigger.destination_selector.is_some() || trigger.destination_cluster.is_some())
        };
        let crossing: Vec<_> = self.catalog.triggers.keys().filter(|id| crosses(id)).cloned().collect();
        for id in crossing {
            self.refresh_trigger(&id, step);
        }
        let profiles: Vec<_> = self.catalog.profiles.keys().cloned().collect();
        for id in profiles {
            self.refresh_profile(&id, step);
        }
    }

    /// Works out anew who listens to what on a cluster, and what its interest row should say.
    pub(super) fn rebind(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let before = self.bindings.get(cluster).cloned();
        let registered = self.catalog.clusters.get(cluster).cloned();
        let after = registered.as_ref().map(|registered| {
            ClusterBindings::of(registered, &self.catalog, &self.templates, before.as_ref())
        });
        let after = after.unwrap_or_default();
        self.check_bindings(cluster, &after, step);
        let known = self.completeness.interest(cluster);
        let unseen = registered.is_none() && known.is_none();
        let former = self.completeness.former(cluster);
        let last = self.completeness.last_revision(cluster);
        let revision = self.config.revision(now_millis(step.now).max(last.saturating_add(1)));
        let next = Interest::next(former, after.interest(&self.catalog), revision);
        match next.filter(|_| !unseen) {
            Some(row) if self.is_asking() => {
                self.completeness.write(cluster, &row);
                step.effect(Effect::WriteInterest(cluster.clone(), row));
            }
            Some(_) => drop(self.unwritten.insert(cluster.clone())),
            None => drop(self.unwritten.remove(cluster)),
        }
        let ended: Vec<_> = before
            .iter()
            .flat_map(|b| &b.by_trigger)
            .filter(|(id, source)| after.by_trigger.get(*id) != Some(source))
            .collect();
        let ended: Vec<(TriggerId, String)> =
            ended.into_iter().filter_map(|(id, source)| Some((id.clone(), source.clone().ok()?))).collect();
        self.bindings.insert(cluster.clone(), after);
        for (trigger, source) in ended {
            self.refresh_binding(&trigger, cluster, &source, step);
            if self.bindings.get(cluster).is_none_or(|bindings| bindings.listeners(&source).is_empty()) {
                step.effect(Effect::Project(Projection {
                    key: project::report_key(cluster, &source),
                    object: None,
                }));
            }
        }
    }

    /// A matcher has worked with this revision of a cluster's interest. Where the row is older than that, its bucket was lost
    /// and is written again by a clock that is behind: agents and matchers would wait for a row as new as what they
    /// have published.
    pub(super) fn hear(&mut self, cluster: &ClusterRef, revision: u64, step: &mut Step<Effect>) {
        if self.completeness.hear(cluster, revision) && self.is_mine(cluster) {
            self.rebind(cluster, step);
        }
    }

    pub(super) fn check_trigger(&mut self, id: &TriggerId, step: &mut Step<Effect>) {
        if !self.owns_name(id.as_str()) {
            return;
        }
        let error = match self.catalog.triggers.get(id).map(Arc::as_ref) {
            Some(Err(error)) => Some(error.to_string()),
            Some(Ok(trigger)) => unsupported(&trigger.common.unsupported),
            None => None,
        };
        self.note(ProblemKey::everywhere(About::Trigger(id.clone())), error, step);
    }

    pub(super) fn check_bindings(
        &mut self,
        cluster: &ClusterRef,
        bindings: &ClusterBindings,
        step: &mut Step<Effect>,
    ) {
        let gone: Vec<_> = self
            .bindings
            .get(cluster)
            .into_iter()
            .flat_map(|b| b.by_trigger.keys())
            .filter(|id| !bindings.by_trigger.contains_key(*id))
            .cloned()
            .collect();
        for id in gone {
            self.note(ProblemKey::on(cluster, About::Trigger(id)), None, step);
        }
        for (id, source) in &bindings.by_trigger {
            let error = match source {
                Ok(source) if self.catalog.sources.contains_key(source) => None,
                Ok(source) => Some(format!(
                    "spec.eventSourceName: EventSource {source} does not exist; create it or correct the name"
                )),
                Err(error) => Some(error.clone()),
            };
            self.note(ProblemKey::on(cluster, About::Trigger(id.clone())), error, step);
        }
    }
}
