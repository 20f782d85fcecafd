//! The deployer: rows of `desired` become objects of managed clusters, and of the management cluster.

#![forbid(unsafe_code)]

mod access;
mod api;
mod args;
mod checks;
mod departures;
mod drift;
mod events;
mod failure;
mod own;
mod reload;
mod restores;
mod running;
mod shard;
mod shell;
mod shown;
mod sites;
mod tenants;
mod tokens;

pub use args::Args;
pub use shard::{Settings, run, run_inside};
pub use sluice_deployer_core::PruneGuard;
