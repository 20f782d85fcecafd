//! What the journal tells, as traces for a collector of OpenTelemetry: one for each change, with what each stage did because
//! of it.
//!
//! ```text
//! journal of the bus ─► traces (by what a change leads to, sampled) ─► spans ─► OTLP over gRPC
//! ```
//!
//! Stages know nothing of it: no event waits for a collector, and losing one loses nothing but its picture.

#![forbid(unsafe_code)]

mod export;
mod spans;
mod traces;

pub use export::{Endpoint, OtlpError, Settings, follow};
