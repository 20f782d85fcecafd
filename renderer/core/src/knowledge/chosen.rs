//! The matches that count of an EventSource whose script chooses among all matches of a cluster: what it returns are the events,
//! and nothing else is one.
//!
//! Nothing is concluded from a part of a set: until all of it is known, and while the script fails, what is there stays.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;
use sluice_api::cloud_event::{is_event, item_of};
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::rows::EventCause;

use crate::error::Error;
use crate::knowledge::Knowledge;
use crate::knowledge::choices::{Choice, Chosen, script_of};
use crate::knowledge::sets::{Match, Set, of_item};

impl Knowledge {
    /// The manifest of a source whose script chooses.
    pub(crate) fn choosing(&self, source: &str) -> Option<&Arc<Value>> {
        self.catalog.sources.get(source).filter(|manifest| script_of(manifest).is_some())
    }

    /// Whether what becomes of this match depends on all others.
    pub(crate) fn chooses(&self, source: &str, key: &ObjectKey) -> bool {
        !is_event(key) && self.choosing(source).is_some()
    }

    // D-0414: a script chooses only from complete sets.
    /// Lets the script of a source choose anew, if it has one, somebody listens, all of its set is known, and the set has changed.
    /// What is to be said of it then: why it failed, or that nothing is wrong any more.
    pub(crate) fn choose(
        &mut self,
        cluster: &ClusterRef,
        source: &str,
        listens: bool,
    ) -> Option<Option<Error>> {
        let Some(manifest) = self.choosing(source).filter(|_| listens).cloned() else {
            let waits = listens && !self.completeness.is_complete(cluster, source);
            return (!waits && self.choices.forget(cluster, source)).then_some(None);
        };
        let version = self.sets.version(cluster, source, None);
        if self.choices.is_made(cluster, source, version, &manifest) {
            return None;
        }
        let empty = Set::new();
        let set = self.sets.get(cluster, source).unwrap_or(&empty);
        if !self.completeness.is_complete(cluster, source) || set.values().any(|found| found.unreadable) {
            return None;
        }
        Some(self.choices.make(cluster, source, version, &manifest, set))
    }

    /// What the script has chosen of the set as it is; nothing when that is not known.
    pub(crate) fn chosen(&self, cluster: &ClusterRef, source: &str) -> Option<&Chosen> {
        let version = self.sets.version(cluster, source, None);
        let chosen = self.choices.get(cluster, source, version, self.choosing(source)?)?;
        self.completeness.is_complete(cluster, source).then_some(chosen)
    }

    /// The matches that count, those of one item where one is named. Nothing while a script has not chosen.
    pub(crate) fn counted(
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
    pub(crate) fn items(&self, cluster: &ClusterRef, source: &str) -> Vec<ObjectKey> {
        let known = self.sets.get(cluster, source).into_iter().flat_map(|set| set.keys());
        let chooses = self.choosing(source).is_some();
        let known = known.filter(|key| !chooses || is_event(key)).map(item_of);
        let chosen = self.chosen(cluster, source).into_iter().flat_map(|chosen| chosen.keys().cloned());
        known.chain(chosen).collect()
    }

    /// When what a cause is rendered from changed last, if a script has chosen it.
    pub(crate) fn version_of_chosen(&self, event: &EventCause) -> Option<u64> {
        let chosen = self.chosen(&event.cluster, &event.source)?;
        Some(chosen.get(event.item.as_ref()?)?.version)
    }
}
