//! How far clusters are on their way back to a former content, and what is said of that.

use sluice_api::model::ROLLOUT;
use sluice_api::{ClusterRef, few};
use sluice_protocol::Fault;

/// Of clusters that have not got what is written so many are told.
pub(super) const TOLD: usize = 500;
/// Why clusters go back where people have said so.
pub(super) const ASKED: &str = "sluice.dev/rollout-undo says so";

/// How far clusters are on their way back.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Return {
    pub(super) from: String,
    pub(super) to: String,
    pub(super) why: String,
    pub(super) all: usize,
    /// Clusters that have the content that was good.
    pub(super) have: usize,
    pub(super) going: Vec<ClusterRef>,
    pub(super) failed: Vec<ClusterRef>,
    pub(super) away: Vec<ClusterRef>,
    /// They have another content, and nothing to go back to.
    pub(super) stuck: Vec<ClusterRef>,
    /// So many have nothing yet.
    pub(super) without: usize,
    /// The first that have not got what is written.
    pub(super) waiting: Vec<ClusterRef>,
}

// === impl Return ===

impl Return {
    /// What is said of it: it is wrong unless its user has asked for it, and all of it works.
    pub(super) fn fault(&self) -> Fault {
        let Self { from, to, why, all, have, going, failed, away, stuck, without, waiting } = self;
        let goes = if going.is_empty() && failed.is_empty() && away.is_empty() { "went" } else { "goes" };
        let mut text = format!(
            "{ROLLOUT}it {goes} back from {from} to {to}, since {why}: {have} of {all} clusters have that"
        );
        for (clusters, what) in [
            (going, "go back"),
            (failed, "cannot go back"),
            (away, "are passed over, paused or away"),
            (stuck, "have nothing to go back to and keep what they have"),
        ] {
            if !clusters.is_empty() {
                text.push_str(&format!(", {} {what} ({})", clusters.len(), few(", ", clusters)));
            }
        }
        if *without > 0 {
            text.push_str(&format!(", {without} have nothing yet"));
        }
        text.push_str("; to go on, write another content");
        let is_wrong = why != ASKED || !failed.is_empty() || !stuck.is_empty();
        let fault = if is_wrong { Fault::new(text) } else { Fault::note(text) };
        fault.left(all.saturating_sub(stuck.len())).waiting(waiting.clone())
    }

    /// So many have not got what is written.
    pub(super) fn left(&self) -> usize {
        // It is looked at as long as the content is the same.
        self.all.max(1)
    }
}
