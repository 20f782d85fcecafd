//! The matcher: rows of `changes` become rows of `reports`. Talks to nothing but the bus.

#![forbid(unsafe_code)]

mod args;
mod shard;

pub use args::Args;
pub use shard::run;
