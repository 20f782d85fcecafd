//! Tera as the second template engine, opt-in by annotation, in a bounded worker.
//!
//! ```text
//! renderer ─► Workers ─► frame {template, variables, limits} ─► child process ─► Tera + the functions of Go templates
//!               │ kills it when it is late, and starts another      │ address space, CPU time and files are limited
//!               └◄───────────── frame {text or error} ◄─────────────┘
//! ```
//!
//! Tera counts no steps and bounds no string, so a template may run or grow without end. That is why the process that
//! decides never runs one: [`Workers`] starts its own program again as a child, which [`serve_if_asked`] turns into a
//! worker, and ends it when it misses its deadline, outgrows its memory or answers nonsense. Only the render that did it
//! fails. [`InProcess`] is the same without the child, for tests.
//!
//! The variables are those of the Go engine, named as there. The functions are the very functions of Go templates,
//! called through [`sluice_template::Calls`]: see `docs/tera.md`, which [`reference_page`] generates.
#![forbid(unsafe_code)]

mod bind;
mod confine;
mod frames;
mod functions;
mod in_process;
mod job;
mod reference;
mod render;
mod serve;
mod session;
mod strikes;
mod values;
mod worker;
mod workers;

pub use in_process::InProcess;
pub use reference::reference_page;
pub use serve::serve_if_asked;
pub use workers::Workers;
