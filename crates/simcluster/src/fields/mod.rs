//! Field ownership and server-side apply: sets of field paths, who owns them, and how an applied
//! configuration is merged with what others wrote.

mod apply;
mod changed;
mod check;
mod manager;
mod merge;
mod path;
mod prune;
mod set;
mod walk;

pub use apply::{Applier, apply, is_applied, track_update};
pub use check::check;
pub use manager::{Manager, Operation};
pub use merge::{covers, merge};
pub use path::PathElement;
pub use set::FieldSet;
pub use walk::field_set;

#[cfg(test)]
mod tests;
