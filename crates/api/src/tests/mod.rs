//! What the crate promises of Kubernetes' and Sveltos' words, said from outside of each module.

#![allow(clippy::unwrap_used)]

mod cloud_event;
mod identity;
mod kinds;
mod marks;
mod secrets;
mod selector;
mod structural;
mod words;
mod yaml;
