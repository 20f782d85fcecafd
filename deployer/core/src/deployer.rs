//! The deployer of one shard of `desired`.

use std::collections::{BTreeMap, BTreeSet};

use sluice_api::ClusterRef;
use sluice_protocol::rows::{State, Status, StatusMeta};
use sluice_protocol::{Body, Core, Happened, Head, Problem, Publish, Row, Step, Subject, View};

use crate::budget::BREAK_AFTER;
use crate::cluster::{Cluster, Outcome};
use crate::job::{Ended, Goal, Target};
use crate::request::{Reply, Request};
use crate::summary::Summary;

const STAGE: &str = "deployer";
/// Attempts in a row that the server's state may spoil before it is the profile's problem: not fewer than those after
/// which it is the cluster's.
const SPOILED_ATTEMPTS: u32 = BREAK_AFTER;

/// What a deployer must know of its place.
#[derive(Clone, Debug)]
pub struct Config {
    /// Its shard of `desired`.
    pub shard: u16,
    /// How long calls of a former owner may still arrive once this one works, microseconds: how long they may take, and
    /// how long it may not know that it was deposed.
    pub former_calls: i64,
}

/// What a deployer learns besides `desired`.
#[derive(Debug)]
pub enum Side {
    /// A cluster of this shard can be reached, or is reached in another way from now on: over another kubeconfig.
    Reachable(ClusterRef),
    /// A cluster is no longer registered, or nobody knows how to reach it.
    Unreachable(ClusterRef),
    /// The answer to [`Effect::Call`].
    Reply(ClusterRef, u64, Reply),
}

/// What a deployer wants done.
#[derive(Debug, PartialEq)]
pub enum Effect {
    /// Calls to this cluster go from now on over the way that the last [`Side::Reachable`] or [`Side::Unreachable`] was
    /// about; there is one for each of them.
    Switch(ClusterRef),
    /// A call to a cluster's API server; answered by [`Side::Reply`].
    Call(ClusterRef, u64, Request),
    /// The ClusterSummary should say this.
    Summary(Summary),
    /// Something is wrong, or no longer.
    Problem(Problem),
    /// Something happened.
    Happened(Happened),
}

/// See the module's text.
pub struct Deployer {
    config: Config,
    clusters: BTreeMap<ClusterRef, Cluster>,
    found: BTreeMap<ClusterRef, BTreeSet<String>>,
    failing: BTreeSet<(ClusterRef, String)>,
    next_id: u64,
    started: bool,
    /// Until when calls of a former owner may arrive.
    former_until: i64,
}

impl Deployer {
    /// A deployer that knows nothing yet.
    pub fn new(config: Config) -> Self {
        Self {
            config,
            clusters: BTreeMap::new(),
            found: BTreeMap::new(),
            failing: BTreeSet::new(),
            next_id: 0,
            started: false,
            former_until: 0,
        }
    }

    /// Lets one cluster do something, and carries out what comes of it.
    fn with(
        &mut self,
        cluster: &ClusterRef,
        step: &mut Step<Effect>,
        f: impl FnOnce(&mut Cluster, &mut u64) -> Outcome,
    ) {
        let former_until = (self.former_until > step.now).then_some(self.former_until);
        let state = self.clusters.entry(cluster.clone()).or_insert_with(|| Cluster::new(former_until));
        let outcome = f(state, &mut self.next_id);
        for (id, request) in outcome.calls {
            step.effect(Effect::Call(cluster.clone(), id, request));
        }
        if let Some(at) = outcome.wake_at {
            step.wake_at(at);
        }
        if let Some(trouble) = outcome.trouble {
            self.note(cluster, String::new(), trouble, step);
        }
        if outcome.opened {
            self.opened(cluster, step);
        }
        for (profile, ended) in outcome.ended {
            self.ended(cluster, &profile, ended, step);
        }
    }

    /// The inventories are known: status rows of profiles that own nothing any more are withdrawn.
    fn opened(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        let known = self.clusters.get(cluster).map(|state| &state.jobs);
        for profile in self.found.remove(cluster).unwrap_or_default() {
            if known.is_none_or(|jobs| jobs.get(&profile).is_none_or(|job| job.inventory().is_none())) {
                step.publish(Publish::new(self.status_subject(cluster, &profile), Body::Tombstone, 0));
            }
        }
    }

    fn status_subject(&self, cluster: &ClusterRef, profile: &str) -> Subject {
        Subject::Status { shard: self.config.shard, cluster: cluster.clone(), profile: profile.to_owned() }
    }

    fn ended(&mut self, cluster: &ClusterRef, profile: &str, ended: Ended, step: &mut Step<Effect>) {
        match ended {
            Ended::NotYet => {}
            Ended::Removed => self.removed(cluster, profile, step),
            Ended::Settled { state, changed } => self.settled(cluster, profile, state, changed, step),
        }
    }

    fn removed(&mut self, cluster: &ClusterRef, profile: &str, step: &mut Step<Effect>) {
        let job = self.clusters.get_mut(cluster).and_then(|state| state.jobs.remove(profile));
        step.publish(Publish::new(self.status_subject(cluster, profile), Body::Tombstone, 0));
        self.note(cluster, profile.to_owned(), None, step);
        let Some(job) = job else { return };
        let Some(inventory) = job.withdrawn else { return };
        step.effect(Effect::Happened(Happened::new(
            STAGE,
            "withdrawn",
            cluster,
            profile,
            step.now,
            job.time,
        )));
        step.effect(Effect::Summary(Summary {
            cluster: cluster.clone(),
            owner_kind: inventory.owner_kind.clone(),
            owner_namespace: inventory.owner_namespace.clone(),
            profile: profile.to_owned(),
            spec: serde_json::Map::new(),
            state: None,
            errors: Vec::new(),
        }));
    }

    fn settled(
        &mut self,
        cluster: &ClusterRef,
        profile: &str,
        state: State,
        changed: bool,
        step: &mut Step<Effect>,
    ) {
        let Some(known) = self.clusters.get_mut(cluster) else { return };
        // A server in trouble is one problem, not one for each profile on it.
        let spoiled = if known.is_in_trouble() { u32::MAX } else { SPOILED_ATTEMPTS };
        let Some(job) = known.jobs.get_mut(profile) else { return };
        let held_up = job.is_held_up(spoiled);
        let errors = job.errors();
        let (time, origin) = (job.time, job.origin);
        let desired = job.target.rest();
        let cause = match (&desired, job.inventory()) {
            (Some(desired), _) => desired.cause.clone(),
            (None, Some(inventory)) => inventory.cause.clone(),
            (None, None) => return,
        };
        let status = Status { state, errors: errors.clone() };
        let meta = serde_json::to_string(&StatusMeta { origin, cause }).unwrap_or_default();
        let body = serde_json::to_vec(&status).unwrap_or_default();
        step.publish(Publish::new(self.status_subject(cluster, profile), Body::value(body), time).meta(meta));
        if changed && state == State::Provisioned {
            step.effect(Effect::Happened(Happened::new(STAGE, "applied", cluster, profile, step.now, time)));
        }
        self.note(
            cluster,
            profile.to_owned(),
            (!errors.is_empty() && !held_up).then(|| errors.join("\n")),
            step,
        );
        if let Some(desired) = desired {
            step.effect(Effect::Summary(Summary {
                cluster: cluster.clone(),
                owner_kind: desired.owner_kind.clone(),
                owner_namespace: desired.owner_namespace.clone(),
                profile: profile.to_owned(),
                spec: desired.spec.clone(),
                state: Some(state),
                errors,
            }));
        }
    }

    fn note(
        &mut self,
        cluster: &ClusterRef,
        profile: String,
        error: Option<String>,
        step: &mut Step<Effect>,
    ) {
        let object = if profile.is_empty() { "cluster".to_owned() } else { format!("profile {profile}") };
        let key = (cluster.clone(), profile);
        match error {
            Some(error) => {
                step.effect(Effect::Problem(Problem::open(STAGE, cluster, object, error)));
                self.failing.insert(key);
            }
            None if self.failing.remove(&key) => {
                step.effect(Effect::Problem(Problem::healed(STAGE, cluster, object)))
            }
            None => {}
        }
    }

    fn desired(&mut self, row: &Row, step: &mut Step<Effect>) {
        let Subject::Desired { cluster, origin, profile, .. } = &row.subject else { return };
        let target = if row.head.tombstone {
            Target::Gone
        } else {
            match Goal::read(&row.body) {
                Ok(goal) => Target::Value(goal),
                Err(error) => {
                    let text = format!(
                        "the row cannot be read ({error}); it is rewritten when the profile changes or the renderer restarts"
                    );
                    return self.note(cluster, profile.clone(), Some(text), step);
                }
            }
        };
        let (time, now) = (row.head.time, step.now);
        let (origin, profile) = (*origin, profile.clone());
        self.with(&cluster.clone(), step, |state, next_id| {
            state.retarget(&profile, origin, target, time, now, next_id)
        });
    }

    fn each(&mut self, step: &mut Step<Effect>, f: impl Fn(&mut Cluster, &mut u64) -> Outcome) {
        let clusters: Vec<_> = self.clusters.keys().cloned().collect();
        for cluster in clusters {
            self.with(&cluster, step, &f);
        }
    }
}

// === impl Core for Deployer ===

impl Core for Deployer {
    type Side = Side;
    type Effect = Effect;

    fn found(&mut self, subject: &Subject, head: &Head) {
        if let Subject::Status { cluster, profile, .. } = subject
            && !head.tombstone
        {
            self.found.entry(cluster.clone()).or_default().insert(profile.clone());
        }
    }

    fn view(&self) -> View {
        View::default()
    }

    fn side(&mut self, side: Side, step: &mut Step<Effect>) {
        let (now, former_calls) = (step.now, self.config.former_calls);
        if let Side::Reachable(cluster) | Side::Unreachable(cluster) = &side {
            step.effect(Effect::Switch(cluster.clone()));
        }
        match side {
            Side::Reachable(cluster) if self.started => {
                self.with(&cluster, step, |state, next_id| state.reachable(now, former_calls, next_id))
            }
            Side::Reachable(cluster) => {
                self.clusters.entry(cluster).or_insert_with(|| Cluster::new(None));
            }
            Side::Unreachable(cluster) if !self.started => drop(self.clusters.remove(&cluster)),
            Side::Unreachable(cluster) => {
                if self.clusters.contains_key(&cluster) {
                    self.with(&cluster, step, |state, _| state.unreachable(now, former_calls));
                }
            }
            Side::Reply(cluster, id, reply) => {
                self.with(&cluster, step, |state, next_id| state.reply(id, reply, now, next_id))
            }
        }
    }

    fn start(&mut self, step: &mut Step<Effect>) {
        self.started = true;
        let (now, former_calls) = (step.now, self.config.former_calls);
        // A former owner may still have calls on their way: what they leave is compared once more.
        let until = now + former_calls;
        self.former_until = until;
        self.each(step, |state, next_id| {
            state.follows_another(until);
            state.reachable(now, former_calls, next_id)
        });
    }

    fn row(&mut self, row: &Row, step: &mut Step<Effect>) {
        self.desired(row, step);
    }

    fn caught_up(&mut self, _: u64, _: &mut Step<Effect>) {}

    fn tick(&mut self, step: &mut Step<Effect>) {
        let now = step.now;
        self.each(step, |state, next_id| state.tick(now, next_id));
    }
}

#[cfg(test)]
mod tests;
