//! A running pipeline of real processes that tests damage, and the oracle that says what must be true afterwards.
//!
//! ```text
//! Changes ─► simulated clusters ◄─► two replicas of each stage, a real bus   ◄── the test kills, pauses, wipes
//!                 │    └─► Watcher: was anything deleted without a cause, or put back to something older?
//!                 └──────► Installation::wait_until_equal: the clusters equal `sluice build` of what they and the test hold
//! ```

mod changes;
mod installation;
mod journal;
mod memory;
mod pacer;
mod problems;
mod rollout;
mod standing;
mod trial;
mod watcher;
mod window;

pub use changes::{CLUSTERS, Changes, service};
pub use installation::Installation;
pub use journal::{Entry, Journal};
pub use memory::resident;
pub use pacer::Pacer;
pub use problems::{Problem, problems};
pub use rollout::{Limits, Rollout};
pub use standing::Standing;
pub use trial::{Dice, Settings};
pub use watcher::Watcher;
pub use window::Window;
