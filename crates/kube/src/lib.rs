//! Kubernetes as the shells see it: clients, objects of any kind as they are, watches that never end, server-side apply.

#![forbid(unsafe_code)]

mod apply;
mod client;
mod connection;
mod definitions;
mod denied;
mod discovery;
#[cfg(any(test, feature = "fake-api"))]
pub mod fake_api;
mod http;
mod identity;
mod impersonate;
mod list;
mod listening;
mod newest;
pub mod outside;
mod path;
mod raw;
mod registered;
mod token;
mod token_review;
mod watch;

pub use apply::{NEVER, apply, apply_text};
pub use client::{Trust, client_of_kubeconfig, management_client};
pub use connection::Connection;
pub use definitions::definitions;
pub use denied::remedy_of_denial;
pub use discovery::{Discovered, discover, kinds_in_namespaces};
pub use identity::{identity_kubeconfig, is_no_token};
pub use impersonate::impersonating;
pub use list::{Listing, list, list_each, read};
pub use newest::Watermark;
pub use path::{only, segment};
pub use raw::Raw;
pub use registered::token::{TokenUser, token_user, with_token};
pub use token::{Claims, GivenToken, may_request_token, request_token};
pub use token_review::knows_token;
pub use watch::{WatchEvent, resource_of, watch, watch_some, watch_some_metadata, watch_versioned};
