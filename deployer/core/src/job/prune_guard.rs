//! Whether a change of a profile deletes so much, or so much of others, that somebody must be asked.

// D-1059: a change of a profile that deletes much of what it has waits until somebody says so.

use std::time::Duration;

use sluice_api::model::ALLOW_PRUNE;
use sluice_api::{Digest, ObjectKey, few};
use sluice_protocol::rows::Cause;

use super::prune::holds_others;
use super::replies::Fault;
use super::{Job, JobContext};
use crate::budget::micros;
use crate::request::{Reply, Request};

/// Under this name it is kept among the errors.
const GUARD: &str = "prune guard";
/// What would go along is asked again after so long.
const ASK_AGAIN: Duration = Duration::from_secs(10);

impl Job {
    /// Whether it would delete more than its guard lets go without anybody being asked: then it deletes nothing, and says what would
    /// allow it. What events take away, and what a profile takes along that is deleted, is meant. While the server is asked what
    /// would go along, a call is in flight.
    pub(super) fn is_guarded(&mut self, context: &mut JobContext<'_>) -> bool {
        let Some(guard) = context.prune_guard else { return false };
        let allowed = match self.target.decoded() {
            Some(desired) if matches!(desired.cause, Cause::Profile(_)) => desired.allow_prune.clone(),
            _ => return false,
        };
        let doomed = self.doomed(context);
        let holders: Vec<ObjectKey> = doomed.iter().filter(|key| is_holder(key)).cloned().collect();
        let all = self.inventory().map_or(0, |inventory| inventory.objects.len());
        let is_much = guard.stops(doomed.len(), all);
        if !is_much && holders.is_empty() {
            return false;
        }
        let names: Vec<String> = doomed.iter().map(|key| format!("{} {key}", key.gvk)).collect();
        let parts: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let called = Digest::of(&parts).short();
        // Of clusters with different plans each has its own.
        if allowed.split([',', ' ']).any(|allowed| allowed == called) {
            return false;
        }
        let remedy = format!(
            "set the annotation {ALLOW_PRUNE}: {called:?} on the profile, or correct what it deploys \
             (--prune-guard {},{})",
            guard.objects, guard.percent,
        );
        if is_much {
            let (count, some) = (doomed.len(), few(", ", &doomed));
            let text = format!(
                "it would delete {count} of {all} objects ({some}), and deletes none of them until somebody says so: {remedy}"
            );
            self.run.errors.insert(GUARD.into(), Fault::following(text, false));
            return true;
        }
        self.ask_what_goes_along(&holders, context) || self.takes_along(&holders, &remedy, context.now)
    }

    /// Whether the server is being asked of one of these.
    fn ask_what_goes_along(&mut self, holders: &[ObjectKey], context: &mut JobContext<'_>) -> bool {
        let unknown = holders.iter().filter(|holder| !self.run.along.contains_key(*holder));
        let unknown: Vec<ObjectKey> = unknown.cloned().collect();
        let asks = !unknown.is_empty();
        for holder in unknown {
            let profile = self.profile.clone();
            self.call(Request::Along { holder, profile }, context);
        }
        asks
    }

    /// Whether something would go along with one of these that is not of this profile, or nobody can say. It is asked again in a
    /// while, since nothing tells when it has gone.
    fn takes_along(&mut self, holders: &[ObjectKey], remedy: &str, now: i64) -> bool {
        let mut faults = holders.iter().filter_map(|holder| match self.run.along.get(holder)? {
            Ok(None) => None,
            Ok(Some(thing)) => {
                let text =
                    format!("it would delete {holder}, and {thing} with it, which is not of this profile");
                Some((text, false))
            }
            Err(failure) => {
                let text = format!(
                    "it would delete {holder}, and what would go with it cannot be seen: {}",
                    failure.message
                );
                Some((text, failure.class.is_transient()))
            }
        });
        let Some((text, transient)) = faults.next() else { return false };
        let text = format!("{text}; it deletes nothing until somebody says so: {remedy}");
        self.run.errors.insert(GUARD.into(), Fault::following(text, transient));
        self.wake_at(now + micros(ASK_AGAIN));
        true
    }

    /// The server has said what would go along, or has not.
    pub(super) fn note_along(&mut self, holder: &ObjectKey, reply: Reply) {
        let said = match reply {
            Reply::Along(found) => Ok(found),
            Reply::Failed(failure) => Err(failure),
            _ => return,
        };
        self.run.along.insert(holder.clone(), said);
    }

    /// What would be deleted: what somebody else takes over, and what stays, is not.
    fn doomed(&self, context: &JobContext<'_>) -> Vec<ObjectKey> {
        let goes = |key: &&ObjectKey| {
            let Some(live) = context.live.get(key) else { return false };
            self.owns(live)
                && context.claims.heir(key, &self.profile).is_none()
                && !self.stays(key, live, context)
        };
        self.stale().filter(goes).cloned().collect()
    }
}

/// Whether something of others may go with it: what is in it, its objects, what is written in its volume.
fn is_holder(key: &ObjectKey) -> bool {
    holds_others(key) || (key.gvk.group.is_empty() && key.gvk.kind == "PersistentVolumeClaim")
}
