//! What is known of a cause: its trigger or profile, for whom it acts, and what it is made of.

use std::sync::Arc;

use serde_json::Value;
use sluice_api::cloud_event::item_of;
use sluice_api::model::{Pace, Profile, SpecCommon, Trigger};
use sluice_api::{ObjectKey, ProfileId, ServiceAccount, TriggerId, object};
use sluice_protocol::rows::{Cause, EventCause};

use crate::error::{Error, Result};
use crate::knowledge::Knowledge;
use crate::knowledge::reads::Reads;
use crate::knowledge::rights::Tenant;
use crate::knowledge::sets::Match;

/// Versions of the management cluster, and of the matches, that a cause is rendered from: while they are the same, rendering
/// again gives the same.
pub(crate) type Basis = (u64, u64);

impl Knowledge {
    /// A trigger that can be read.
    pub(crate) fn trigger(&self, id: &TriggerId) -> Option<&Trigger> {
        self.catalog.triggers.get(id)?.as_ref().as_ref().ok()
    }

    /// A profile that can be read.
    pub(crate) fn profile(&self, id: &ProfileId) -> Option<&Profile> {
        self.catalog.profiles.get(id)?.as_ref().as_ref().ok()
    }

    /// What the profile or trigger of a cause has in common with all others.
    ///
    /// # Errors
    /// That there is none that can be read.
    pub(crate) fn common(&self, cause: &Cause) -> Result<&SpecCommon> {
        let found = match cause {
            Cause::Profile(id) => self.profile(id).map(|profile| &profile.common),
            Cause::Event(event) => self.trigger(&event.trigger).map(|trigger| &trigger.common),
        };
        found.ok_or_else(|| Error::Gone(cause.to_string()))
    }

    /// For whom a cause acts.
    pub(crate) fn account(&self, cause: &Cause) -> Option<&ServiceAccount> {
        match cause {
            Cause::Profile(id) => self.profile(id)?.account.as_ref(),
            Cause::Event(event) => self.trigger(&event.trigger)?.account.as_ref(),
        }
    }

    /// Nothing is read yet for this cause, nor will be but for its tenant.
    pub(crate) fn reads_of(&self, cause: &Cause) -> Reads {
        let account = self.account(cause).cloned();
        let since = self.catalog.rights.since(cause);
        Reads::of(account.map(|account| Tenant { account, cause: cause.clone(), since }))
    }

    /// What the annotations of a trigger say; of one that cannot be read, nothing.
    pub(crate) fn pace(&self, trigger: &TriggerId) -> Pace {
        self.trigger(trigger).map(|trigger| trigger.pace).unwrap_or_default()
    }

    /// Matches that are not younger than this do not count for the trigger.
    pub(crate) fn oldest(&self, trigger: &Trigger) -> i64 {
        trigger.pace.ttl.map_or(i64::MIN, |ttl| self.now.saturating_sub(ttl))
    }

    /// Whether a trigger has a cause for each item.
    pub(crate) fn is_one_for_event(&self, trigger: &TriggerId) -> bool {
        self.trigger(trigger).is_some_and(|trigger| trigger.one_for_event)
    }

    /// Whether a cause stands for all items of a source that has one cause for each of them.
    pub(crate) fn stands_for_items<'c>(&self, cause: &'c Cause) -> Option<&'c EventCause> {
        match cause {
            Cause::Event(event) if event.item.is_none() && self.is_one_for_event(&event.trigger) => {
                Some(event)
            }
            _ => None,
        }
    }

    /// Whether CloudEvents may be events of the source.
    pub(crate) fn asks_for_events(&self, source: &str) -> bool {
        let manifest = self.catalog.sources.get(source);
        let criteria =
            manifest.and_then(|manifest| object::at(manifest, &["spec", "messagingMatchCriteria"]));
        criteria.and_then(Value::as_array).is_some_and(|criteria| !criteria.is_empty())
    }

    /// What an event is made of.
    pub(crate) fn inputs(&self, event: &EventCause) -> Vec<(&ObjectKey, &Match)> {
        let set = self.sets.get(&event.cluster, &event.source).into_iter().flatten();
        set.filter(|(key, _)| event.item.as_ref().is_none_or(|item| *item == item_of(key))).collect()
    }

    /// What a cause would be rendered from now.
    pub(crate) fn basis(&self, cause: &Cause) -> Basis {
        let matches = match cause {
            Cause::Profile(_) => 0,
            Cause::Event(event) => {
                let known = || self.sets.version(&event.cluster, &event.source, event.item.as_ref());
                self.version_of_chosen(event).unwrap_or_else(known)
            }
        };
        (self.catalog.version(), matches)
    }

    /// Whether the event of a cause is a Secret, or one of several that are.
    pub(crate) fn is_of_secret(&self, cause: &Cause) -> bool {
        let Cause::Event(event) = cause else { return false };
        match &event.item {
            Some(item) => item.gvk.is_secret(),
            None => self
                .sets
                .get(&event.cluster, &event.source)
                .is_some_and(|set| set.keys().any(|key| key.gvk.is_secret())),
        }
    }

    /// Whether a trigger gives its profiles names of its own making: somebody else may have made one of such a name.
    pub(crate) fn names_may_be_shared(&self, cause: &Cause) -> bool {
        match cause {
            Cause::Profile(_) => true,
            Cause::Event(event) => {
                self.trigger(&event.trigger).is_some_and(|trigger| trigger.profile_name_format.is_some())
            }
        }
    }

    /// The triggers, each with whether `which` holds for it.
    pub(crate) fn triggers_where(&self, which: impl Fn(&Trigger) -> bool) -> Vec<TriggerId> {
        let read = self.catalog.triggers.iter().map(|(id, read)| (id, Arc::as_ref(read)));
        read.filter(|(_, read)| read.as_ref().is_ok_and(&which)).map(|(id, _)| id.clone()).collect()
    }
}
