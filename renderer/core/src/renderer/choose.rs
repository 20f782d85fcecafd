//! EventSources whose script chooses among all matches of a cluster: what it returns are the events, and nothing else is one.
//!
//! Nothing is concluded from a part of a set: until all of it is known, and while the script fails, what is there stays.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::cloud_event::{is_event, item_of};
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::rows::{Cause, EventCause};
use sluice_protocol::{About, ProblemKey, Step};

use super::{Effect, Renderer, Wanted};
use crate::choices::{Choice, Chosen, script_of};
use crate::sets::{Match, Set, of_item};

impl Renderer {
    /// The manifest of a source whose script chooses.
    fn choosing(&self, source: &str) -> Option<&Arc<Value>> {
        self.catalog.sources.get(source).filter(|manifest| script_of(manifest).is_some())
    }

    /// Whether what becomes of this match depends on all others.
    pub(super) fn chooses(&self, source: &str, key: &ObjectKey) -> bool {
        !is_event(key) && self.choosing(source).is_some()
    }

    /// Lets the script of a source choose anew, if it has one, all of its set is known, and the set has changed.
    pub(super) fn choose(&mut self, cluster: &ClusterRef, source: &str, step: &mut Step<Effect>) {
        let about = || ProblemKey::on(cluster, About::Source(source.to_owned()));
        let listens = self.bindings.get(cluster).is_some_and(|bindings| bindings.listens_to(source));
        let Some(manifest) = self.choosing(source).filter(|_| listens).cloned() else {
            let waits = listens && !self.completeness.is_complete(cluster, source);
            if !waits && self.choices.forget(cluster, source) {
                self.note(about(), None, step);
            }
            return;
        };
        let version = self.sets.version(cluster, source, None);
        if self.choices.is_made(cluster, source, version, &manifest) {
            return;
        }
        let empty = Set::new();
        let set = self.sets.get(cluster, source).unwrap_or(&empty);
        if !self.completeness.is_complete(cluster, source) || set.values().any(|found| found.unreadable) {
            return;
        }
        let error = self.choices.make(cluster, source, version, &manifest, set);
        self.note(about(), error, step);
    }

    /// What the script has chosen of the set as it is; nothing when that is not known.
    fn chosen(&self, cluster: &ClusterRef, source: &str) -> Option<&Chosen> {
        let version = self.sets.version(cluster, source, None);
        let chosen = self.choices.get(cluster, source, version, self.choosing(source)?)?;
        self.completeness.is_complete(cluster, source).then_some(chosen)
    }

    /// Whether a cause is wanted whose source chooses; `None` for every other.
    pub(super) fn wanted_of_chosen(&self, event: &EventCause, is_new: bool, oldest: i64) -> Option<Wanted> {
        if event.item.as_ref().is_some_and(is_event) {
            return None;
        }
        if self.choosing(&event.source).is_none() {
            return self.waits_for_form(event, is_new).then_some(Wanted::Unknown);
        }
        let Some(chosen) = self.chosen(&event.cluster, &event.source) else { return Some(Wanted::Unknown) };
        let set = self.sets.get(&event.cluster, &event.source);
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
            false if event.item.is_none() && self.asks_for_events(&event.source) => Wanted::Unknown,
            false => Wanted::No,
        })
    }

    /// Whether an item was not chosen, or not looked at, while its source had a script: it may match no more without one. That is
    /// known when every matcher has told what it knows of the present form.
    fn waits_for_form(&self, event: &EventCause, is_new: bool) -> bool {
        is_new
            && self.choices.has(&event.cluster, &event.source)
            && !self.completeness.is_complete(&event.cluster, &event.source)
    }

    /// The matches that count, those of one item where one is named. Nothing while a script has not chosen.
    pub(super) fn counted(
        &self,
        cluster: &ClusterRef,
        source: &str,
        item: Option<&ObjectKey>,
    ) -> Option<Cow<'_, Set>> {
        let set = self.sets.get(cluster, source);
        let Some(manifest) = self.choosing(source) else {
            return Some(set.map_or_else(|| Cow::Owned(Set::new()), Cow::Borrowed));
        };
        let chosen = self.chosen(cluster, source)?;
        let collects =
            sluice_api::object::at(manifest, &["spec", "collectResources"]) == Some(&Value::Bool(true));
        let as_match = |(key, choice): (&ObjectKey, &Choice)| {
            let known = set.and_then(|set| set.get(key)).cloned().unwrap_or_default();
            let selectors = vec![u16::try_from(choice.place).unwrap_or(u16::MAX)];
            let object = collects.then(|| choice.object.clone());
            (key.clone(), Match { selectors, object, ..known })
        };
        Some(Cow::Owned(match item {
            Some(item) if is_event(item) => {
                let found = set.into_iter().flat_map(|set| of_item(set, item));
                found.map(|(key, found)| (key.clone(), found.clone())).collect()
            }
            Some(item) => chosen.get_key_value(item).into_iter().map(as_match).collect(),
            None => {
                let events = set.into_iter().flatten().filter(|(key, _)| is_event(key));
                let events = events.map(|(key, found)| (key.clone(), found.clone()));
                events.chain(chosen.iter().map(as_match)).collect()
            }
        }))
    }

    /// The items that have a cause of their own where each has one.
    pub(super) fn items(&self, cluster: &ClusterRef, source: &str) -> Vec<ObjectKey> {
        let known = self.sets.get(cluster, source).into_iter().flat_map(|set| set.keys());
        let chooses = self.choosing(source).is_some();
        let known = known.filter(|key| !chooses || is_event(key)).map(item_of);
        let chosen = self.chosen(cluster, source).into_iter().flat_map(|chosen| chosen.keys().cloned());
        known.chain(chosen).collect()
    }

    /// When what a cause is rendered from changed last, if a script has chosen it.
    pub(super) fn version_of_chosen(&self, event: &EventCause) -> Option<u64> {
        let chosen = self.chosen(&event.cluster, &event.source)?;
        Some(chosen.get(event.item.as_ref()?)?.version)
    }

    /// A set has changed from which a script chooses: each cause of its items may be another one now.
    pub(super) fn act_on_items(&mut self, event: &EventCause, time: i64, step: &mut Step<Effect>) {
        for cause in self.causes_of(&event.trigger, &event.cluster, &event.source) {
            if !(self.wanted(&cause) == Wanted::Yes && self.is_rendered(&cause)) {
                self.act(&cause, time, step);
            }
        }
    }

    /// Whether a cause stands for all items of a source that has one cause for each of them.
    pub(super) fn stands_for_items<'c>(&self, cause: &'c Cause) -> Option<&'c EventCause> {
        match cause {
            Cause::Event(event) if event.item.is_none() && self.is_one_for_event(&event.trigger) => {
                Some(event)
            }
            _ => None,
        }
    }
}
