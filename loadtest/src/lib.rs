//! The whole pipeline as real processes, and an open-loop load generator in front of it.
//!
//! ```text
//!  schedule ──► fleet::Sender ──► simulated clusters ──► agent ─► matcher ─► renderer ─► deployer
//!     │                                  │                        (processes of their own)
//!     └── intended times ──► measure ◄── fleet::Arrivals (one watch per cluster)
//! ```
//!
//! Latency counts from the moment an event *should* have been sent: a stall shows as latency, not as fewer
//! events.

#![forbid(unsafe_code)]

mod args;
mod bus_path;
mod figures;
mod fleet;
mod floor;
mod measure;
mod report;
mod run;
mod running;
mod scale;
mod system;

pub use args::{Args, Plan};
pub use run::run;
