//! Hundreds of simulated Kubernetes clusters in one process.
//!
//! ```text
//! http ──► cluster ──► admission, patch, fields (server-side apply)
//!   │         │
//!   │         └─ collection: objects + bounded log ──► watch
//!   └─ discovery, openapi, table, faults
//! ```
//!
//! Each cluster answers under `/clusters/<id>` as an API server does: `kubectl` and the usual
//! clients work on it. Nothing runs in it: there are no nodes, no controllers and no authorisation;
//! deletion of namespaces and of dependents happens at once. Everything is in memory.
//!
//! A cluster is one lock around plain data, so one request is one consistent step and an idle
//! cluster costs a few kilobytes. Objects are kept as parsed JSON and rendered once per
//! resourceVersion, however many watches send them.

// D-1307: simulated API servers keep a contract.

mod admission;
mod cli;
mod cluster;
mod discovery;
mod faults;
mod fields;
mod fleet;
mod http;
mod kinds;
mod kubeconfig;
mod object;
mod openapi;
mod patch;
mod protobuf;
mod schema;
mod selectors;
mod status;
mod table;

pub use cli::Args;
pub use faults::{FaultSettings, Faults};
pub use fleet::{FleetConfig, SimFleet};
pub use status::{ApiError, Cause};
