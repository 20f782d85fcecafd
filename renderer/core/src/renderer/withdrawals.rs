//! What would withdraw much of a fleet at once waits: its rows stay until somebody says so, or it is wanted again.

// D-0931: what withdraws much of a fleet at once waits until somebody says so.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::ClusterRef;
use sluice_api::model::{APPROVALS, Cluster, Fleet, NAMESPACE, approves};
use sluice_protocol::rows::Cause;
use sluice_protocol::subject::cluster_shard;
use sluice_protocol::{About, Fault, ProblemKey, Step};

use super::{Config, Effect, Renderer};
use crate::knowledge::catalog::{ContentKey, ReadTrigger, Touched};
use crate::planning::row_ledger::Place;
use crate::planning::withdrawals::{Doomed, Reach};

/// Which clusters a change concerns.
#[derive(Debug)]
pub(super) enum Scope {
    /// All, as far as anybody knows.
    Fleet,
    /// Those that a trigger selected before.
    Trigger(ReadTrigger),
    /// Those that were changed within a minute.
    Clusters,
}

impl Scope {
    fn reach(&self, fleet: &Fleet, config: &Config, changed: &mut dyn Iterator<Item = bool>) -> Reach {
        match self {
            Self::Fleet => reach_of(fleet, config, |_| true),
            Self::Clusters => Reach::of(changed),
            Self::Trigger(former) => match former.as_ref() {
                Ok(former) => reach_of(fleet, config, |cluster| former.selects(cluster, fleet) == Ok(true)),
                Err(_) => reach_of(fleet, config, |_| true),
            },
        }
    }
}

/// The clusters of a fleet for which this holds.
fn reach_of(fleet: &Fleet, config: &Config, concerns: impl Fn(&Cluster) -> bool) -> Reach {
    let concerned = fleet.clusters().iter().filter(|(_, cluster)| concerns(cluster));
    Reach::of(concerned.map(|(id, _)| cluster_shard(id, config.shards) == config.shard))
}

/// Whether this is what people have approved.
pub(super) fn is_approvals((kind, namespace, name): &ContentKey) -> bool {
    (kind.as_str(), namespace.as_str(), name.as_str()) == ("ConfigMap", NAMESPACE, APPROVALS)
}

impl Renderer {
    /// What is withdrawn from now on follows from this change; of a trigger from how it was before.
    pub(super) fn gather(&mut self, touched: &Touched, former: Option<ReadTrigger>, now: i64) -> Scope {
        // That clusters go away and others take their place is nobody's mistake.
        if *touched != Touched::Connection {
            self.planning.withdrawals.gather();
        }
        match (touched, former) {
            (Touched::Trigger(_), Some(former)) => Scope::Trigger(former),
            (Touched::Cluster(cluster), _) if self.planning.withdrawals.is_on() => {
                let is_mine = self.is_mine(cluster);
                self.planning.withdrawals.cluster_changed(is_mine, now);
                if is_mine { Scope::Clusters } else { Scope::Fleet }
            }
            _ => Scope::Fleet,
        }
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
        let triggers: Vec<_> = listeners.iter().filter_map(|id| self.knowledge.trigger(id)).collect();
        let reach = reach_of(&self.knowledge.catalog.fleet, &self.config, |cluster| {
            let fleet = &self.knowledge.catalog.fleet;
            triggers.iter().any(|trigger| trigger.selects(cluster, fleet) == Ok(true))
        });
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

    /// Whether what is withdrawn of a cause may be somebody's mistake. What an event takes away is meant, and so is what is found later of a
    /// cluster whose registration is gone: what that takes away is decided when it goes.
    fn is_guarded(&self, cause: &Cause, now: i64) -> bool {
        match cause {
            Cause::Profile(_) => true,
            Cause::Event(event) if !self.is_registered(&event.cluster) => {
                self.planning.withdrawals.minds(cause)
            }
            Cause::Event(event) => {
                self.planning.is_unlistened(&self.knowledge, event)
                    || self.planning.withdrawals.has_changed(&event.source, now)
            }
        }
    }

    fn is_registered(&self, cluster: &ClusterRef) -> bool {
        self.knowledge.catalog.fleet.clusters().contains_key(cluster)
    }

    /// Where something of a cause would go, if it led to these places alone. Of a cluster that is not registered nothing goes, and what a
    /// tombstone says already was decided before.
    fn doomed(&self, cause: &Cause, places: &BTreeSet<Place>) -> BTreeSet<Place> {
        let ledger = &self.planning.ledger;
        let goes = |place: &Place| {
            !places.contains(place)
                && !ledger.is_withdrawn(place)
                && (place.0.is_management() || self.is_registered(&place.0))
        };
        ledger.everywhere(cause).into_iter().filter(goes).collect()
    }

    /// All that one change withdraws is known: it goes, or waits.
    pub(super) fn decide_withdrawals(&mut self, scope: &Scope, step: &mut Step<Effect>) {
        let (ledger, fleet) = (&self.planning.ledger, &self.knowledge.catalog.fleet);
        let is_there = |place: &Place| ledger.is_used(place) || ledger.is_held(place);
        let reach = |changed: &mut dyn Iterator<Item = bool>| scope.reach(fleet, &self.config, changed);
        let decided = self.planning.withdrawals.decide(is_there, reach, || ledger.count(), step.steady);
        self.let_pass(decided, step);
        self.look_at_approvals(step);
        self.tell_withdrawals(step);
    }

    /// The same for what came event by event.
    pub(super) fn decide_due_withdrawals(&mut self, step: &mut Step<Effect>) {
        match self.planning.withdrawals.due() {
            Some(at) if at <= step.steady => self.decide_withdrawals(&Scope::Fleet, step),
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
            let fleet = self.knowledge.catalog.fleet.clusters();
            let text =
                self.planning.withdrawals.text(|| ledger.count(), |cluster| fleet.contains_key(cluster));
            let key = ProblemKey::everywhere(About::Withdrawals(self.config.shard));
            self.outgoing.note(key, text.map(Fault::new), step);
        }
    }
}
