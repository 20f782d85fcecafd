//! The deployer of one shard of `desired`.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::model::Guards;
use sluice_api::{ClusterRef, ProfileId};
use sluice_protocol::rows::{Cause, State};
use sluice_protocol::subject::Shown;
use sluice_protocol::{
    About, CallId, Core, Fault, Head, JournalEntry, Meta, ProblemKey, ProblemSet, Row, Sequence, Shard, Step,
    Subject, View,
};

use crate::budget::BREAK_AFTER;
use crate::checks::Asking;
use crate::cluster::{Cluster, Outcome};
use crate::job::Ended;
use crate::late_calls::LateCalls;
use crate::messages::{Effect, ExternalInput};
use crate::summary::Summary;

mod config;
mod deferred;
mod display;
mod drift;
mod gone;
mod leaving;
mod left_behind;
mod rehearsed;
mod reloads;
mod reporting;
mod rows;
mod shown;
mod slow;
mod watching;

pub use config::{Config, Serves};
use deferred::Deferred;
use display::Agenda;
use gone::Registered;
use leaving::Leaving;
use left_behind::LeftBehind;
use reporting::{status_of, status_row};
use shown::Display;
pub use shown::shown;
use slow::Slow;
use watching::Troubles;

const STAGE: &str = "deployer";
/// Attempts in a row that the server's state may spoil before it is the profile's problem: not fewer than those after
/// which it is the cluster's.
const SPOILED_ATTEMPTS: u32 = BREAK_AFTER;

/// Remembers nothing that rows and inventories do not hold: another one can take its place at any time.
pub struct Deployer {
    config: Config,
    clusters: BTreeMap<ClusterRef, Cluster>,
    /// Status rows of a former owner, by the profile and the shard of the renderer that they are for.
    found: BTreeMap<ClusterRef, BTreeSet<(ProfileId, Shard)>>,
    /// What a former owner showed that is in its cluster.
    found_shown: BTreeMap<ClusterRef, BTreeSet<(Shown, ProfileId)>>,
    problems: ProblemSet,
    /// Where makers that wait for the name of a profile on a cluster were told so.
    told: BTreeMap<(ClusterRef, ProfileId), BTreeSet<ProblemKey>>,
    next_id: CallId,
    /// Clusters that can be reached, and wait for the end of the table; with what is asked of each.
    waiting: BTreeMap<ClusterRef, Guards>,
    /// Whether rows are new: no longer those that were in the table at the beginning. Before, a row may be older than what a
    /// former owner has applied: nothing is asked of any cluster.
    caught_up: bool,
    /// Renderers that have said that all their rows are in this life of the stream.
    said: BTreeSet<Shard>,
    deferred: Deferred,
    left_behind: LeftBehind,
    slow: Slow,
    troubles: Troubles,
    agenda: Agenda,
    registered: Registered,
    leaving: Leaving,
    /// Until when calls of a former owner may arrive. What is waited for here is counted by the clock that nobody sets: a
    /// call is not over because a machine's clock has been set forward.
    former_until: i64,
}

impl Deployer {
    /// A deployer that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            clusters: BTreeMap::new(),
            found: BTreeMap::new(),
            found_shown: BTreeMap::new(),
            problems: ProblemSet::new(STAGE),
            told: BTreeMap::new(),
            next_id: CallId::default(),
            waiting: BTreeMap::new(),
            caught_up: false,
            said: BTreeSet::new(),
            deferred: Deferred::default(),
            left_behind: LeftBehind::default(),
            slow: Slow::default(),
            troubles: Troubles::default(),
            agenda: Agenda::default(),
            registered: Registered::default(),
            leaving: Leaving::default(),
            former_until: 0,
        }
    }

    /// Lets one cluster do something, and carries out what comes of it.
    fn with(
        &mut self,
        cluster: &ClusterRef,
        step: &mut Step<Effect>,
        f: impl FnOnce(&mut Cluster, &mut CallId) -> Outcome,
    ) {
        let former_until = (self.former_until > step.steady).then_some(self.former_until);
        let all_said = self.is_all_said();
        let state = self.clusters.entry(cluster.clone()).or_insert_with(|| {
            let late = LateCalls::new(self.config.former_calls, former_until);
            let Config { shards, prune_guard, .. } = self.config;
            Cluster::new(shards, cluster.is_management(), prune_guard, late, all_said)
        });
        let outcome = f(state, &mut self.next_id);
        self.deferred.note(cluster, state.defers(), step.steady);
        for (id, request) in outcome.calls {
            step.effect(Effect::Call(cluster.clone(), id, request));
        }
        for asking in outcome.checks {
            step.effect(match asking {
                Asking::Begin(id, check, account) => Effect::Check(cluster.clone(), id, check, account),
                Asking::BeginGuard(id, check) => Effect::ClusterCheck(cluster.clone(), id, check),
                Asking::End(id) => Effect::EndCheck(cluster.clone(), id),
            });
        }
        self.tell_drift(cluster, outcome.watched, outcome.drifted, step);
        self.tell_reloads(cluster, outcome.reloads, step);
        if let Some(at) = outcome.wake_at {
            step.wake_at_steady(at);
        }
        if outcome.custom_kinds {
            step.effect(Effect::FollowKinds(cluster.clone()));
        }
        if let Some(trouble) = outcome.trouble {
            self.note(ProblemKey::on(cluster, About::Cluster), trouble.map(Fault::from), step);
        }
        for (about, trouble) in outcome.guards {
            self.note(ProblemKey::on(cluster, about), trouble.map(Fault::from), step);
        }
        if outcome.opened {
            self.opened(cluster, step);
        }
        for profile in outcome.waits {
            self.begun(cluster, &profile, step);
        }
        for (profile, ended) in outcome.ended {
            self.ended(cluster, &profile, ended, step);
        }
        self.report_deferred(step);
        self.tell_left(cluster, step);
    }

    fn ended(&mut self, cluster: &ClusterRef, profile: &ProfileId, ended: Ended, step: &mut Step<Effect>) {
        if ended == Ended::NotYet {
            return;
        }
        self.slow.end(cluster, profile);
        self.configure(cluster, step);
        self.tell_left_behind(cluster, profile, step);
        match ended {
            Ended::NotYet => {}
            Ended::Removed => self.removed(cluster, profile, step),
            Ended::Settled { state, changed } => {
                self.rehearsed(cluster, profile, step);
                self.settled(cluster, profile, state, changed, step);
            }
        }
    }

    fn removed(&mut self, cluster: &ClusterRef, profile: &ProfileId, step: &mut Step<Effect>) {
        self.end_report(cluster, profile, step);
        let Some(job) = self.clusters.get_mut(cluster).and_then(|state| state.jobs.remove(profile)) else {
            return;
        };
        for origin in job.makers.left.into_iter().chain([job.origin]) {
            step.publish(self.no_status(cluster, profile, origin));
        }
        self.tell(cluster, profile, BTreeMap::new(), step);
        self.note(ProblemKey::on(cluster, About::Profile(profile.clone())), None, step);
        if job.inventory_state.withdrawn.is_some() {
            let name = profile.path();
            step.effect(Effect::Journal(JournalEntry::new(
                STAGE,
                "withdrawn",
                cluster,
                &name,
                step.now,
                job.time,
            )));
        }
        if !profile.is_role_request() {
            self.display(Display::Summary(Summary::gone(cluster, profile)), step);
        }
    }

    fn settled(
        &mut self,
        cluster: &ClusterRef,
        profile: &ProfileId,
        state: State,
        changed: bool,
        step: &mut Step<Effect>,
    ) {
        let Some(known) = self.clusters.get_mut(cluster) else { return };
        // A server in trouble is one problem, not one for each profile on it.
        let spoiled = if known.is_in_trouble() { u32::MAX } else { SPOILED_ATTEMPTS };
        let Some(job) = known.jobs.get_mut(profile) else { return };
        if changed {
            job.applied_at = step.now;
        }
        job.settled = job.target.digest();
        let row = job.settled;
        let held_up = job.is_held_up(spoiled);
        let (errors, all_errors) = (job.errors(), job.all_errors());
        let (time, origin) = (job.time, job.origin);
        let desired = job.target.rest();
        let not_kept = job.not_kept().map(Fault::note);
        let Some(cause) = job.cause(desired.as_deref()) else { return };
        let left = std::mem::take(&mut job.makers.left);
        let waiting = job.makers.waiting.iter_mut();
        let waiting: Vec<_> = waiting
            .filter_map(|(origin, row)| Some((*origin, row.target.rest()?, row.target.digest())))
            .collect();
        for origin in left {
            step.publish(self.no_status(cluster, profile, origin));
        }
        self.wait(cluster, profile, &cause, waiting, step);
        let status = status_of(state, &errors, (desired.as_deref(), row));
        let subject = self.status_subject(cluster, profile, origin);
        let mut row = status_row(subject, &status, &cause, time);
        if desired.is_none() && cause.origin(self.config.shards) != origin {
            // What is held is another maker's; the cause of the row that cannot be read is not known here.
            row = row.meta(Meta::None);
        }
        // Every time, so that its maker hears of it: what it said before may have been forgotten here.
        let row = self.aloud(row);
        step.publish(if state == State::Held { row.forced() } else { row });
        // What cannot be done yet has kept nothing else from being applied.
        if changed && errors.is_empty() && matches!(state, State::Provisioned | State::Failed) {
            let name = profile.path();
            let mut line = JournalEntry::new(STAGE, "applied", cluster, &name, step.now, time);
            if let Cause::Event(event) = &cause {
                line = line.because_of(&event.cluster, time);
            }
            step.effect(Effect::Journal(line));
        }
        let error = (!all_errors.is_empty() && !held_up).then(|| all_errors.join("\n"));
        let fault = Fault::all(error.map(Fault::from).into_iter().chain(not_kept));
        self.note(ProblemKey::on(cluster, About::Profile(profile.clone())), fault, step);
        if let Some(desired) = desired {
            self.show(cluster, profile, &desired, state, errors, step);
        }
    }

    /// Nobody knows how to reach a cluster, or nothing is to be done in it.
    fn unreachable(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let now = step.steady;
        if !self.caught_up {
            self.waiting.remove(cluster);
        } else if self.clusters.contains_key(cluster) {
            self.with(cluster, step, |state, _| state.unreachable(now));
        }
    }

    fn is_all_said(&self) -> bool {
        self.said.len() >= usize::from(self.config.shards)
    }

    fn each(&mut self, step: &mut Step<Effect>, f: impl Fn(&mut Cluster, &mut CallId) -> Outcome) {
        let clusters: Vec<_> = self.clusters.keys().cloned().collect();
        for cluster in clusters {
            self.with(&cluster, step, &f);
        }
    }
}

// === impl Core for Deployer ===

impl Core for Deployer {
    type External = ExternalInput;
    type Effect = Effect;

    fn found(&mut self, subject: &Subject, head: &Head) {
        if head.tombstone
            || subject.cluster().is_some_and(|cluster| self.config.serves.others.contains(cluster))
        {
            return;
        }
        match subject {
            Subject::Status { cluster, origin, profile, .. } => {
                self.found.entry(cluster.clone()).or_default().insert((profile.clone(), *origin));
            }
            Subject::Shown { cluster, what, profile, .. } => {
                self.found_shown.entry(cluster.clone()).or_default().insert((*what, profile.clone()));
            }
            _ => {}
        }
    }

    fn view(&self) -> View {
        View::default()
    }

    fn external(&mut self, input: ExternalInput, step: &mut Step<Effect>) {
        let now = step.steady;
        match &input {
            ExternalInput::Reachable(cluster, _) | ExternalInput::Unreachable(cluster) => {
                self.registered.note(cluster);
                self.switch(cluster, step);
            }
            ExternalInput::Unregistered(cluster) => self.switch(cluster, step),
            _ => {}
        }
        match input {
            ExternalInput::Reachable(cluster, checks) if self.caught_up => {
                self.with(&cluster, step, |state, next_id| state.reachable(checks, now, next_id))
            }
            ExternalInput::Reachable(cluster, checks) => drop(self.waiting.insert(cluster, checks)),
            ExternalInput::Unreachable(cluster) => self.unreachable(&cluster, step),
            ExternalInput::Leaving(cluster) => self.leaves(&cluster, step),
            ExternalInput::Unregistered(cluster) => {
                self.has_left(&cluster);
                self.unreachable(&cluster, step);
                self.unregistered(&cluster, step);
            }
            ExternalInput::Listed => self.all_registered(step),
            ExternalInput::Kinds(cluster, group) => {
                if self.clusters.contains_key(&cluster) {
                    self.with(&cluster, step, |state, next_id| state.kinds_changed(&group, now, next_id));
                }
            }
            ExternalInput::Checked(cluster, id, said) => {
                if self.clusters.contains_key(&cluster) {
                    self.with(&cluster, step, |state, next_id| state.checked(id, said, now, next_id));
                }
            }
            ExternalInput::Shown(cluster, shown) => self.shown(&cluster, shown, step),
            ExternalInput::Glimpse(cluster, glimpse) => self.glimpse(&cluster, glimpse, step),
            ExternalInput::Reply(cluster, id, reply) => {
                self.with(&cluster, step, |state, next_id| state.reply(id, reply, now, next_id))
            }
        }
    }

    fn start(&mut self, step: &mut Step<Effect>) {
        // A former owner may still have calls on their way: what they leave is compared once more.
        self.former_until = step.steady + self.config.former_calls;
        self.expect_ends(step);
    }

    fn row(&mut self, row: &Row, step: &mut Step<Effect>) {
        match &row.subject {
            Subject::AllDesired { origin, .. } => self.all_desired(*origin, row, step),
            // The same of one cluster, for who reads nothing else.
            Subject::Complete { cluster, origin: Some(origin), .. }
                if self.config.serves.only.as_ref() == Some(cluster) =>
            {
                self.all_desired(*origin, row, step);
            }
            subject if subject.cluster().is_some_and(|it| self.config.serves.others.contains(it)) => {}
            _ => self.desired(row, step),
        }
    }

    fn caught_up(&mut self, _: Sequence, step: &mut Step<Effect>) {
        self.caught_up = true;
        let now = step.steady;
        for (cluster, checks) in std::mem::take(&mut self.waiting) {
            self.with(&cluster, step, |state, next_id| state.reachable(checks, now, next_id));
        }
        // What was due before could not be said, and nothing else may come.
        self.say_farewell(step);
    }

    fn tick(&mut self, step: &mut Step<Effect>) {
        let now = step.steady;
        self.each(step, |state, next_id| state.tick(now, next_id));
        self.say_farewell(step);
        self.tell_slow(step);
        self.tell_configurations(step);
        self.forget_left_behind(step);
    }
}

#[cfg(test)]
mod tests;
