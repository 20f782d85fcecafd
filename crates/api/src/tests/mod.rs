//! What the crate promises of Kubernetes' and Sveltos' words, said from outside of each module.

#![allow(clippy::unwrap_used)]

mod secrets;
mod selector;
mod structural;
