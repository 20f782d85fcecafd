//! Whether the working connection of the process is answered.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use crate::clock::mono_micros;

/// Without an answer for this long the process counts as stuck: more than a busy one ever needs, and its leases lapse.
const FELT: Duration = Duration::from_secs(15);

/// When the server answered last. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Pulse(Arc<AtomicI64>);

impl Pulse {
    /// A pulse that is felt now.
    pub(crate) fn new() -> Self {
        Self(Arc::new(AtomicI64::new(mono_micros())))
    }

    /// The server answered.
    pub(crate) fn beat(&self) {
        self.0.store(mono_micros(), Ordering::Relaxed);
    }

    /// Whether the server answered of late.
    pub(crate) fn is_felt(&self) -> bool {
        let ago = mono_micros() - self.0.load(Ordering::Relaxed);
        u128::try_from(ago).unwrap_or(0) < FELT.as_micros()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_felt_until_the_server_is_silent_for_too_long() {
        let pulse = Pulse::new();
        assert!(pulse.is_felt());
        pulse.0.store(i64::MIN / 2, Ordering::Relaxed);
        assert!(!pulse.is_felt());
        pulse.beat();
        assert!(pulse.is_felt());
    }
}
