//! Everything a render may know besides its data: declared resources, time, randomness.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value as Json;

/// The surroundings of a render. The engine reads no clock and no random device itself.
#[derive(Debug, Clone, Default)]
pub struct Env<'a> {
    pub(crate) resources: Vec<(&'a str, &'a Json)>,
    pub(crate) now_unix_nanos: i64,
    pub(crate) seed: [u8; 32],
    pub(crate) steady_certificates: bool,
    /// Shared with all copies: a render may work with one.
    drawn: Arc<AtomicBool>,
}

// === impl Env ===

impl<'a> Env<'a> {
    /// Surroundings at the given moment, with a seed for the random functions. Keys and
    /// passwords are derived from the seed, so it must come from a good source.
    pub fn new(now_unix_nanos: i64, seed: [u8; 32]) -> Self {
        Self { now_unix_nanos, seed, ..Self::default() }
    }

    /// Certificates do not begin at the moment of the render, but at the last of the moments that lie an eighth of their
    /// validity apart: a later render with the same seed makes the same ones, until they are renewed. At that time seven
    /// eighths of their validity are left, at least.
    pub fn with_steady_certificates(mut self) -> Self {
        self.steady_certificates = true;
        self
    }

    /// Adds a resource that `getResource "<identifier>"` finds in the deploy stage. A later
    /// one with the same identifier is ignored.
    pub fn with_resource(mut self, identifier: &'a str, object: &'a Json) -> Self {
        self.resources.push((identifier, object));
        self
    }

    /// The declared resources by identifier, in the order they were added.
    pub fn resources(&self) -> &[(&'a str, &'a Json)] {
        &self.resources
    }

    /// The moment of the render, nanoseconds since 1970.
    pub fn now_unix_nanos(&self) -> i64 {
        self.now_unix_nanos
    }

    /// Where the random functions begin.
    pub fn seed(&self) -> [u8; 32] {
        self.seed
    }

    /// Whether a render has drawn something from the seed: without that, any other seed gives the same.
    pub fn has_drawn(&self) -> bool {
        self.drawn.load(Ordering::Relaxed)
    }

    /// The seed, for who draws from it.
    pub(crate) fn draw(&self) -> [u8; 32] {
        self.drawn.store(true, Ordering::Relaxed);
        self.seed
    }

    pub(crate) fn resource(&self, identifier: &[u8]) -> Option<&'a Json> {
        let found = self.resources.iter().find(|(name, _)| name.as_bytes() == identifier);
        found.map(|(_, object)| *object)
    }
}
