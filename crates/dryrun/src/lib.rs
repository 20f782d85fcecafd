//! What would exist where: a pure function of manifests and objects, by the cores that run in production.
//!
//! It is `sluice build`, and the oracle of every test that breaks something.

#![forbid(unsafe_code)]

mod cluster;
mod input;
mod output;
mod packed;
mod pipeline;
mod resources;
mod sources;

pub use input::{Input, InputError};
pub use output::{Made, Output};
pub use pipeline::{Options, build, build_at, build_with, make};
pub use sources::Sources;
