//! Answers about a running pipeline: who works on what, and how an add-on came to be. Everything is read from the bus as it is at
//! the moment; nothing is written, and nobody who works is asked.
//!
//! ```text
//! add-on ─► desired rows of its cluster ─► cause ─► report ─► change        each with the time at which the server stored it,
//!                     └─────────────────────────► status                    and the replica that owns its writer's shard now
//! ```

#![forbid(unsafe_code)]

mod explain;
mod fleet;
#[cfg(test)]
mod kit;
mod shards;
mod trace;

pub use explain::{Explained, Facts, OnBus, Question, Step, Verdict, explain, gather, instead};
pub use fleet::{Held, held, manifests};
pub use shards::{Shard, shards};
pub use trace::{Hop, Target, Trace, TraceError, trace};
