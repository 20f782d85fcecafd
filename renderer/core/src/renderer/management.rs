//! What changes in the management cluster.

use std::sync::Arc;

use sluice_api::model::{NOTHING_WITHDRAWN, ignored};
use sluice_api::{ClusterRef, TriggerId};
use sluice_protocol::interest::Interest;
use sluice_protocol::{About, Fault, ProblemKey, Revision, Step};

use super::withdrawals::is_approvals;
use super::words::{unsupported, without_effect};
use super::{Effect, Renderer};
use crate::error::Error;
use crate::knowledge::catalog::{Change, Touched};
use crate::planning::bindings::{Bound, ClusterBindings};
use crate::rendering::project;
use crate::rendering::projection::Projection;
use crate::rendering::syntax::{broken_trigger, check_source, has_broken_source_name};

impl Renderer {
    pub(super) fn management(&mut self, change: &Change, step: &mut Step<Effect>) {
        if !self.outgoing.is_started() {
            self.knowledge.catalog.apply(change);
            return;
        }
        let selections = self.knowledge.catalog.fleet.selections().clone();
        let former = self.knowledge.catalog.trigger_of(change);
        let touched = self.knowledge.catalog.apply(change);
        let scope = self.gather(&touched, former, step.steady);
        let moves = matches!(
            touched,
            Touched::Profile(_) | Touched::Cluster(_) | Touched::Connection | Touched::Set(_)
        );
        match touched {
            Touched::Nothing => {}
            Touched::Source(name) => {
                self.note_changed_source(&name, step.steady);
                self.check_source(&name, step);
                self.tell_source(&name, step);
                self.source_changed(&name, step);
            }
            Touched::Trigger(id) => {
                self.check_trigger(&id, step);
                self.rebind_trigger(&id, step);
                self.refresh_trigger(&id, step);
            }
            Touched::Cluster(cluster) => {
                self.cluster_changed(&cluster, step);
                self.sets_changed(&selections, step);
            }
            Touched::Connection => {
                self.sets_changed(&selections, step);
                self.pass_over(step);
            }
            Touched::Set(id) => {
                self.set_gone(&id, step);
                self.sets_changed(&selections, step);
            }
            Touched::Profile(id) => {
                self.refresh_profile(&id, step);
                // A trigger may make one of this name.
                for cause in self.planning.ledger.makers_of(&id) {
                    self.act(&cause, step.now, step);
                }
                for id in self.knowledge.catalog.take_moved() {
                    self.refresh_profile(&id, step);
                }
            }
            Touched::Content(key, ..) if is_approvals(&key) => {}
            Touched::Content(key, old, new) => {
                self.content_changed(&key, old.as_deref(), new.as_deref(), step);
            }
        }
        self.decide_withdrawals(&scope, step);
        if moves {
            self.review_departing(step);
        }
    }

    /// What was made of the events of a source that is gone stays until its trigger goes, or names one that is there: it may be this
    /// one, which has come. A source that is gone has no report.
    fn source_changed(&mut self, name: &str, step: &mut Step<Effect>) {
        let is_there = self.knowledge.catalog.sources.contains_key(name);
        for cluster in self.my_clusters() {
            let listeners = self.planning.bindings.get(&cluster).map(|bindings| bindings.listeners(name));
            for trigger in listeners.unwrap_or_default() {
                self.refresh_former(&trigger, &cluster, name, step);
            }
            if is_there {
                continue;
            }
            step.effect(Effect::Project(Projection {
                key: project::report_key(&cluster, name),
                object: None,
            }));
        }
    }

    pub(super) fn my_clusters(&self) -> Vec<ClusterRef> {
        self.knowledge
            .catalog
            .fleet
            .clusters()
            .keys()
            .filter(|cluster| self.is_mine(cluster))
            .cloned()
            .collect()
    }

    pub(super) fn cluster_changed(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        if self.is_mine(cluster) {
            self.rebind(cluster, step);
            self.refresh_cluster(cluster, step);
        }
        self.tell_pulling(cluster, step);
        let crossing = self.knowledge.triggers_where(|trigger| {
            trigger.destination_selector.is_some() || trigger.destination_cluster.is_some()
        });
        for id in crossing {
            self.refresh_trigger(&id, step);
        }
        let profiles: Vec<_> = self.knowledge.catalog.profiles.keys().cloned().collect();
        for id in profiles {
            self.refresh_profile(&id, step);
        }
    }

    /// Works out anew who listens to what on a cluster, and what its interest row should say.
    pub(super) fn rebind(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let before = self.planning.bindings.get(cluster).cloned();
        let registered = self.knowledge.catalog.fleet.clusters().get(cluster).cloned();
        let after = registered.as_ref().map(|registered| {
            ClusterBindings::of(
                registered,
                &self.knowledge.catalog,
                &self.rendering.templates,
                before.as_ref(),
            )
        });
        let after = after.unwrap_or_default();
        self.check_bindings(cluster, &after, step);
        let object = registered.as_ref().map(|registered| &*registered.object);
        let note = object.and_then(|object| without_effect(&ignored(object)));
        self.outgoing.note(ProblemKey::on(cluster, About::Cluster), note, step);
        let mistake = registered.as_ref().and_then(|registered| {
            let of_farewell = || registered.farewell.as_ref()?.mistake.as_ref();
            registered.pause.mistake().or_else(of_farewell)
        });
        let mistake = mistake.map(|mistake| Fault::new(mistake.to_string()));
        self.outgoing.note(ProblemKey::on(cluster, About::Registration), mistake, step);
        self.write_interest(cluster, &after, step);
        let ended: Vec<_> = before
            .iter()
            .flat_map(|b| &b.by_trigger)
            .filter(|(id, source)| after.by_trigger.get(*id) != Some(source))
            .collect();
        let ended: Vec<(TriggerId, String)> =
            ended.into_iter().filter_map(|(id, source)| Some((id.clone(), source.clone().ok()?))).collect();
        self.planning.bindings.insert(cluster.clone(), after);
        for (trigger, source) in ended {
            self.unbound(&trigger, cluster, &source, step);
        }
        self.mind_registration(cluster, step);
    }

    /// What the interest row of a cluster should say, when it does not.
    pub(super) fn write_interest(
        &mut self,
        cluster: &ClusterRef,
        bindings: &ClusterBindings,
        step: &mut Step<Effect>,
    ) {
        let known = self.knowledge.completeness.interest(cluster);
        let registered = self.knowledge.catalog.fleet.clusters().contains_key(cluster);
        let unseen = !registered && known.is_none_or(|known| known.gone);
        let former = self.knowledge.completeness.former(cluster);
        let last = self.knowledge.completeness.last_revision(cluster);
        let revision = self.config.revision(Revision::of_time(step.now).max(last.next()));
        let cluster_now = self.knowledge.catalog.fleet.clusters().get(cluster);
        let registration = cluster_now.filter(|cluster| cluster.pulls).map(|cluster| cluster.told_inside());
        let knows_tenants = self.knowledge.completeness.knows_tenants(cluster);
        let wanted = bindings.interest(&self.knowledge.catalog, knows_tenants);
        let next = Interest::next_of(former, wanted, registration.map(Arc::new), revision);
        match next.filter(|_| !unseen) {
            Some(row) if self.outgoing.is_asking() => {
                self.knowledge.completeness.write(cluster, &row);
                step.effect(Effect::WriteInterest(cluster.clone(), row));
            }
            Some(_) => drop(self.outgoing.unwritten.insert(cluster.clone())),
            None => drop(self.outgoing.unwritten.remove(cluster)),
        }
    }

    /// A trigger does not listen to this any more.
    fn unbound(&mut self, id: &TriggerId, cluster: &ClusterRef, source: &str, step: &mut Step<Effect>) {
        self.refresh_binding(id, cluster, source, step);
        if self.planning.bindings.get(cluster).is_none_or(|bindings| !bindings.listens_to(source)) {
            step.effect(Effect::Project(Projection {
                key: project::report_key(cluster, source),
                object: None,
            }));
        }
    }

    /// Works out anew what one trigger listens to, on every cluster: that is all that it can change.
    pub(super) fn rebind_trigger(&mut self, id: &TriggerId, step: &mut Step<Effect>) {
        for cluster in self.my_clusters() {
            let Some(registered) = self.knowledge.catalog.fleet.clusters().get(&cluster).cloned() else {
                continue;
            };
            let Some(mut bindings) = self.planning.bindings.remove(&cluster) else {
                self.rebind(&cluster, step);
                continue;
            };
            let changed =
                bindings.rebind(id, &registered, &self.knowledge.catalog, &self.rendering.templates);
            if changed.as_ref().is_some_and(|(_, others)| *others) {
                self.write_interest(&cluster, &bindings, step);
            }
            let bound = bindings.by_trigger.get(id).cloned();
            self.planning.bindings.insert(cluster.clone(), bindings);
            let Some((former, _)) = changed else { continue };
            self.check_binding(&cluster, id, bound.as_ref(), step);
            if let Some(Ok(source)) = former {
                self.unbound(id, &cluster, &source, step);
            }
        }
    }

    /// An EventSource has come, changed or gone: interest rows and triggers that name it say so.
    fn tell_source(&mut self, name: &str, step: &mut Step<Effect>) {
        for cluster in self.my_clusters() {
            let Some(bindings) =
                self.planning.bindings.get(&cluster).filter(|bindings| bindings.listens_to(name))
            else {
                continue;
            };
            let (bindings, bound) = (bindings.clone(), Ok(name.to_owned()));
            for id in bindings.listeners(name) {
                self.check_binding(&cluster, &id, Some(&bound), step);
            }
            self.write_interest(&cluster, &bindings, step);
        }
    }

    /// A matcher has worked with this revision of a cluster's interest. Where the row is older than that, its bucket was lost
    /// and is written again by a clock that is behind: agents and matchers would wait for a row as new as what they
    /// have published.
    pub(super) fn hear(&mut self, cluster: &ClusterRef, revision: Revision, step: &mut Step<Effect>) {
        if self.knowledge.completeness.hear(cluster, revision) && self.is_mine(cluster) {
            self.rebind(cluster, step);
        }
    }

    pub(super) fn check_trigger(&mut self, id: &TriggerId, step: &mut Step<Effect>) {
        if !self.owns_name(id.as_str()) {
            return;
        }
        let error = match self.knowledge.catalog.triggers.get(id).map(Arc::as_ref) {
            Some(Err(error)) => Some(Error::Field(error.clone()).into()),
            Some(Ok(trigger)) => {
                let broken = broken_trigger(trigger).map(Fault::from);
                let wrong = [self.unsure(id), unsupported(&trigger.common.unsupported)];
                let note = without_effect(&trigger.common.ignored);
                Fault::all(broken.into_iter().chain(wrong.into_iter().flatten().map(Fault::new)).chain(note))
            }
            None => None,
        };
        self.outgoing.note(ProblemKey::everywhere(About::Trigger(id.clone())), error, step);
    }

    /// Says what is wrong with an EventSource, whether or not a trigger uses it. Matchers go on with its last good form, and say
    /// nothing of it: it would be the same for each cluster.
    pub(super) fn check_source(&mut self, name: &str, step: &mut Step<Effect>) {
        let about = About::Source(name.to_owned());
        if !self.owns_name(&about.to_string()) {
            return;
        }
        let checked = self.knowledge.catalog.sources.get(name).map(|manifest| check_source(manifest));
        let error = checked.and_then(Result::err).map(|error| Error::Field(error).into());
        self.outgoing.note(ProblemKey::everywhere(about), error, step);
    }

    pub(super) fn check_bindings(
        &mut self,
        cluster: &ClusterRef,
        bindings: &ClusterBindings,
        step: &mut Step<Effect>,
    ) {
        let gone: Vec<_> = self
            .planning
            .bindings
            .get(cluster)
            .into_iter()
            .flat_map(|b| b.by_trigger.keys())
            .filter(|id| !bindings.by_trigger.contains_key(*id))
            .cloned()
            .collect();
        for id in gone {
            self.outgoing.note(ProblemKey::on(cluster, About::Trigger(id)), None, step);
        }
        for (id, source) in &bindings.by_trigger {
            self.check_binding(cluster, id, Some(source), step);
        }
    }

    /// Says what is wrong with what a trigger listens to on a cluster, if anything is.
    fn check_binding(
        &mut self,
        cluster: &ClusterRef,
        id: &TriggerId,
        bound: Option<&Bound>,
        step: &mut Step<Effect>,
    ) {
        let error = match bound {
            None => None,
            Some(Ok(source)) if self.knowledge.catalog.sources.contains_key(source) => None,
            Some(Ok(source)) => Some(Fault::new(format!(
                "spec.eventSourceName: EventSource {source} does not exist; create it or correct the name; {NOTHING_WITHDRAWN}"
            ))),
            // The owner of the trigger's name says it once, not for each cluster.
            Some(Err(_)) if self.is_nowhere_bound(id) || self.unsure(id).is_some() => None,
            Some(Err(error)) => Some(error.clone().into()),
        };
        self.outgoing.note(ProblemKey::on(cluster, About::Trigger(id.clone())), error, step);
    }

    /// Why it is not known on which clusters it listens besides.
    fn unsure(&self, id: &TriggerId) -> Option<String> {
        self.knowledge.trigger(id)?.unsure(&self.knowledge.catalog.fleet)
    }

    /// Whether the name of its EventSource can never be rendered.
    fn is_nowhere_bound(&self, id: &TriggerId) -> bool {
        self.knowledge.trigger(id).is_some_and(has_broken_source_name)
    }
}
