//! What would withdraw much of a fleet at once waits: its rows stay until somebody says so, or it is wanted again.

// D-0931: what withdraws much of a fleet at once waits until somebody says so.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::model::{APPROVALS, Cluster, NAMESPACE, Trigger, approves};
use sluice_api::{ClusterRef, TriggerId, object};
use sluice_protocol::rows::Cause;
use sluice_protocol::{About, Fault, ProblemKey, Step};

use super::{Effect, Renderer};
use crate::knowledge::catalog::{Change, ContentKey, Touched};
use crate::planning::row_ledger::Place;
use crate::planning::withdrawals::{Doomed, Reach};

/// Kinds of triggers.
const TRIGGERS: [&str; 2] = ["EventTrigger", "EventBasedAddOn"];

/// Whether this is what people have approved.
pub(super) fn is_approvals((kind, namespace, name): &ContentKey) -> bool {
    (kind.as_str(), namespace.as_str(), name.as_str()) == ("ConfigMap", NAMESPACE, APPROVALS)
}

impl Renderer {
    /// The trigger that a change is of, as it was.
    pub(super) fn trigger_before(&self, change: &Change) -> Option<Trigger> {
        let (Change::Upsert(object) | Change::Delete(object)) = change else { return None };
        let kind = object::text(object, &["kind"]);
        if !self.planning.withdrawals.is_on() || !TRIGGERS.contains(&kind) {
            return None;
        }
        let former = self.knowledge.catalog.triggers.get(&TriggerId::new(kind, object::name(object)))?;
        former.as_ref().as_ref().ok().cloned()
    }

    /// What is withdrawn from now on follows from this change; of a trigger from how it was before.
    pub(super) fn gather(&mut self, touched: &Touched, former: Option<&Trigger>, now: i64) {
        if !self.planning.withdrawals.is_on() {
            return;
        }
        let reach = match touched {
            // That clusters go away and others take their place is nobody's mistake.
            Touched::Connection => return,
            Touched::Trigger(_) => self.reach_of(former),
            Touched::Cluster(cluster) => {
                let is_mine = self.is_mine(cluster);
                let reach = self.planning.withdrawals.cluster_changed(is_mine, now);
                if is_mine { reach } else { self.reach_of_all() }
            }
            _ => self.reach_of_all(),
        };
        self.planning.withdrawals.gather(reach);
    }

    /// The clusters that these triggers select.
    fn reach_of<'t>(&self, triggers: impl IntoIterator<Item = &'t Trigger>) -> Reach {
        let triggers: Vec<&Trigger> = triggers.into_iter().collect();
        let fleet = &self.knowledge.catalog.fleet;
        let selected = |cluster: &Cluster| triggers.iter().any(|it| it.selects(cluster, fleet) == Ok(true));
        let selected = fleet.clusters().iter().filter(|(_, cluster)| selected(cluster));
        self.counted(selected.map(|(id, _)| id))
    }

    /// All clusters of the fleet.
    pub(super) fn reach_of_all(&self) -> Reach {
        self.counted(self.knowledge.catalog.fleet.clusters().keys())
    }

    fn counted<'c>(&self, clusters: impl Iterator<Item = &'c ClusterRef>) -> Reach {
        clusters.fold(Reach { all: 0, mine: 0 }, |Reach { all, mine }, cluster| Reach {
            all: all + 1,
            mine: mine + usize::from(self.is_mine(cluster)),
        })
    }

    /// A cause is not wanted any more: whether it stays all the same.
    pub(super) fn holds_up(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) -> bool {
        if !self.planning.withdrawals.is_on() || !self.is_guarded(cause, step.steady) {
            self.planning.withdrawals.forget(cause);
            return false;
        }
        let doomed = self.doomed(cause, &BTreeSet::new());
        !self.lets_go(cause, doomed, time, step)
    }

    /// An EventSource is another one from now on. Of one of which nothing was made nothing can go because of that.
    pub(super) fn note_changed_source(&mut self, name: &str, now: i64) {
        if !self.planning.withdrawals.is_on() || !self.planning.ledger.is_made_of(name) {
            return;
        }
        let bindings = self.planning.bindings.values();
        let listeners: BTreeSet<_> = bindings.flat_map(|bindings| bindings.listeners(name)).collect();
        let triggers = listeners.iter().filter_map(|id| self.knowledge.trigger(id));
        let reach = self.reach_of(triggers);
        self.planning.withdrawals.source_changed(name, reach, now);
    }

    /// A cause leads to these places from now on; those that it would leave are among them where they stay.
    pub(super) fn hold_up(
        &mut self,
        cause: &Cause,
        places: &mut BTreeSet<Place>,
        time: i64,
        step: &mut Step<Effect>,
    ) {
        if !self.planning.withdrawals.minds(cause) {
            return;
        }
        let doomed = self.doomed(cause, places);
        if !self.lets_go(cause, doomed.clone(), time, step) {
            places.extend(doomed);
        }
    }

    fn lets_go(
        &mut self,
        cause: &Cause,
        doomed: BTreeSet<Place>,
        time: i64,
        step: &mut Step<Effect>,
    ) -> bool {
        let fleet = (self.planning.ledger.count_at_most(), step.steady);
        let goes = self.planning.withdrawals.lets_go(cause, doomed, time, fleet);
        self.planning.withdrawals.due().into_iter().for_each(|at| step.wake_at_steady(at));
        goes
    }

    /// Whether what is withdrawn of a cause may be somebody's mistake. What an event takes away is meant.
    fn is_guarded(&self, cause: &Cause, now: i64) -> bool {
        match cause {
            Cause::Profile(_) => true,
            Cause::Event(event) => {
                self.planning.is_unlistened(&self.knowledge, event)
                    || self.planning.withdrawals.has_changed(&event.source, now)
            }
        }
    }

    /// Where something of a cause would go, if it led to these places alone. Of a cluster that is not registered nothing goes, and what a
    /// tombstone says already was decided before.
    fn doomed(&self, cause: &Cause, places: &BTreeSet<Place>) -> BTreeSet<Place> {
        let clusters = self.knowledge.catalog.fleet.clusters();
        let ledger = &self.planning.ledger;
        let goes = |place: &Place| {
            !places.contains(place)
                && !ledger.is_withdrawn(place)
                && (place.0.is_management() || clusters.contains_key(&place.0))
        };
        ledger.everywhere(cause).into_iter().filter(goes).collect()
    }

    /// All that one change withdraws is known: it goes, or waits.
    pub(super) fn decide_withdrawals(&mut self, step: &mut Step<Effect>) {
        let ledger = &self.planning.ledger;
        let is_there = |place: &Place| ledger.is_used(place) || ledger.is_held(place);
        let decided = self.planning.withdrawals.decide(is_there, || ledger.count(), step.steady);
        self.let_pass(decided, step);
        self.look_at_approvals(step);
        self.tell_withdrawals(step);
    }

    /// The same for what came event by event.
    pub(super) fn decide_due_withdrawals(&mut self, step: &mut Step<Effect>) {
        match self.planning.withdrawals.due() {
            Some(at) if at <= step.steady => self.decide_withdrawals(step),
            Some(at) => step.wake_at_steady(at),
            None => self.tell_withdrawals(step),
        }
    }

    fn let_pass(&mut self, decided: BTreeMap<Cause, Doomed>, step: &mut Step<Effect>) {
        self.planning.withdrawals.pass(true);
        for (cause, doomed) in decided {
            self.planning.renderings.set(&cause, None);
            self.act(&cause, doomed.time, step);
        }
        self.planning.withdrawals.pass(false);
    }

    /// Somebody may have approved what waits.
    fn look_at_approvals(&mut self, step: &mut Step<Effect>) {
        let Some(called) = self.planning.withdrawals.called() else { return };
        let key = ("ConfigMap".to_owned(), NAMESPACE.to_owned(), APPROVALS.to_owned());
        let approvals = self.knowledge.catalog.content(&key);
        if approvals.is_some_and(|approvals| approves(approvals, called, step.now)) {
            let approved = self.planning.withdrawals.take_held();
            self.let_pass(approved, step);
        }
    }

    fn tell_withdrawals(&mut self, step: &mut Step<Effect>) {
        if self.planning.withdrawals.take_news() {
            let ledger = &self.planning.ledger;
            let text = self.planning.withdrawals.text(|| ledger.count());
            let key = ProblemKey::everywhere(About::Withdrawals(self.config.shard));
            self.outgoing.note(key, text.map(Fault::new), step);
        }
    }
}
