//! Waiting for other profiles of the same cluster.

// D-1052: a profile waits for those that it depends on, and they go after it.

use std::collections::BTreeSet;

use sluice_api::{ProfileId, ServiceAccount};
use sluice_protocol::rows::State;

use super::replies::Fault;
use super::{Ended, Job, JobContext, Phase, Target};
use crate::cluster::Unmet;

/// Under this name a circle is kept among the errors.
const CIRCLE: &str = "spec.dependsOn";

/// Whom a profile waits for.
#[derive(Debug, Default)]
pub(super) struct Awaited {
    /// Before it is applied.
    unmet: Vec<Unmet>,
    /// Before it is removed: who needs it.
    dependents: Vec<ProfileId>,
    /// And who takes over from it.
    successors: Vec<Unmet>,
    /// Whether nobody has been told yet.
    is_new: bool,
}

// === impl Awaited ===

impl Awaited {
    /// For others than before it has not been told.
    fn after(self, before: &Self) -> Self {
        let others = |of: &Self| (of.unmet.clone(), of.dependents.clone(), of.successors.clone());
        let is_new = before.is_new || others(before) != others(&self);
        Self { is_new, ..self }
    }

    fn is_nothing(&self) -> bool {
        self.unmet.is_empty() && self.dependents.is_empty() && self.successors.is_empty()
    }
}

impl Job {
    /// What it needs: by its newest row; where that wants nothing, or is not known, as it was when it was applied.
    pub(crate) fn needs(&self) -> Option<&BTreeSet<ProfileId>> {
        match &self.target {
            Target::Value(goal) => Some(goal.needs()),
            _ => self.inventory().map(|inventory| &inventory.depends_on),
        }
    }

    /// For whom it acts, as far as that is known.
    pub(crate) fn tenant(&self) -> Option<&ServiceAccount> {
        self.tenant.as_deref()
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
        !self.awaited.is_nothing()
    }

    /// What is said of what it depends on, as the original says it.
    pub(crate) fn told_dependencies(&self) -> String {
        if !self.awaited.successors.is_empty() {
            return self
                .awaited
                .successors
                .iter()
                .map(Unmet::text_of_successor)
                .collect::<Vec<_>>()
                .join("\n");
        }
        let needs_nothing = self.needs().is_none_or(BTreeSet::is_empty);
        match self.awaited.unmet.is_empty() {
            true if needs_nothing => "no dependencies".to_owned(),
            true => "All dependencies deployed".to_owned(),
            false => self.awaited.unmet.iter().map(Unmet::text).collect::<Vec<_>>().join("\n"),
        }
    }

    /// What it waits for, a line each.
    pub(crate) fn waits_for(&self) -> Vec<String> {
        self.awaited.unmet.iter().map(Unmet::text).chain(self.checks.waits_for()).collect()
    }

    /// Whether it waits for others than it did when this was asked last.
    pub(crate) fn takes_new_wait(&mut self) -> bool {
        std::mem::take(&mut self.awaited.is_new)
    }

    /// Whether those that need it hold it.
    pub(super) fn is_held(&self) -> bool {
        !self.awaited.dependents.is_empty()
    }

    /// Why it is not removed, where others hold it, or are to take over from it.
    pub(crate) fn held_by(&self) -> Option<String> {
        let others = |count: usize| match count - 1 {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let Awaited { dependents, successors, .. } = &self.awaited;
        if let Some(first) = dependents.first() {
            let others = others(dependents.len());
            return Some(format!(
                "it is to be removed, and {first}{others} needs it on this cluster: remove that first, or take it out of its spec.dependsOn"
            ));
        }
        let (first, others) = (&successors.first()?.profile, others(successors.len()));
        Some(format!(
            "it is to be removed, and stays until {first}{others}, which takes over from it, is Provisioned on this cluster: see what is wrong there, or take it out of its spec.transitionFrom"
        ))
    }

    /// Waits for what it depends on, if need be. What is there of it stays, but for what it does not want any more: that may be just what
    /// the other one lacks. Where nothing is to be done there is nothing to wait for.
    pub(super) fn wait_for_others(
        &mut self,
        untouchable: bool,
        context: &mut JobContext<'_>,
    ) -> Option<Ended> {
        let before = std::mem::take(&mut self.awaited);
        let needs = self.needs().filter(|needs| !untouchable && !needs.is_empty())?;
        if let Some(circle) = context.others.circle(&self.profile, needs) {
            let way: Vec<_> = circle.iter().map(ToString::to_string).collect();
            let text = format!(
                "spec.dependsOn: {} is a circle, of which none can be the first; take one of them out",
                way.join(" -> ")
            );
            self.run.errors.insert(CIRCLE.to_owned(), Fault::new(text, false));
            self.let_go(context);
            return Some(self.settle(context));
        }
        let unmet = context.others.unmet(needs);
        if unmet.is_empty() {
            return None;
        }
        self.awaited = Awaited { unmet, ..Awaited::default() }.after(&before);
        self.let_go(context);
        self.run.rest();
        self.phase = Phase::Idle;
        Some(Ended::NotYet)
    }

    // D-0929: a removal waits on its own cluster.
    /// Waits with its removal until those are gone that need it, and those are there that take over from it.
    pub(super) fn wait_to_be_removed(&mut self, context: &mut JobContext<'_>) -> bool {
        let before = std::mem::take(&mut self.awaited);
        let dependents = context.others.holding(&self.profile, self.tenant());
        let successors = match self.successors() {
            Some(after) if dependents.is_empty() => context.others.missing(after, self.tenant()),
            _ => Vec::new(),
        };
        let awaited = Awaited { dependents, successors, ..Awaited::default() };
        if awaited.is_nothing() {
            return false;
        }
        self.awaited = awaited.after(&before);
        self.phase = Phase::Idle;
        true
    }
}
