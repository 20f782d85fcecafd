//! The words of the product: Kubernetes objects, clusters, selectors, and the Sveltos kinds.
//!
//! ```text
//!   what a user wrote ──► wire (every field, as typed)      crd (what API servers are told)
//!         │
//!         └─────────────► model (one normalised form of every era) ──► the stages' cores
//! ```
//!
//! Nothing here does IO or reads a clock.

#![forbid(unsafe_code)]

pub mod cloud_event;
pub mod cluster;
pub mod crd;
pub mod digest;
pub mod error;
pub mod few;
pub mod identity;
pub mod kinds;
pub mod marks;
pub mod model;
pub mod names;
pub mod object;
pub mod patch;
pub mod pattern;
pub mod profile;
pub mod secrets;
pub mod selector;
pub mod service_account;
pub mod string_data;
pub mod structural;
#[cfg(test)]
mod tests;
pub mod trigger;
pub mod wire;
pub mod yaml;

pub use cluster::{ClusterKind, ClusterRef, MANAGEMENT};
pub use digest::{Digest, DigestKey};
pub use error::{FieldError, TextError};
pub use few::few;
pub use object::{Gvk, ObjectKey};
pub use profile::ProfileId;
pub use selector::Selector;
pub use service_account::ServiceAccount;
pub use trigger::TriggerId;
