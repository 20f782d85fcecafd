//! What pods of the cluster read is watched and read, and their workloads hear of it.

// D-1061: what pods read is read when its version is another one, and nothing else is kept of a cluster.

use sluice_api::{Gvk, ObjectKey, ProfileId};
use sluice_protocol::CallId;

use super::{Cluster, Outcome};
use crate::job::Job;
use crate::reload::Glimpse;
use crate::request::{Reply, Request};

/// What comes of reading what pods read.
#[derive(Debug, Default)]
pub(crate) struct Reloads {
    /// Kinds that are to be watched from now on, or (`false`) no longer.
    pub(crate) watched: Vec<(Gvk, bool)>,
    /// Of each kind of which that is news: why something of it cannot be read, or that it can.
    pub(crate) troubles: Vec<(Gvk, Option<String>)>,
    /// Workloads that were restarted.
    pub(crate) done: Vec<ObjectKey>,
}

impl Cluster {
    /// A watch of what pods can read shows something.
    pub(crate) fn glimpse(&mut self, glimpse: Glimpse, now: i64, next_id: &mut CallId) -> Outcome {
        let mut outcome = Outcome::default();
        self.sources.glimpse(glimpse);
        self.send(now, next_id, &mut outcome);
        outcome
    }

    /// Something that pods read has been read: who names it looks whether its workloads restart.
    pub(super) fn source_read(&mut self, key: &ObjectKey, reply: Reply, now: i64, outcome: &mut Outcome) {
        let found = match reply {
            Reply::Content(found) => Ok(found),
            Reply::Failed(failure) => Err(failure),
            _ => return,
        };
        for profile in self.sources.read(key, found, now) {
            let ended = self.with_job(&profile, now, Job::hears);
            self.end(&profile, ended, outcome);
            self.look_at_later(&profile, now, outcome);
        }
    }

    /// What was read while there was work on a profile.
    pub(super) fn hear_later(&mut self, profile: &ProfileId, now: i64, outcome: &mut Outcome) {
        if self.jobs.get(profile).is_some_and(|job| job.is_to_hear()) {
            let ended = self.with_job(profile, now, Job::hears_now);
            self.end(profile, ended, outcome);
        }
    }

    /// Asks for what is to be read, and says what is to be watched.
    pub(super) fn look_at_sources(&mut self, now: i64, outcome: &mut Outcome) {
        self.sources.tick(now).into_iter().for_each(|at| outcome.wake(at));
        for key in self.sources.take_reads() {
            self.calls.push(Request::Content(key), None);
        }
        outcome.reloads.watched.append(&mut self.sources.take_watched());
        // A server in trouble is one problem.
        if !self.calls.is_broken() {
            outcome.reloads.troubles.append(&mut self.sources.take_troubles());
        }
    }
}
