//! User scripts over Kubernetes objects, in a sandbox.
//!
//! ```text
//! source ──compile──► Script (bytecode, shared) ──evaluate(object)──► Verdict | Error
//!                                   └── one Lua state per thread, one cleared environment per evaluation
//! ```
//!
//! Scripts are untrusted. They see the object and the plain library (no io, no os but the clock, no code
//! loading) and end at a time, step or memory limit. One script cannot see what another left behind.

#![deny(unsafe_code)]

mod convert;
mod lua;
mod sandbox;

pub use lua::{Error, Limits, Script, Verdict};
