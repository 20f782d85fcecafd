//! What tests and measurements stand on: the pipeline as processes of its own, with a bus whose nodes can be killed, paused
//! and emptied, simulated clusters, and the manifests that load them.

#![forbid(unsafe_code)]

mod bus;
mod kubeconfig;
pub mod manifests;
mod place;
mod ports;
mod process;
mod programs;
mod replica;
mod security;
mod stack;
mod web;

pub use bus::{BusServer, View};
pub use kubeconfig::{KubeContext, contexts};
pub use place::{Inside, Place};
pub use ports::steady_port;
pub use process::{Launch, Process};
pub use programs::Programs;
pub use replica::{Replica, STAGES};
pub use security::{LONER, PULLER, Security};
pub use stack::{Options, Stack};
pub use web::{Connection, ServerResponse};
