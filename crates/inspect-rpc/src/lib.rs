//! The Inspect service over gRPC: a server and a client, with the same answers on either side.
//!
//! ```text
//! Client ──► Front (token, deadline) ──► Service (question checked, its turn) ──► Inspector ──► bus, management cluster
//!                    │ health: no token          └─► Answer (a list or the journal as a stream)
//!                    ├ reflection
//!                    └ page, for browsers: the same answers over HTTP ──► Inspector
//! ```
//!
//! The contract is `sluice-proto`; what is answered is decided in `sluice-inspect`, which knows nothing of gRPC. Nothing is written
//! anywhere, and the server keeps nothing between two answers but what it was told of tokens.

#![forbid(unsafe_code)]

mod answer;
mod auth;
mod client;
mod convert;
mod deadline;
mod encryption;
mod front;
mod mark;
mod page;
mod questions;
mod server;
mod service;
mod status;

pub use auth::{Authentication, Oidc, OidcSettings, Reviews, TokenFile};
pub use client::{Access, Client, Lines};
pub use server::{Serving, Settings, serve};
