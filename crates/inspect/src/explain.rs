//! Why something is deployed, or why not: each condition on the way from a manifest to an object, in order, with its verdict.
//! The first "no" comes with what would turn it into a yes.
//!
//! ```text
//! management cluster ─► trigger, EventSource, profile, registered clusters ┐
//! bus ─► changes, reports, desired, status, problems ──────────────────────┴─► facts ─► steps
//! ```
//!
//! The facts are gathered once, then everything is decided from them: by the readers and programs that the stages use.

// D-1101: facts are gathered once, and a pure function decides.

use std::borrow::Cow;

use serde::Serialize;
use sluice_api::few::NAMED;
use sluice_api::{ClusterRef, ProfileId, few};
use sluice_protocol::rows::{Cause, Desired, Staged, State, Status};
use sluice_protocol::{ProblemRow, Severity, Shard};

pub use self::facts::{Facts, OfEvent, OnBus, gather};
use crate::trace::Target;

mod event;
mod facts;
mod object;
mod profile;
mod trigger;

/// What is asked.
#[derive(Clone, Debug)]
pub enum Question {
    /// Why what follows from a trigger is in a cluster, or is not.
    Trigger {
        /// Its name.
        name: String,
        /// Where.
        cluster: ClusterRef,
    },
    /// Why what a profile deploys is in a cluster, or is not.
    Profile {
        /// Namespace of a `Profile`; empty for a `ClusterProfile`.
        namespace: String,
        /// Its name.
        name: String,
        /// Where.
        cluster: ClusterRef,
    },
    /// Why an object is there, or is not.
    Object(Target),
    /// Why an object of a cluster is an event from which something follows, or is not.
    Event(Target),
}

/// What is said of one condition, or of all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    /// It holds.
    Yes,
    /// It does not.
    No,
    /// Not enough is known.
    Unknown,
}

/// One condition.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Step {
    /// What it is about, in one word or two.
    pub about: Cow<'static, str>,
    /// Whether it holds.
    pub verdict: Verdict,
    /// What was found.
    pub says: String,
    /// What would turn it into a yes; empty when it is one.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub remedy: String,
}

/// Everything that was looked at.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Explained {
    /// Whether it is deployed; of an event whether it is one from which a trigger follows.
    pub verdict: Verdict,
    /// The conditions, in the order of the pipeline.
    pub steps: Vec<Step>,
    /// What could not be looked at, and why.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<String>,
}

/// Why something is deployed, or why not.
pub fn explain(facts: &Facts, question: &Question) -> Explained {
    let mut steps = Steps::default();
    match question {
        Question::Trigger { name, .. } => trigger::explain(facts, name, &mut steps),
        Question::Profile { namespace, name, .. } => profile::explain(facts, namespace, name, &mut steps),
        Question::Object(target) => object::explain(facts, target, &mut steps),
        Question::Event(target) => event::explain(facts, target, &mut steps),
    }
    let verdict = match steps.steps.iter().any(|step| step.verdict == Verdict::No) {
        _ if steps.holds => Verdict::Yes,
        true if !steps.open => Verdict::No,
        _ => Verdict::Unknown,
    };
    Explained { verdict, steps: steps.steps, missing: facts.missing() }
}

/// The steps of an answer as it grows.
#[derive(Default)]
struct Steps {
    steps: Vec<Step>,
    /// Whether what was asked for is in the cluster; of an event whether it is one from which a trigger follows.
    holds: bool,
    /// Whether it may be an event, whatever else is a no: what says so is not known yet.
    open: bool,
}

// === impl Question ===

impl Question {
    /// The cluster that it is about.
    pub fn cluster(&self) -> &ClusterRef {
        match self {
            Self::Trigger { cluster, .. } | Self::Profile { cluster, .. } => cluster,
            Self::Object(target) | Self::Event(target) => &target.cluster,
        }
    }
}

// === impl Steps ===

impl Steps {
    fn yes(&mut self, about: &'static str, says: impl Into<String>) {
        self.add(about, Verdict::Yes, says.into(), String::new());
    }

    fn no(&mut self, about: &'static str, says: impl Into<String>, remedy: impl Into<String>) {
        self.add(about, Verdict::No, says.into(), remedy.into());
    }

    fn unknown(&mut self, about: &'static str, says: impl Into<String>, remedy: impl Into<String>) {
        self.add(about, Verdict::Unknown, says.into(), remedy.into());
    }

    fn add(&mut self, about: &'static str, verdict: Verdict, says: String, remedy: String) {
        self.steps.push(Step { about: about.into(), verdict, says, remedy });
    }

    /// What became of a row that says what a profile should have.
    fn deployed(&mut self, desired: &Desired, on_bus: &OnBus, origin: Shard) {
        let profile = desired.profile();
        let status = on_bus.statuses.iter().find(|(id, by, _)| *id == profile && *by == origin);
        match status.map(|(_, _, status)| status) {
            Some(status) if status.is_of_another(desired) => self.unknown(
                "deployed",
                format!("what is said of {profile} is about a former spec of it"),
                "ask again; `sluice status` says whether a deployer runs",
            ),
            Some(Status { state: State::Provisioned, errors, .. }) if errors.is_empty() => {
                self.holds = true;
                self.yes("deployed", format!("{profile} is provisioned"));
            }
            Some(Status { state: State::DryRun, .. }) => self.no(
                "deployed",
                format!("{profile} is a dry run: nothing is written"),
                "set another spec.syncMode than DryRun",
            ),
            Some(Status { state: State::Failed, errors, .. }) => {
                self.no("deployed", format!("{profile} failed: {}", errors.join("; ")), "mend what it names; it is tried again by itself");
            }
            Some(Status { state: State::Provisioning, errors, .. }) if !errors.is_empty() => self.no(
                "deployed",
                format!("{profile} waits: {}", errors.join("; ")),
                "see to it that what it waits for is deployed there: `sluice explain profile` of each",
            ),
            Some(Status { state, errors, .. }) => {
                let errors = if errors.is_empty() { String::new() } else { format!(": {}", errors.join("; ")) };
                self.unknown("deployed", format!("{profile} is {state:?}{errors}"), "ask again");
            }
            None => self.unknown(
                "deployed",
                format!("no deployer has said anything of {profile} on this cluster"),
                "`sluice status` says whether a deployer runs, `sluice problems` whether the cluster can be reached",
            ),
        }
    }

    /// What people are told anyway, of what is meant.
    fn problems(&mut self, on_bus: &OnBus, is_meant: impl Fn(&ProblemRow) -> bool) {
        for problem in on_bus.problems.iter().filter(|problem| is_meant(problem)) {
            let ProblemRow { stage, object, error, .. } = problem;
            let text = format!("{stage}: {object}: {error}");
            match problem.severity {
                Severity::Note => self.yes("note", text),
                Severity::Error => self.no("problem", text, "mend what it names"),
            }
        }
    }
}

/// Whether a problem is about this object of a user.
fn is_about(problem: &ProblemRow, kind: &str, namespace: &str, name: &str) -> bool {
    let object = problem.about.as_ref().and_then(|about| about.user_object(None));
    object.is_some_and(|key| key.gvk.kind == kind && key.namespace == namespace && key.name == name)
}

/// Why there is a profile.
fn because(cause: &Cause) -> String {
    match cause {
        Cause::Profile(_) => "as a user wrote it".to_owned(),
        Cause::Event(_) => format!("because of {cause}"),
    }
}

/// What to do where clusters go back.
const BACK: &str = "write another content; `sluice show rollout` says how far it is, and from what to what";

/// That a profile goes back on the cluster, and why.
fn goes_back(profile: &ProfileId, staged: &Staged) -> String {
    format!(
        "{profile} goes back there to a former content, since {}",
        staged.back.as_deref().unwrap_or_default()
    )
}

/// The names that there are, the nearest to this one first.
pub fn instead<'n>(wanted: &str, names: impl IntoIterator<Item = &'n str>) -> String {
    let mut names: Vec<_> = names.into_iter().collect();
    names.sort_by_key(|name| (strsim::damerau_levenshtein(wanted, name), *name));
    names.dedup();
    if names.is_empty() { "there is none".to_owned() } else { format!("there is {}", few(", ", names)) }
}

#[cfg(test)]
mod tests;
