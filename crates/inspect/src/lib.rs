//! Answers about a running pipeline: what is deployed where and why, how it came to be, what cannot be done, who works on what.
//! Everything is read from the bus and the management cluster as they are at the moment; nothing is written, and nobody who works
//! is asked.
//!
//! ```text
//! command line ──────────────┐
//! Inspect service (gRPC) ────┴─► Inspector ─┬─► bus: rows, problems, journal, owners
//!                                           └─► management cluster: manifests, registrations, ClusterConfigurations
//!
//! add-on ─► desired rows of its cluster ─► cause ─► report ─► change        each with the time at which the server stored it,
//!                     └─────────────────────────► status                    and the replica that owns its writer's shard now
//! ```

#![forbid(unsafe_code)]

mod addons;
mod cluster;
mod diff;
mod error;
mod events;
mod explain;
mod fleet;
mod inspector;
mod journal;
#[cfg(any(test, feature = "test-kit"))]
pub mod kit;
mod objects;
mod problems;
mod resources;
mod rollout;
mod shards;
mod trace;
mod turn;
mod usage;
mod written;

pub use addons::{Addon, AddonFilter, CHART};
pub use cluster::{cluster, destination};
pub use diff::{Change, Difference, Meant, NewProblem};
pub use error::InspectError;
pub use events::{Events, EventsFilter};
pub use explain::{Explained, Question, Step, Verdict, instead};
pub use inspector::{Inspector, Listed, Reached};
pub use journal::{JournalFilter, Told};
pub use objects::{Line, Shown};
pub use problems::ProblemFilter;
pub use resources::{Resource, ResourceFilter, Resources};
pub use rollout::{Part, Place, Rollout};
pub use shards::{STAGES, Shard};
pub use trace::{Hop, Target, Trace};
pub use usage::{Usage, UsageFilter};
