//! What changed in one cluster since the bus last knew: the agent's decision, without IO or clock.
//!
//! ```text
//! interest row ─► which watches run ─┐
//! lists, events of the watches ──────┼─► changes rows and tombstones
//! CloudEvents, the newest of each key ┤
//! rows found on the bus ─────────────┘        └── all lists done ─► tombstones of what vanished ─► complete
//! ```
//!
//! A row goes only when a delete was seen, or when every list of the present interest is done and holds it no more. No two
//! watches can show one object. The row of a CloudEvent is only replaced.

#![forbid(unsafe_code)]

mod agent;
mod events;
mod messages;
mod sight;
mod watches;

pub use agent::{Agent, Config};
pub use events::Sent;
pub use messages::{Effect, ExternalInput, Seen};
pub use watches::{Selection, WatchSpec};
