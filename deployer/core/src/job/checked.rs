//! Checks that a profile waits for.
//!
//! ```text
//! preDeployChecks ─► an object of their lane is written          preDeleteChecks ─► an object of their lane is deleted
//!                    all objects are there ─► validateHealths                       all are gone ─► postDeleteChecks
//! ```

// D-1055: a check is asked by a watch, gates its own lane, and fails after ten seconds.

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Map, Value};
use sluice_api::model::{Check, CheckPoint, Feature};
use sluice_api::{Digest, ObjectKey, ServiceAccount, object};
use sluice_protocol::rows::{Desired, State};

use super::replies::Fault;
use super::{Ended, Job, JobContext, Phase, Target};
use crate::checks::{CheckBook, CheckId, Outcome};
use crate::inventory::RemovalChecks;
use crate::jobs::{self, JobScope};
use crate::order::Lane;

/// For how long a check may fail before that is an error, microseconds. What it says in the meantime is told as what is waited for.
const PATIENCE: i64 = 10 * SECOND;
const SECOND: i64 = 1_000_000;

/// The checks of a profile on a cluster.
#[derive(Debug, Default)]
pub(super) struct Checks {
    /// All that the profile has for lanes in which it has something.
    all: Vec<Arc<Check>>,
    /// Those that are asked.
    asked: Vec<Asked>,
    /// Whether something was changed since it was last said how it went.
    is_change_unsaid: bool,
}

/// A check that is asked.
#[derive(Debug)]
struct Asked {
    id: CheckId,
    check: Arc<Check>,
    account: Option<ServiceAccount>,
    /// What it says; nothing until its objects are known.
    said: Option<Outcome>,
    /// Since when it has not been passed.
    since: i64,
}

/// Whether something may go on.
#[derive(Debug, PartialEq)]
enum Gate {
    Open,
    /// At this time it is shut at the latest.
    WaitsUntil(i64),
    Shut(Vec<String>),
}

// === impl Checks ===

impl Checks {
    /// These are all, and who acts.
    fn set(
        &mut self,
        mut all: Vec<Check>,
        account: Option<&ServiceAccount>,
        lanes: &BTreeSet<Lane>,
        book: &mut CheckBook,
    ) {
        all.retain(|check| Lane::of_feature(check.feature).is_some_and(|lane| lanes.contains(&lane)));
        self.all = all.into_iter().map(Arc::new).collect();
        let all = &self.all;
        self.asked.retain(|asked| {
            let stays = asked.account.as_ref() == account && all.contains(&asked.check);
            if !stays {
                book.end(asked.id);
            }
            stays
        });
    }

    /// Those of a point are asked no longer.
    fn end(&mut self, point: CheckPoint, book: &mut CheckBook) {
        self.asked.retain(|asked| {
            let stays = asked.check.point != point;
            if !stays {
                book.end(asked.id);
            }
            stays
        });
    }

    /// What those of a point say that are asked.
    fn gate(&self, point: CheckPoint, lane: Option<Lane>, now: i64) -> Gate {
        let about = |asked: &&Asked| is_about(&asked.check, point, lane);
        let failing = self.asked.iter().filter(about).filter(|asked| asked.said != Some(Ok(())));
        let (mut until, mut texts) = (None::<i64>, Vec::new());
        for asked in failing {
            match asked.fails_at() {
                at if at > now => until = Some(until.map_or(at, |until| until.min(at))),
                _ => texts.push(asked.text()),
            }
        }
        match until {
            _ if !texts.is_empty() => Gate::Shut(texts),
            Some(until) => Gate::WaitsUntil(until),
            None => Gate::Open,
        }
    }

    /// What is waited for, a line each.
    pub(super) fn waits_for(&self) -> Vec<String> {
        let failing = self.asked.iter().filter(|asked| asked.said != Some(Ok(())));
        failing.map(Asked::text).collect()
    }

    /// A check says something. Whether there may be more to do, or less, and when.
    fn note(&mut self, id: CheckId, outcome: Outcome, now: i64) -> Option<News> {
        let asked = self.asked.iter_mut().find(|asked| asked.id == id)?;
        let news = match (&asked.said, &outcome) {
            (said, outcome) if said.as_ref() == Some(outcome) => return None,
            (_, Ok(())) => News::Passed,
            (Some(Ok(())), Err(_)) => {
                asked.since = now;
                News::FailsAt(now + PATIENCE)
            }
            (None, Err(_)) if asked.check.job.is_some() => {
                asked.since = now;
                News::FailsAt(now + PATIENCE)
            }
            (None, Err(_)) => News::FailsAt(asked.since + PATIENCE),
            // What was told of it is told anew, now and then.
            (Some(Err(_)), Err(_)) => News::FailsAt((asked.since + PATIENCE).max(now + PATIENCE)),
        };
        asked.said = Some(outcome);
        Some(news)
    }
}

/// What follows from what a check says.
enum News {
    Passed,
    /// There is something to say of it at this time.
    FailsAt(i64),
}

// === impl Asked ===

impl Asked {
    /// When it is an error that it has not passed. A Job is waited for as long as it may run, and somewhat longer.
    fn fails_at(&self) -> i64 {
        match (&self.check.job, &self.said) {
            (Some(job), None) => self.since + job.timeout * SECOND + 6 * PATIENCE,
            _ => self.since + PATIENCE,
        }
    }

    fn text(&self) -> String {
        match (&self.said, &self.check.job) {
            (Some(Err(reason)), _) => reason.clone(),
            (_, Some(job)) => {
                format!("{}: the Job of {} has not ended yet", self.check.title(), job.reference)
            }
            _ => format!("{}: nothing is known yet of what it looks at", self.check.title()),
        }
    }
}

fn is_about(check: &Check, point: CheckPoint, lane: Option<Lane>) -> bool {
    check.point == point && lane.is_none_or(|lane| Lane::of_feature(check.feature) == Some(lane))
}

impl Job {
    /// A run begins: the checks are those of its row, or, where that has gone, those that are in the inventory.
    pub(super) fn line_up_checks(&mut self, context: &mut JobContext<'_>) {
        let (lanes, account, all) = match (self.target.decoded(), self.inventory()) {
            (Some(desired), _) if !desired.dry_run => {
                (lanes(desired), desired.account.clone(), Check::with_jobs(&desired.spec, &desired.jobs))
            }
            (None, Some(held)) if matches!(self.target, Target::Gone(_)) => {
                let all = Check::with_jobs(&held.checks.lists, &held.checks.jobs);
                (Lane::ALL.into(), held.checks.account.clone(), all)
            }
            _ => (BTreeSet::new(), None, Ok(Vec::new())),
        };
        // A row with a check that cannot be read is not made.
        let mut all = all.unwrap_or_default();
        // As with charts: who writes a Profile, or gives a ServiceAccount, is a tenant.
        let of_tenant = account.is_some() || !self.profile.namespace.is_empty();
        all.iter_mut().for_each(|check| check.of_tenant = of_tenant);
        if all.iter().any(|check| check.job.is_some()) {
            let (profile, is_management) = (&self.profile, context.is_management);
            let scope = JobScope { profile, is_management, run: self.run_of_jobs() };
            all.iter_mut().for_each(|check| scope.complete(check));
        }
        self.checks.set(all, account.as_ref(), &lanes, context.checks);
    }

    /// What tells the Jobs of this content from those of others, and those of this removal from those of others.
    fn run_of_jobs(&self) -> Digest {
        match (self.target.decoded(), &self.inventory_state.stored) {
            (Some(desired), _) => jobs::run_of(&desired.redeploy, &desired.policies),
            (None, Some(held)) => Digest::of(&[held.version.0.as_bytes()]),
            (None, None) => Digest::default(),
        }
    }

    /// Nobody waits for any check.
    pub(crate) fn end_checks(&mut self, book: &mut CheckBook) {
        self.checks.set(Vec::new(), None, &BTreeSet::new(), book);
    }

    fn gate(&mut self, point: CheckPoint, lane: Option<Lane>, context: &mut JobContext<'_>) -> Gate {
        let account = match &self.target {
            Target::Value(_) => self.account(),
            _ => self.inventory().and_then(|held| held.checks.account.clone()),
        };
        let Self { checks: Checks { all, asked, .. }, profile, .. } = self;
        for check in all.iter().filter(|check| is_about(check, point, lane)) {
            if !asked.iter().any(|asked| asked.check == *check) {
                let id = context.checks.begin(profile, check.clone(), account.clone());
                let (check, account) = (check.clone(), account.clone());
                asked.push(Asked { id, check, account, said: None, since: context.now });
            }
        }
        self.checks.gate(point, lane, context.now)
    }

    /// Whether an object must wait, or be left as it is, for what checks of its lane say.
    pub(super) fn is_gated(
        &mut self,
        point: CheckPoint,
        lane: Lane,
        key: &ObjectKey,
        context: &mut JobContext<'_>,
    ) -> bool {
        if self.checks.all.is_empty() {
            return false;
        }
        match self.gate(point, Some(lane), context) {
            Gate::Open => return false,
            Gate::WaitsUntil(at) => {
                self.run.gated.insert(key.clone());
                self.wake_at(at);
            }
            Gate::Shut(texts) => {
                self.run.shut.insert(lane);
                self.tell_checks(texts);
            }
        }
        true
    }

    /// Objects that wait for checks are looked at once more.
    pub(super) fn try_gated(&mut self, lane: Option<Lane>, context: &mut JobContext<'_>) {
        let is_of = |key: &ObjectKey| {
            lane.is_none_or(|lane| self.run.objects.get(key).is_some_and(|one| one.turn.lane == lane))
        };
        let gated: Vec<_> = self.run.gated.iter().filter(|key| is_of(key)).cloned().collect();
        for key in gated {
            self.run.gated.remove(&key);
            self.next_after(&key, context);
        }
    }

    /// Whether objects of a lane wait for checks.
    pub(super) fn is_waiting_for_checks(&self, lane: Lane) -> bool {
        let objects = &self.run.objects;
        self.run.gated.iter().any(|key| objects.get(key).is_some_and(|one| one.turn.lane == lane))
    }

    /// Everything is there: what is said of it, once that is known.
    pub(super) fn health(&mut self, changed: bool, context: &mut JobContext<'_>) -> Option<State> {
        self.checks.end(CheckPoint::PreDeploy, context.checks);
        if changed {
            // What was seen before may be what was there before.
            self.checks.end(CheckPoint::Health, context.checks);
        }
        let was_healthy = self.is_provisioned() && !changed;
        match self.gate(CheckPoint::Health, None, context) {
            Gate::Open => Some(State::Provisioned),
            Gate::WaitsUntil(at) => {
                self.wake_at(at);
                was_healthy.then_some(State::Provisioned)
            }
            Gate::Shut(texts) => {
                self.tell_checks(texts);
                Some(State::Failed)
            }
        }
    }

    /// Whether everything has gone that had to, as far as checks say.
    pub(super) fn wait_for_removal_checks(&mut self, context: &mut JobContext<'_>) -> Option<Ended> {
        match self.gate(CheckPoint::PostDelete, None, context) {
            Gate::Open => None,
            Gate::WaitsUntil(at) => {
                self.phase = Phase::Idle;
                self.wake_at(at);
                Some(Ended::NotYet)
            }
            Gate::Shut(texts) => {
                self.tell_checks(texts);
                Some(self.settle(context))
            }
        }
    }

    /// Whether something has been changed, now or since it was last said how it went; `told` says that it is said now.
    pub(super) fn note_change(&mut self, changed: bool, told: bool) -> bool {
        let is_unsaid = self.checks.is_change_unsaid || changed;
        self.checks.is_change_unsaid = is_unsaid && !told;
        is_unsaid
    }

    fn tell_checks(&mut self, texts: Vec<String>) {
        for text in texts {
            self.run.errors.insert(text.clone(), Fault::of_check(text));
        }
    }

    /// A check says something.
    pub(crate) fn checked(&mut self, id: CheckId, outcome: Outcome, context: &mut JobContext<'_>) -> Ended {
        match self.checks.note(id, outcome, context.now) {
            None => {}
            // What fails for a moment only has not been told.
            Some(News::Passed) if self.is_provisioned() && !self.is_at_work() => {
                self.retry_at = self.keeping.again_at();
            }
            Some(News::Passed) if self.in_flight == 0 => return self.begin(context),
            Some(News::FailsAt(at)) => self.wake_at(at),
            Some(News::Passed) => {}
        }
        Ended::NotYet
    }
}

/// The lanes in which a profile has something.
fn lanes(desired: &Desired) -> BTreeSet<Lane> {
    desired.policies.iter().map(Lane::of).collect()
}

/// What is to be checked when a profile is removed.
pub(super) fn of_removal(desired: &Desired) -> RemovalChecks {
    let lanes = lanes(desired);
    let is_of_lane = |check: &Value| {
        let feature = Feature::named(object::text(check, &["featureID"]));
        feature.and_then(Lane::of_feature).is_some_and(|lane| lanes.contains(&lane))
    };
    let mut lists = Map::new();
    for point in CheckPoint::ALL.into_iter().filter(|point| point.is_of_removal()) {
        let list = desired.spec.get(point.field()).and_then(Value::as_array).into_iter().flatten();
        let list: Vec<_> = list.filter(|check| is_of_lane(check)).cloned().collect();
        if !list.is_empty() {
            lists.insert(point.field().to_owned(), list.into());
        }
    }
    let account = desired.account.clone().filter(|_| !lists.is_empty());
    let all = Check::with_jobs(&desired.spec, &desired.jobs).unwrap_or_default().into_iter();
    let is_kept = |check: &Check| {
        check.point.is_of_removal()
            && Lane::of_feature(check.feature).is_some_and(|lane| lanes.contains(&lane))
    };
    let jobs = all.filter(is_kept).filter_map(|check| check.job?.job.ok()).collect();
    RemovalChecks { lists, account, jobs }
}
