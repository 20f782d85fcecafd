//! Whether a cause should lead to anything.
//!
//! Nothing is concluded from a part of a set: until all of it is known, and while a script that chooses fails, what is there stays.

use std::sync::Arc;

use sluice_api::ObjectKey;
use sluice_api::cloud_event::is_event;
use sluice_api::model::Trigger;
use sluice_protocol::rows::{Cause, EventCause};

use crate::knowledge::Knowledge;
use crate::knowledge::sets::{Set, newest_of, of_item};
use crate::planning::Planning;
use crate::rendering::Rendering;
use crate::rendering::event::Action;

/// Whether a cause should lead to anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wanted {
    Yes,
    No,
    /// Not enough is known: what is there stays as it is.
    Unknown,
}

// === impl Planning ===

impl Planning {
    /// Whether a cause should lead to anything.
    pub(crate) fn wanted(&self, knowledge: &Knowledge, rendering: &Rendering, cause: &Cause) -> Wanted {
        let event = match cause {
            Cause::Profile(id) => {
                return match knowledge.catalog.profiles.get(id).map(Arc::as_ref) {
                    None => Wanted::No,
                    Some(Ok(profile)) if profile.paused => Wanted::Unknown,
                    Some(_) => Wanted::Yes,
                };
            }
            Cause::Event(event) => event,
        };
        let trigger = match self.listener(knowledge, event) {
            Ok(trigger) => trigger,
            Err(wanted) => return wanted,
        };
        let oldest = knowledge.oldest(trigger);
        if let Some(wanted) = wanted_of_chosen(knowledge, event, self.ledger.is_new(cause), oldest) {
            return wanted;
        }
        let set = knowledge.sets.get(&event.cluster, &event.source);
        let complete = || knowledge.completeness.is_complete(&event.cluster, &event.source);
        let knows = |revision| knowledge.completeness.knows(&event.cluster, &event.source, revision);
        let unreadable = || set.is_some_and(|set| set.values().any(|found| found.unreadable));
        match &event.item {
            Some(item) if let Some((_, found)) = set.and_then(|set| newest_of(set, item)) => {
                let unreadable = set.is_some_and(|set| of_item(set, item).any(|(_, found)| found.unreadable));
                // Before all events have come, a newer one of another type may be missing.
                let may_be_old =
                    is_event(item) && !knowledge.completeness.has_all_events(&event.cluster, &event.source);
                if unreadable || may_be_old {
                    Wanted::Unknown
                } else if found.is_after(oldest) && !is_deleted_by(knowledge, rendering, event, trigger) {
                    Wanted::Yes
                } else {
                    Wanted::No
                }
            }
            Some(_) if self.gone.get(cause).is_some_and(|revision| knows(*revision)) => Wanted::No,
            // What is known of CloudEvents is what was sent lately: that there is none proves nothing.
            Some(item) if is_event(item) => Wanted::Unknown,
            _ if !complete() || unreadable() => Wanted::Unknown,
            None if set.is_none_or(Set::is_empty) && knowledge.asks_for_events(&event.source) => {
                match self.gone.get(cause).is_some_and(|revision| knows(*revision)) {
                    true => Wanted::No,
                    false => Wanted::Unknown,
                }
            }
            None if set.is_some_and(|set| set.values().any(|found| found.is_after(oldest))) => Wanted::Yes,
            _ => Wanted::No,
        }
    }

    /// Whether no trigger listens to an event any more, whatever became of the event.
    pub(crate) fn is_unlistened(&self, knowledge: &Knowledge, event: &EventCause) -> bool {
        self.listener(knowledge, event) == Err(Wanted::No)
    }

    // D-0406: a mistake withdraws nothing.
    /// The trigger of a cause, when it listens to its source on its cluster, in its way; else what follows from that.
    fn listener<'k>(&self, knowledge: &'k Knowledge, event: &EventCause) -> Result<&'k Trigger, Wanted> {
        let trigger = match knowledge.catalog.triggers.get(&event.trigger).map(Arc::as_ref) {
            None => return Err(Wanted::No),
            Some(Err(_)) => return Err(Wanted::Unknown),
            Some(Ok(trigger)) if trigger.pace.suspended => return Err(Wanted::Unknown),
            Some(Ok(trigger)) => trigger,
        };
        match self.bindings.get(&event.cluster).and_then(|bindings| bindings.by_trigger.get(&event.trigger)) {
            None => Err(Wanted::No),
            Some(Err(_)) => Err(Wanted::Unknown),
            // A name of what is not there is a mistake, and a mistake withdraws nothing.
            Some(Ok(source)) if !knowledge.catalog.sources.contains_key(source) => Err(Wanted::Unknown),
            Some(Ok(source)) if *source != event.source => Err(Wanted::No),
            Some(Ok(_)) if trigger.one_for_event != event.item.is_some() => Err(Wanted::No),
            Some(Ok(_)) => Ok(trigger),
        }
    }
}

/// Whether the event is a CloudEvent whose action is to delete. One that cannot be told deletes nothing: rendering says
/// what is wrong with it.
fn is_deleted_by(
    knowledge: &Knowledge,
    rendering: &Rendering,
    event: &Arc<EventCause>,
    trigger: &Trigger,
) -> bool {
    trigger.cloud_event_action.is_some() && rendering.action(knowledge, event) == Ok(Action::Delete)
}

/// Whether a cause is wanted whose source chooses; `None` for every other.
fn wanted_of_chosen(knowledge: &Knowledge, event: &EventCause, is_new: bool, oldest: i64) -> Option<Wanted> {
    if event.item.as_ref().is_some_and(is_event) {
        return None;
    }
    if knowledge.choosing(&event.source).is_none() {
        return waits_for_form(knowledge, event, is_new).then_some(Wanted::Unknown);
    }
    let Some(chosen) = knowledge.chosen(&event.cluster, &event.source) else {
        return Some(Wanted::Unknown);
    };
    let set = knowledge.sets.get(&event.cluster, &event.source);
    let is_after = |key: &ObjectKey| set?.get(key).map(|found| found.is_after(oldest));
    // What the script has made has no time.
    let counts = |key: &ObjectKey| is_after(key).unwrap_or(true);
    let is_wanted = match &event.item {
        Some(item) => chosen.contains_key(item) && counts(item),
        None => {
            let mut events = set.into_iter().flat_map(|set| set.keys()).filter(|key| is_event(key));
            chosen.keys().any(counts) || events.any(counts)
        }
    };
    Some(match is_wanted {
        true => Wanted::Yes,
        // What is known of CloudEvents is what was sent lately: that there is none proves nothing.
        false if event.item.is_none() && knowledge.asks_for_events(&event.source) => Wanted::Unknown,
        false => Wanted::No,
    })
}

/// Whether an item was not chosen, or not looked at, while its source had a script: it may match no more without one. That is
/// known when every matcher has told what it knows of the present form.
fn waits_for_form(knowledge: &Knowledge, event: &EventCause, is_new: bool) -> bool {
    is_new
        && knowledge.choices.has(&event.cluster, &event.source)
        && !knowledge.completeness.is_complete(&event.cluster, &event.source)
}
