//! The renderer: rows of `reports` and the objects of the management cluster become rows of `desired`.
//!
//! ```text
//! management cluster ─► management::Feed ─┐
//! what templates read ─► resources ──────┤
//! repositories ─► charts ─────────────────┤
//! interest, status ───────────────────────┼─► sluice_renderer_core ─► desired
//! reports ────────────────────────────────┘        └──► projections, interest, problems
//! status, problems ─► object_status ─► status of users' objects
//! ```

#![forbid(unsafe_code)]

mod args;
mod capabilities;
mod charts;
mod engine;
mod history;
mod leftovers;
mod management;
mod object_status;
mod resources;
mod rights;
mod salt;
mod shard;
mod status;

pub use args::Args;
pub use charts::{ChartSettings, Fetcher};
pub use shard::{Settings, run};
pub use sluice_renderer_core::WithdrawGuard;
