//! Waiting for other profiles of the same cluster.

use std::collections::BTreeSet;

use sluice_api::ProfileId;
use sluice_protocol::rows::{Desired, State};

use super::replies::Fault;
use super::{Ended, Job, JobContext, Phase, Target};
use crate::dependencies::Unmet;

/// Under this name a circle is kept among the errors.
const CIRCLE: &str = "spec.dependsOn";

/// Whom a profile waits for.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// Before it is applied.
    unmet: Vec<Unmet>,
    /// Before it is removed.
    dependents: Vec<ProfileId>,
    /// Whether nobody has been told yet of what is unmet.
    is_new: bool,
    /// Whether what was looked at is what another maker needed.
    is_stale: bool,
}

impl Job {
    /// What it needs: by its newest row; where that wants nothing, or is not known, as it was when it was applied.
    pub(crate) fn needs(&self) -> Option<&BTreeSet<ProfileId>> {
        match &self.target {
            Target::Value(goal) => Some(goal.needs()),
            _ => self.inventory().map(|inventory| &inventory.depends_on),
        }
    }

    /// Whether it is on the cluster as its newest row says.
    pub(crate) fn is_provisioned(&self) -> bool {
        self.provisioned.is_some() && self.provisioned == self.target.digest()
    }

    /// Notes what came of a run.
    pub(super) fn note_outcome(&mut self, state: State) {
        self.provisioned = self.target.digest().filter(|_| state == State::Provisioned);
    }

    /// Whether it waits for another profile.
    pub(crate) fn awaits(&self) -> bool {
        self.awaited.is_stale || !self.awaited.unmet.is_empty() || !self.awaited.dependents.is_empty()
    }

    /// What is said of what it depends on, as the original says it.
    pub(crate) fn told_dependencies(&self) -> String {
        let needs_nothing = self.needs().is_none_or(BTreeSet::is_empty);
        match self.awaited.unmet.is_empty() {
            true if needs_nothing => "no dependencies".to_owned(),
            true => "All dependencies deployed".to_owned(),
            false => self.waits_for().join("\n"),
        }
    }

    /// What it waits for, a line each.
    pub(crate) fn waits_for(&self) -> Vec<String> {
        self.awaited.unmet.iter().map(Unmet::text).collect()
    }

    /// Whether it waits for others than it did when this was asked last.
    pub(crate) fn takes_new_wait(&mut self) -> bool {
        std::mem::take(&mut self.awaited.is_new)
    }

    /// Why it is not removed, where others hold it.
    pub(crate) fn held_by(&self) -> Option<String> {
        let first = self.awaited.dependents.first()?;
        let others = match self.awaited.dependents.len() - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        Some(format!(
            "it is to be removed, and {first}{others} needs it on this cluster: remove that first, or take it out of its spec.dependsOn"
        ))
    }

    /// Waits for what it depends on, if need be. What is there of it stays, but for what it does not want any more: that may be just what
    /// the other one lacks.
    pub(super) fn wait_for_others(
        &mut self,
        desired: &Desired,
        context: &mut JobContext<'_>,
    ) -> Option<Ended> {
        let before = std::mem::take(&mut self.awaited);
        if desired.dry_run {
            return None;
        }
        if self.needs().is_some_and(|needs| *needs != context.needs.of) {
            self.awaited.is_stale = true;
            return Some(self.rest());
        }
        if let Some(circle) = context.needs.circle.take() {
            let way: Vec<_> = circle.iter().map(ToString::to_string).collect();
            let text = format!(
                "spec.dependsOn: {} is a circle, of which none can be the first; take one of them out",
                way.join(" -> ")
            );
            self.run.errors.insert(CIRCLE.to_owned(), Fault::new(text, false));
            self.let_go(context);
            return Some(self.settle(context.now));
        }
        self.awaited.unmet = std::mem::take(&mut context.needs.unmet);
        if self.awaited.unmet.is_empty() {
            return None;
        }
        self.awaited.is_new = before.is_new || before.unmet != self.awaited.unmet;
        self.let_go(context);
        Some(self.rest())
    }

    fn rest(&mut self) -> Ended {
        self.run.rest();
        self.phase = Phase::Idle;
        Ended::NotYet
    }

    /// Waits with its removal until those are gone that need it.
    pub(super) fn wait_for_dependents(&mut self, context: &mut JobContext<'_>) -> bool {
        let dependents = std::mem::take(&mut context.needs.dependents);
        self.awaited = Awaited { dependents, ..Awaited::default() };
        let waits = !self.awaited.dependents.is_empty();
        if waits {
            self.phase = Phase::Idle;
        }
        waits
    }
}
