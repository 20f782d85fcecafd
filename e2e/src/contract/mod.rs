//! The contract between the simulated clusters and the real API server.
//!
//! A case is a file of requests (`e2e/contract/*.yaml`). Playing it gives a transcript of the
//! answers, in which what differs from run to run (uids, versions, times) is replaced by names. The
//! transcripts of the real server are kept beside the cases; both servers must reproduce them.

mod case;
mod normal;
mod server;

pub use case::{Case, load_all, play};
pub use server::{Response, Server};
