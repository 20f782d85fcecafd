//! What leads to itself, over what it deploys or over what it makes in the management cluster: it is slowed down, and said.

use std::collections::BTreeSet;

use sluice_api::{ObjectKey, ProfileId};
use sluice_protocol::rows::{Cause, EventCause};

use crate::knowledge::Knowledge;
use crate::knowledge::catalog::{ContentKey, described};
use crate::knowledge::labels::is_made;
use crate::knowledge::sets::Match;
use crate::planning::Planning;
use crate::planning::agenda::{CIRCLE, CIRCLE_TIMES};

/// A way back is not looked for over more profiles than this.
const LONGEST_WAY: usize = 8;

impl Planning {
    /// An object that is deployed by `owner` has changed or gone, and is an event of this cause. When that is looked at, if it is
    /// not now: what leads to itself would go on for ever.
    pub(crate) fn slowed_down(
        &mut self,
        knowledge: &Knowledge,
        cause: &Cause,
        key: &ObjectKey,
        owner: &ProfileId,
        now: i64,
    ) -> Option<i64> {
        if let Some(way) = self.way_from_own(knowledge, cause, key, owner) {
            self.agenda.heat(cause, now);
            self.note_loop(cause, way);
        } else if self.agenda.is_hot(cause, now) {
            let Some(way) = self.way_back(knowledge, cause, key, owner) else {
                self.agenda.cool(cause);
                return None;
            };
            self.note_loop(cause, way);
        }
        self.agenda.touched(cause, now)
    }

    /// Said with the next render, whatever else has not changed.
    fn note_loop(&mut self, cause: &Cause, way: String) {
        if self.loops.insert(cause.clone(), way).is_none() {
            self.renderings.set(cause, None);
        }
    }

    /// Over which profiles an object that `owner` deploys comes from events of the same trigger, each of which was deployed because
    /// of the one before it. `None` when those are few, or not of late: it may end by itself.
    fn way_from_own(
        &self,
        knowledge: &Knowledge,
        cause: &Cause,
        key: &ObjectKey,
        owner: &ProfileId,
    ) -> Option<String> {
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
            let is_late = |found: &Match| knowledge.now - found.since <= CIRCLE;
            let inputs = knowledge.inputs(maker).into_iter().filter(|(_, found)| is_late(found));
            let (key, next) = inputs.filter_map(|(key, found)| Some((key, found.owner.as_ref()?))).next()?;
            way.push_str(&format!(", {key} of {next}"));
            (at, owner) = (&maker.cluster, next);
        }
        None
    }

    /// Over which profiles an object that `owner` deploys comes from the cause whose event it is; `None` when it comes from
    /// elsewhere. Who makes a profile, another renderer or nobody any more, is not always known here: it may be the same.
    fn way_back(
        &self,
        knowledge: &Knowledge,
        cause: &Cause,
        key: &ObjectKey,
        owner: &ProfileId,
    ) -> Option<String> {
        let mut ways = vec![(owner, format!("{key} of {owner}"))];
        let mut seen = BTreeSet::new();
        while let Some((profile, way)) = ways.pop() {
            if knowledge.catalog.profiles.contains_key(profile) || !seen.insert(profile) {
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
                for (key, found) in knowledge.inputs(event) {
                    ways.extend(
                        found.owner.as_ref().map(|owner| (owner, format!("{way}, {key} of {owner}"))),
                    );
                }
            }
        }
        None
    }

    /// What is said of a cause that leads to itself.
    pub(crate) fn loop_error(&self, knowledge: &Knowledge, cause: &Cause) -> Option<String> {
        // Of what a script chooses, all causes go round together.
        let whole = match cause {
            Cause::Event(event) => Cause::from(EventCause { item: None, ..EventCause::clone(event) }),
            Cause::Profile(_) => cause.clone(),
        };
        let circling = [cause, &whole].into_iter().find(|cause| self.agenda.is_circling(cause))?;
        if let Some(way) = self.loops.get(circling) {
            return Some(format!(
                "its event changes with what it deploys itself ({way}); it is rendered once a second; let its EventSource not select \
                 what is deployed because of it"
            ));
        }
        let made = |key: &&ContentKey| knowledge.catalog.content(key).is_some_and(|object| is_made(object));
        let made = |key: &&ContentKey| knowledge.catalog.generator_of(key).is_some() || made(key);
        let contents = self.renderings.content_read_by(cause).filter(made).map(described);
        let there =
            |key: &ObjectKey| knowledge.catalog.resource(key).and_then(|known| known.object().map(is_made));
        let resources = self.renderings.resources_read_by(cause).filter(|key| there(key) == Some(true));
        let names: Vec<_> = contents.chain(resources.map(ToString::to_string)).collect();
        Some(format!(
            "it reads what Sluice makes in the management cluster, and that changes with what it makes itself ({}); it is rendered once a \
             second; let nothing read its own output",
            names.join(", ")
        ))
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
