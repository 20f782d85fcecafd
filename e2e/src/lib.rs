//! Tests of the whole, and what they run on: a real control plane, and the contract that the
//! simulated clusters share with it.

pub mod contract;
pub mod control_plane;
