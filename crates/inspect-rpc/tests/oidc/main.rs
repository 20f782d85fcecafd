//! Who may ask with a token of an issuer, and how a browser gets one. The issuer is played.
#![allow(clippy::unwrap_used)]

#[path = "../common/mod.rs"]
mod common;
mod issuer;
mod login;
mod tokens;
mod trouble;
