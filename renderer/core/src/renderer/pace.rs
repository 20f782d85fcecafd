//! How fast triggers act, and for how long: what their annotations say, and what leads to itself over clusters.

use std::collections::BTreeSet;

use sluice_api::{ObjectKey, ProfileId};
use sluice_protocol::Step;
use sluice_protocol::rows::Cause;

use super::{Effect, Renderer, Wanted};
use crate::agenda::{CIRCLE, CIRCLE_TIMES};
use crate::knowledge::sets::Match;

/// A way back is not looked for over more profiles than this.
const LONGEST_WAY: usize = 8;

impl Renderer {
    /// An event has changed: it is acted upon now, or when its trigger may. That something goes does not wait for that.
    pub(super) fn act(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) {
        if let Cause::Event(event) = cause {
            self.choose(&event.cluster, &event.source, step);
        }
        if let Some(event) = self.knowledge.stands_for_items(cause) {
            return self.act_on_items(event, time, step);
        }
        let waits = self.is_limited(cause)
            && !self.ledger.is_new(cause)
            && self.wanted(cause) == Wanted::Yes
            && !self.is_in_pace(cause, time, step);
        if !waits {
            self.refresh(cause, time, step);
        }
    }

    fn is_limited(&self, cause: &Cause) -> bool {
        matches!(cause, Cause::Event(event) if self.knowledge.pace(&event.trigger).max_per_minute.is_some())
    }

    /// Whether the trigger may act now; else it does so later.
    pub(super) fn is_in_pace(&mut self, cause: &Cause, time: i64, step: &mut Step<Effect>) -> bool {
        let Cause::Event(event) = cause else { return true };
        let Some(most) = self.knowledge.pace(&event.trigger).max_per_minute else { return true };
        match self.rates.act(&event.trigger, &event.cluster, most, step.now) {
            Ok(()) => true,
            Err(due) => {
                self.agenda.put_off(cause, due, time, step.now);
                step.wake_at(due);
                false
            }
        }
    }

    /// Looks again when the first of the matches that a cause is made of no longer counts.
    pub(super) fn watch_expiry(&mut self, cause: &Cause, step: &mut Step<Effect>) {
        let Cause::Event(event) = cause else { return };
        let Some(ttl) = self.knowledge.pace(&event.trigger).ttl else {
            return self.agenda.expire(cause, None);
        };
        let oldest = self.knowledge.now.saturating_sub(ttl);
        let since = self.knowledge.inputs(event).into_iter().map(|(_, found)| found.since);
        let at = since.filter(|since| *since > oldest.max(0)).min().map(|since| since.saturating_add(ttl));
        self.agenda.expire(cause, at);
        at.into_iter().for_each(|at| step.wake_at(at));
    }

    /// An object that is deployed by `owner` has changed or gone, and is an event of this cause. When that is looked at, if it is
    /// not now: what leads to itself would go on for ever.
    pub(super) fn slowed_down(
        &mut self,
        cause: &Cause,
        key: &ObjectKey,
        owner: &ProfileId,
        now: i64,
    ) -> Option<i64> {
        if let Some(way) = self.way_from_own(cause, key, owner) {
            self.agenda.heat(cause, now);
            self.note_circle(cause, way);
        } else if self.agenda.is_hot(cause, now) {
            let Some(way) = self.way_back(cause, key, owner) else {
                self.agenda.cool(cause);
                return None;
            };
            self.note_circle(cause, way);
        }
        self.agenda.touched(cause, now)
    }

    /// Said with the next render, whatever else has not changed.
    fn note_circle(&mut self, cause: &Cause, way: String) {
        if self.circles.insert(cause.clone(), way).is_none() {
            self.renderings.set(cause, None);
        }
    }

    /// Over which profiles an object that `owner` deploys comes from events of the same trigger, each of which was deployed because
    /// of the one before it. `None` when those are few, or not of late: it may end by itself.
    fn way_from_own(&self, cause: &Cause, key: &ObjectKey, owner: &ProfileId) -> Option<String> {
        let Cause::Event(event) = cause else { return None };
        let (mut at, mut owner, mut way) = (&event.cluster, owner, format!("{key} of {owner}"));
        let (mut own, mut seen) = (0, BTreeSet::from([event]));
        for _ in 0..2 * CIRCLE_TIMES {
            let Some(Cause::Event(maker)) = self.ledger.maker_at(&(at.clone(), owner.clone())) else {
                return None;
            };
            // A circle, which is counted by how often it is gone round.
            if !seen.insert(maker) {
                return None;
            }
            own += usize::from(maker.trigger == event.trigger);
            if own == CIRCLE_TIMES {
                return Some(way);
            }
            let is_late = |found: &Match| self.knowledge.now - found.since <= CIRCLE;
            let inputs = self.knowledge.inputs(maker).into_iter().filter(|(_, found)| is_late(found));
            let (key, next) = inputs.filter_map(|(key, found)| Some((key, found.owner.as_ref()?))).next()?;
            way.push_str(&format!(", {key} of {next}"));
            (at, owner) = (&maker.cluster, next);
        }
        None
    }

    /// Over which profiles an object that `owner` deploys comes from the cause whose event it is; `None` when it comes from
    /// elsewhere. Who makes a profile, another renderer or nobody any more, is not always known here: it may be the same.
    fn way_back(&self, cause: &Cause, key: &ObjectKey, owner: &ProfileId) -> Option<String> {
        let mut ways = vec![(owner, format!("{key} of {owner}"))];
        let mut seen = BTreeSet::new();
        while let Some((profile, way)) = ways.pop() {
            if self.knowledge.catalog.profiles.contains_key(profile) || !seen.insert(profile) {
                continue;
            }
            let makers = self.ledger.makers_of(profile);
            if makers.is_empty()
                || makers.iter().any(|maker| is_part_of(maker, cause))
                || seen.len() > LONGEST_WAY
            {
                return Some(way);
            }
            for maker in &makers {
                let Cause::Event(event) = maker else { continue };
                for (key, found) in self.knowledge.inputs(event) {
                    ways.extend(
                        found.owner.as_ref().map(|owner| (owner, format!("{way}, {key} of {owner}"))),
                    );
                }
            }
        }
        None
    }
}

/// Whether a cause is this one, or that of an item of those that it stands for.
fn is_part_of(cause: &Cause, whole: &Cause) -> bool {
    match (cause, whole) {
        (Cause::Event(cause), Cause::Event(whole)) if whole.item.is_none() => {
            (&cause.trigger, &cause.cluster, &cause.source) == (&whole.trigger, &whole.cluster, &whole.source)
        }
        _ => cause == whole,
    }
}
