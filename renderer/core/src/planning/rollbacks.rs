//! What a rollout goes back to when it fails, and who has gone back.
//!
//! A content has a name that is the same on all clusters, and a number: who writes another one begins another *round*. Each row says
//! both, and which row its place had of the last content that was good, so that a successor knows what its predecessor knew.
//!
//! ```text
//! round 1: A A A, all Provisioned ─► round 2, "A was good": B fails, A A wait ─► "back to A": A A A, until round 3 begins
//! ```

// D-0933: what fails goes back to the last content that was good.

use std::collections::BTreeSet;
use std::sync::Arc;

use sluice_api::model::Rollout;
use sluice_api::{Digest, ProfileId};
use sluice_protocol::rows::{Cause, Good, Staged, State};

use super::progress::Progress;
use super::returns::{ASKED, Return, TOLD};
use super::rollouts::{Candidate, Given, Rollouts, Turn};
use crate::planning::row_ledger::Place;

/// The content that goes out, and what can be gone back to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    cause: Arc<Cause>,
    called: String,
    round: u64,
    /// How the last content is called that was good.
    good: Option<String>,
    /// Why it is gone back from, as a row says.
    back: Option<String>,
}

// === impl Rollouts ===

impl Rollouts {
    /// Which content it is that is called so, and goes to these clusters, some of them away; by the rows of its cause, which are at
    /// these places.
    pub(crate) fn content(
        &self,
        cause: &Cause,
        called: &str,
        rollout: &Rollout,
        places: &BTreeSet<Place>,
        clusters: &[(Place, bool)],
    ) -> Content {
        let staged = || places.iter().filter_map(|place| self.rows.get(place)?.staged.as_ref());
        let last = staged().map(|staged| staged.round).max();
        let newest = || staged().filter(|staged| Some(staged.round) == last);
        let same = || newest().filter(|staged| staged.called == called);
        let good = |staged: &Arc<Staged>| staged.good.as_ref().map(|good| good.called.clone());
        let shared = staged().next().map(|staged| staged.cause.clone());
        let content = Content {
            cause: shared.unwrap_or_else(|| Arc::new(cause.clone())),
            called: called.to_owned(),
            round: last.unwrap_or(0),
            good: same().find_map(good),
            back: same().find_map(|staged| staged.back.clone()),
        };
        if same().next().is_some() {
            return content;
        }
        let good = self.good(rollout, clusters).or_else(|| newest().find_map(good));
        Content { round: content.round.saturating_add(1), good, ..content }
    }

    /// The content that all clusters have where something can be done, provisioned but for so many as may fail.
    fn good(&self, rollout: &Rollout, clusters: &[(Place, bool)]) -> Option<String> {
        let here = clusters.iter().filter(|(_, is_away)| !is_away);
        let here: Vec<_> = here.filter_map(|(place, _)| Some((place, self.rows.get(place)?))).collect();
        let (_, first) = here.first()?;
        let called = first.staged.as_ref()?.content()?;
        let has_it =
            |given: &Given| given.staged.as_ref().and_then(|staged| staged.content()) == Some(called);
        if !here.iter().all(|(_, given)| has_it(given)) {
            return None;
        }
        let failing =
            here.iter().filter(|(place, given)| self.state(place, given) != Some(State::Provisioned));
        let may_fail = rollout.failure_budget.map_or(0, |budget| budget.of(clusters.len()));
        (failing.count() <= may_fail).then(|| called.to_owned())
    }

    /// What its deployer says of the row of a place.
    fn state(&self, place: &Place, given: &Given) -> Option<State> {
        self.said.get(place).filter(|said| said.row == given.row).map(|said| said.state)
    }

    /// What the row of this content says at a place. Where the place has it already, it says what it said.
    pub(crate) fn staged(&self, place: &Place, content: &Content) -> Arc<Staged> {
        let there = self.rows.get(place);
        let before = there.and_then(|given| given.staged.as_ref());
        if let Some(same) = before.filter(|staged| staged.back.is_none() && staged.called == content.called) {
            return same.clone();
        }
        let good = there.and_then(|given| {
            let is_there = self.state(place, given) == Some(State::Provisioned);
            content.good_at(given.row, given.staged.as_ref()?, is_there)
        });
        Arc::new(content.row(good, None))
    }

    /// What the row says at a place that goes back, for this reason; nothing where it has what was good, or nothing to go back to.
    pub(crate) fn goes_back(&self, place: &Place, content: &Content, why: &str) -> Option<Arc<Staged>> {
        let there = self.rows.get(place)?.staged.as_ref()?;
        if content.is_back(there) {
            return Some(there.clone());
        }
        if there.content() == content.good.as_deref() {
            return None;
        }
        // Where another content is, what was good there before that need not be what was good last.
        let has_it = there.back.is_none() && there.called == content.called;
        let good = there.good.clone().filter(|good| has_it || content.is_good(&good.called))?;
        Some(Arc::new(content.row(Some(good), Some(why.to_owned()))))
    }

    /// Clusters go back from a content, or have gone back: how far they are.
    pub(crate) fn turn_back(
        &self,
        profile: &ProfileId,
        candidates: &[Candidate],
        content: &Content,
        why: &str,
    ) -> Turn {
        let good = content.good.as_deref();
        let (from, to) = (content.called.clone(), content.good.clone().unwrap_or_default());
        let mut back = Return { from, to, why: why.to_owned(), all: candidates.len(), ..Return::default() };
        for candidate in candidates {
            let cluster = candidate.cluster.clone();
            let place = (cluster.clone(), profile.clone());
            let given = self.rows.get(&place);
            let staged = given.and_then(|given| given.staged.as_ref());
            let state = given.and_then(|given| self.state(&place, given));
            let is_back = staged.is_some_and(|staged| content.is_back(staged));
            let has_good = is_back || staged.is_some_and(|staged| staged.content() == good);
            let list = match state {
                _ if given.is_none() => {
                    back.without += 1;
                    &mut back.waiting
                }
                _ if !has_good => &mut back.stuck,
                Some(State::Provisioned) => {
                    back.have += 1;
                    &mut back.waiting
                }
                _ if !is_back => {
                    back.have += 1;
                    &mut back.waiting
                }
                Some(State::Failed) => &mut back.failed,
                _ if candidate.is_away => &mut back.away,
                _ => &mut back.going,
            };
            list.push(cluster);
        }
        for others in [&back.going, &back.failed, &back.away] {
            back.waiting.extend(others.iter().cloned());
        }
        back.waiting.sort();
        back.waiting.truncate(TOLD);
        Turn::back(back)
    }
}

// === impl Content ===

impl Content {
    /// Why clusters go back from it, where they do: a row says so, its user does, or it has failed on too many.
    pub(crate) fn why(&self, rollout: &Rollout, progress: &Progress) -> Option<String> {
        self.good.as_ref()?;
        let asked = (rollout.undo == self.called).then(|| ASKED.to_owned());
        self.back.clone().or(asked).or_else(|| progress.failure())
    }

    /// Whether a row says that it is gone back from.
    pub(crate) fn is_gone_back_from(&self) -> bool {
        self.back.is_some()
    }

    /// How it is called, and what can be gone back to.
    pub(crate) fn names(&self) -> (&str, Option<&str>) {
        (&self.called, self.good.as_deref())
    }

    fn is_good(&self, called: &str) -> bool {
        self.good.as_deref() == Some(called)
    }

    /// Whether a row goes back from it.
    fn is_back(&self, there: &Staged) -> bool {
        there.back.is_some() && (&there.called, there.round) == (&self.called, self.round)
    }

    /// The row that a place has, or had, of the content that was good. Where that has never been `Provisioned`, the one before is better
    /// than none.
    fn good_at(&self, row: Digest, there: &Staged, is_there: bool) -> Option<Good> {
        if there.back.is_some() || !self.is_good(&there.called) {
            return there.good.clone().filter(|good| self.is_good(&good.called));
        }
        let own = Good { called: there.called.clone(), row };
        if is_there { Some(own) } else { Some(there.good.clone().unwrap_or(own)) }
    }

    fn row(&self, good: Option<Good>, back: Option<String>) -> Staged {
        Staged { cause: self.cause.clone(), called: self.called.clone(), round: self.round, good, back }
    }
}

#[cfg(test)]
mod tests;
