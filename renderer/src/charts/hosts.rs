//! Hosts that do not answer are left alone for a while, whoever asks.

use std::collections::HashMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

const FIRST: Duration = Duration::from_secs(1);
const LONGEST: Duration = Duration::from_secs(300);

/// What is known of hosts.
#[derive(Debug, Default)]
pub(crate) struct Hosts(Mutex<HashMap<String, Rest>>);

#[derive(Clone, Copy, Debug)]
struct Rest {
    failures: u32,
    until: Instant,
}

// === impl Hosts ===

impl Hosts {
    /// Waits until a host may be asked.
    pub(crate) async fn wait(&self, host: &str) {
        if let Some(until) = self.with(|all| all.get(host).map(|rest| rest.until)) {
            tokio::time::sleep_until(until).await;
        }
    }

    /// It has answered.
    pub(crate) fn well(&self, host: &str) {
        self.with(|all| all.remove(host));
    }

    /// It has failed; how long it is left alone. Several who asked at once count as one.
    pub(crate) fn failed(&self, host: &str) -> Duration {
        let now = Instant::now();
        self.with(|all| {
            let rest = all.entry(host.to_owned()).or_insert(Rest { failures: 0, until: now });
            if rest.until <= now {
                let pause = FIRST.saturating_mul(1 << rest.failures.min(9)).min(LONGEST);
                *rest = Rest { failures: rest.failures.saturating_add(1), until: now + pause };
            }
            rest.until - now
        })
    }

    fn with<T>(&self, work: impl FnOnce(&mut HashMap<String, Rest>) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_host_that_fails_rests_longer_each_time_until_it_answers() {
        let hosts = Hosts::default();
        assert_eq!((hosts.failed("h"), hosts.failed("h")), (FIRST, FIRST), "two who asked at once are one");
        hosts.wait("h").await;
        assert_eq!(hosts.failed("h"), FIRST * 2);
        for _ in 0..12 {
            hosts.wait("h").await;
            assert!(hosts.failed("h") <= LONGEST);
        }
        hosts.well("h");
        assert_eq!(hosts.failed("h"), FIRST);
    }
}
