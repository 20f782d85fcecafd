//! Which changed objects are events: the matcher's decision, without IO or clock.
//!
//! ```text
//! changes row ─► sources that are live on its cluster ─► labels, CEL, Lua ─► reports row | tombstone | problem
//! interest row ─► replay of the cluster's rows, when a source is new or has changed
//! completeness row ─► withdraw reports without a cause, then say so to the renderer
//! ```
//!
//! Each object is judged by itself: the cost of an event does not depend on how many others there are.

#![forbid(unsafe_code)]

mod condition;
mod error;
mod live;
mod matcher;
mod messages;
mod program;
mod reported;

pub use error::{Error, Result, RowError};
pub use matcher::{Config, Matcher};
pub use messages::{Effect, ExternalInput};
pub use program::{Outcome, Program, SelectorOutcome};
