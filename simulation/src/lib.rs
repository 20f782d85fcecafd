//! The whole pipeline in one thread, under a scheduler that breaks everything it may break.
//!
//! The cores, the shard owner and the membership are those of production; only the shell is replaced: streams, API servers
//! and the management cluster are in memory, and one seeded random generator decides who does what next, who
//! crashes, sleeps, loses its shard or its streams, and which message comes late, twice or not at all. A seed
//! replays exactly.
//!
//! ```text
//! schedule ─► one micro step of one replica: a command reaches its server, an answer, row or event arrives
//!          ─► one fault, counted in the coverage
//! checks   ─► at every write to a cluster: nothing stale over newer, nothing withdrawn that has a cause
//!          ─► after the faults: the clusters equal `sluice build` and a table, and inventories and status rows say so
//! ```

#![forbid(unsafe_code)]

mod api_server;
mod checks;
mod circle;
mod coverage;
mod departure;
mod end;
mod faults;
mod fight;
mod management;
mod manifests;
mod membership;
mod message;
mod oracle;
mod pulling;
mod refusals;
mod replica;
mod role;
mod roles;
mod rollbacks;
mod said;
mod schedule;
mod store;
mod timed_pause;
mod unreached;
mod world;

pub use coverage::{Coverage, Fault};
pub use schedule::{Simulation, Violation};
