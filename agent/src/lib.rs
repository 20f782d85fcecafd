//! The agent: watches of one or many clusters become rows of `changes`.
//!
//! ```text
//! registrations, kubeconfigs ─► one shard for each cluster ─► watches ─► sluice_agent_core ─► changes
//! interest bucket ──────────────────────────▲
//! ```

#![forbid(unsafe_code)]

mod args;
mod capabilities;
mod cluster;
mod leaving;
mod tenants;
mod watches;

pub use args::Args;
pub use cluster::run;
