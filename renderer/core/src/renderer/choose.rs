//! EventSources whose script chooses among all matches of a cluster: what it returns are the events, and nothing else is one.
//!
//! Nothing is concluded from a part of a set: until all of it is known, and while the script fails, what is there stays.

use sluice_api::cloud_event::is_event;
use sluice_api::{ClusterRef, ObjectKey};
use sluice_protocol::rows::EventCause;
use sluice_protocol::{About, Fault, ProblemKey, Step};

use super::{Effect, Renderer, Wanted};

impl Renderer {
    /// Lets the script of a source choose anew, where that is due, and says whether it failed.
    pub(super) fn choose(&mut self, cluster: &ClusterRef, source: &str, step: &mut Step<Effect>) {
        let listens = self.bindings.get(cluster).is_some_and(|bindings| bindings.listens_to(source));
        if let Some(error) = self.knowledge.choose(cluster, source, listens) {
            self.note(
                ProblemKey::on(cluster, About::Source(source.to_owned())),
                error.map(Fault::from),
                step,
            );
        }
    }

    /// Whether a cause is wanted whose source chooses; `None` for every other.
    pub(super) fn wanted_of_chosen(&self, event: &EventCause, is_new: bool, oldest: i64) -> Option<Wanted> {
        if event.item.as_ref().is_some_and(is_event) {
            return None;
        }
        if self.knowledge.choosing(&event.source).is_none() {
            return self.waits_for_form(event, is_new).then_some(Wanted::Unknown);
        }
        let Some(chosen) = self.knowledge.chosen(&event.cluster, &event.source) else {
            return Some(Wanted::Unknown);
        };
        let set = self.knowledge.sets.get(&event.cluster, &event.source);
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
            false if event.item.is_none() && self.knowledge.asks_for_events(&event.source) => Wanted::Unknown,
            false => Wanted::No,
        })
    }

    /// Whether an item was not chosen, or not looked at, while its source had a script: it may match no more without one. That is
    /// known when every matcher has told what it knows of the present form.
    fn waits_for_form(&self, event: &EventCause, is_new: bool) -> bool {
        is_new
            && self.knowledge.choices.has(&event.cluster, &event.source)
            && !self.knowledge.completeness.is_complete(&event.cluster, &event.source)
    }

    /// A set has changed from which a script chooses: each cause of its items may be another one now.
    pub(super) fn act_on_items(&mut self, event: &EventCause, time: i64, step: &mut Step<Effect>) {
        for cause in self.causes_of(&event.trigger, &event.cluster, &event.source) {
            if !(self.wanted(&cause) == Wanted::Yes && self.is_rendered(&cause)) {
                self.act(&cause, time, step);
            }
        }
    }
}
