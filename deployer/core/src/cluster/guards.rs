//! What is asked of a cluster as a whole: whether it is ready for its first add-on, and whether it is well.

// D-1064: readiness checks are asked until a cluster holds something, liveness checks always.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_api::FieldError;
use sluice_api::model::{ClusterCheck, Guards};
use sluice_protocol::About;

use super::{Cluster, Outcome, Reachability};
use crate::checks::{CheckBook, CheckId, Outcome as Said};

/// A check that fails for so long has failed once more, microseconds.
const PERIOD: i64 = 10_000_000;

/// See the module.
#[derive(Default)]
pub(crate) struct Guard {
    checks: Guards,
    readiness: Asked,
    liveness: Asked,
    /// Whether something has not begun because the cluster was not ready.
    holds_up: bool,
    /// What is wrong, as it was said last.
    told: [Option<String>; 2],
}

/// The checks of one list, while they are asked.
#[derive(Default)]
struct Asked {
    begun: bool,
    /// What each says, and since when.
    said: BTreeMap<CheckId, Option<(Said, i64)>>,
}

/// What is asked before the first add-on.
fn readiness(checks: &Guards) -> Result<&[Arc<ClusterCheck>], &FieldError> {
    checks.as_deref().map_or(Ok(&[]), |checks| checks.as_ref().map(|checks| &*checks.readiness))
}

/// What is asked always.
fn liveness(checks: &Guards) -> &[Arc<ClusterCheck>] {
    checks.as_deref().and_then(|checks| checks.as_ref().ok()).map_or(&[], |checks| &checks.liveness)
}

// === impl Guard ===

impl Guard {
    /// This is asked from now on, of a server that may be another one: of the old one, only what was told is kept.
    pub(super) fn begin(&mut self, checks: Guards) {
        *self = Self { checks, told: std::mem::take(&mut self.told), ..Self::default() };
    }

    /// Failures in a row after which a cluster is called down.
    pub(super) fn threshold(&self) -> u32 {
        self.checks.as_deref().and_then(|checks| checks.as_ref().ok()).map_or(1, |checks| checks.threshold)
    }

    /// Whether everything that is asked before the first add-on says yes.
    fn passes(&self) -> bool {
        let is_yes = |said: &Option<(Said, i64)>| matches!(said, Some((Ok(()), _)));
        match readiness(&self.checks) {
            Ok([]) => true,
            Ok(_) => self.readiness.begun && self.readiness.said.values().all(is_yes),
            Err(_) => false,
        }
    }

    /// What is wrong with readiness.
    fn unready(&self) -> Option<String> {
        if let Err(error) = readiness(&self.checks) {
            return Some(format!("nothing is deployed there for the first time: {error}"));
        }
        let reasons: Vec<_> = self.readiness.failing().map(|(why, _)| why).collect();
        (!reasons.is_empty()).then(|| {
            let reasons = reasons.join("; ");
            format!("nothing is deployed there for the first time before this passes: {reasons}")
        })
    }

    /// What is wrong with liveness, and when more is.
    fn unwell(&self, now: i64) -> (Option<String>, Option<i64>) {
        let patience = PERIOD * i64::from(self.threshold() - 1);
        let failing = self.liveness.failing().map(|(why, since)| (why, since.saturating_add(patience)));
        let (down, failing): (Vec<_>, Vec<_>) = failing.partition(|(_, at)| *at <= now);
        let reasons: Vec<_> = down.into_iter().map(|(why, _)| why).collect();
        let next = failing.into_iter().map(|(_, at)| at).min();
        ((!reasons.is_empty()).then(|| reasons.join("; ")), next)
    }
}

// === impl Asked ===

impl Asked {
    /// Asks them, or no longer.
    fn ask(&mut self, checks: Option<&[Arc<ClusterCheck>]>, book: &mut CheckBook) {
        match checks {
            None => std::mem::take(self).said.into_keys().for_each(|id| book.end(id)),
            Some(checks) if !self.begun => {
                self.begun = true;
                self.said = checks.iter().map(|check| (book.begin_guard(check.clone()), None)).collect();
            }
            Some(_) => {}
        }
    }

    fn say(&mut self, id: CheckId, said: Said, now: i64) {
        let Some(known) = self.said.get_mut(&id) else { return };
        let since = known.as_ref().filter(|(before, _)| before.is_err() && said.is_err());
        *known = Some((said, since.map_or(now, |(_, since)| *since)));
    }

    /// Why those that fail do, and since when.
    fn failing(&self) -> impl Iterator<Item = (&str, i64)> {
        self.said.values().flatten().filter_map(|(said, since)| Some((said.as_ref().err()?.as_str(), *since)))
    }
}

impl Cluster {
    /// A check of the cluster says this.
    pub(super) fn guard_said(&mut self, id: CheckId, said: Said, now: i64) {
        self.guard.readiness.say(id, said.clone(), now);
        self.guard.liveness.say(id, said, now);
    }

    /// Whether it is not ready: it holds nothing, and something that is asked before it may does not say yes.
    fn is_unready(&self) -> bool {
        !self.guard.passes() && !self.holds_something()
    }

    /// The same of a profile that is about to begin. It is not forgotten.
    pub(super) fn holds_up(&mut self) -> bool {
        let is_unready = self.is_unready();
        self.guard.holds_up |= is_unready;
        is_unready
    }

    /// What was held up begins when the cluster is ready: a check has said so, or it has come to hold something that was on its way.
    pub(super) fn begin_held_up(&mut self, now: i64, outcome: &mut Outcome) {
        if self.guard.holds_up && self.reachability == Reachability::Open && !self.is_unready() {
            self.guard.holds_up = false;
            self.begin_all(now, outcome);
        }
    }

    fn holds_something(&self) -> bool {
        self.jobs.values().any(|job| job.inventory().is_some())
    }

    /// Asks what is to be asked now, and says what has come to be wrong with the cluster, or no longer is.
    pub(super) fn mind_guard(&mut self, now: i64, outcome: &mut Outcome) {
        if self.guard.checks.is_none() && self.guard.told == [None, None] {
            return;
        }
        let is_open = self.reachability == Reachability::Open || self.guard.readiness.begun;
        let is_new = is_open && !self.holds_something();
        let (checks, is_known) = (self.guard.checks.clone(), self.is_known());
        self.guard.readiness.ask(readiness(&checks).ok().filter(|_| is_new), &mut self.checks);
        self.guard.liveness.ask(is_known.then(|| liveness(&checks)), &mut self.checks);
        let (unwell, next) = self.guard.unwell(now);
        next.into_iter().for_each(|at| outcome.wake(at));
        let news = [(About::Readiness, self.guard.unready().filter(|_| is_new)), (About::Liveness, unwell)];
        for (told, (about, text)) in self.guard.told.iter_mut().zip(news) {
            if *told != text {
                told.clone_from(&text);
                outcome.guards.push((about, text));
            }
        }
    }
}
