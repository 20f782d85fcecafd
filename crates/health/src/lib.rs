//! Checks over the objects of a cluster: what a profile waits for before and after it is deployed, and around its removal.
//!
//! ```text
//! Check ──compile──► Program ──ask(object)──► healthy, or why not ──► Seen: of all objects ──► Outcome
//! ```

#![forbid(unsafe_code)]

mod error;
mod program;
mod seen;

pub use error::Error;
pub use program::Program;
pub use seen::{Outcome, Seen};
