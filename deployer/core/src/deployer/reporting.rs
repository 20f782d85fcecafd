//! What is said of profiles: status rows for their makers, and problems.

use std::collections::BTreeMap;
use std::sync::Arc;

use sluice_api::{ClusterRef, Digest, ProfileId};
use sluice_protocol::rows::{Cause, Desired, State, Status};
use sluice_protocol::{About, Body, Fault, Meta, ProblemKey, Publish, Shard, Step, Subject, json};

use super::Deployer;
use crate::messages::Effect;

impl Deployer {
    /// The inventories are known: status rows for makers that own nothing any more, and want nothing, are withdrawn.
    pub(super) fn opened(&mut self, cluster: &ClusterRef, step: &mut Step<Effect>) {
        self.configure(cluster, step);
        let jobs = self.clusters.get(cluster).map(|state| &state.jobs);
        for (profile, origin) in self.found.remove(cluster).unwrap_or_default() {
            let job = jobs.and_then(|jobs| jobs.get(&profile));
            let owns = job
                .and_then(|job| job.inventory())
                .is_some_and(|held| held.cause.origin(self.config.shards) == origin);
            if !owns && !job.is_some_and(|job| job.is_wanted_by(origin)) {
                step.publish(self.no_status(cluster, &profile, origin));
            }
        }
        self.end_shown(cluster, step);
    }

    pub(super) fn status_subject(&self, cluster: &ClusterRef, profile: &ProfileId, origin: Shard) -> Subject {
        Subject::Status {
            shard: self.config.shard,
            cluster: cluster.clone(),
            origin,
            profile: profile.clone(),
        }
    }

    pub(super) fn no_status(&self, cluster: &ClusterRef, profile: &ProfileId, origin: Shard) -> Publish {
        Publish::new(self.status_subject(cluster, profile, origin), Body::Tombstone, 0)
    }

    /// Tells makers of a profile that another one has its name here.
    pub(super) fn wait(
        &mut self,
        cluster: &ClusterRef,
        profile: &ProfileId,
        holder: &Cause,
        waiting: Vec<(Shard, Arc<Desired>, Option<Digest>)>,
        step: &mut Step<Effect>,
    ) {
        let mut texts = BTreeMap::new();
        for (origin, desired, row) in waiting {
            let text = name_taken(cluster, profile, holder);
            let status = Status::new(State::Failed, vec![text.clone()]);
            let status = Status { row: row.filter(|_| desired.staged), ..status };
            let subject = self.status_subject(cluster, profile, origin);
            let row = self.aloud(status_row(subject, &status, &desired.cause, 0));
            step.publish(row);
            let ProblemKey { cluster: place, about } = desired.cause.problem();
            let about = About::On(Box::new(about), cluster.clone());
            texts.insert(ProblemKey { cluster: place, about }, text);
        }
        self.tell(cluster, profile, texts, step);
    }

    /// These makers wait, and no others.
    pub(super) fn tell(
        &mut self,
        cluster: &ClusterRef,
        profile: &ProfileId,
        texts: BTreeMap<ProblemKey, String>,
        step: &mut Step<Effect>,
    ) {
        let key = (cluster.clone(), profile.clone());
        let before = self.told.remove(&key).unwrap_or_default();
        for key in before.into_iter().filter(|key| !texts.contains_key(key)) {
            self.note(key, None, step);
        }
        if !texts.is_empty() {
            self.told.insert(key, texts.keys().cloned().collect());
        }
        for (key, text) in texts {
            self.note(key, Some(text.into()), step);
        }
    }

    pub(super) fn note(&mut self, key: ProblemKey, fault: Option<Fault>, step: &mut Step<Effect>) {
        self.problems.note(key, fault).into_iter().for_each(|problem| step.effect(Effect::Problem(problem)));
    }
}

/// What came of a row of this digest, with what it asks for and nobody can do yet.
pub(super) fn status_of(
    state: State,
    errors: &[String],
    (desired, row): (Option<&Desired>, Option<Digest>),
) -> Status {
    // Of a row that goes back its maker waits for what becomes of it, also where nobody knows what it is.
    let Some(desired) = desired else { return Status { row, ..Status::new(state, errors.to_vec()) } };
    let lacks = desired.lacks.values().flatten().filter(|_| state == State::Failed);
    let mut all = errors.to_vec();
    for text in lacks {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
    Status::new(state, all).of(desired, row)
}

pub(super) fn status_row(subject: Subject, status: &Status, cause: &Cause, time: i64) -> Publish {
    Publish::new(subject, Body::value(json::bytes(status)), time).meta(Meta::of_cause(cause))
}

/// What is said where two makers make a profile of one name.
fn name_taken(cluster: &ClusterRef, profile: &ProfileId, holder: &Cause) -> String {
    format!(
        "{profile} is already made on {cluster} by {holder}, and stays until that is gone; make spec.profileNameFormat differ, or rename one of them"
    )
}
