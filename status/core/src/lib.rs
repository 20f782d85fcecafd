//! What users' objects say of themselves: the core beside the renderer's that writes their status, without IO or clock.
//!
//! ```text
//! condition ◄─ object, dependencies ◄─ rollout ◄─ standing ◄─ status, event ◄─ statuses
//!     └─ cluster_set: what ClusterSets and Sets say, for the renderer, which decides what they select
//! ```

#![forbid(unsafe_code)]

mod capi_labels;
mod cluster_set;
mod clusters;
mod condition;
mod dependencies;
mod event;
mod labels;
mod object;
mod rollout;
mod standing;
mod status;
mod statuses;

pub use cluster_set::set_status;
pub use condition::{reference, timestamp};
pub use object::GeneratedProfile;
pub use statuses::{Statuses, Writes, concerned_by_problem, concerned_by_row};
