//! What comes from the bus: reports, completeness, status.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::cloud_event::item_of;
use sluice_api::model::OWNER_NAME;
use sluice_api::{ClusterRef, ObjectKey, ProfileId, object};
use sluice_protocol::rows::{ReportMeta, State, Status};
use sluice_protocol::{About, Fault, Meta, ProblemKey, Revision, Row, Step, Subject};

use super::withdrawals::Scope;
use super::{Effect, Renderer};
use crate::knowledge::sets::Match;
use crate::planning::bindings::ClusterBindings;
use crate::planning::causes::event_cause;
use crate::rendering::project;

/// What became of a match.
pub(super) struct SetChange<'a> {
    /// It went by a tombstone of the source as it is now, whose matcher worked with this revision of the cluster's interest.
    pub(super) gone: Option<Revision>,
    /// When, microseconds since 1970.
    pub(super) time: i64,
    /// The profile that deploys the object, or did.
    pub(super) owner: Option<&'a ProfileId>,
}

impl Renderer {
    /// Takes a row of `reports`; its matcher worked with this revision of the cluster's interest.
    pub(super) fn reported(&mut self, row: &Row, revision: Revision, step: &mut Step<Effect>) {
        let Subject::Report { cluster, source, object: key, .. } = &row.subject else { return };
        let time = row.head.time;
        let former = self.knowledge.sets.get(cluster, source).and_then(|set| set.get(key));
        let mut owner = former.and_then(|former| former.owner.clone());
        let was_unreadable = former.is_some_and(|former| former.unreadable);
        if row.head.tombstone {
            if self.knowledge.sets.remove(cluster, source, key).is_some_and(|former| former.unreadable) {
                let about = About::Match(source.clone(), key.clone());
                self.outgoing.note(ProblemKey::on(cluster, about), None, step);
            }
            if !self.outgoing.is_caught_up() {
                self.planning.gone_early.push((cluster.clone(), source.clone(), key.clone(), revision));
                return;
            }
        } else {
            self.matched(cluster, source, key, row, step);
            let found = self.knowledge.sets.get(cluster, source).and_then(|set| set.get(key));
            owner = found.and_then(|found| found.owner.clone()).or(owner);
        }
        if self.outgoing.is_caught_up() {
            self.report_due(cluster, source, step);
            let is_proof = row.head.tombstone && self.knowledge.completeness.knows(cluster, source, revision);
            let gone = is_proof.then_some(revision);
            let change = SetChange { gone, time, owner: owner.as_ref() };
            self.set_changed((cluster, source, key), change, step);
            let set = self.knowledge.sets.get(cluster, source);
            if was_unreadable && !set.is_some_and(|set| set.values().any(|found| found.unreadable)) {
                // What is absent was not known to be, as long as one of the set could not be read.
                self.refresh_complete(cluster, step);
            }
        }
    }

    // D-0405: a row that cannot be read concludes nothing.
    fn matched(
        &mut self,
        cluster: &ClusterRef,
        source: &str,
        key: &ObjectKey,
        row: &Row,
        step: &mut Step<Effect>,
    ) {
        let object = (!row.body.is_empty()).then(|| row.content::<Value>());
        let (object, error) = match object.transpose() {
            Ok(object) => (object.map(Arc::new), None),
            Err(error) => (None, Some(error)),
        };
        let plain = ReportMeta { selectors: vec![0], ..ReportMeta::default() };
        let (ReportMeta { selectors, order, owner: said }, strange) = match &row.head.meta {
            Meta::Report(report) => (report.clone(), None),
            Meta::None => (plain, None),
            other => (plain, Some(format!("its meta data are {:?}", other.to_string()))),
        };
        let error = error.or(strange);
        let deployed_by =
            |object: &Arc<Value>| object::annotation(object, OWNER_NAME).map(ProfileId::of_path);
        let said = (!said.is_empty()).then(|| ProfileId::of_path(&said));
        let owner = object.as_ref().and_then(deployed_by).or(said);
        let (unreadable, since) = (error.is_some(), row.head.time);
        let found = Match { selectors, object, unreadable, order, since, owner, version: 0 };
        let before = self.knowledge.sets.insert(cluster, source, key.clone(), found);
        if error.is_some() || before.is_some_and(|before| before.unreadable) {
            let text = error.map(|error| {
                format!(
                    "the row cannot be read ({error}); what was made of it stays until the object changes or its matcher restarts"
                )
            });
            let about = About::Match(source.to_owned(), key.clone());
            self.outgoing.note(ProblemKey::on(cluster, about), text.map(Fault::new), step);
        }
    }

    /// A match came, changed, or went.
    pub(super) fn set_changed(
        &mut self,
        (cluster, source, key): (&ClusterRef, &str, &ObjectKey),
        SetChange { gone, time, owner }: SetChange<'_>,
        step: &mut Step<Effect>,
    ) {
        let listeners = self
            .planning
            .bindings
            .get(cluster)
            .map(|bindings| bindings.listeners(source))
            .unwrap_or_default();
        let size = self.knowledge.sets.get(cluster, source).map_or(0, |set| set.len());
        let chooses = self.knowledge.chooses(source, key);
        for trigger in listeners {
            let (pace, one) =
                (self.knowledge.pace(&trigger), !chooses && self.knowledge.is_one_for_event(&trigger));
            let cause = event_cause(&trigger, cluster, source, one.then(|| item_of(key)));
            // A script that chooses looks at all that is known, and needs no proof for one of them.
            self.planning.note_gone(&cause, gone.filter(|_| !chooses && (one || size == 0)));
            if pace.suspended {
                if self.planning.ledger.is_new(&cause) {
                    self.planning.gone.remove(&cause);
                }
                continue;
            }
            if let Some(due) = owner
                .and_then(|owner| self.planning.slowed_down(&self.knowledge, &cause, key, owner, step.now))
            {
                step.wake_at(due);
            } else if let Some(quiet) = pace.debounce {
                step.wake_at(self.planning.agenda.debounce(&cause, quiet, time, step.now));
            } else if !one {
                match self.planning.agenda.changed(&cause, size, time, step.now) {
                    Some(due) => step.wake_at(due),
                    None => self.event_changed(&cause, time, step),
                }
            } else {
                self.event_changed(&cause, time, step);
            }
        }
    }

    pub(super) fn report_due(&mut self, cluster: &ClusterRef, source: &str, step: &mut Step<Effect>) {
        step.wake_at(self.planning.agenda.report(cluster, source, step.now));
    }

    pub(super) fn write_reports(&mut self, step: &mut Step<Effect>) {
        for (cluster, source) in self.planning.agenda.take_reports(step.now) {
            // Reports go with their source, and with the last trigger that listens to it on the cluster.
            let listens = |bindings: &ClusterBindings| bindings.listens_to(&source);
            if !self.knowledge.catalog.sources.contains_key(&source)
                || !self.planning.bindings.get(&cluster).is_some_and(listens)
            {
                continue;
            }
            if let Some(set) = self.knowledge.counted(&cluster, &source, None) {
                step.effect(Effect::Project(project::event_report(&cluster, &source, &set)));
            }
        }
    }

    /// Something became known of a cluster: looks at everything that waited for it.
    pub(super) fn refresh_complete(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let Some(bindings) = self.planning.bindings.get(cluster).cloned() else { return };
        if self.knowledge.completeness.note_tenants(cluster) && self.is_mine(cluster) {
            self.write_interest(cluster, &bindings, step);
        }
        let complete: Vec<_> = bindings
            .sources()
            .filter(|source| self.knowledge.completeness.is_complete(cluster, source))
            .cloned()
            .collect();
        let has_events = |source: &&String| self.knowledge.completeness.has_all_events(cluster, source);
        let events: Vec<_> = bindings
            .sources()
            .filter(|source| !complete.contains(source) && has_events(source))
            .filter(|source| self.knowledge.asks_for_events(source))
            .cloned()
            .collect();
        for source in complete.iter().chain(&events) {
            for trigger in bindings.listeners(source) {
                self.refresh_binding(&trigger, cluster, source, step);
            }
            self.report_due(cluster, source, step);
        }
        if complete.len() == bindings.sources().count() {
            step.effect(Effect::Projected(cluster.clone()));
        }
    }

    pub(super) fn status(&mut self, row: &Row, step: &mut Step<Effect>) {
        let Subject::Status { cluster, origin, profile, .. } = &row.subject else { return };
        if *origin != self.config.shard {
            return;
        }
        let place = (cluster.clone(), profile.clone());
        let status = (!row.head.tombstone).then(|| Status::of_row(row).ok()).flatten();
        let is_news = self.planning.rollouts.hear(&place, status.as_ref(), step.steady);
        if row.head.tombstone {
            self.planning.departing.remove(&place);
            return self.planning.ledger.release(&place);
        }
        let Some(cause) = row.head.meta.cause().cloned() else { return };
        // Another renderer's: it hears of it itself.
        if cause.origin(self.config.shards) != self.config.shard {
            return;
        }
        let known = self.planning.ledger.leads_to(&cause, &place);
        // Of a tombstone that does not count any more its deployer does not say that it waits for another one.
        let is_back = !known && self.outgoing.is_started() && self.is_back(&place);
        let asks = is_back || status.is_some_and(|status| status.state == State::Held);
        self.planning.ledger.hold(place, cause.clone(), asks);
        // Held, but not what the cause leads to: the cause is gone, or its destinations have changed. Before the
        // start nothing is known yet; the first look at everything sees it.
        if !known && self.outgoing.is_started() {
            self.act(&cause, step.now, step);
        } else if is_news {
            self.next_turn(&cause, step);
        }
    }

    /// The whole table has been read for the first time.
    pub(super) fn first_look(&mut self, step: &mut Step<Effect>) {
        for (cluster, source, key, revision) in std::mem::take(&mut self.planning.gone_early) {
            let back = self.knowledge.sets.get(&cluster, &source).is_some_and(|set| set.contains_key(&key));
            if !back && self.knowledge.completeness.knows(&cluster, &source, revision) {
                let change = SetChange { gone: Some(revision), time: 0, owner: None };
                self.set_changed((&cluster, &source, &key), change, step);
            }
        }
        self.planning.withdrawals.gather();
        self.look_at_everything(step);
        self.decide_withdrawals(&Scope::Fleet, step);
        self.review_departing(step);
        self.forget_rows();
    }

    /// Renders whatever is wanted, and withdraws whatever is not.
    pub(super) fn look_at_everything(&mut self, step: &mut Step<Effect>) {
        for cluster in self.my_clusters() {
            self.refresh_cluster(&cluster, step);
            self.refresh_complete(&cluster, step);
        }
        // Those that are still wanted as well: a destination that they lost may hold what was withdrawn too long ago.
        for cause in self.planning.ledger.causes() {
            self.act(&cause, 0, step);
        }
    }
}
