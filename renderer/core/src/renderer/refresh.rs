//! What is looked at again, and whether it should lead to anything.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_api::cloud_event::is_event;
use sluice_api::model::Trigger;
use sluice_api::{ClusterRef, ProfileId, TriggerId};
use sluice_protocol::rows::{Cause, EventCause};
use sluice_protocol::{Core as _, Head, Step, Subject};

use super::place::event_cause;
use super::{Effect, Renderer, Wanted};
use crate::knowledge::sets::{Set, newest_of, of_item};
use crate::rendering::event::Action;

impl Renderer {
    pub(super) fn refresh_trigger(&mut self, id: &TriggerId, step: &mut Step<Effect>) {
        for cluster in self.my_clusters() {
            let source =
                self.bindings.get(&cluster).and_then(|bindings| bindings.by_trigger.get(id)).cloned();
            if let Some(Ok(source)) = source {
                self.refresh_binding(id, &cluster, &source, step);
            }
        }
        let first = event_cause(id, &ClusterRef::sveltos("", ""), "", None);
        let same = |cause: &Cause| matches!(cause, Cause::Event(event) if event.trigger == *id);
        for cause in self.ledger.causes_from(&first, same) {
            self.refresh(&cause, step.now, step);
        }
    }

    pub(super) fn refresh_cluster(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let bound =
            self.bindings.get(cluster).map(|bindings| bindings.by_trigger.clone()).unwrap_or_default();
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
        for cause in self.causes_of(trigger, cluster, source) {
            self.refresh(&cause, step.now, step);
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
        for cause in self.ledger.causes_from(&first, same) {
            if matches!(&cause, Cause::Event(event) if event.source != source) {
                self.refresh(&cause, step.now, step);
            }
        }
    }

    /// Everything that one trigger makes of one EventSource of one cluster, or should perhaps.
    pub(super) fn causes_of(
        &self,
        trigger: &TriggerId,
        cluster: &ClusterRef,
        source: &str,
    ) -> BTreeSet<Cause> {
        let all = event_cause(trigger, cluster, source, None);
        let same = |cause: &Cause| matches!(cause, Cause::Event(e) if e.trigger == *trigger && e.cluster == *cluster && e.source == source);
        let mut causes = self.ledger.causes_from(&all, same);
        if self.knowledge.is_one_for_event(trigger) {
            let items = self.knowledge.items(cluster, source).into_iter();
            causes.extend(items.map(|item| event_cause(trigger, cluster, source, Some(item))));
        } else {
            causes.insert(all);
        }
        causes
    }

    pub(super) fn refresh_profile(&mut self, id: &ProfileId, step: &mut Step<Effect>) {
        let cause = Cause::Profile(id.clone());
        if cause.origin(self.config.shards) == self.config.shard {
            self.refresh(&cause, step.now, step);
        }
    }

    /// Renders a cause, withdraws it, or leaves it as it is.
    pub(super) fn refresh(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        if !self.is_caught_up() && matches!(cause, Cause::Event(_)) {
            return;
        }
        self.rendering.templates.set_now(step.now);
        self.knowledge.now = step.now;
        if let Cause::Event(event) = cause {
            self.choose(&event.cluster, &event.source, step);
        }
        match self.wanted(cause) {
            Wanted::Unknown => {}
            Wanted::No => self.withdraw(cause, time, step),
            Wanted::Yes if self.ledger.is_new(cause) && !self.is_in_pace(cause, time, step) => {}
            Wanted::Yes => {
                self.render(cause, time, step);
                self.watch_expiry(cause, step);
            }
        }
    }

    /// Decides anew what these rows should be. They were made from newer knowledge than there was, so that what was decided from
    /// older knowledge does not count: whose they were, theirs they are.
    pub(super) fn decide_anew(&mut self, rows: &[(Subject, Head)], step: &mut Step<Effect>) {
        let (mut displaced, mut makers) = (BTreeSet::new(), BTreeSet::new());
        for (subject, head) in rows {
            let Subject::Desired { cluster, profile, .. } = subject else { continue };
            let place = (cluster.clone(), profile.clone());
            displaced.extend(self.ledger.user(&place).cloned());
            self.found(subject, head);
            if head.tombstone {
                // Its deployer may have asked for it once more; the answer is forgotten with all that was wanted here.
                makers.extend(self.ledger.ask_again(&place));
            } else {
                makers.extend(head.meta.cause().cloned());
            }
        }
        // Who has been displaced says that it waits for the name, before the name may become free.
        for cause in displaced.difference(&makers).chain(&makers) {
            self.renderings.set(cause, None);
            self.refresh(cause, step.now, step);
        }
    }

    pub(super) fn wanted(&self, cause: &Cause) -> Wanted {
        let event = match cause {
            Cause::Profile(id) => {
                return match self.knowledge.catalog.profiles.get(id).map(Arc::as_ref) {
                    None => Wanted::No,
                    Some(Ok(profile)) if profile.paused => Wanted::Unknown,
                    Some(_) => Wanted::Yes,
                };
            }
            Cause::Event(event) => event,
        };
        let trigger = match self.listener(event) {
            Ok(trigger) => trigger,
            Err(wanted) => return wanted,
        };
        let oldest = self.knowledge.oldest(trigger);
        if let Some(wanted) = self.wanted_of_chosen(event, self.ledger.is_new(cause), oldest) {
            return wanted;
        }
        let set = self.knowledge.sets.get(&event.cluster, &event.source);
        let complete = || self.knowledge.completeness.is_complete(&event.cluster, &event.source);
        let knows = |revision| self.knowledge.completeness.knows(&event.cluster, &event.source, revision);
        let unreadable = || set.is_some_and(|set| set.values().any(|found| found.unreadable));
        match &event.item {
            Some(item) if let Some((_, found)) = set.and_then(|set| newest_of(set, item)) => {
                let unreadable = set.is_some_and(|set| of_item(set, item).any(|(_, found)| found.unreadable));
                // Before all events have come, a newer one of another type may be missing.
                let may_be_old = is_event(item)
                    && !self.knowledge.completeness.has_all_events(&event.cluster, &event.source);
                if unreadable || may_be_old {
                    Wanted::Unknown
                } else if found.is_after(oldest) && !self.is_deleted_by(event, trigger) {
                    Wanted::Yes
                } else {
                    Wanted::No
                }
            }
            Some(_) if self.gone.get(cause).is_some_and(|revision| knows(*revision)) => Wanted::No,
            // What is known of CloudEvents is what was sent lately: that there is none proves nothing.
            Some(item) if is_event(item) => Wanted::Unknown,
            _ if !complete() || unreadable() => Wanted::Unknown,
            None if set.is_none_or(Set::is_empty) && self.knowledge.asks_for_events(&event.source) => {
                match self.gone.get(cause).is_some_and(|revision| knows(*revision)) {
                    true => Wanted::No,
                    false => Wanted::Unknown,
                }
            }
            None if set.is_some_and(|set| set.values().any(|found| found.is_after(oldest))) => Wanted::Yes,
            _ => Wanted::No,
        }
    }

    /// The trigger of a cause, when it listens to its source on its cluster, in its way; else what follows from that.
    fn listener(&self, event: &EventCause) -> Result<&Trigger, Wanted> {
        let trigger = match self.knowledge.catalog.triggers.get(&event.trigger).map(Arc::as_ref) {
            None => return Err(Wanted::No),
            Some(Err(_)) => return Err(Wanted::Unknown),
            Some(Ok(trigger)) if trigger.pace.suspended => return Err(Wanted::Unknown),
            Some(Ok(trigger)) => trigger,
        };
        match self.bindings.get(&event.cluster).and_then(|bindings| bindings.by_trigger.get(&event.trigger)) {
            None => Err(Wanted::No),
            Some(Err(_)) => Err(Wanted::Unknown),
            // A name of what is not there is a mistake, and a mistake withdraws nothing.
            Some(Ok(source)) if !self.knowledge.catalog.sources.contains_key(source) => Err(Wanted::Unknown),
            Some(Ok(source)) if *source != event.source => Err(Wanted::No),
            Some(Ok(_)) if trigger.one_for_event != event.item.is_some() => Err(Wanted::No),
            Some(Ok(_)) => Ok(trigger),
        }
    }

    /// Whether the event is a CloudEvent whose action is to delete. One that cannot be told deletes nothing: rendering says
    /// what is wrong with it.
    fn is_deleted_by(&self, event: &EventCause, trigger: &Trigger) -> bool {
        trigger.cloud_event_action.is_some()
            && self.rendering.action(&self.knowledge, event) == Ok(Action::Delete)
    }
}
