//! One shard and the replica that owns it: the claim, what is read, and what is written under the fence.

pub(crate) mod alarm;
pub(crate) mod end;
pub(crate) mod fence;
pub(crate) mod heads;
pub(crate) mod input;
pub(crate) mod late;
pub(crate) mod look;
pub(crate) mod observer;
pub(crate) mod publish_outcome;
pub(crate) mod read_spec;
pub(crate) mod reader;
pub(crate) mod replay;
pub(crate) mod runner;
pub(crate) mod selection;
pub(crate) mod shard_spec;
pub(crate) mod shipping;
pub(crate) mod stopwatch;
pub(crate) mod supervisor;
pub(crate) mod waiting;
pub(crate) mod writer;
