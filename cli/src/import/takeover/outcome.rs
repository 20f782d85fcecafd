//! What came of a take-over.

use serde::Serialize;

/// A profile in a cluster.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Taken {
    pub(crate) cluster: String,
    /// What Sluice calls it.
    pub(crate) profile: String,
    /// What Sveltos calls it.
    pub(crate) former: String,
    pub(crate) objects: usize,
    pub(crate) releases: usize,
}

/// What stays as it is, and why.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Left {
    pub(crate) cluster: String,
    pub(crate) what: String,
    pub(crate) why: String,
}

/// Of one cluster, or of all.
#[derive(Clone, Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) taken: Vec<Taken>,
    pub(crate) left: Vec<Left>,
    /// Objects that were written.
    pub(crate) changed: usize,
}

impl Outcome {
    pub(crate) fn add(&mut self, other: Self) {
        self.taken.extend(other.taken);
        self.left.extend(other.left);
        self.changed += other.changed;
    }
}
