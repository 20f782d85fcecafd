//! Tests of the whole, and what they run on: a real control plane, the contract that the simulated
//! clusters share with it, and the scenarios that every way of running must pass.

mod chart_server;
pub mod cluster_client;
pub mod contract;
pub mod control_plane;
pub mod fleet;
pub mod installed;
pub mod mistakes;
mod mounts;
pub mod own_way;
pub mod real;
pub mod scenario;
pub mod survival;
pub mod taken_over;
pub mod two_clusters;
pub mod until;
pub mod up;
