//! What would exist where: a pure function of manifests and objects, by the cores that run in production.
//!
//! It is `sluice build`, and the oracle of every test that breaks something. `sluice eval` and `sluice check` ask
//! parts of it.

#![forbid(unsafe_code)]

mod because;
mod capabilities;
mod check;
mod cluster;
mod evaluate;
mod input;
mod local;
mod matching;
mod output;
mod packed;
mod pipeline;
mod rendered;
mod rendering;
mod resources;
mod served;
mod sources;

pub use check::{Finding, Severity, check};
pub use evaluate::{Evaluation, Evaluator, EvaluatorError};
pub use input::{Input, InputError, manifests_in, objects, objects_in};
pub use output::{Made, Output, is_note};
pub use pipeline::{Former, Options, build, build_at, build_over, build_with, make};
pub use served::{Definitions, as_served};
pub use sources::{NoRepositories, Packed, Repositories, Sources};
