//! What people are told of what cannot be done, until it can: a value that nobody has to read back from its text.

// D-0611: a problem is a value.

mod about;
mod fault;
mod set;

use serde::{Deserialize, Serialize};
use sluice_api::ClusterRef;

pub use about::About;
pub use fault::{Class, Fault, Severity};
pub use set::{ProblemKey, ProblemSet};

/// Something that cannot be done, or (without a fault) can be done again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// `agent`, `matcher`, `renderer` or `deployer`.
    pub stage: &'static str,
    /// The cluster in its text form, or empty when it concerns all.
    pub cluster: String,
    /// What it is about.
    pub about: About,
    /// What is wrong and what to do; `None` when it is resolved.
    pub fault: Option<Fault>,
}

/// A row of the `problems` bucket.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProblemRow {
    /// `agent`, `matcher`, `renderer` or `deployer`.
    pub stage: String,
    /// The cluster, or empty when it concerns all.
    pub cluster: String,
    /// What it is about as people read it, the user's object first.
    pub object: String,
    /// The same as a value; of a former version there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub about: Option<About>,
    /// Whether anything is wrong.
    #[serde(default, skip_serializing_if = "Severity::is_error")]
    pub severity: Severity,
    /// What kind of fault it is.
    #[serde(default, skip_serializing_if = "Class::is_other")]
    pub class: Class,
    /// So many clusters have not got yet what goes to few of them at a time.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub left: u64,
    /// Those of them whose turn has not come; of very many some. Former versions do not say it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waiting: Vec<ClusterRef>,
    /// What is wrong and what to do; empty when it is resolved.
    pub error: String,
    /// Since when, microseconds since 1970.
    pub since: i64,
    /// How often it was met.
    pub attempts: u64,
}

// === impl Problem ===

impl Problem {
    /// A problem that is there.
    pub fn open(stage: &'static str, cluster: impl ToString, about: About, fault: impl Into<Fault>) -> Self {
        Self { stage, cluster: cluster.to_string(), about, fault: Some(fault.into()) }
    }

    /// The same problem, resolved.
    pub fn resolved(stage: &'static str, cluster: impl ToString, about: About) -> Self {
        Self { stage, cluster: cluster.to_string(), about, fault: None }
    }

    /// What it is about, as people read it.
    pub fn object(&self) -> String {
        self.about.to_string()
    }

    /// What is wrong, in words; `None` when it is resolved.
    pub fn error(&self) -> Option<&str> {
        self.fault.as_ref().map(|fault| fault.text.as_str())
    }
}

// === impl ProblemRow ===

impl ProblemRow {
    /// The row of a problem that was met for the first time.
    pub fn new(stage: &str, cluster: &str, about: About, fault: impl Into<Fault>, since: i64) -> Self {
        let Fault { severity, class, left, waiting, text } = fault.into();
        Self {
            stage: stage.to_owned(),
            cluster: cluster.to_owned(),
            object: about.to_string(),
            about: Some(about),
            severity,
            class,
            left,
            waiting,
            error: text,
            since,
            attempts: 1,
        }
    }

    /// Whether it is about what `which` says.
    pub fn is_about(&self, which: impl FnOnce(&About) -> bool) -> bool {
        self.about.as_ref().is_some_and(which)
    }

    /// What is wrong, as people read it.
    pub fn text(&self) -> String {
        self.severity.with(&self.error)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde wants a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

#[cfg(test)]
mod tests;
