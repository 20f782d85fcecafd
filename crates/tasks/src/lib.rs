//! Every task has a fate: one table says what its end means, and there is one way to spawn.
//!
//! ```text
//! Tasks (of a process) ─┬─► keep(Kept, maker)    is started again after a rest that grows
//!                       ├─► spawn(Once, work)    runs once; its early end stops its owner or the process
//!                       └─► group ─► Group (of a shard): the same, and all its tasks end when it is dropped
//!
//! a panic, or End::Early ─► said in the log with the task's name ─► counted in Tasks::ends ─► its fate
//! ```
//!
//! `tokio::spawn` is refused by clippy everywhere else: nobody notices the end of a task whose handle is dropped.

#![forbid(unsafe_code)]

mod end;
mod group;
mod kinds;
mod rests;
mod tasks;
#[cfg(test)]
mod tests;
mod watched;

pub use end::{End, How, TaskFailed};
pub use group::Group;
pub use kinds::{Fate, Kept, Once};
pub use rests::Rests;
pub use tasks::Tasks;
