//! What is looked at again, and whether it should lead to anything.

use std::collections::BTreeSet;

use sluice_api::{ClusterRef, ProfileId, TriggerId};
use sluice_protocol::rows::{Cause, EventCause};
use sluice_protocol::{About, Core as _, Fault, Head, ProblemKey, Step, Subject};

use super::{Effect, Renderer};
use crate::planning::causes::event_cause;
use crate::planning::wanted::Wanted;

impl Renderer {
    pub(super) fn refresh_trigger(&mut self, id: &TriggerId, step: &mut Step<Effect>) {
        for cluster in self.my_clusters() {
            let source = self
                .planning
                .bindings
                .get(&cluster)
                .and_then(|bindings| bindings.by_trigger.get(id))
                .cloned();
            if let Some(Ok(source)) = source {
                self.refresh_binding(id, &cluster, &source, step);
            }
        }
        let first = event_cause(id, &ClusterRef::sveltos("", ""), "", None);
        let same = |cause: &Cause| matches!(cause, Cause::Event(event) if event.trigger == *id);
        for cause in self.planning.ledger.causes_from(&first, same) {
            self.act(&cause, step.now, step);
        }
    }

    pub(super) fn refresh_cluster(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let bound = self
            .planning
            .bindings
            .get(cluster)
            .map(|bindings| bindings.by_trigger.clone())
            .unwrap_or_default();
        for (trigger, source) in bound {
            if let Ok(source) = source {
                self.refresh_binding(&trigger, cluster, &source, step);
            }
        }
    }

    /// Refreshes everything that one trigger makes of one EventSource of one cluster.
    pub(super) fn refresh_binding(
        &mut self,
        trigger: &TriggerId,
        cluster: &ClusterRef,
        source: &str,
        step: &mut Step<Effect>,
    ) {
        self.choose(cluster, source, step);
        for cause in self.planning.causes_of(&self.knowledge, trigger, cluster, source) {
            self.act(&cause, step.now, step);
        }
    }

    /// Refreshes what one trigger has made of other EventSources of a cluster than this one.
    pub(super) fn refresh_former(
        &mut self,
        trigger: &TriggerId,
        cluster: &ClusterRef,
        source: &str,
        step: &mut Step<Effect>,
    ) {
        let first = event_cause(trigger, cluster, "", None);
        let same = |cause: &Cause| matches!(cause, Cause::Event(e) if e.trigger == *trigger && e.cluster == *cluster);
        for cause in self.planning.ledger.causes_from(&first, same) {
            if matches!(&cause, Cause::Event(event) if event.source != source) {
                self.act(&cause, step.now, step);
            }
        }
    }

    pub(super) fn refresh_profile(&mut self, id: &ProfileId, step: &mut Step<Effect>) {
        let cause = Cause::Profile(id.clone());
        if cause.origin(self.config.shards) == self.config.shard {
            self.act(&cause, step.now, step);
        }
    }

    /// An event has changed: its cause is looked at now, or when its trigger may act. That something goes does not wait for that.
    pub(super) fn event_changed(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        if let Cause::Event(event) = cause {
            self.choose(&event.cluster, &event.source, step);
        }
        if let Some(event) = self.knowledge.stands_for_items(cause) {
            return self.items_changed(event, time, step);
        }
        let waits = self.planning.is_limited(&self.knowledge, cause)
            && !self.planning.ledger.is_new(cause)
            && self.planning.wanted(&self.knowledge, &self.rendering, cause) == Wanted::Yes
            && self.is_deferred(cause, time, step);
        if !waits {
            self.act(cause, time, step);
        }
    }

    /// Whether a cause waits until its trigger may act; else it acts now.
    pub(super) fn is_deferred(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) -> bool {
        let due = self.planning.defer(&self.knowledge, cause, time, step.now);
        due.into_iter().for_each(|due| step.wake_at(due));
        due.is_some()
    }

    /// Lets the script of a source choose anew, where that is due, and says whether it failed.
    pub(super) fn choose(&mut self, cluster: &ClusterRef, source: &str, step: &mut Step<Effect>) {
        let listens = self.planning.listens_to(cluster, source);
        if let Some(error) = self.knowledge.choose(cluster, source, listens) {
            let about = ProblemKey::on(cluster, About::Source(source.to_owned()));
            self.outgoing.note(about, error.map(Fault::from), step);
        }
    }

    /// A set has changed from which a script chooses: each cause of its items may be another one now.
    pub(super) fn items_changed(&mut self, event: &EventCause, time: i64, step: &mut Step<Effect>) {
        for cause in self.planning.causes_of(&self.knowledge, &event.trigger, &event.cluster, &event.source) {
            if !(self.planning.wanted(&self.knowledge, &self.rendering, &cause) == Wanted::Yes
                && self.planning.is_rendered(&self.knowledge, &cause))
            {
                self.event_changed(&cause, time, step);
            }
        }
    }

    /// Decides once more what these rows should be. They were made from newer knowledge than there was, so that what was decided from
    /// older knowledge does not count: whose they were, theirs they are.
    pub(super) fn decide_again(&mut self, rows: &[(Subject, Head)], step: &mut Step<Effect>) {
        let (mut displaced, mut makers) = (BTreeSet::new(), BTreeSet::new());
        for (subject, head) in rows {
            let Subject::Desired { cluster, profile, .. } = subject else { continue };
            let place = (cluster.clone(), profile.clone());
            displaced.extend(self.planning.ledger.user(&place).cloned());
            self.found(subject, head);
            if head.tombstone {
                // Its deployer may have asked for it once more; the answer is forgotten with all that was wanted here.
                makers.extend(self.planning.ledger.ask_again(&place));
            } else {
                makers.extend(head.meta.cause().cloned());
            }
        }
        // Who has been displaced says that it waits for the name, before the name may become free.
        for cause in displaced.difference(&makers).chain(&makers) {
            self.planning.renderings.set(cause, None);
            self.act(cause, step.now, step);
        }
        self.forget_rows();
    }
}
