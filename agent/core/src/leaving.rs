//! Objects that their last watch no longer shows while there are other watches of their kind.
//!
//! Such an object is gone, or its labels have changed and another watch will show it, however slow that is. Only the server
//! knows which: it is asked for the object, and again as long as the object is to be shown and is not.
//!
//! Of an object that has left, a slower watch may still show what it was before. That is remembered until all watches of its kind
//! have listed again or one shows it anew, for ten minutes at most.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sluice_api::{ObjectKey, object};
use sluice_protocol::Step;

use crate::messages::{Effect, Found, Seen};

/// Pause before the server is asked again, in microseconds. It doubles, up to the longest.
const PAUSE: i64 = 250_000;
const LONGEST_PAUSE: i64 = 8_000_000;
/// A watch is not further behind than this, in microseconds.
const FURTHEST_BEHIND: i64 = 600_000_000;

/// The objects that the server has been asked for, or will be asked for again.
#[derive(Default)]
pub(crate) struct Leaving {
    objects: BTreeMap<ObjectKey, Waiting>,
    left: BTreeMap<ObjectKey, Left>,
    /// The number of the last question.
    questions: u64,
}

struct Waiting {
    /// The question that has no answer yet.
    question: Option<u64>,
    /// Without one: when it is asked again.
    until: i64,
    pause: i64,
}

/// An object that has left.
struct Left {
    /// The newest version that it is known to have had before.
    version: u64,
    /// Watches that may still show such a version.
    behind: BTreeSet<u64>,
    until: i64,
}

impl Leaving {
    /// Asks the server for an object, unless it has been asked.
    pub(crate) fn ask(&mut self, key: ObjectKey, step: &mut Step<Effect>) {
        if !self.objects.contains_key(&key) {
            let question = self.question(&key, step);
            let waiting = Waiting { question: Some(question), until: 0, pause: PAUSE };
            self.objects.insert(key, waiting);
        }
    }

    fn question(&mut self, key: &ObjectKey, step: &mut Step<Effect>) -> u64 {
        self.questions += 1;
        step.effect(Effect::Look(self.questions, key.clone()));
        self.questions
    }

    /// A watch shows the object.
    pub(crate) fn shown(&mut self, key: &ObjectKey) {
        self.objects.remove(key);
        self.left.remove(key);
    }

    /// The object has left, as the server said; `known` is its newest known version. These watches may be behind.
    pub(crate) fn left(
        &mut self,
        key: &ObjectKey,
        (found, known): (&Found, u64),
        behind: BTreeSet<u64>,
        now: i64,
    ) {
        let found = match found {
            Found::Object(found) => {
                object::text(found, &["metadata", "resourceVersion"]).parse().unwrap_or(0)
            }
            Found::Nothing | Found::Unknown => 0,
        };
        self.left.retain(|_, left| left.until > now);
        self.left
            .insert(key.clone(), Left { version: known.max(found), behind, until: now + FURTHEST_BEHIND });
    }

    /// Whether this watch shows what an object was before it left.
    pub(crate) fn is_behind(&self, id: u64, seen: &Seen) -> bool {
        let left = self.left.get(&seen.key);
        left.is_some_and(|left| left.behind.contains(&id) && seen.version <= left.version)
    }

    /// This watch has listed.
    pub(crate) fn listed(&mut self, id: u64) {
        self.left.retain(|_, left| {
            left.behind.remove(&id);
            !left.behind.is_empty()
        });
    }

    /// The server has answered; whether no watch will show the object any more. `shows` tells whether one shows it as it is.
    pub(crate) fn answered(
        &mut self,
        question: u64,
        key: &ObjectKey,
        found: &Found,
        shows: impl FnOnce(&Value) -> bool,
        step: &mut Step<Effect>,
    ) -> bool {
        // Nobody waits for the answer to a former question.
        let waiting = self.objects.get_mut(key).filter(|waiting| waiting.question == Some(question));
        let Some(waiting) = waiting else { return false };
        let gone = match found {
            Found::Nothing => true,
            Found::Object(object) => !shows(object),
            Found::Unknown => false,
        };
        if gone {
            self.objects.remove(key);
            return true;
        }
        waiting.question = None;
        waiting.until = step.now + waiting.pause;
        waiting.pause = (2 * waiting.pause).min(LONGEST_PAUSE);
        step.wake_at(waiting.until);
        false
    }

    /// Asks again for those whose pause has passed.
    pub(crate) fn tick(&mut self, step: &mut Step<Effect>) {
        let due = |waiting: &Waiting| waiting.question.is_none() && waiting.until <= step.now;
        let again = self.objects.iter().filter(|(_, waiting)| due(waiting));
        let again: Vec<_> = again.map(|(key, _)| key.clone()).collect();
        for key in again {
            let question = self.question(&key, step);
            if let Some(waiting) = self.objects.get_mut(&key) {
                waiting.question = Some(question);
            }
        }
        let waiting = self.objects.values().filter(|waiting| waiting.question.is_none());
        waiting.for_each(|waiting| step.wake_at(waiting.until));
    }

    /// Those that no watch can show any more: `watched` tells whether there is one of a kind.
    pub(crate) fn take_unwatched(&mut self, watched: impl Fn(&ObjectKey) -> bool) -> Vec<ObjectKey> {
        self.objects.extract_if(.., |key, _| !watched(key)).map(|(key, _)| key).collect()
    }
}
