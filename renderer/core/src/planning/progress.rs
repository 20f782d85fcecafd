//! How far a rollout is, why it does not go on, and what is said of that.

use sluice_api::model::{Approval, ROLLOUT, Rollout};
use sluice_api::{ClusterRef, few};
use sluice_protocol::Fault;

use super::returns::Return;

/// How far a rollout is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    /// All its clusters.
    pub(super) all: usize,
    /// Clusters that have it for long enough.
    pub(super) done: usize,
    pub(super) updating: Vec<ClusterRef>,
    pub(super) failed: Vec<ClusterRef>,
    /// Clusters that are passed over.
    pub(super) away: Vec<ClusterRef>,
    /// So many wait for their turn.
    pub(super) waiting: usize,
    /// The first that have not got it, those that are passed over among them.
    pub(super) without: Vec<ClusterRef>,
    /// So many have not got it, for whatever reason.
    pub(super) left: usize,
    /// Why nobody gets a turn.
    stop: Option<Stop>,
    /// How that is called which goes out, and what can be gone back to; where anything could be.
    pub(super) names: Option<(String, Option<String>)>,
    /// It does not go on: clusters go back.
    pub(super) back: Option<Box<Return>>,
}

/// Why no cluster gets its turn until somebody does something.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Stop {
    /// Its user says so.
    Asked,
    /// It has failed on more clusters than it may.
    Budget(usize),
    /// Those on which it has failed hold all turns.
    Failed,
    /// Somebody must approve what is called so.
    Approval(String),
    /// Its user wants it undone, and no cluster that has it can go back.
    Undone,
}

// === impl Progress ===

impl Progress {
    /// Clusters go back.
    pub(super) fn back(back: Return) -> Self {
        Self { left: back.left(), back: Some(Box::new(back)), ..Self::default() }
    }

    // D-0933: what fails goes back to the last content that was good.
    /// Whether more may follow: clusters have not got it, or all have, and it may still fail on one, from which all would go back.
    pub(super) fn is_open(&self) -> bool {
        let can_go_back = self.names.as_ref().is_some_and(|(_, good)| good.is_some());
        self.left > 0 || (can_go_back && !(self.updating.is_empty() && self.away.is_empty()))
    }

    /// How many more may get it now, `soaking` of those that are being updated having it. Where it does not go on by itself, why.
    pub(super) fn free(&mut self, rollout: &Rollout, called: &str, soaking: usize) -> usize {
        let limit = rollout.at_a_time.of(self.all).max(1);
        let (updating, failed) = (self.updating.len(), self.failed.len());
        let budget = rollout.failure_budget.map(|budget| budget.of(self.all));
        let held = updating + if budget.is_some() { 0 } else { failed };
        let unapproved = matches!(&rollout.approval, Approval::Of(approved) if approved != called);
        let given = self.done + updating + failed;
        self.stop = match budget {
            _ if !called.is_empty() && rollout.undo == called => Some(Stop::Undone),
            _ if rollout.is_stopped => Some(Stop::Asked),
            Some(budget) if failed > budget => Some(Stop::Budget(budget)),
            None if failed >= limit => Some(Stop::Failed),
            _ if unapproved && given >= limit && updating == soaking => {
                Some(Stop::Approval(called.to_owned()))
            }
            _ => None,
        };
        let free = limit.saturating_sub(held);
        match self.stop {
            Some(_) => 0,
            None if unapproved => free.min(limit.saturating_sub(given)),
            None => free,
        }
    }

    /// What goes out is called so, and this can be gone back to.
    pub(crate) fn name(&mut self, (called, good): (&str, Option<&str>)) {
        self.names = Some((called.to_owned(), good.map(str::to_owned)));
    }

    /// Why it goes to no more clusters, where it has failed.
    pub(super) fn failure(&self) -> Option<String> {
        let stop = self.stop.as_ref().filter(|stop| matches!(stop, Stop::Budget(_) | Stop::Failed))?;
        let than = match stop {
            Stop::Budget(budget) => format!("more than the {budget} of sluice.dev/rollout-failure-budget"),
            _ => "as many as spec.maxUpdate allows at a time".to_owned(),
        };
        Some(format!("it failed on {} ({}), {than}", self.failed.len(), few(", ", &self.failed)))
    }

    /// What is said of it. It is wrong only where it does not go on by itself for a reason that its user may not know.
    pub(super) fn fault(&self) -> Fault {
        if let Some(back) = &self.back {
            return back.fault();
        }
        let Self { all, done, updating, failed, away, waiting, without, left: _, stop, names, back: _ } =
            self;
        let left = all.saturating_sub(*done);
        let mut text = format!("{ROLLOUT}{done} of {all} clusters have it");
        let mut add = |count: usize, what: &str, which: &[ClusterRef]| {
            if count > 0 {
                let which = if which.is_empty() { String::new() } else { format!(" ({})", few(", ", which)) };
                text.push_str(&format!(", {count} {what}{which}"));
            }
        };
        add(updating.len(), "are being updated", updating);
        add(failed.len(), "failed", failed);
        add(*waiting, "wait for their turn", &[]);
        add(away.len(), "are passed over, paused or away", away);
        if let Some(stop) = stop {
            text.push_str("; ");
            text.push_str(&stop.to_string());
        }
        let is_wrong = stop.as_ref().is_some_and(Stop::is_wrong);
        match names {
            Some((called, Some(good))) if !is_wrong => {
                text.push_str(&format!("; it is called {called}, and goes back to {good} if it fails"));
            }
            Some((called, _)) => {
                text.push_str(&format!("; it is called {called}, and no cluster has anything to go back to"));
            }
            None => {}
        }
        let fault = if is_wrong { Fault::new(text) } else { Fault::note(text) };
        fault.left(left).waiting(without.clone())
    }
}

// === impl Stop ===

impl Stop {
    fn is_wrong(&self) -> bool {
        matches!(self, Self::Budget(_) | Self::Failed | Self::Undone)
    }
}

impl std::fmt::Display for Stop {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Asked => f.write_str("it was stopped: to go on, take the annotation sluice.dev/rollout-stop off"),
            Self::Budget(budget) => write!(
                f,
                "it goes to no more clusters, since it failed on more than the {budget} of sluice.dev/rollout-failure-budget: mend what it deploys, or those clusters"
            ),
            Self::Failed => f.write_str(
                "it goes to no more clusters, since those where it failed are as many as spec.maxUpdate allows at a time: mend what it deploys, or those clusters, or allow some to fail by sluice.dev/rollout-failure-budget",
            ),
            Self::Undone => f.write_str("it goes to no more clusters, since sluice.dev/rollout-undo says so: write another content"),
            Self::Approval(called) => {
                write!(f, "the first clusters have it: to go on, set sluice.dev/rollout-approve: {called:?}")
            }
        }
    }
}
