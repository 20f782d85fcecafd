//! How one cluster becomes what its desired rows say: the deployer's decision, without IO or clock.
//!
//! ```text
//! desired row ─► prepared objects ─► inventory (union) ─► read, apply ─► prune ─► inventory (exact) ─► status
//! tombstone   ─► inventory        ─► read, delete                     ─► inventory deleted         ─► status gone
//! ```
//!
//! Every cluster is worked on by itself, every profile too. Nothing is withdrawn because it is absent: only a
//! tombstone or a newer content of the same profile removes something, and only what the profile owns.

#![forbid(unsafe_code)]

mod budget;
mod call_queue;
mod checks;
mod claims;
mod cluster;
mod configuration;
mod conflict;
mod departures;
mod deployer;
mod drift;
mod drift_event;
mod error;
mod exclusions;
mod inventory;
mod job;
mod jobs;
mod late_calls;
mod live_objects;
mod marks;
mod messages;
mod order;
mod own;
mod prepare;
mod prune_guard;
mod releases;
mod reload;
mod renewals;
mod report;
mod request;
mod sources;
mod summary;

pub use checks::{CheckId, Outcome};
pub use configuration::{Configuration, Owned, cluster_configuration};
pub use departures::{Departing, Departures, Finalizing, Left, LetGo};
pub use deployer::{Config, Deployer, Serves, shown};
pub use drift::{MANAGER, Shown, Sight, Writer, own_fields};
pub use drift_event::{DriftEvent, DriftEvents, Drifted, Times};
pub use error::Error;
pub use exclusions::leave_excluded;
pub use inventory::{Inventory, Kept, RemovalChecks, Stored};
pub use marks::without_marks;
pub use messages::{Effect, ExternalInput};
pub use order::{Lane, Turn, Wave};
pub use own::{is_own, own};
pub use prepare::{Brought, Prepared, prepare};
pub use prune_guard::{NoGuard, PruneGuard};
pub use releases::{Helm, ReleaseSummary};
pub use reload::{Glimpse, Reload, content_digest};
pub use renewals::{Renewals, Renewed, TokenLife};
pub use report::{Action, Report, ReportLine, cluster_report};
pub use request::{Class, Failure, KeptBody, Live, OwningProfile, Reply, Request, Version};
pub use summary::{Summary, cluster_summary};
