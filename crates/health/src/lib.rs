//! Checks over the objects of a cluster: what a profile waits for before and after it is deployed, and around its removal; and
//! whether the cluster itself is ready and well.
//!
//! ```text
//! Check ──compile──► Program ──ask(object)──► healthy, or why not ──► Seen: of all objects ──► Outcome
//! ```

#![forbid(unsafe_code)]

mod cluster;
mod error;
mod job;
mod program;
mod seen;

pub use cluster::{ClusterProgram, Resources};
pub use error::Error;
pub use job::job_outcome;
pub use program::Program;
pub use seen::{Outcome, Seen};
