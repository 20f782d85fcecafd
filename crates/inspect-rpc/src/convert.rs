//! Answers as messages, and back: one file for each answer.

pub(crate) mod addon;
pub(crate) mod cluster;
pub(crate) mod diff;
pub(crate) mod events;
pub(crate) mod explain;
pub(crate) mod journal;
pub(crate) mod problem;
pub(crate) mod resource;
pub(crate) mod rollout;
pub(crate) mod shard;
pub(crate) mod time;
pub(crate) mod trace;
pub(crate) mod usage;
pub(crate) mod written;
