//! The bus protocol, without a bus: typed subjects, rows, and who may write them.
//!
//! ```text
//!            claim outputs        load own rows      read the input table from its first row
//! new owner ───────────────► fenced ────────► knows what it wrote ────────► caught up ──► tail
//!     ▲                                                                                    │
//!     └──────────────── deposed, lagging, incarnation changed: drop everything ◄───────────┘
//! ```
//!
//! A stage gives its decision as a [`Core`]; [`Owner`] runs it over one shard and says what to do, as
//! commands. A shell executes them on a real server, the simulation on an in-memory store: the same code.
//! Nothing here does IO or reads a clock.

#![forbid(unsafe_code)]

mod capabilities;
pub mod interest;
mod journal;
pub mod json;
pub mod members;
pub mod memory;
mod meta;
mod numbers;
pub mod owner;
mod position;
pub mod problem;
mod role;
pub mod row;
pub mod rows;
pub mod subject;
mod token;
pub mod view;
mod wanted_set;

pub use capabilities::Capabilities;
pub use journal::JournalEntry;
pub use meta::Meta;
pub use numbers::{CallId, Epoch, Incarnation, Revision, Sequence, Shard, WatchId};
pub use owner::{Claim, Command, Core, Event, Group, Now, Outgoing, Owner, OwnerConfig, Step, Stop};
pub use position::{EventIds, Position};
pub use problem::{About, Class, Fault, Problem, ProblemKey, ProblemRow, ProblemSet, Severity};
pub use role::Role;
pub use row::{Body, Head, Line, Publish, Row};
pub use subject::{Subject, Table};
pub use view::View;
pub use wanted_set::WantedSet;
