//! Whether a change of a profile deletes so much that somebody must be asked.

// D-1059: a change of a profile that deletes much of what it has waits until somebody says so.

use sluice_api::model::ALLOW_PRUNE;
use sluice_api::{Digest, ObjectKey, few};
use sluice_protocol::rows::Cause;

use super::replies::Fault;
use super::{Job, JobContext};

/// Under this name it is kept among the errors.
const GUARD: &str = "prune guard";

impl Job {
    /// Whether it would delete more than its guard lets go without anybody being asked: then it deletes nothing, and says what would
    /// allow it. What events take away, and what a profile takes along that is deleted, is meant.
    pub(super) fn is_guarded(&mut self, context: &JobContext<'_>) -> bool {
        let Some(guard) = context.prune_guard else { return false };
        let allowed = match self.target.decoded() {
            Some(desired) if matches!(desired.cause, Cause::Profile(_)) => desired.allow_prune.clone(),
            _ => return false,
        };
        let doomed = self.doomed(context);
        let all = self.inventory().map_or(0, |inventory| inventory.objects.len());
        if !guard.stops(doomed.len(), all) {
            return false;
        }
        let names: Vec<String> = doomed.iter().map(|key| format!("{} {key}", key.gvk)).collect();
        let parts: Vec<&[u8]> = names.iter().map(String::as_bytes).collect();
        let called = Digest::of(&parts).short();
        // Of clusters with different plans each has its own.
        if allowed.split([',', ' ']).any(|allowed| allowed == called) {
            return false;
        }
        let text = format!(
            "it would delete {} of {all} objects ({}), and deletes none of them until somebody says so: set the annotation \
             {ALLOW_PRUNE}: {called:?} on the profile, or correct what it deploys (--prune-guard {},{})",
            doomed.len(),
            few(", ", &doomed),
            guard.objects,
            guard.percent,
        );
        self.run.errors.insert(GUARD.into(), Fault::following(text, false));
        true
    }

    /// What would be deleted: what somebody else takes over, and what stays, is not.
    fn doomed(&self, context: &JobContext<'_>) -> Vec<ObjectKey> {
        let goes = |key: &&ObjectKey| {
            let Some(live) = context.live.get(*key) else { return false };
            self.owns(live)
                && context.claims.heir(key, &self.profile).is_none()
                && !self.stays(key, live, context)
        };
        self.stale().filter(goes).cloned().collect()
    }
}
