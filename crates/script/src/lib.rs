//! User scripts and rules over Kubernetes objects, in a sandbox.
//!
//! ```text
//! Lua ──compile──► Script (bytecode, shared) ──evaluate(object)──► Verdict | Error
//!                                └── one Lua state per thread, one cleared environment per evaluation
//! CEL ──compile──► Rule (shared) ──holds(object)──► true | false | why neither
//! ```
//!
//! Both are untrusted. Scripts see the object, the plain library (no io, no os but the clock, no code
//! loading) and the modules of Sveltos, and end at a time, step or memory limit; what a library function costs is paid before it runs. One script cannot see what another left behind. Rules see the object,
//! have no effects, and end at the same limits.

#![deny(unsafe_code)]

mod arguments;
mod budget;
pub mod cel;
mod charged;
mod convert;
mod lua;
mod modules;
mod names;
mod prices;
mod returned;
mod sandbox;

pub use lua::{Error, Evaluation, Limits, Script};
pub use names::{Unknown, unknown_functions};
