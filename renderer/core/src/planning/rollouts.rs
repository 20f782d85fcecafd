//! Which clusters get a new content of a profile now, and which wait for their turn.
//!
//! A place *has* the content when its row says so, and is *done* when its deployer says that this very row is provisioned. Who comes
//! next follows from rows and statuses alone, so that a successor goes on where its predecessor was. Times are of the
//! clock that nobody sets, microseconds: how long a cluster has had it is no matter of a clock that is set forward.

// D-0927: a new content goes to so many clusters at a time.
// D-0932: whose turn has not come is told by the renderer.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::Arc;

use sluice_api::model::Rollout;
use sluice_api::{ClusterRef, Digest, ProfileId};
use sluice_protocol::Fault;
use sluice_protocol::rows::{Cause, Staged, State, Status};

use super::progress::Progress;
use super::returns::{Return, TOLD};
use crate::planning::row_ledger::Place;

/// What is known of rows that go to few clusters at a time.
#[derive(Default)]
pub(crate) struct Rollouts {
    /// The row of each place.
    pub(super) rows: HashMap<Place, Given>,
    /// What has become of them.
    pub(super) said: HashMap<Place, Said>,
    /// Causes of which clusters wait for their turn, or may have to go back, and how far they are.
    waiting: BTreeMap<Cause, Progress>,
    /// What has been given, and is not known to be stored: oldest first, one for each time that this renderer wants to hear of it.
    on_their_way: VecDeque<OnTheirWay>,
    /// When each of them is looked at again, without anything having come.
    due: BTreeMap<Cause, i64>,
    /// Whether everybody gets everything at once.
    is_off: bool,
}

/// A row that is there, or goes there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Given {
    pub(super) row: Digest,
    /// What it says of the content that goes out, where that can be gone back from.
    pub(super) staged: Option<Arc<Staged>>,
    /// Whether it may not be stored: nobody can say anything of it before.
    is_on_its_way: bool,
    /// Since when this renderer waits for what becomes of it, once it does.
    since: Option<i64>,
}

/// Rows of a cause that were given together.
struct OnTheirWay {
    cause: Cause,
    rows: Vec<(Place, Digest)>,
    /// How long somebody has then to say what becomes of them, if nobody has for ever.
    deadline: Option<i64>,
}

/// What a deployer has said of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Said {
    pub(super) row: Digest,
    pub(super) state: State,
    /// When it was heard.
    since: i64,
}

/// A cluster that should get a row.
#[derive(Clone, Debug)]
pub(crate) struct Candidate {
    pub(crate) cluster: ClusterRef,
    /// Digest of the row that it should get.
    pub(crate) row: Digest,
    /// Whether nothing is done there at present: it is paused, or away.
    pub(crate) is_away: bool,
    /// What that row says of the content that goes out, where that can be gone back from.
    pub(crate) staged: Option<Arc<Staged>>,
}

/// A row that goes out.
pub(crate) type NewRow = (Place, Digest, Option<Arc<Staged>>);

/// Who gets the row.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Turn {
    /// Of the candidates, those.
    pub(crate) go: BTreeSet<ClusterRef>,
    pub(crate) progress: Progress,
    /// When another one may have its turn, without anything coming.
    wake_at: Option<i64>,
}

/// How a cluster stands.
enum Stands {
    /// It has the row, for long enough.
    Done,
    /// It has it, and not for long enough before this time.
    Soaks(i64),
    /// It has got it, and nobody has said what became of it, for which there is time until then.
    Updating(Option<i64>),
    /// It has got it, and it cannot be applied, or nobody has said for too long what became of it.
    Failed,
    /// It is passed over, whether or not it has got it.
    Away { has: bool },
    /// It has not got it.
    Pending,
}

// === impl Rollouts ===

impl Rollouts {
    /// Everybody gets everything at once from now on.
    pub(crate) fn turn_off(&mut self) {
        self.is_off = true;
    }

    /// Whether everybody gets everything at once.
    pub(crate) fn is_off(&self) -> bool {
        self.is_off
    }

    /// A row is there.
    pub(crate) fn found(&mut self, place: Place, row: Digest, staged: Option<Arc<Staged>>) {
        self.rows.insert(place, Given { row, staged, is_on_its_way: false, since: None });
    }

    // D-0927: time counts from when the server has the row.
    /// These rows of a cause go out, but for those that are there already. Whether any does: then [`Rollouts::stored`] is to follow.
    pub(crate) fn give(&mut self, cause: &Cause, rollout: &Rollout, mut rows: Vec<NewRow>) -> bool {
        rows.retain(|(place, row, _)| self.rows.get(place).is_none_or(|given| given.row != *row));
        for (place, row, staged) in &rows {
            let given = Given { row: *row, staged: staged.clone(), is_on_its_way: true, since: None };
            self.rows.insert(place.clone(), given);
        }
        let goes = !rows.is_empty();
        if goes {
            let deadline = rollout.failure_budget.map(|_| rollout.deadline);
            let rows = rows.into_iter().map(|(place, row, _)| (place, row)).collect();
            self.on_their_way.push_back(OnTheirWay { cause: cause.clone(), rows, deadline });
        }
        goes
    }

    /// The first of those that were given, and have not been stored, are: from now on time counts for them.
    pub(crate) fn stored(&mut self, now: i64) {
        let Some(OnTheirWay { cause, rows, deadline }) = self.on_their_way.pop_front() else { return };
        for (place, row) in rows {
            if let Some(given) = self.rows.get_mut(&place).filter(|given| given.row == row) {
                given.is_on_its_way = false;
                given.since.get_or_insert(now);
            }
        }
        if let Some(deadline) = deadline.filter(|_| self.waiting.contains_key(&cause)) {
            let at = now.saturating_add(deadline);
            self.due.entry(cause).and_modify(|due| *due = at.min(*due)).or_insert(at);
        }
    }

    /// Nothing is there.
    pub(crate) fn remove(&mut self, place: &Place) {
        if !self.rows.is_empty() {
            self.rows.remove(place);
        }
    }

    /// Only what is known of these places counts.
    pub(crate) fn keep_only(&mut self, counts: impl Fn(&Place) -> bool) {
        self.rows.retain(|place, _| counts(place));
        self.rows.shrink_to_fit();
    }

    /// What a deployer says of a place, or that it says nothing; whether that is news.
    pub(crate) fn hear(&mut self, place: &Place, status: Option<&Status>, now: i64) -> bool {
        let said = status.and_then(|status| Some((status.row?, status.state)));
        let before = self.said.get(place).map(|said| (said.row, said.state));
        if said == before {
            return false;
        }
        match said {
            Some((row, state)) => self.said.insert(place.clone(), Said { row, state, since: now }),
            None => self.said.remove(place),
        };
        true
    }

    /// Who of these gets its row now; `called` is how that is called which goes out.
    pub(crate) fn turn(
        &mut self,
        rollout: &Rollout,
        profile: &ProfileId,
        candidates: &[Candidate],
        called: &str,
        now: i64,
    ) -> Turn {
        let (mut turn, mut pending) = (Turn::default(), Vec::new());
        let mut soaking = 0;
        for candidate in candidates {
            let cluster = candidate.cluster.clone();
            let progress = &mut turn.progress;
            match self.stands(candidate, profile, rollout, now) {
                Stands::Done => progress.done += 1,
                Stands::Soaks(until) => {
                    soaking += 1;
                    progress.updating.push(cluster.clone());
                    turn.wake_at(until);
                }
                Stands::Updating(until) => {
                    progress.updating.push(cluster.clone());
                    until.into_iter().for_each(|until| turn.wake_at(until));
                }
                Stands::Failed => progress.failed.push(cluster.clone()),
                Stands::Away { has } => {
                    progress.away.push(cluster.clone());
                    if !has {
                        progress.left += 1;
                        progress.without.push(cluster);
                        continue;
                    }
                }
                Stands::Pending => {
                    pending.push(cluster);
                    continue;
                }
            }
            turn.go.insert(cluster);
        }
        turn.progress.all = candidates.len();
        let free = turn.progress.free(rollout, called, soaking).min(pending.len());
        turn.progress.waiting = pending.len() - free;
        turn.progress.left += turn.progress.waiting;
        turn.progress.without.extend(pending.iter().skip(free).cloned());
        turn.progress.without.truncate(TOLD);
        turn.progress.updating.extend(pending.iter().take(free).cloned());
        turn.go.extend(pending.into_iter().take(free));
        turn
    }

    /// How a candidate stands.
    fn stands(&mut self, candidate: &Candidate, profile: &ProfileId, rollout: &Rollout, now: i64) -> Stands {
        let place = (candidate.cluster.clone(), profile.clone());
        let given = self.rows.get_mut(&place).filter(|given| given.row == candidate.row);
        let said = self.said.get(&place).filter(|said| said.row == candidate.row);
        if let Some(said) = said.filter(|said| matches!(said.state, State::Provisioned | State::DryRun)) {
            let until = said.since.saturating_add(rollout.soak);
            return if until <= now { Stands::Done } else { Stands::Soaks(until) };
        }
        if candidate.is_away {
            let has = given.is_some();
            given.into_iter().for_each(|given| given.since = None);
            return Stands::Away { has };
        }
        let deadline = rollout.failure_budget.map(|_| rollout.deadline);
        match (given, said) {
            (_, Some(said)) if said.state == State::Failed => Stands::Failed,
            (Some(given), _) if given.is_on_its_way => Stands::Updating(None),
            (Some(given), _) => {
                let since = *given.since.get_or_insert(now);
                match deadline.map(|deadline| since.saturating_add(deadline)) {
                    Some(until) if until <= now => Stands::Failed,
                    until => Stands::Updating(until),
                }
            }
            (None, _) => Stands::Pending,
        }
    }

    /// This cause is so far.
    pub(crate) fn set(&mut self, cause: &Cause, turn: Option<Turn>) {
        match turn {
            Some(Turn { progress, wake_at, .. }) if progress.is_open() => {
                match wake_at {
                    Some(at) => drop(self.due.insert(cause.clone(), at)),
                    None => drop(self.due.remove(cause)),
                }
                self.waiting.insert(cause.clone(), progress);
            }
            _ => self.forget(cause),
        }
    }

    /// Nothing of this cause waits.
    pub(crate) fn forget(&mut self, cause: &Cause) {
        self.waiting.remove(cause);
        self.due.remove(cause);
    }

    /// Whether a cluster of this cause waits for its turn, or may have to go back.
    pub(crate) fn is_waiting(&self, cause: &Cause) -> bool {
        self.waiting.contains_key(cause)
    }

    /// Causes of which clusters wait for their turn, or may have to go back.
    pub(crate) fn waiting(&self) -> Vec<Cause> {
        self.waiting.keys().cloned().collect()
    }

    /// What is said of such a cause.
    pub(crate) fn fault(&self, cause: &Cause) -> Option<Fault> {
        self.waiting.get(cause).map(Progress::fault)
    }

    /// Causes that are to be looked at again now.
    pub(crate) fn take_due(&mut self, now: i64) -> Vec<Cause> {
        self.due.extract_if(.., |_, at| *at <= now).map(|(cause, _)| cause).collect()
    }

    /// When there is something to look at again.
    pub(crate) fn next(&self) -> Option<i64> {
        self.due.values().min().copied()
    }
}

// === impl Turn ===

impl Turn {
    /// Nobody gets the row: clusters go back.
    pub(super) fn back(back: Return) -> Self {
        Self { progress: Progress::back(back), ..Self::default() }
    }

    /// It is looked at again at this time at the latest.
    pub(crate) fn wake_at(&mut self, time: i64) {
        self.wake_at = Some(self.wake_at.map_or(time, |at| at.min(time)));
    }
}

#[cfg(test)]
mod tests;
